// SPDX-License-Identifier: Apache-2.0
#include "agent/lower.h"

#include <fmt/format.h>

#include <memory>

#include "agent/codes.h"
#include "agent/providers.h"
#include "agent/replay.h"
#include "cli/beginning.h"
#include "cli/commands.h"
#include "cli/lower_events.h"
#include "gpu/process.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct LowerArguments {
  std::string task, target, provider = "replay", log, out, budget, prices, progress = "auto";
  unsigned lanes = 1;
  double rate = 0;
  std::uint64_t patience = 24;
  bool is_resume = false;
  Beginning beginning;
  agent::ChatConfig chat;
};

nlohmann::json to_json(const agent::LowerOutcome& outcome) {
  nlohmann::json files = nlohmann::json::array();
  for (const fs::path& file : outcome.files) files.push_back(file.string());
  nlohmann::json object =
      outcome.judgement ? prove::to_json(*outcome.judgement) : nlohmann::json{{"verdict", "unknown"}};
  if (!object.contains("findings")) object["findings"] = nlohmann::json::array();
  for (const nlohmann::json& finding : plumb::to_json(outcome.findings)) object["findings"].push_back(finding);
  object["holds"] = outcome.holds();
  object["files"] = std::move(files);
  object["from"] = outcome.from;
  object["stops"] = outcome.stops;
  object["turns"] = outcome.spent.turns;
  object["usage"] = agent::to_json(outcome.spent.usage);
  object["usd"] = outcome.knows_price ? nlohmann::json(outcome.spent.usd) : nlohmann::json();
  if (outcome.nanoseconds) object["nanoseconds"] = *outcome.nanoseconds;
  return object;
}

std::string to_text(const agent::LowerOutcome& outcome, bool colour) {
  std::string text = render(outcome.findings, colour);
  if (outcome.judgement) text += prove::to_text(*outcome.judgement, colour);
  if (outcome.from != "source")
    text += fmt::format("  started    from a {}, not from the source alone\n", outcome.from);
  for (const std::string& stop : outcome.stops) text += fmt::format("  stopped    {}\n", stop);
  if (outcome.spent.turns > 0) {
    text += fmt::format("  used       {}{}\n", agent::to_text({}, outcome.spent, outcome.knows_price),
                        outcome.knows_price ? "" : "; money is not counted, the price of the model is not known");
  }
  for (const fs::path& file : outcome.files) text += fmt::format("  wrote      {}\n", file.string());
  return text;
}

bool has_gpu() {
  constexpr double kSeconds = 60;
  gpu::WorkerProcess worker(gpu::own_worker_command({}));
  return worker.ask({{"op", "facts"}}, kSeconds).value("status", "") == "done";
}

// What only a live provider has use for.
bool set_live(const LowerArguments& arguments, agent::LowerOptions& options, agent::ChatConfig& chat,
              Findings& findings) {
  const agent::ServiceEnvironment environment = {
      environment_value("ANTHROPIC_API_KEY"), environment_value("ANTHROPIC_BASE_URL"),
      environment_value("OPENAI_API_KEY"), environment_value("OPENAI_BASE_URL")};
  if (!agent::complete(arguments.provider, environment, chat, findings)) return false;
  const auto budget =
      agent::parse_budget(arguments.budget.empty() ? "turns=60,minutes=120" : arguments.budget, findings);
  if (!budget) return false;
  options.budget = *budget;
  if (!arguments.prices.empty()) {
    const auto prices = agent::read_prices(arguments.prices, findings);
    if (!prices) return false;
    if (const auto found = prices->find(chat.model); found != prices->end()) options.price = found->second;
  }
  if (budget->usd && !options.price) {
    findings.add(agent::kBudget, fmt::format("a limit in dollars, and the price of `{}` is not known", chat.model))
        .hint = "give a table with --prices; `plumb explain agent.prices` shows one";
    return false;
  }
  options.given = read_beginning(arguments.beginning, arguments.target, findings);
  if (options.given) options.from = options.given->from;
  else if (!arguments.beginning.is_source()) return false;
  options.model = chat.model;
  options.lanes = arguments.lanes;
  options.patience = arguments.patience;
  options.has_gpu = has_gpu();
  return true;
}

