// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "ptx/module.h"

namespace plumb::cli {
namespace {

struct Arguments {
  std::string task, ptx;
  std::vector<std::string> shapes;
  std::uint64_t seed = 0;
};

// Without a task there is no launch: the text is validated and nothing more.
void check_text(Context& context, const Arguments& arguments) {
  Findings findings;
  const SourcePtr source = read_source(arguments.ptx, findings);
  const auto module = source ? ptx::load(source, findings) : std::nullopt;
  if (!module) return refuse(context, findings);
  std::size_t entries = 0, instrs = 0;
  for (const ptx::Function& function : (*module)->functions) {
    entries += function.is_entry ? 1 : 0;
    instrs += function.instrs.size();
  }
  const nlohmann::json object = {{"valid", true},
                                 {"target", (*module)->target.text},
                                 {"entries", entries},
                                 {"instructions", instrs},
                                 {"findings", to_json(findings)}};
  answer(context, object,
         render(findings, context.has_colour_out) +
             fmt::format("valid PTX for {}: {} entries, {} instructions\n", (*module)->target.text, entries, instrs),
         !findings.has_error());
}

void check_launches(Context& context, const Arguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  const auto shapes = parse_shapes(arguments.shapes, findings);
  const auto candidate = task && shapes ? load_candidate(arguments.ptx, findings) : std::nullopt;
  if (!candidate) return refuse(context, findings);
  prove::Options options;
  options.seed = arguments.seed;
  options.workers = context.workers;
  options.shapes = *shapes;
  options.python = context.python();
  prove::Outcome outcome;
  {
    ProgressLine progress(context);
    options.progress = progress.callback();
    outcome = prove::check(*task, *candidate, options);
  }
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  const bool is_safe = outcome.verdict == prove::Verdict::Proved;
  nlohmann::json object = prove::to_json(outcome);
  for (const char* key : {"contract", "failure_probability", "log2_failure_probability"}) object.erase(key);
  object["safe"] = is_safe;
  std::string text = render(outcome.findings, context.has_colour_out);
  for (const prove::ShapeOutcome& shape : outcome.shapes) {
    text += fmt::format("  {:<10} {}  ({} CTAs, {:.2f} s)\n", is_safe ? "safe" : prove::name(shape.verdict),
                        shape.label, shape.ctas, shape.seconds);
  }
  text += is_safe ? "no race, no barrier misuse, no access out of bounds at these shapes\n"
                  : fmt::format("not shown to be safe ({})\n", prove::name(outcome.verdict));
  answer(context, object, text, is_safe);
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("check", "validate a PTX file; with a task, also look for races and bad accesses");
  const auto arguments = std::make_shared<Arguments>();  // shared: the callback outlives this function
  command->add_option("FILE", arguments->ptx, "the PTX")->required();
  command->add_option("--task", arguments->task, "a task's folder or task.toml: how the kernel is launched");
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's prove shapes")
      ->expected(1)
      ->take_all();
  command->add_option("--seed", arguments->seed, "of the random draws; 0: fresh");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] {
    if (arguments->task.empty()) check_text(context, *arguments);
    else check_launches(context, *arguments);
  });
}

}  // namespace plumb::cli
