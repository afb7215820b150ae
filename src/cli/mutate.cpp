// SPDX-License-Identifier: Apache-2.0
#include "mutate/mutate.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "session/codes.h"
#include "session/mutation.h"

namespace plumb::cli {
namespace {

struct MutateArguments {
  std::string task, ptx, out;
  std::vector<std::string> shapes, operators;
  std::uint64_t seed = 1;
  std::size_t most = 0;
  double seconds = 60;
  unsigned schedules = 4;
  bool is_list = false;
};

std::optional<mutate::Options> draw_of(const MutateArguments& arguments, Findings& findings) {
  mutate::Options draw{{}, arguments.seed, arguments.most, {}};
  for (const std::string& name : arguments.operators) {
    const mutate::Operator* op = mutate::find_operator(name);
    if (op == nullptr) {
      findings.add(session::kMutationOperator, fmt::format("there is no operator `{}`", name)).hint =
          "`plumb mutate --operators` lists them";
      return std::nullopt;
    }
    draw.operators.push_back(op);
  }
  return draw;
}

void list_operators(Context& context) {
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  for (const mutate::Operator& op : mutate::operators()) {
    rows.push_back({{"name", op.name}, {"summary", op.summary}});
    text += fmt::format("{:<22} {}\n", op.name, op.summary);
  }
  answer(context, {{"operators", std::move(rows)}}, text, true);
}

// Without a task nothing is judged: the mutants are listed, and written where a folder is named.
void list_mutants(Context& context, const MutateArguments& arguments, const mutate::Options& draw) {
  Findings findings;
  const SourcePtr source = read_source(arguments.ptx, findings);
  const auto module = source ? ptx::load(source, findings) : std::nullopt;
  if (!module) return refuse(context, findings);
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  for (const mutate::Mutant& mutant : mutate::mutants(*module, draw)) {
    rows.push_back(session::to_json(mutant, *source));
    text += session::describe(mutant, *source) + "\n";
    if (arguments.out.empty()) continue;
    const std::string name = fmt::format("{:05}-{}.ptx", rows.size(), mutant.op->name);
    rows.back()["file"] = name;
    const auto path = std::filesystem::path(arguments.out) / name;
    if (!write_file(path, mutate::apply(mutant, *source), findings)) return refuse(context, findings);
  }
  text += fmt::format("{} mutants\n", rows.size());
  answer(context, {{"mutants", std::move(rows)}}, text, true);
}

void judge(Context& context, const MutateArguments& arguments, mutate::Options draw) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  const auto shapes = parse_shapes(arguments.shapes, findings);
  const auto candidate = task && shapes ? load_candidate(arguments.ptx, findings) : std::nullopt;
  if (!candidate) return refuse(context, findings);
  session::MutationOptions options;
  options.draw = std::move(draw);
  options.shapes = *shapes;
  options.seconds = arguments.seconds;
  options.schedules = arguments.schedules;
  options.workers = context.workers;
  options.python = context.python();
  session::MutationOutcome outcome;
  {
    ProgressLine progress(context);
    const auto show = progress.callback();
    if (show)
      options.progress = [&show](std::size_t done, std::size_t all) { return show({"mutants", "judge", done, all}); };
    outcome = session::judge_mutants(*task, *candidate, arguments.ptx, options);
  }
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  const Source& source = *candidate->module->source;
  const bool all_caught = outcome.count(session::JudgedMutant::End::Caught) == outcome.mutants.size();
  answer(context, session::to_json(outcome, source), session::to_text(outcome, source, context.has_colour_out),
         all_caught);
}

void run_mutate(Context& context, const MutateArguments& arguments) {
  if (arguments.is_list) return list_operators(context);
  Findings findings;
  if (arguments.ptx.empty()) {
    findings.add(session::kMutationOperator, "no PTX file is named, and `--operators` is not given");
    return refuse(context, findings);
  }
  auto draw = draw_of(arguments, findings);
  if (!draw) return refuse(context, findings);
  if (arguments.task.empty()) list_mutants(context, arguments, *draw);
  else judge(context, arguments, std::move(*draw));
}

}  // namespace

void add_mutate(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("mutate", "plant faults in a PTX file; with a task, see whether they are found");
  const auto arguments = std::make_shared<MutateArguments>();  // shared: the callback outlives this function
  command->add_option("FILE", arguments->ptx, "the PTX");
  CLI::Option* task = command->add_option("--task", arguments->task, "a task's folder or task.toml: judge each mutant");
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's prove shapes")
      ->expected(1)
      ->take_all()
      ->needs(task);
  command->add_option("--operator", arguments->operators, "a kind of fault; repeatable; default: all")
      ->expected(1)
      ->take_all();
  command->add_flag("--operators", arguments->is_list, "list the kinds of faults");
  command->add_option("--most", arguments->most, "how many mutants, the kinds in turn; 0: all");
  command->add_option("--seed", arguments->seed, "which ones, and their order");
  command->add_option("--seconds", arguments->seconds, "for each mutant")->needs(task);
  command->add_option("--schedules", arguments->schedules, "orders that a proved mutant is run in; 0: none")
      ->needs(task);
  command->add_option("--out", arguments->out, "an existing folder: write each mutant there")->excludes(task);
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_mutate(context, *arguments); });
}

}  // namespace plumb::cli
