// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/file.h"
#include "session/codes.h"
#include "session/handlers.h"
#include "session/npy.h"
#include "session/ptxas.h"
#include "session/run.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

// Long enough that what is said about a difference does not hang on how fast the machine is: replays compare it.
constexpr double kWitnessSeconds = 600;

task::Shape shape_of(const Json& sizes) {
  task::Shape shape;
  for (const auto& [name, value] : sizes.items()) shape.sizes[name] = value.get<std::int64_t>();
  shape.label = task::label_of(shape.sizes);
  return shape;
}

prove::Options options_of(const Session& session, const Json& input) {
  prove::Options options;
  options.seed = session.config().seed;
  options.workers = session.config().workers;
  options.python = session.config().python;
  options.progress = session.config().progress;
  options.witness_seconds = kWitnessSeconds;
  for (const Json& sizes : input.value("shapes", Json::array())) options.shapes.push_back(shape_of(sizes));
  return options;
}

// The seed and the primes stay hidden: code could be made for them.
Json shown(const prove::Outcome& outcome) {
  Json out = prove::to_json(outcome);
  out.erase("seed");
  out.erase("primes");
  return out;
}

using Judge = prove::Outcome (*)(const task::Task&, const prove::Candidate&, const prove::Options&);

Reply judged(const Session& session, const Json& input, Judge judge) {
  Findings findings;
  const task::Task* task = session.task(findings);
  if (task == nullptr) return refuse(findings);
  const std::string file = input.value("file", session.default_file());
  const auto candidate = session.candidate(file, findings);
  if (!candidate) return refuse(findings);
  const prove::Outcome outcome = judge(*task, *candidate, options_of(session, input));
  if (outcome.is_bad_input) return refuse(outcome.findings);
  Json out = shown(outcome);
  out["file"] = file;
  return {true, std::move(out)};
}

// What ptxas says, for the target of the module; it writes its code nowhere.
Json ask_ptxas(const Session& session, const std::string& file, const std::string& target) {
  const Config& config = session.config();
  if (config.ptxas.empty()) return {{"is_here", false}};
  const ProcessResult result = run_ptxas(config.ptxas, config.folder / file, target);
  return {{"is_here", true}, {"accepts", result.exit_code == 0}, {"output", result.output}};
}

}  // namespace

Reply assemble(const Session& session, const Json& input) {
  Findings findings;
  const std::string file = input.value("file", session.default_file());
  const SourcePtr source = session.read(file, findings);
  if (!source) return refuse(findings);
  Findings own;
  const auto candidate = session.candidate(file, own);
  Json out = {{"file", file}, {"accepts", candidate.has_value()}, {"findings", to_json(own)}};
  if (candidate) {
    const std::string& target = session.config().target;
    out["ptxas"] = ask_ptxas(session, file, target.empty() ? candidate->module->target.text : target);
  }
  return {true, std::move(out)};
}

Reply check_candidate(const Session& session, const Json& input) { return judged(session, input, prove::check); }

Reply prove_candidate(const Session& session, const Json& input) { return judged(session, input, prove::prove); }

Reply run_candidate(const Session& session, const Json& input) {
  Findings findings;
  const task::Task* task = session.task(findings);
  if (task == nullptr) return refuse(findings);
  const auto candidate = session.candidate(input.value("file", session.default_file()), findings);
  RunOptions options;
  options.seed = session.config().seed;
  options.workers = session.config().workers;
  options.python = session.config().python;
  options.progress = session.config().progress;
  options.has_spec = true;
  if (input.contains("shape")) options.shape = shape_of(input["shape"]);
  const Json inputs = input.value("inputs", Json::object());  // items() does not keep what it goes over
  for (const auto& [name, file] : inputs.items()) {
    const auto path = session.path_of(file.get<std::string>(), ".npy", findings);
    const auto bytes = path ? read_file(*path, findings) : std::nullopt;
    const auto array = bytes ? parse_npy(*bytes, file.get<std::string>(), findings) : std::nullopt;
    if (array) options.inputs[name] = *array;
  }
  if (!candidate || findings.has_error()) return refuse(findings);
  const RunOutcome outcome = run(*task, *candidate, options);
  if (outcome.is_bad_input) return refuse(outcome.findings);
  if (input.value("save", false)) {
    for (const RunOutput& output : outcome.outputs) {
      const auto path = session.path_of(output.name + ".npy", ".npy", findings);
      if (!path || !write_file(*path, format_npy(output.array), findings)) return refuse(findings);
    }
  }
  return {true, to_json(outcome)};
}

}  // namespace plumb::session
