// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu/codes.h"
#include "gpu/process.h"
#include "gpu/shared_memory.h"
#include "prove/witness.h"
#include "session/gpu_setup.h"
#include "session/gpu_testing.h"
#include "session/run.h"
#include "session/value.h"

namespace plumb::session {
namespace {

constexpr double kLaunchSeconds = 20, kAnswerSeconds = 120;
// What outputs hold before each of two launches: bytes that keep both were not written.
constexpr std::array<unsigned char, 2> kPoisons = {0xff, 0x7d};

std::unique_ptr<gpu::SharedMemory> shared_inputs(const RunOutcome& outcome) {
  std::size_t bytes = 0;
  for (const RunOutput& input : outcome.inputs) bytes += input.array.bytes.size();
  auto out = gpu::SharedMemory::make(bytes);
  if (!out) return nullptr;
  std::byte* at = out->data();
  for (const RunOutput& input : outcome.inputs) {
    std::memcpy(at, input.array.bytes.data(), input.array.bytes.size());
    at += input.array.bytes.size();
  }
  return out;
}

void compare_one(const task::Bound& bound, const std::array<const char*, 2>& card, RunOutput& output) {
  const unsigned size = output.array.item_bytes;
  CardComparison out;
  out.elements = output.array.bytes.size() / size;
  for (std::uint64_t i = 0; i < out.elements; ++i) {
    const char *here = output.array.bytes.data() + i * size, *there = card[0] + i * size, *again = card[1] + i * size;
    if (std::memcmp(here, there, size) == 0) continue;
    const auto is_left = [&](const char* at, unsigned char poison) {
      return std::all_of(at, at + size, [&](char byte) { return static_cast<unsigned char>(byte) == poison; });
    };
    if (is_left(there, kPoisons[0]) && is_left(again, kPoisons[1])) continue;
    if (out.other++ != 0) continue;
    out.first_other = fmt::format("{}: {}, the card gives {}", prove::element_name(bound, output.name, i),
                                  element_value(output.type, here), element_value(output.type, there));
  }
  output.card = out;
}

}  // namespace

void compare_with_card(const task::Task& task, const prove::Candidate& candidate, const task::Shape& shape,
                       gpu::WorkerProcess& worker, RunOutcome& outcome) {
  Findings skipped;
  const auto bound = bind_gpu_shape(task, candidate, shape, outcome.findings, skipped);
  if (!bound) return outcome.findings.append(std::move(skipped));
  gpu::TestJob job;
  job.buffers = make_buffers(*bound, candidate.launch.divisible_by_16);
  job.launch_seconds = kLaunchSeconds;
  auto launch = make_gpu_launch(candidate, *bound, outcome.findings);
  const auto inputs = shared_inputs(outcome);
  std::array<std::unique_ptr<gpu::SharedMemory>, 2> outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = gpu::SharedMemory::make(gpu::output_bytes(job.buffers));
    if (!outputs[i]) break;
    job.steps.push_back({0, true, kPoisons[i], 0xff, true, outputs[i]->path()});
  }
  if (!launch) return;
  if (!inputs || !outputs.back()) {
    outcome.findings.add(gpu::kMemory, "there is no memory on the host for the card's inputs and outputs");
    return;
  }
  job.launch = std::move(*launch);
  job.inputs = {inputs->path()};
  const nlohmann::json answer = worker.ask(gpu::to_json(job), kAnswerSeconds);
  const std::string status = answer.value("status", "");
  outcome.has_gpu = status != "none";
  if (status != "done") {
    outcome.findings.add(worker_finding(answer, fmt::format("at the shape {}", shape.label)));
    return;
  }
  std::size_t offset = 0;
  for (RunOutput& output : outcome.outputs) {
    std::array<const char*, 2> card{};
    for (std::size_t i = 0; i < card.size(); ++i) card[i] = reinterpret_cast<const char*>(outputs[i]->data()) + offset;
    compare_one(bound->bound, card, output);
    offset += output.array.bytes.size();
  }
}

}  // namespace plumb::session
