// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "session/gpu_bench.h"
#include "session/gpu_profile.h"
#include "session/gpu_testing.h"
#include "session/handlers.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

task::Shape shape_of(const Json& sizes) {
  task::Shape shape;
  for (const auto& [name, value] : sizes.items()) shape.sizes[name] = value.get<std::int64_t>();
  shape.label = task::label_of(shape.sizes);
  return shape;
}

std::vector<task::Shape> shapes_of(const Json& list) {
  std::vector<task::Shape> out;
  for (const Json& sizes : list) out.push_back(shape_of(sizes));
  return out;
}

// A program of the CUDA toolkit that ptxas is of; empty where it has none.
std::filesystem::path beside_ptxas(const Session& session, const char* name) {
  std::error_code error;
  const std::filesystem::path path = session.config().ptxas.parent_path() / name;
  return !session.config().ptxas.empty() && std::filesystem::exists(path, error) ? path : std::filesystem::path();
}

struct Given {
  const task::Task* task = nullptr;
  std::optional<prove::Candidate> candidate;
  std::string file;
};

std::optional<Given> given(const Session& session, const Json& input, Findings& findings) {
  Given out;
  out.task = session.task(findings);
  out.file = input.value("file", session.default_file());
  if (out.task != nullptr) out.candidate = session.candidate(out.file, findings);
  if (!out.candidate) return std::nullopt;
  return out;
}

}  // namespace

Reply test_candidate(const Session& session, const Json& input) {
  Findings findings;
  const auto what = given(session, input, findings);
  if (!what) return refuse(findings);
  TestOptions options;
  options.shapes = shapes_of(input.value("shapes", Json::array()));
  options.is_discreet = true;
  options.workers = session.config().workers;
  options.python = session.config().python;
  options.progress = session.config().progress;
  gpu::WorkerProcess worker(gpu::own_worker_command({}));
  const TestOutcome outcome = test_on_gpu(*what->task, *what->candidate, worker, options);
  if (outcome.is_bad_input) return refuse(outcome.findings);
  Json out = to_json(outcome);
  out["file"] = what->file;
  return {true, std::move(out)};
}

Reply bench_candidate(const Session& session, const Json& input) {
  Findings findings;
  const auto what = given(session, input, findings);
  if (!what) return refuse(findings);
  std::optional<prove::Candidate> baseline;
  if (input.contains("baseline")) {
    baseline = session.candidate(input["baseline"].get<std::string>(), findings);
    if (!baseline) return refuse(findings);
  }
  BenchOptions options;
  options.shapes = shapes_of(input.value("shapes", Json::array()));
  options.workers = session.config().workers;
  options.python = session.config().python;
  options.progress = session.config().progress;
  gpu::WorkerProcess worker(gpu::own_worker_command({}));
  const BenchOutcome outcome =
      bench_on_gpu(*what->task, *what->candidate, baseline ? &*baseline : nullptr, worker, options);
  if (outcome.is_bad_input) return refuse(outcome.findings);
  Json out = to_json(outcome);
  for (Json& shape : out["shapes"]) shape.erase("raw");
  out.erase("seed");
  out["file"] = what->file;
  return {true, std::move(out)};
}

Reply profile_candidate(const Session& session, const Json& input) {
  Findings findings;
  const auto what = given(session, input, findings);
  const auto path = what ? session.path_of(what->file, ".ptx", findings) : std::nullopt;
  if (!path) return refuse(findings);
  ProfileOptions options;
  const task::Task& task = *what->task;
  options.shape = input.contains("shape")     ? shape_of(input["shape"])
                  : task.bench_shapes.empty() ? task.prove_shapes.front()
                                              : task.bench_shapes.front();
  options.ptxas = session.config().ptxas;
  options.cuobjdump = beside_ptxas(session, "cuobjdump");
  options.ncu = beside_ptxas(session, "ncu");
  options.bench_command = {gpu::own_worker_command({}).front(),
                           "bench",
                           task.folder.string(),
                           path->string(),
                           "--shape",
                           options.shape.label,
                           "--seconds",
                           "0.01",
                           "--reference-seconds",
                           "0.01"};
  gpu::WorkerProcess worker(gpu::own_worker_command({}));
  const ProfileOutcome outcome = profile_on_gpu(task, *what->candidate, worker, options);
  if (outcome.is_bad_input) return refuse(outcome.findings);
  Json out = to_json(outcome);
  out["file"] = what->file;
  return {true, std::move(out)};
}

}  // namespace plumb::session
