// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu/card.h"
#include "gpu/shared_memory.h"
#include "gpu/worker.h"

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 16U << 20;

class TestRun {
 public:
  TestRun(Card& card, const TestJob& job) : card_(card), driver_(card.driver()), job_(job) {}

  Json run() {
    Outcome bad = prepare();
    for (std::size_t i = 0; !bad && i < job_.steps.size(); ++i) {
      Json report = Json::object();
      bad = step(job_.steps[i], report);
      if (bad) answer_["step"] = i;
      else answer_["steps"].push_back(std::move(report));
    }
    answer_["status"] = bad ? bad->kind : "done";
    if (bad) {
      answer_["message"] = bad->message;
      answer_["dead"] = bad->is_dead;
    }
    if (!bad || !bad->is_dead) card_.unload(loaded_);
    return std::move(answer_);
  }

 private:
  Outcome prepare() {
    answer_["steps"] = Json::array();
    for (const std::string& path : job_.inputs) {
      inputs_.push_back(SharedMemory::open(path, input_bytes(job_.buffers)));
      if (!inputs_.back()) return Failure{"input", "the inputs cannot be read", false};
    }
    if (auto bad = load()) return bad;
    answer_["facts"] = card_.facts(loaded_, job_.launch);
    return std::nullopt;
  }

  Outcome load() {
    Failure failure;
    card_.unload(loaded_);
    std::optional<Loaded> loaded = card_.load(job_.launch, failure);
    if (!loaded) return failure;
    loaded_ = std::move(*loaded);
    variables_.clear();
    for (const std::string& name : job_.launch.variables) variables_.push_back(variable(name));
    return std::nullopt;
  }

  // What a module variable holds; empty for one that the driver's assembler has removed.
  std::string variable(const std::string& name) const {
    DevicePtr address = 0;
    std::size_t bytes = 0;
    if (driver_.module_global(&address, &bytes, loaded_.module, name.c_str()) != kSuccess) return {};
    std::string held(bytes, '\0');
    return driver_.copy_to_host(held.data(), address, bytes) == kSuccess ? held : std::string();
  }

  Outcome place(const Step& step) {
    if (!buffers_.empty() && is_at_end_ == step.is_at_end) return std::nullopt;
    buffers_.clear();
    workspace_.reset();
    addresses_.clear();
    is_at_end_ = step.is_at_end;
    Failure failure;
    for (const BufferPlan& plan : job_.buffers) {
      buffers_.push_back(GuardedBuffer::make(card_, plan.bytes, plan.alignment, is_at_end_, failure));
      if (!buffers_.back()) return failure;
      addresses_.push_back(buffers_.back()->address());
    }
    workspace_ = GuardedBuffer::make(card_, job_.launch.workspace, 256, is_at_end_, failure);
    if (!workspace_) return failure;
    return std::nullopt;
  }

  Outcome fill(const Step& step) {
    const std::byte* from = inputs_[step.inputs]->data();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::uint64_t bytes = buffers_[i]->bytes();
      if (job_.buffers[i].role == Role::Out) {
        if (auto bad = card_.check(driver_.fill(addresses_[i], step.poison, bytes, card_.stream()), "cuMemsetD8")) {
          return bad;
        }
        continue;
      }
      if (auto bad = card_.check(driver_.copy_to_device(addresses_[i], from, bytes), "cuMemcpyHtoD")) return bad;
      from += bytes;
    }
    if (job_.launch.workspace != 0) {
      if (auto bad = card_.check(driver_.fill(workspace_->address(), 0, job_.launch.workspace, card_.stream()),
                                 "cuMemsetD8")) {
        return bad;
      }
    }
    if (auto bad = card_.scrub(step.scrub)) return bad;
    // Copies from the host do not go through the stream: they may still be under way.
    return card_.check(driver_.context_synchronize(), "preparing a launch");
  }

  Outcome step(const Step& step, Json& report) {
    if (step.is_reloaded) {
      if (auto bad = load()) return bad;
    }
    if (auto bad = place(step)) return bad;
    if (auto bad = fill(step)) return bad;
    const Clock::time_point begin = Clock::now();
    if (auto bad = card_.enqueue(loaded_, job_.launch, addresses_, workspace_->address())) return bad;
    if (auto bad = card_.wait(job_.launch_seconds)) return bad;
    report["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
    if (auto bad = look_around(step, report)) return bad;
    return fetch(step);
  }

  // What the launch may not have touched: guards, inputs, module variables.
  Outcome look_around(const Step& step, Json& report) {
    Failure failure;
    report["guard"] = Json::array();
    report["mutated"] = Json::array();
    report["variables"] = Json::array();
    for (std::size_t i = 0; i <= buffers_.size(); ++i) {
      const GuardedBuffer& buffer = i < buffers_.size() ? *buffers_[i] : *workspace_;
      if (const auto offset = buffer.first_written_beside(failure)) {
        const std::string name = i < buffers_.size() ? job_.buffers[i].name : "workspace";
        report["guard"].push_back({{"buffer", name}, {"offset", *offset}, {"bytes", buffer.bytes()}});
      }
      if (!failure.kind.empty()) return failure;
    }
    const std::byte* from = inputs_[step.inputs]->data();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (job_.buffers[i].role == Role::Out) continue;
      if (job_.buffers[i].role == Role::In) {
        if (const auto offset = first_difference(i, from, failure)) {
          report["mutated"].push_back({{"buffer", job_.buffers[i].name}, {"offset", *offset}});
        }
        if (!failure.kind.empty()) return failure;
      }
      from += buffers_[i]->bytes();
    }
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (variable(job_.launch.variables[i]) != variables_[i]) report["variables"].push_back(job_.launch.variables[i]);
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> first_difference(std::size_t index, const std::byte* expected, Failure& failure) {
    const std::uint64_t bytes = buffers_[index]->bytes();
    std::vector<std::byte> held(std::min<std::uint64_t>(bytes, kChunk));
    for (std::uint64_t at = 0; at < bytes; at += held.size()) {
      const std::uint64_t size = std::min<std::uint64_t>(held.size(), bytes - at);
      if (auto bad = card_.check(driver_.copy_to_host(held.data(), addresses_[index] + at, size), "cuMemcpyDtoH")) {
        failure = *bad;
        return std::nullopt;
      }
      if (std::memcmp(held.data(), expected + at, size) == 0) continue;
      std::uint64_t offset = 0;
      while (held[offset] == expected[at + offset]) ++offset;
      return at + offset;
    }
    return std::nullopt;
  }

  Outcome fetch(const Step& step) {
    if (step.outputs.empty()) return std::nullopt;
    const auto to = SharedMemory::open(step.outputs, output_bytes(job_.buffers));
    if (!to) return Failure{"input", "there is no room for the outputs", false};
    std::byte* at = to->data();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (job_.buffers[i].role == Role::In) continue;
      const std::uint64_t bytes = buffers_[i]->bytes();
      if (auto bad = card_.check(driver_.copy_to_host(at, addresses_[i], bytes), "cuMemcpyDtoH")) return bad;
      at += bytes;
    }
    return std::nullopt;
  }

  Card& card_;
  const Driver& driver_;
  const TestJob& job_;
  std::vector<std::unique_ptr<SharedMemory>> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  std::unique_ptr<GuardedBuffer> workspace_;
  std::vector<DevicePtr> addresses_;
  std::vector<std::string> variables_;  // what they held after loading
  bool is_at_end_ = false;
  Loaded loaded_;
  Json answer_;
};

}  // namespace

Json run_test_job(Card& card, const TestJob& job) { return TestRun(card, job).run(); }

}  // namespace plumb::gpu
