// SPDX-License-Identifier: Apache-2.0
#include "session/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "session/codes.h"
#include "session/gpu_bench.h"
#include "session/gpu_testing.h"
#include "task/task.h"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<fs::path> sorted(const fs::path& folder, const std::function<bool(const fs::directory_entry&)>& wanted) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (wanted(entry)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> ptx_files(const fs::path& folder) {
  return sorted(folder, [](const fs::directory_entry& entry) { return entry.path().extension() == ".ptx"; });
}

bool is_wanted(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

// The first line of the run log beside a lowering says what the run began with.
std::string beginning_of(const fs::path& folder) {
  Findings ignored;  // a lowering need not have a log
  const std::string log = read_file(folder / "run.jsonl", ignored).value_or("");
  const Json start = Json::parse(log.substr(0, log.find('\n')), nullptr, false);
  return start.is_object() && start.contains("from") && start["from"].is_string() ? start["from"].get<std::string>()
                                                                                  : "";
}

class Suite {
 public:
  Suite(const SuiteOptions& options, gpu::WorkerProcess& worker, const std::function<void(const SuiteRow&)>& told)
      : options_(options), worker_(worker), told_(told) {}

  SuiteOutcome run() {
    const auto folders = sorted(options_.root, [](const fs::directory_entry& entry) {
      return entry.is_directory() && fs::exists(entry.path() / "task.toml");
    });
    for (const fs::path& folder : folders) {
      if (is_wanted(options_.tasks, folder.filename().string())) add_task(folder);
    }
    for (const std::string& name : options_.tasks) {
      const bool is_there = fs::exists(options_.root / name / "task.toml");
      if (!is_there) out_.findings.add(kSuite, fmt::format("no task `{}` in {}", name, options_.root.string()));
    }
    if (folders.empty()) out_.findings.add(kSuite, fmt::format("no task in {}", options_.root.string()));
    if (out_.findings.has_error()) {
      out_.is_bad_input = true;
      return std::move(out_);
    }
    for (SuiteRow& row : out_.rows) {
      judge(row);
      told_(row);
    }
    return std::move(out_);
  }

 private:
  void add_task(const fs::path& folder) {
    const std::size_t before = out_.rows.size();
    const auto targets = sorted(folder, [](const fs::directory_entry& entry) {
      return entry.is_directory() && !ptx_files(entry.path()).empty();
    });
    for (const fs::path& target : targets) {
      if (!is_wanted(options_.targets, target.filename().string())) continue;
      const std::string from = beginning_of(target);
      for (const fs::path& ptx : ptx_files(target)) {
        SuiteRow row;
        row.task = folder.filename().string();
        row.target = target.filename().string();
        row.ptx = ptx;
        row.from = from;
        out_.rows.push_back(std::move(row));
      }
    }
    if (out_.rows.size() == before) out_.without.push_back(folder.filename().string());
  }

  void judge(SuiteRow& row) {
    const auto task = task::load_task(options_.root / row.task, row.findings);
    const auto candidate = task ? prove::load_candidate(row.ptx, row.findings) : std::nullopt;
    if (!candidate) return;
    row.key = key_of(*task, *candidate);
    if (!keep(row, "prove", {})) prove_row(row, *task, *candidate);
    if (options_.has_tests && !keep(row, "test", {})) {
      TestOptions options;
      options.seed = options_.seed;
      options.workers = options_.workers;
      options.python = options_.python;
      options.progress = options_.progress;
      take(row, "test", test_on_gpu(*task, *candidate, worker_, options));
    }
    if (options_.has_benches) bench_row(row, *task, *candidate);
  }

  std::string key_of(const task::Task& task, const prove::Candidate& candidate) {
    Findings ignored;
    const auto text = [&](const fs::path& path) { return read_file(path, ignored).value_or(""); };
    const std::string parts = sha256(text(options_.root / task.name / "task.toml")) + sha256(text(task.kernel_file)) +
                              sha256(candidate.module->source->text()) + candidate.launch_sha256 + options_.tool_sha256;
    return sha256(parts);
  }

  // Takes a step over from the earlier results. A step that found no GPU was not run.
  bool keep(SuiteRow& row, const char* step, const std::string& beside) {
    if (options_.is_forced || !options_.before.is_object()) return false;
    const Json rows = options_.before.value("rows", Json::array());
    for (const Json& before : rows) {
      if (!before.is_object() || before.value("key", "") != row.key) continue;
      const Json steps = before.value("steps", Json::object());
      if (!steps.is_object() || !steps.contains(step) || !steps[step].is_object()) continue;
      if (steps[step].value("beside", "") != beside) continue;
      row.steps[step] = steps[step];
      row.kept.emplace_back(step);
      return true;
    }
    return false;
  }

  void prove_row(SuiteRow& row, const task::Task& task, const prove::Candidate& candidate) {
    prove::Options options;
    options.seed = options_.seed;
    options.workers = options_.workers;
    options.python = options_.python;
    options.progress = options_.progress;
    const prove::Outcome outcome = prove::prove(task, candidate, options);
    row.steps["prove"] = prove::to_json(outcome);
    row.steps["prove"]["holds"] = outcome.holds();
  }

  void bench_row(SuiteRow& row, const task::Task& task, const prove::Candidate& candidate) {
    std::optional<prove::Candidate> baseline;
    if (!options_.baselines.empty()) {
      auto files = ptx_files(options_.baselines / row.task);
      // A further form's baseline is for one shape alone and has a launch header; the source's has Triton's launch
      // JSON.
      std::erase_if(files, [](fs::path file) { return !fs::exists(file.replace_extension(".json")); });
      if (!files.empty()) baseline = prove::load_candidate(files.front(), row.findings);
    }
    const std::string beside = baseline ? sha256(baseline->module->source->text()) : "";
    if (keep(row, "bench", beside)) return;
    BenchOptions options;
    options.seed = options_.seed;
    options.workers = options_.workers;
    options.python = options_.python;
    options.progress = options_.progress;
    take(row, "bench", bench_on_gpu(task, candidate, baseline ? &*baseline : nullptr, worker_, options));
    if (row.steps.contains("bench")) row.steps["bench"]["beside"] = beside;
  }

  template <class Outcome>
  void take(SuiteRow& row, const char* step, const Outcome& outcome) {
    if (!outcome.has_gpu) {
      out_.has_gpu = false;
      return;
    }
    row.steps[step] = to_json(outcome);
    for (Json& shape : row.steps[step]["shapes"]) shape.erase("raw");
  }

  const SuiteOptions& options_;
  gpu::WorkerProcess& worker_;
  const std::function<void(const SuiteRow&)>& told_;
  SuiteOutcome out_;
};

}  // namespace

bool SuiteRow::holds() const {
  return !findings.has_error() && steps.contains("prove") &&
         std::all_of(steps.begin(), steps.end(), [](const Json& step) { return step.value("holds", false); });
}

bool SuiteOutcome::holds() const {
  return !is_bad_input && !findings.has_error() && !rows.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const SuiteRow& row) { return row.holds(); });
}

SuiteOutcome run_suite(const SuiteOptions& options, gpu::WorkerProcess& worker,
                       const std::function<void(const SuiteRow&)>& told) {
  return Suite(options, worker, told).run();
}

}  // namespace plumb::session
