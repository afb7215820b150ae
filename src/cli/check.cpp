// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "ptx/lint.h"
#include "ptx/module.h"
#include "session/process.h"
#include "session/ptxas.h"

namespace plumb::cli {
namespace {

struct CheckArguments {
  std::string task, ptx;
  std::vector<std::string> shapes;
  std::uint64_t seed = 0, memory = 0;
};

nlohmann::json to_json(const ptx::FunctionFacts& facts, const session::PtxasReport& report) {
  nlohmann::json out = {{"name", facts.name},
                        {"entry", facts.is_entry},
                        {"instructions", facts.instructions},
                        {"live_registers", facts.registers},
                        {"live_predicates", facts.predicates},
                        {"shared_bytes", facts.shared_bytes},
                        {"dynamic_shared", facts.has_dynamic_shared},
                        {"local_bytes", facts.local_bytes}};
  for (const session::PtxasFunction& one : report.functions) {
    if (one.name != facts.name) continue;
    out["ptxas"] = {{"registers", one.registers},     {"barriers", one.barriers},
                    {"stack_bytes", one.stack_bytes}, {"spill_stores", one.spill_stores},
                    {"spill_loads", one.spill_loads}, {"shared_bytes", one.shared_bytes}};
  }
  return out;
}

std::string line_of(const ptx::FunctionFacts& facts, const session::PtxasReport& report) {
  std::string out = fmt::format("  {}: {} instructions, about {} registers and {} predicates live, {} bytes shared{}",
                                facts.name, facts.instructions, facts.registers, facts.predicates, facts.shared_bytes,
                                facts.has_dynamic_shared ? " and dynamic" : "");
  for (const session::PtxasFunction& one : report.functions) {
    if (one.name != facts.name || one.registers == 0) continue;
    out += fmt::format("; ptxas: {} registers, {} bytes spilled", one.registers, one.spill_stores + one.spill_loads);
  }
  return out + "\n";
}

// Without a task there is no launch: the text is validated, advised on, and shown to ptxas where there is one.
void check_text(Context& context, const CheckArguments& arguments) {
  Findings findings;
  const SourcePtr source = read_source(arguments.ptx, findings);
  const auto module = source ? ptx::load(source, findings) : std::nullopt;
  if (!module) return refuse(context, findings);
  ptx::Advice advice = ptx::lint(*module);
  findings.append(std::move(advice.findings));
  session::PtxasReport report;
  const std::string& target = (*module)->target.text;
  if (const auto ptxas = session::find_program("ptxas", context.search_path); !ptxas.empty()) {
    report = session::ask_ptxas(ptxas, arguments.ptx, target, source);
    findings.append(std::move(report.findings));
  }
  nlohmann::json functions = nlohmann::json::array();
  std::string text = render(findings, context.has_colour_out);
  text += fmt::format("valid PTX for {}{}\n", target,
                      report.has_run ? (report.accepts ? ", and for ptxas" : ", and ptxas refuses it") : "");
  std::size_t entries = 0, instrs = 0;
  for (const ptx::FunctionFacts& facts : advice.functions) {
    entries += facts.is_entry ? 1 : 0;
    instrs += facts.instructions;
    functions.push_back(to_json(facts, report));
    text += line_of(facts, report);
  }
  const nlohmann::json object = {{"valid", true},
                                 {"target", target},
                                 {"entries", entries},
                                 {"instructions", instrs},
                                 {"functions", functions},
                                 {"ptxas", {{"is_here", report.has_run}, {"accepts", report.accepts}}},
                                 {"findings", to_json(findings)}};
  answer(context, object, text, !findings.has_error());
}

void check_launches(Context& context, const CheckArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings, false);
  const auto shapes = parse_shapes(arguments.shapes, findings);
  const auto candidate = task && shapes ? load_candidate(arguments.ptx, findings) : std::nullopt;
  if (!candidate) return refuse(context, findings);
  prove::Options options;
  options.seed = arguments.seed;
  options.memory = arguments.memory;
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
      app.add_subcommand("check", "validate a PTX file and advise on it; with a task, look for races and bad accesses");
  const auto arguments = std::make_shared<CheckArguments>();  // shared: the callback outlives this function
  command->add_option("FILE", arguments->ptx, "the PTX")->required();
  command->add_option("--task", arguments->task, "a task's folder or task.toml: how the kernel is launched");
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's prove shapes")
      ->expected(1)
      ->take_all();
  command->add_option("--seed", arguments->seed, "of the random draws; 0: fresh");
  add_memory(*command, arguments->memory);
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] {
    if (arguments->task.empty()) check_text(context, *arguments);
    else check_launches(context, *arguments);
  });
}

}  // namespace plumb::cli