std::vector<std::unique_ptr<agent::Provider>> make_providers(const LowerArguments& arguments, const task::Task& task,
                                                             agent::LowerOptions& options, Findings& findings) {
  std::vector<std::unique_ptr<agent::Provider>> out;
  options.provider = arguments.provider;
  if (arguments.provider == "replay") {
    if (!arguments.beginning.is_source()) {
      findings.add(agent::kRunOther, "a replay begins as its log says, and with no other text");
      return out;
    }
    const fs::path log =
        !arguments.log.empty() ? fs::path(arguments.log) : task.folder / arguments.target / "run.jsonl";
    auto replay =
        agent::make_replay({log, task.name, session::task_sha256(task, findings), arguments.target}, findings);
    if (!replay) return out;
    options.from = replay->start().from;
    options.lanes = replay->start().lanes;
    options.model = replay->start().model;
    out.push_back(std::move(replay));
    return out;
  }
  agent::ChatConfig chat = arguments.chat;
  chat.limit = std::make_shared<agent::RateLimit>(arguments.rate);
  if (!set_live(arguments, options, chat, findings)) return out;
  for (unsigned lane = 0; lane < options.lanes; ++lane) out.push_back(agent::make_live(arguments.provider, chat));
  return out;
}

void run_lower(Context& context, const LowerArguments& arguments) {
  Findings findings;
  std::optional<task::Task> task = task::load_task(arguments.task, findings);
  if (!task) return refuse(context, findings);
  agent::LowerOptions options;
  const auto providers = make_providers(arguments, *task, options, findings);
  if (providers.empty()) return refuse(context, findings);
  std::vector<agent::Provider*> borrowed;
  borrowed.reserve(providers.size());
  for (const auto& provider : providers) borrowed.push_back(provider.get());
  options.out = !arguments.out.empty() ? fs::path(arguments.out) : fs::path("lowered") / task->name / arguments.target;
  options.is_resume = arguments.is_resume;
  options.session.task = std::move(task);
  options.session.target = arguments.target;
  options.session.workers = context.workers;
  options.session.ptxas = session::find_program("ptxas", context.search_path);
  options.session.python = context.python();
  ProgressLine progress(context);
  options.session.progress = progress.callback();
  LowerEvents events(options.budget, options.price.has_value(), options.lanes, context.has_colour_err);
  if (arguments.progress == "always" || (arguments.progress == "auto" && context.is_err_terminal && !context.is_json)) {
    options.watch = [&](const nlohmann::json& event) {
      progress.clear();
      print_error(events.text(event));
    };
  }
  if (!findings.empty() && !context.is_json) print_error(render(findings, context.has_colour_err));
  const agent::LowerOutcome outcome = agent::lower(borrowed, options);
  progress.clear();
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  answer(context, to_json(outcome), to_text(outcome, context.has_colour_out), outcome.holds());
}

}  // namespace

void add_lower(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("lower", "take a task to proved PTX with a model's help");
  const auto arguments = std::make_shared<LowerArguments>();  // shared: the callback outlives this function
  agent::ChatConfig& chat = arguments->chat;
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("--target", arguments->target, "as in sm_89")->required();
  command->add_option("--provider", arguments->provider,
                      "who answers as the model: replay (a stored run log), anthropic, openai");
  command->add_option("--log", arguments->log, "of replay; default: TASK/TARGET/run.jsonl");
  command->add_option("--out", arguments->out,
                      "gets the lowering, its proof and the run log; default: lowered/NAME/TARGET");
  command->add_flag("--resume", arguments->is_resume, "go on with the run in --out, where there is one");
  command->add_option("--model", chat.model, "the service's name of it");
  command->add_option("--base-url", chat.base_url, "of a server that speaks the same protocol");
  command->add_option("--budget", arguments->budget,
                      "turns=N,tokens=N,usd=N,minutes=N, any of them; default: turns=60,minutes=120");
  command->add_option("--prices", arguments->prices, "a table of prices; without one money is not counted");
  command->add_option("--lanes", arguments->lanes, "that many conversations side by side")->check(CLI::Range(1, 16));
  command->add_option("--patience", arguments->patience, "judgements without progress before a lane gives up")
      ->check(CLI::Range(1, 10000));
  add_beginning(*command, arguments->beginning);
  command->add_option("--max-output", chat.most_output, "tokens of one answer")->check(CLI::Range(256, 1000000));
  command->add_option("--effort", chat.effort, "how hard the model tries, in the service's words");
  command->add_option("--thinking", chat.thinking, "of anthropic: adaptive, off or a number of tokens");
  command->add_option("--timeout", chat.quiet_seconds, "seconds without a byte from the server; default 300")
      ->check(CLI::Range(1.0, 86400.0));
  command->add_option("--tries", chat.most_tries, "of one request")->check(CLI::Range(1, 100));
  command->add_option("--rate", arguments->rate, "requests a minute, of all lanes together; default: as many as come")
      ->check(CLI::Range(0.001, 1e6));
  command->add_option("--progress", arguments->progress, "show what happens: auto (on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_lower(context, *arguments); });
}

}  // namespace plumb::cli
