// SPDX-License-Identifier: Apache-2.0
#include "session/suite.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "gpu/process.h"
#include "session/codes.h"

namespace plumb::cli {
namespace {

struct SuiteArguments {
  std::string root = "suite", results, html, baselines, driver;
  std::vector<std::string> tasks, targets, steps;
  std::uint64_t seed = 0;
  bool is_forced = false;
};

// Results of an earlier run; null where there is no such file yet.
bool read_results(const std::string& path, nlohmann::json& before, Findings& findings) {
  if (path.empty() || !std::filesystem::exists(path)) return true;
  const SourcePtr source = read_source(path, findings);
  if (!source) return false;
  before = nlohmann::json::parse(source->text(), nullptr, false);
  if (before.is_object() && before.contains("rows") && before["rows"].is_array()) return true;
  findings.add(session::kSuite, "these are no results of `plumb suite`; nothing was written", {source, {0, 1}});
  return false;
}

bool write_results(const SuiteArguments& arguments, const session::SuiteOutcome& outcome, Findings& findings) {
  if (!arguments.results.empty() && !write_file(arguments.results, to_json(outcome).dump(1) + "\n", findings))
    return false;
  return arguments.html.empty() || write_file(arguments.html, to_html(outcome), findings);
}

// How many rows of one beginning hold; rows without a log count as begun from the source.
std::string count_text(const session::SuiteOutcome& outcome, std::string_view from, std::string_view words) {
  std::size_t held = 0, all = 0;
  for (const session::SuiteRow& row : outcome.rows) {
    const bool is_given = row.from == "scaffold" || row.from == "seed";
    if (is_given ? row.from != from : from != "source") continue;
    ++all;
    held += row.holds() ? 1 : 0;
  }
  return all == 0 && from != "source" ? std::string() : fmt::format("  {} of {} {}\n", held, all, words);
}

void run_suite(Context& context, const SuiteArguments& arguments) {
  Findings findings;
  session::SuiteOptions options;
  if (!read_results(arguments.results, options.before, findings)) return refuse(context, findings);
  options.root = arguments.root;
  options.tasks = arguments.tasks;
  options.targets = arguments.targets;
  options.baselines = arguments.baselines;
  options.is_forced = arguments.is_forced;
  options.seed = arguments.seed;
  options.workers = context.workers;
  options.python = context.python();
  for (const std::string& step : arguments.steps) {
    options.has_tests = options.has_tests || step == "test";
    options.has_benches = options.has_benches || step == "bench";
  }
  options.tool_sha256 = sha256(read_file("/proc/self/exe", findings).value_or(""));
  gpu::WorkerProcess worker(gpu::own_worker_command(arguments.driver));
  session::SuiteOutcome outcome;
  {
    ProgressLine progress(context);
    options.progress = progress.callback();
    outcome = session::run_suite(options, worker, [&](const session::SuiteRow& row) {
      if (context.is_json) return;
      progress.clear();
      print(session::to_line(row));
    });
  }
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  if (!write_results(arguments, outcome, findings)) return refuse(context, findings);
  std::string summary = count_text(outcome, "source", "lowerings hold");
  for (const char* from : {"scaffold", "seed"}) {
    summary += count_text(outcome, from, fmt::format("lowerings that began with a {} hold", from));
  }
  if (!outcome.has_gpu) summary += "  no GPU here: nothing was tested or timed\n";
  answer(context, to_json(outcome), summary, outcome.holds());
  if (!outcome.has_gpu) context.exit_code = kNoGpu;
}

}  // namespace

void add_suite(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("suite", "prove, test and time every lowering of a folder of tasks");
  const auto arguments = std::make_shared<SuiteArguments>();  // shared: the callback outlives this function
  command->add_option("ROOT", arguments->root, "the folder of tasks; default: suite");
  command->add_option("--task", arguments->tasks, "only this task; repeatable")->expected(1)->take_all();
  command->add_option("--target", arguments->targets, "only this target; repeatable")->expected(1)->take_all();
  command->add_option("--step", arguments->steps, "`test` or `bench`, beside the proof; repeatable; both need a GPU")
      ->expected(1)
      ->take_all()
      ->check(CLI::IsMember({"prove", "test", "bench"}));
  command->add_option("--baselines", arguments->baselines, "a folder of baselines, as `plumb baseline --out` fills it");
  command->add_option("--results", arguments->results,
                      "a JSON file: what has not changed since it was written is taken over, and it is written anew");
  command->add_option("--html", arguments->html, "write one page that needs no other file");
  command->add_flag("--force", arguments->is_forced, "take nothing over");
  command->add_option("--seed", arguments->seed, "of all draws; 0: fresh");
  command->add_option("--driver", arguments->driver, "the CUDA driver library; default: the system's");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_suite(context, *arguments); });
}

}  // namespace plumb::cli
