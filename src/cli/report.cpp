// SPDX-License-Identifier: Apache-2.0
#include "agent/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "agent/export.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "cli/commands.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string run, html, out;
};

// A run's folder, or its log itself.
std::optional<agent::RunLog> read_run(Context& context, const std::string& path, Findings& findings) {
  std::error_code error;
  const fs::path log = fs::is_directory(path, error) ? fs::path(path) / "run.jsonl" : fs::path(path);
  std::optional<agent::RunLog> run = agent::read_log(log, findings);
  if (!run) refuse(context, findings);
  else if (!findings.empty() && !context.is_json) print_error(render(findings, context.has_colour_err));
  return run;
}

void run_report(Context& context, const ReportArguments& arguments) {
  Findings findings;
  const auto log = read_run(context, arguments.run, findings);
  if (!log) return;
  const agent::Story story = agent::read_story(*log);
  if (!arguments.html.empty() && !write_file(arguments.html, agent::report_html(story), findings)) {
    return refuse(context, findings);
  }
  const std::string text = arguments.html.empty() ? agent::report_text(story, context.has_colour_out)
                                                  : fmt::format("wrote {}\n", arguments.html);
  answer(context, context.is_json ? agent::report_json(story) : nlohmann::json(), text, true);
}

void run_export(Context& context, const ReportArguments& arguments) {
  Findings findings;
  const auto log = read_run(context, arguments.run, findings);
  if (!log) return;
  std::string text;
  for (const nlohmann::json& line : agent::trajectories(*log)) {
    text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  if (arguments.out.empty()) return print(text);
  if (!write_file(arguments.out, text, findings)) return refuse(context, findings);
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("report", "tell how a run went: turns, candidates, verdicts, speed, cost");
  const auto arguments = std::make_shared<ReportArguments>();  // shared: the callback outlives this function
  command->add_option("RUN", arguments->run, "a run's folder or its run.jsonl")->required();
  command->add_option("--html", arguments->html, "write one self-contained page to this file");
  add_json(*command, context);
  command->callback([arguments, &context] { run_report(context, *arguments); });
}

void add_export(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("export", "write a run as training data: JSON lines with rewards");
  const auto arguments = std::make_shared<ReportArguments>();
  command->add_option("RUN", arguments->run, "a run's folder or its run.jsonl")->required();
  command->add_option("--out", arguments->out, "default: standard output");
  add_json(*command, context);
  command->callback([arguments, &context] { run_export(context, *arguments); });
}

}  // namespace plumb::cli
