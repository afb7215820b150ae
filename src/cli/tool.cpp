// SPDX-License-Identifier: Apache-2.0
#include "session/tool.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "agent/codes.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "session/codes.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct ToolArguments {
  std::string name, input = "{}", log, folder, task, target, message, text_file;
  bool is_list = false, is_schema = false;
};

std::string read_standard_input() {
  std::string text;
  char block[1 << 14];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, stdin)) > 0;) text.append(block, got);
  return text;
}

// Inline JSON, `-` for standard input, or a file.
std::optional<nlohmann::json> read_input(const ToolArguments& arguments, Findings& findings) {
  const bool is_inline = arguments.input.find_first_not_of(" \t\n") != std::string::npos &&
                         arguments.input[arguments.input.find_first_not_of(" \t\n")] == '{';
  std::optional<std::string> text;
  if (is_inline) text = arguments.input;
  else if (arguments.input == "-") text = read_standard_input();
  else text = read_file(arguments.input, findings);
  if (!text) return std::nullopt;
  nlohmann::json input = nlohmann::json::parse(*text, nullptr, false);
  if (input.is_discarded() || !input.is_object()) {
    findings.add(session::kInput, "the input is not a JSON object");
    return std::nullopt;
  }
  if (!arguments.text_file.empty()) {
    const auto content = read_file(arguments.text_file, findings);
    if (!content) return std::nullopt;
    input["text"] = *content;
  }
  return input;
}

// Where no task is named, the folder above the log is one, as in suite/NAME/TARGET/run.jsonl.
std::string task_path(const ToolArguments& arguments) {
  if (!arguments.task.empty() || arguments.log.empty()) return arguments.task;
  const fs::path above = fs::path(arguments.log).parent_path() / "..";
  std::error_code error;
  return fs::is_regular_file(above / "task.toml", error) ? above.lexically_normal().string() : std::string();
}

// Continues a log, or starts one; the log's target and seed win.
bool open_log(const ToolArguments& arguments, session::Config& config, Findings& findings) {
  if (!agent::is_begun(arguments.log)) {
    if (!config.task) {
      findings.add(session::kNoTask, "a new run log needs a task; name it with --task");
      return false;
    }
    if (config.target.empty()) {
      findings.add(session::kInput, "a new run log needs a target; name it with --target, as in sm_89");
      return false;
    }
    std::error_code error;
    fs::create_directories(config.folder, error);
    config.seed = random_seed();
    const agent::Start start{config.task->name, session::task_sha256(*config.task, findings), session::tools_sha256(),
                             config.target, config.seed};
    return !findings.has_error() && agent::begin_log(arguments.log, start, findings);
  }
  const auto log = agent::read_log(arguments.log, findings);
  if (!log) return false;
  if (!config.target.empty() && config.target != log->start.target) {
    findings.add(agent::kReplayTask, fmt::format("the log is for {}, not for {}", log->start.target, config.target));
    return false;
  }
  if (config.task && (config.task->name != log->start.task ||
                      session::task_sha256(*config.task, findings) != log->start.task_sha256)) {
    findings.add(agent::kReplayTask, "the log was begun for another task, or the task has changed since");
    return false;
  }
  config.target = log->start.target;
  config.seed = log->start.seed;
  return true;
}

// Whether the answer says that something does not hold.
bool holds(const nlohmann::json& output) {
  if (output.contains("verdict")) return output["verdict"] == "proved" && output.value("contract", "kept") == "kept";
  return output.value("accepts", true) && output.value("holds", true);
}

void call_tool(Context& context, const ToolArguments& arguments) {
  Findings findings;
  session::Config config;
  config.folder = !arguments.log.empty() ? fs::path(arguments.log).parent_path() : fs::path(arguments.folder);
  if (config.folder.empty()) config.folder = ".";
  config.target = arguments.target;
  config.workers = context.workers;
  config.ptxas = session::find_program("ptxas", context.search_path);
  config.python = context.python();
  config.seed = 1;
  if (const std::string path = task_path(arguments); !path.empty()) {
    config.task = task::load_task(path, findings);
    if (!config.task) return refuse(context, findings);
  }
  const auto input = arguments.name.empty() ? nlohmann::json::object() : read_input(arguments, findings);
  if (!input || (!arguments.log.empty() && !open_log(arguments, config, findings))) return refuse(context, findings);
  if (!arguments.message.empty() && !agent::log_message(arguments.log, arguments.message, findings)) {
    return refuse(context, findings);
  }
  if (arguments.name.empty()) return;
  ProgressLine progress(context);
  config.progress = progress.callback();
  const session::Session session(std::move(config));
  session::Reply reply;
  if (arguments.log.empty()) {
    reply = session::call(session, arguments.name, *input);
  } else {
    agent::Logged logged = agent::call_and_log(arguments.log, session, arguments.name, *input, findings);
    if (!logged.is_written) return refuse(context, findings);
    reply = std::move(logged.reply);
  }
  progress.clear();
  print_json(reply.output);
  context.exit_code = !reply.is_answer ? kWrongUse : holds(reply.output) ? kHolds : kDoesNotHold;
}

void run_tool(Context& context, const ToolArguments& arguments) {
  if (arguments.is_list) {
    std::string text;
    for (const session::Tool& tool : session::tools()) text += fmt::format("{:<16} {}\n", tool.name, tool.help);
    return answer(context, {{"tools", session::describe_tools()}}, text, true);
  }
  Findings findings;
  if (arguments.is_schema) {
    const session::Tool* tool = session::find_tool(arguments.name);
    if (tool != nullptr) return print_json(nlohmann::json::parse(tool->schema));
    findings.add(session::kTool, fmt::format("there is no tool `{}`", arguments.name)).hint = "`plumb tool --list`";
    return refuse(context, findings);
  }
  const bool is_message = !arguments.message.empty() && !arguments.log.empty();
  if (!arguments.name.empty() || is_message) return call_tool(context, arguments);
  findings.add(session::kInput, "name a tool, or give --message with --log").hint =
      "`plumb tool --list` shows the tools";
  refuse(context, findings);
}

}  // namespace

void add_tool(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("tool", "call one tool of the table, and record it in a run log");
  const auto arguments = std::make_shared<ToolArguments>();  // shared: the callback outlives this function
  command->add_option("NAME", arguments->name, "the tool");
  command->add_option("INPUT", arguments->input, "its input: a JSON object, a file, or - for standard input");
  CLI::Option* log =
      command->add_option("--log", arguments->log, "a run log, begun when absent; its folder is the run folder");
  command->add_option("--folder", arguments->folder, "the run folder where there is no log; default: here")
      ->excludes(log);
  command->add_option("--task", arguments->task, "default: the folder above the log's, where that is a task");
  command->add_option("--target", arguments->target, "as in sm_89; needed to begin a log");
  command->add_option("--message", arguments->message, "what the model says before the call")->needs(log);
  command->add_option("--text", arguments->text_file, "a file whose text becomes the input's `text`");
  command->add_flag("--list", arguments->is_list, "show the tools");
  command->add_flag("--schema", arguments->is_schema, "show the tool's input schema");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_tool(context, *arguments); });
}

}  // namespace plumb::cli
