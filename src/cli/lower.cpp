// SPDX-License-Identifier: Apache-2.0
#include "agent/lower.h"

#include <fmt/format.h>

#include <memory>

#include "agent/provider.h"
#include "cli/commands.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string task, target, provider = "replay", log, out;
};

// One tool call in a line: what was asked for, and what came of it.
std::string call_line(const nlohmann::json& event) {
  const nlohmann::json& output = event["output"];
  std::string what;
  if (output.contains("verdict") && event["tool"] == "check") {
    what = output["verdict"] == "proved" ? "safe at these shapes" : "not safe";
  } else if (output.contains("verdict")) {
    what = fmt::format("{}, contract {}", output["verdict"].get<std::string>(),
                       output["contract"].is_string() ? output["contract"].get<std::string>() : "-");
  } else if (output.contains("accepts")) {
    what = output["accepts"] == true ? "accepted" : "not accepted";
  } else if (output.contains("holds")) {
    what = output["holds"] == true ? "agrees with the Triton source" : "does not agree";
  } else if (output.contains("lines")) {
    what = fmt::format("{}, {} lines", output.value("file", ""), output["lines"].get<std::uint64_t>());
  } else if (!event.value("is_answer", true)) {
    what = "refused";
  }
  std::string out =
      fmt::format("  {:<16} {}  ({:.1f} s)\n", event["tool"].get<std::string>(), what, event.value("seconds", 0.0));
  const auto findings = output.find("findings");
  if (findings == output.end() || !findings->is_array()) return out;
  std::size_t shown = 0;
  for (const nlohmann::json& finding : *findings) {
    if (finding.value("severity", "") != "error" || shown++ == 3) continue;
    if (shown > 3) continue;
    const std::string place = finding.contains("line")
                                  ? fmt::format("{}:{}: ", finding.value("file", ""), finding["line"].get<int>())
                                  : std::string();
    out +=
        fmt::format("                   {}{} [{}]\n", place, finding.value("message", ""), finding.value("code", ""));
  }
  return out;
}

std::string event_text(const nlohmann::json& event, bool colour) {
  const std::string kind = event.value("event", "");
  if (kind == "message") {
    return fmt::format("{}model:{} {}\n", colour ? "\x1b[1;34m" : "", colour ? "\x1b[0m" : "", event.value("text", ""));
  }
  if (kind == "call") return call_line(event);
  return "  proved again from scratch with a fresh seed\n";
}

nlohmann::json to_json(const agent::LowerOutcome& outcome) {
  nlohmann::json files = nlohmann::json::array();
  for (const fs::path& file : outcome.files) files.push_back(file.string());
  nlohmann::json object =
      outcome.judgement ? prove::to_json(*outcome.judgement) : nlohmann::json{{"verdict", "unknown"}};
  if (!object.contains("findings")) object["findings"] = nlohmann::json::array();
  for (const nlohmann::json& finding : plumb::to_json(outcome.findings)) object["findings"].push_back(finding);
  object["holds"] = outcome.holds();
  object["files"] = std::move(files);
  return object;
}

std::string to_text(const agent::LowerOutcome& outcome, bool colour) {
  std::string text = render(outcome.findings, colour);
  if (outcome.judgement) text += prove::to_text(*outcome.judgement, colour);
  for (const fs::path& file : outcome.files) text += fmt::format("  wrote      {}\n", file.string());
  return text;
}

void run_lower(Context& context, const Arguments& arguments) {
  Findings findings;
  std::optional<task::Task> task = task::load_task(arguments.task, findings);
  if (!task) return refuse(context, findings);
  agent::ProviderConfig provider_config;
  provider_config.log =
      !arguments.log.empty() ? fs::path(arguments.log) : task->folder / arguments.target / "run.jsonl";
  provider_config.task = task->name;
  provider_config.task_sha256 = session::task_sha256(*task, findings);
  provider_config.target = arguments.target;
  const auto provider = agent::make_provider(arguments.provider, provider_config, findings);
  if (!provider) return refuse(context, findings);
  agent::LowerOptions options;
  options.out = !arguments.out.empty() ? fs::path(arguments.out) : fs::path("lowered") / task->name / arguments.target;
  options.session.task = std::move(task);
  options.session.target = arguments.target;
  options.session.workers = context.workers;
  options.session.ptxas = session::find_program("ptxas", context.search_path);
  options.session.python = context.python();
  ProgressLine progress(context);
  options.session.progress = progress.callback();
  if (!context.is_json) {
    options.watch = [&](const nlohmann::json& event) {
      progress.clear();
      print(event_text(event, context.has_colour_out));
    };
  }
  if (!findings.empty() && !context.is_json) print_error(render(findings, context.has_colour_err));
  const agent::LowerOutcome outcome = agent::lower(*provider, options);
  progress.clear();
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  answer(context, to_json(outcome), to_text(outcome, context.has_colour_out), outcome.holds());
}

}  // namespace

void add_lower(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("lower", "take a task to proved PTX with a model's help");
  const auto arguments = std::make_shared<Arguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("--target", arguments->target, "as in sm_89")->required();
  command->add_option("--provider", arguments->provider, "who answers as the model: replay (a stored run log)");
  command->add_option("--log", arguments->log, "of replay; default: TASK/TARGET/run.jsonl");
  command->add_option("--out", arguments->out,
                      "gets the lowering, its proof and the run log; default: lowered/NAME/TARGET");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_lower(context, *arguments); });
}

}  // namespace plumb::cli
