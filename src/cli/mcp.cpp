// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <memory>

#include "agent/codes.h"
#include "agent/mcp_http.h"
#include "agent/mcp_run.h"
#include "agent/mcp_stdio.h"
#include "cli/beginning.h"
#include "cli/commands.h"
#include "cli/version.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct McpArguments {
  std::string task, target, out, http;
  std::vector<std::string> origins;
  Beginning beginning;
};

// Standard output belongs to the protocol: what a person reads goes to standard error.
void tell_end(Context& context, const std::string& from, const agent::McpRun::End& end) {
  std::string text = render(end.findings, context.has_colour_err);
  if (end.judgement) text += prove::to_text(*end.judgement, context.has_colour_err);
  if (from != "source") text += fmt::format("  started    from a {}, not from the source alone\n", from);
  for (const fs::path& file : end.files) text += fmt::format("  wrote      {}\n", file.string());
  print_error(text);
  context.exit_code = end.holds() ? kHolds : kDoesNotHold;
}

// "127.0.0.1:8000" or "[::1]:8000"; a port of 0 takes any.
std::optional<agent::McpHttpOptions> http_options(const Context& context, const McpArguments& arguments,
                                                  Findings& findings) {
  agent::McpHttpOptions options;
  const std::string_view text = arguments.http;
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (port.empty() || error != std::errc() || stop != port.data() + port.size() || colon == 0) {
    findings.add(agent::kMcpListen, fmt::format("`{}` is not ADDRESS:PORT", text));
    return std::nullopt;
  }
  options.address = text.substr(0, colon);
  if (options.address.starts_with('[') && options.address.ends_with(']')) {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  options.origins = arguments.origins;
  options.token = context.mcp_token;
  options.listening = [address = std::string(text.substr(0, colon))](std::uint16_t bound) {
    print_error(fmt::format("plumb: listening on http://{}:{}/mcp\n", address, bound));
  };
  return options;
}

void run_mcp(Context& context, const McpArguments& arguments) {
  Findings findings;
  const std::optional<agent::McpHttpOptions> http =
      arguments.http.empty() ? agent::McpHttpOptions() : http_options(context, arguments, findings);
  if (!http) return refuse(context, findings);
  std::optional<task::Task> task = task::load_task(arguments.task, findings);
  if (!task) return refuse(context, findings);
  agent::McpRunOptions options;
  options.out = !arguments.out.empty() ? fs::path(arguments.out) : fs::path("lowered") / task->name / arguments.target;
  options.given = read_beginning(arguments.beginning, arguments.target, findings);
  if (!options.given && !arguments.beginning.is_source()) return refuse(context, findings);
  options.session.task = std::move(task);
  options.session.target = arguments.target;
  options.session.workers = context.workers;
  options.session.ptxas = session::find_program("ptxas", context.search_path);
  options.session.python = context.python();
  const auto run = agent::McpRun::open(std::move(options), findings);
  if (!run) return refuse(context, findings);
  if (!findings.empty()) print_error(render(findings, context.has_colour_err));
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is no reason to lose the run
  agent::McpServer server(*run, std::string(kVersion));
  if (arguments.http.empty()) {
    agent::serve_mcp_stdio(server, STDIN_FILENO, STDOUT_FILENO);
  } else if (!agent::serve_mcp_http(server, *http, findings)) {
    return refuse(context, findings);
  }
  tell_end(context, run->from(), run->end());
}

}  // namespace

void add_mcp(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("mcp", "let an outside agent lower a task over the Model Context Protocol");
  const auto arguments = std::make_shared<McpArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("--target", arguments->target, "as in sm_89")->required();
  command->add_option(
      "--out", arguments->out,
      "the run's folder, with its log; a run that is there already goes on; default: lowered/NAME/TARGET");
  command->add_option("--http", arguments->http, "ADDRESS:PORT to listen on; default: standard input and output");
  command->add_option("--origin", arguments->origins, "a web origin that may call, beside those of this machine");
  command->footer("Beyond loopback addresses each request must carry the bearer token of PLUMB_MCP_TOKEN.");
  add_beginning(*command, arguments->beginning);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_mcp(context, *arguments); });
}

}  // namespace plumb::cli
