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
    case Verdict::Sampled:
      return "sampled";
  }
  return "unknown";
}

std::string_view name(Contract contract) { return contract == Contract::Kept ? "kept" : "weaker"; }

namespace {

// Two decimals: the last bits of a logarithm are the C library's own.
double rounded(double log2) { return std::round(log2 * 100) / 100; }

nlohmann::json shape_json(const ShapeOutcome& shape, bool has_spec) {
  nlohmann::json out = {
      {"shape", shape.label}, {"verdict", name(shape.verdict)}, {"seconds", shape.seconds}, {"ctas", shape.ctas}};
  if (has_spec) {
    if (shape.verdict == Verdict::Sampled) out["ctas_of_grid"] = shape.all_ctas;
    out["programs"] = shape.programs;
    out["elements"] = shape.elements;
    out["log2_failure_probability"] = rounded(shape.log2_failure);
  }
  return out;
}

}  // namespace

nlohmann::json to_json(const Outcome& outcome) {
  nlohmann::json shapes = nlohmann::json::array();
  for (const ShapeOutcome& shape : outcome.shapes) shapes.push_back(shape_json(shape, outcome.has_spec));
  nlohmann::json out;
  out["verdict"] = name(outcome.verdict);
  if (outcome.has_spec) {
    const bool is_proved = outcome.verdict == Verdict::Proved;
    // Rounding and range are weighed only where the function is the same.
    out["contract"] = is_proved ? nlohmann::json(name(outcome.contract)) : nlohmann::json();
    out["failure_probability"] = is_proved ? std::exp2(rounded(outcome.log2_failure)) : 1.0;
    out["log2_failure_probability"] = is_proved ? rounded(outcome.log2_failure) : 0.0;
    out["primes"] = outcome.primes;
  }
  if (outcome.sample != 0) out["sample"] = outcome.sample;
  out["assumptions"] = outcome.assumptions;
  out["shapes"] = std::move(shapes);
  out["findings"] = plumb::to_json(outcome.findings);
  out["seconds"] = outcome.seconds;
  out["seed"] = outcome.seed;
  out["coverage"] = {{"instructions_executed", outcome.instrs_executed},
                     {"instructions", outcome.instrs_total},
                     {"lines_not_executed", outcome.lines_not_executed}};
  return out;
}

std::string to_text(const Outcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour);
  const std::string_view tint = !colour ? "" : outcome.holds() ? "\x1b[1;32m" : "\x1b[1;31m";
  const std::string_view reset = colour ? "\x1b[0m" : "";
  const bool is_proved = outcome.verdict == Verdict::Proved;
  const auto word = [&](Verdict verdict) {
    return verdict == Verdict::Proved && !outcome.has_spec ? std::string_view("safe") : name(verdict);
  };
  for (const ShapeOutcome& shape : outcome.shapes) {
    const std::string elements = outcome.has_spec ? fmt::format("{} elements, ", shape.elements) : std::string();
    const std::string of_grid = shape.verdict == Verdict::Sampled ? fmt::format("{} of {}", shape.ctas, shape.all_ctas)
                                                                  : fmt::to_string(shape.ctas);
    out += fmt::format("  {:<10} {}  ({} CTAs, {}{:.2f} s)\n", word(shape.verdict), shape.label, of_grid, elements,
                       shape.seconds);
  }
  if (outcome.instrs_total != 0) {
    out += fmt::format("  executed   {} of {} instructions\n", outcome.instrs_executed, outcome.instrs_total);
  }
  if (is_proved || outcome.verdict == Verdict::Sampled) {
    for (const std::string& assumption : outcome.assumptions) out += fmt::format("  assuming   {}\n", assumption);
  }
  std::string contract;
  if (is_proved && outcome.has_spec) {
    out += fmt::format("  chance of a wrong `proved`: below 2^{:.0f}\n", std::ceil(outcome.log2_failure));
    contract = fmt::format(", contract {}", name(outcome.contract));
  }
  out += fmt::format("{}{}{}{}, {:.2f} s (seed {})\n", tint, word(outcome.verdict), reset, contract, outcome.seconds,
                     outcome.seed);
  return out;
}

}  // namespace plumb::prove
