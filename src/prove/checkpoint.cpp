// SPDX-License-Identifier: Apache-2.0
#include "prove/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>

#include "base/file.h"
#include "base/hash.h"
#include "check/codes.h"
#include "domain/codes.h"
#include "machine/codes.h"
#include "prove/codes.h"
#include "ptx/codes.h"
#include "task/codes.h"
#include "triton/codes.h"

namespace plumb::prove {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "plumb-proof-in-progress-1";

// Numbers come back bit by bit.
Json of(double value) { return std::bit_cast<std::uint64_t>(value); }
double real(const Json& value) { return std::bit_cast<double>(value.get<std::uint64_t>()); }

const Code* find_code(std::string_view id) {
  for (const std::span<const Code* const> list : {ptx::codes(), task::codes(), triton::codes(), domain::codes(),
                                                  machine::codes(), check::codes(), prove::codes()}) {
    for (const Code* code : list) {
      if (code->id == id) return code;
    }
  }
  return nullptr;
}

// A place by the number of its text, 0 for none. Empty: it lies in no text that is known.
std::optional<Json> of(const Place& place, const std::vector<SourcePtr>& sources) {
  const auto found = std::find(sources.begin(), sources.end(), place.source);
  if (place.source && found == sources.end()) return std::nullopt;
  return Json{place.source ? found - sources.begin() + 1 : 0, place.span.begin, place.span.end};
}

Place place_of(const Json& value, const std::vector<SourcePtr>& sources) {
  const auto number = value.at(0).get<std::size_t>();
  return {number == 0 ? nullptr : sources.at(number - 1),
          {value.at(1).get<std::uint32_t>(), value.at(2).get<std::uint32_t>()}};
}

std::optional<Json> of(const Finding& finding, const std::vector<SourcePtr>& sources) {
  const std::optional<Json> place = of(finding.place, sources);
  if (!place || find_code(finding.code->id) != finding.code) return std::nullopt;
  Json notes = Json::array();
  for (const Note& note : finding.notes) {
    const std::optional<Json> at = of(note.place, sources);
    if (!at) return std::nullopt;
    notes.push_back({note.text, *at});
  }
  return Json{{"code", finding.code->id},   {"severity", static_cast<unsigned>(finding.severity)},
              {"message", finding.message}, {"place", *place},
              {"notes", std::move(notes)},  {"hint", finding.hint}};
}

Finding finding_of(const Json& value, const std::vector<SourcePtr>& sources) {
  Finding finding;
  finding.code = find_code(value.at("code").get<std::string>());
  if (finding.code == nullptr) throw std::out_of_range("code");
  finding.severity = static_cast<Severity>(value.at("severity").get<std::uint8_t>());
  finding.message = value.at("message").get<std::string>();
  finding.place = place_of(value.at("place"), sources);
  for (const Json& note : value.at("notes")) {
    finding.notes.push_back({note.at(0).get<std::string>(), place_of(note.at(1), sources)});
  }
  finding.hint = value.at("hint").get<std::string>();
  return finding;
}

Json of(const ShapeOutcome& shape) {
  return {{"label", shape.label},         {"verdict", static_cast<unsigned>(shape.verdict)},
          {"seconds", of(shape.seconds)}, {"ctas", shape.ctas},
          {"all_ctas", shape.all_ctas},   {"programs", shape.programs},
          {"elements", shape.elements},   {"log2_failure", of(shape.log2_failure)}};
}

ShapeOutcome shape_of(const Json& value) {
  ShapeOutcome shape;
  shape.label = value.at("label").get<std::string>();
  shape.verdict = static_cast<Verdict>(value.at("verdict").get<std::uint8_t>());
  shape.seconds = real(value.at("seconds"));
  shape.ctas = value.at("ctas").get<std::uint64_t>();
  shape.all_ctas = value.at("all_ctas").get<std::uint64_t>();
  shape.programs = value.at("programs").get<std::uint64_t>();
  shape.elements = value.at("elements").get<std::uint64_t>();
  shape.log2_failure = real(value.at("log2_failure"));
  return shape;
}

std::optional<Json> of(const ProofState& state, const std::vector<SourcePtr>& sources) {
  const Outcome& outcome = state.outcome;
  Json findings = Json::array(), shapes = Json::array();
  for (const Finding& finding : outcome.findings.list()) {
    std::optional<Json> one = of(finding, sources);
    if (!one) return std::nullopt;
    findings.push_back(std::move(*one));
  }
  for (const ShapeOutcome& shape : outcome.shapes) shapes.push_back(of(shape));
  std::string executed;
  for (const bool is_executed : state.executed) executed += is_executed ? '1' : '0';
  return Json{{"jobs", state.jobs},
              {"executed", executed},
              {"reported", state.reported},
              {"numeric_runs", state.numeric_runs},
              {"first_mode", state.first_mode},
              {"conjecture", state.conjecture},
              {"conjecture_log2", of(state.conjecture_log2)},
              {"contract", static_cast<unsigned>(outcome.contract)},
              {"findings", std::move(findings)},
              {"assumptions", outcome.assumptions},
              {"log2_failure", of(outcome.log2_failure)},
              {"shapes", std::move(shapes)},
              {"primes", outcome.primes},
              {"seed", outcome.seed},
              {"seconds", of(outcome.seconds)}};
}

// Throws where something is missing or is of another type.
ProofState state_of(const Json& value, const std::vector<SourcePtr>& sources) {
  ProofState state;
  state.jobs = value.at("jobs").get<std::uint64_t>();
  for (const char c : value.at("executed").get<std::string>()) state.executed.push_back(c == '1');
  state.reported = value.at("reported").get<std::set<std::string>>();
  state.numeric_runs = value.at("numeric_runs").get<unsigned>();
  state.first_mode = value.at("first_mode").get<unsigned>();
  state.conjecture = value.at("conjecture").get<std::string>();
  state.conjecture_log2 = real(value.at("conjecture_log2"));
  Outcome& outcome = state.outcome;
  outcome.contract = static_cast<Contract>(value.at("contract").get<std::uint8_t>());
  for (const Json& finding : value.at("findings")) outcome.findings.add(finding_of(finding, sources));
  outcome.assumptions = value.at("assumptions").get<std::vector<std::string>>();
  outcome.log2_failure = real(value.at("log2_failure"));
  for (const Json& shape : value.at("shapes")) outcome.shapes.push_back(shape_of(shape));
  outcome.primes = value.at("primes").get<std::vector<std::uint32_t>>();
  outcome.seed = value.at("seed").get<std::uint64_t>();
  outcome.seconds = real(value.at("seconds"));
  return state;
}

}  // namespace

