// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "prove/prove.h"

namespace plumb::prove {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Proved:
      return "proved";
    case Verdict::Different:
      return "different";
    case Verdict::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view name(Contract contract) { return contract == Contract::Kept ? "kept" : "weaker"; }

nlohmann::json to_json(const Outcome& outcome) {
  nlohmann::json shapes = nlohmann::json::array();
  for (const ShapeOutcome& shape : outcome.shapes) {
    shapes.push_back({{"shape", shape.label},
                      {"verdict", name(shape.verdict)},
                      {"seconds", shape.seconds},
                      {"ctas", shape.ctas},
                      {"programs", shape.programs},
                      {"elements", shape.elements},
                      {"log2_failure_probability", shape.log2_failure}});
  }
  nlohmann::json out;
  out["verdict"] = name(outcome.verdict);
  out["contract"] = name(outcome.contract);
  out["assumptions"] = outcome.assumptions;
  out["failure_probability"] = outcome.verdict == Verdict::Proved ? std::exp2(outcome.log2_failure) : 1.0;
  out["log2_failure_probability"] = outcome.verdict == Verdict::Proved ? outcome.log2_failure : 0.0;
  out["shapes"] = std::move(shapes);
  out["findings"] = plumb::to_json(outcome.findings);
  out["seconds"] = outcome.seconds;
  out["seed"] = outcome.seed;
  out["primes"] = outcome.primes;
  out["coverage"] = {{"instructions_executed", outcome.instrs_executed},
                     {"instructions", outcome.instrs_total},
                     {"lines_not_executed", outcome.lines_not_executed}};
  return out;
}

std::string to_text(const Outcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour);
  const std::string_view tint = !colour ? "" : outcome.holds() ? "\x1b[1;32m" : "\x1b[1;31m";
  const std::string_view reset = colour ? "\x1b[0m" : "";
  for (const ShapeOutcome& shape : outcome.shapes) {
    out += fmt::format("  {:<10} {}  ({} CTAs, {} elements, {:.2f} s)\n", name(shape.verdict), shape.label, shape.ctas,
                       shape.elements, shape.seconds);
  }
  if (outcome.instrs_total != 0) {
    out += fmt::format("  executed   {} of {} instructions\n", outcome.instrs_executed, outcome.instrs_total);
  }
  if (outcome.verdict == Verdict::Proved) {
    for (const std::string& assumption : outcome.assumptions) out += fmt::format("  assuming   {}\n", assumption);
    out += fmt::format("  chance of a wrong `proved`: below 2^{:.0f}\n", std::ceil(outcome.log2_failure));
  }
  out += fmt::format("{}{}{}, contract {}, {:.2f} s (seed {})\n", tint, name(outcome.verdict), reset,
                     name(outcome.contract), outcome.seconds, outcome.seed);
  return out;
}

}  // namespace plumb::prove
