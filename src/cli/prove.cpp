// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "prove/codes.h"

namespace plumb::cli {
namespace {

struct ProveArguments {
  std::string task, ptx, spec, certificate, recheck, resume;
  std::vector<std::string> shapes;
  std::uint64_t seed = 0, memory = 0, sample = 0;
};

// Bad input still prints the whole object under --json, with the verdict `unknown`.
void refuse_proof(Context& context, Findings findings) {
  if (!context.is_json) return refuse(context, findings);
  prove::Outcome outcome;
  outcome.findings = std::move(findings);
  print_json(prove::to_json(outcome));
  context.exit_code = kWrongUse;
}

std::optional<nlohmann::json> read_certificate(const std::string& path, Findings& findings) {
  const SourcePtr source = read_source(path, findings);
  if (!source) return std::nullopt;
  nlohmann::json value = nlohmann::json::parse(source->text(), nullptr, false);
  if (!value.is_discarded() && value.is_object()) return value;
  findings.add(prove::kCertificate, "this is no certificate of plumb", {source, {0, 1}});
  return std::nullopt;
}

void run_prove(Context& context, const ProveArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings, arguments.spec.empty());
  const auto shapes = parse_shapes(arguments.shapes, findings);
  const auto candidate = task && shapes ? load_candidate(arguments.ptx, findings) : std::nullopt;
  std::optional<nlohmann::json> certificate;
  if (candidate && !arguments.recheck.empty()) certificate = read_certificate(arguments.recheck, findings);
  if (!candidate || (!arguments.recheck.empty() && !certificate)) return refuse_proof(context, std::move(findings));
  prove::Options options;
  options.seed = arguments.seed;
  options.memory = arguments.memory;
  options.sample = arguments.sample;
  options.checkpoint = arguments.resume;
  options.workers = context.workers;
  options.shapes = *shapes;
  options.python = context.python();
  if (!arguments.spec.empty()) {
    std::optional<prove::Candidate> spec = load_candidate(arguments.spec, findings);
    if (!spec) return refuse_proof(context, std::move(findings));
    options.spec = std::make_shared<const prove::Candidate>(std::move(*spec));
  }
  prove::Outcome outcome;
  {
    ProgressLine progress(context);
    options.progress = progress.callback();
    outcome = certificate ? prove::recheck(*certificate, *task, *candidate, options)
                          : prove::prove(*task, *candidate, options);
  }
  if (outcome.is_bad_input) return refuse_proof(context, std::move(outcome.findings));
  if (!arguments.certificate.empty()) {
    const std::string text = prove::certificate(*task, *candidate, outcome, options).dump(2) + "\n";
    if (!write_file(arguments.certificate, text, findings)) return refuse(context, findings);
  }
  // What is decided needs no going on with.
  std::error_code error;
  if (outcome.verdict != prove::Verdict::Unknown) std::filesystem::remove(options.checkpoint, error);
  answer(context, prove::to_json(outcome), prove::to_text(outcome, context.has_colour_out), outcome.holds());
}

}  // namespace

void add_prove(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("prove", "prove a PTX file equal to a task's Triton source, or to another PTX file");
  const auto arguments = std::make_shared<ProveArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("FILE", arguments->ptx, "the PTX, with a launch header or Triton's launch JSON beside it")
      ->required();
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's prove shapes")
      ->expected(1)
      ->take_all();
  command->add_option("--spec", arguments->spec, "prove against this PTX instead of the task's Triton source");
  command->add_option("--seed", arguments->seed, "of the random draws; 0: fresh");
  command->add_option("--certificate", arguments->certificate, "write a certificate");
  command->add_option("--recheck", arguments->recheck, "repeat the proof that a certificate names");
  command->add_option("--resume", arguments->resume,
                      "keep in this file how far the proof is, and go on from there if it was stopped");
  command->add_option("--sample", arguments->sample,
                      "run so many CTAs (clusters) of the candidate's grid only, drawn: `sampled`, never `proved`");
  add_memory(*command, arguments->memory);
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_prove(context, *arguments); });
}

}  // namespace plumb::cli