Checkpoint::Checkpoint(const task::Task& task, const Candidate& candidate, const Options& options,
                       std::vector<SourcePtr> sources)
    : options_(options), sources_(std::move(sources)) {
  Findings ignored;
  const std::optional<std::string> self = read_file("/proc/self/exe", ignored);
  Json shapes = Json::array();
  for (const task::Shape& shape : options_.shapes.empty() ? task.prove_shapes : options_.shapes) {
    shapes.push_back(shape.label);
  }
  subject_ = {{"sha256", content_hashes(task, candidate, options_)},
              {"plumb", self ? sha256(*self) : std::string()},
              {"shapes", std::move(shapes)},
              {"metadata_draws", options_.metadata_draws},
              {"log2_failure_limit", of(options_.log2_failure_limit)},
              {"step_budget", options_.step_budget},
              {"sample", options_.sample}};
}

bool Checkpoint::load(ProofState& state, Findings& findings) const {
  std::error_code error;
  if (!std::filesystem::exists(options_.checkpoint, error)) return true;
  const SourcePtr source = read_source(options_.checkpoint, findings);
  if (!source) return false;
  const auto refuse = [&](std::string text) {
    findings.add(kCheckpoint, std::move(text), {source, {0, 1}}).hint = "remove the file to begin anew";
    return false;
  };
  const Json file = Json::parse(source->text(), nullptr, false);
  try {
    if (file.at("format").get<std::string>() != kFormat) return refuse("this is no proof in progress");
    for (const auto& [key, value] : subject_.items()) {
      if (file.at("subject").at(key) == value) continue;
      return refuse(fmt::format("the proof in progress is another one: its {} differ", key));
    }
    ProofState found = state_of(file.at("state"), sources_);
    if (options_.seed != 0 && options_.seed != found.outcome.seed) {
      return refuse(fmt::format("the proof in progress has the seed {}", found.outcome.seed));
    }
    found.outcome.has_spec = state.outcome.has_spec;
    found.outcome.sample = state.outcome.sample;
    state = std::move(found);
  } catch (const Json::exception&) {
    return refuse("this is no proof in progress");
  } catch (const std::out_of_range&) {
    return refuse("this is no proof in progress");
  }
  return true;
}

void Checkpoint::save(const ProofState& state) const {
  const std::optional<Json> written = of(state, sources_);
  if (!written) return;
  Findings ignored;
  const Json file = {{"format", kFormat}, {"subject", subject_}, {"state", *written}};
  write_file(options_.checkpoint, file.dump(1) + "\n", ignored);
}

}  // namespace plumb::prove
