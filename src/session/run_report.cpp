// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "prove/setup.h"
#include "session/run.h"
#include "session/value.h"
#include "task/task.h"

namespace plumb::session {
namespace {

constexpr std::size_t kShown = 8;

struct Summary {
  std::uint64_t elements = 0, nans = 0, infinities = 0;
  std::vector<double> first;
};

Summary summarise(const RunOutput& output) {
  Summary out;
  const unsigned size = output.array.item_bytes;
  out.elements = output.array.bytes.size() / size;
  for (std::uint64_t i = 0; i < out.elements; ++i) {
    const double value = element_value(output.type, output.array.bytes.data() + i * size);
    out.nans += std::isnan(value) ? 1 : 0;
    out.infinities += std::isinf(value) ? 1 : 0;
    if (i < kShown) out.first.push_back(value);
  }
  return out;
}

// JSON has no NaN and no infinities: those are their words.
nlohmann::json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

}  // namespace

double element_value(std::string_view type, const char* bytes) {
  if (const auto format = prove::float_format(type)) {
    return prove::decode(*format, reinterpret_cast<const std::byte*>(bytes));
  }
  if (type.starts_with('*')) type.remove_prefix(1);
  const unsigned size = task::element_bytes(type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, size);
  const unsigned unused = 64 - 8 * size;
  if (type[0] == 'u' || type == "i1") return static_cast<double>(bits);
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

nlohmann::json to_json(const RunOutcome& outcome) {
  nlohmann::json outputs = nlohmann::json::array();
  for (const RunOutput& output : outcome.outputs) {
    const Summary summary = summarise(output);
    nlohmann::json first = nlohmann::json::array();
    for (const double value : summary.first) first.push_back(number(value));
    nlohmann::json entry = {{"name", output.name},         {"type", output.type},
                            {"shape", output.array.shape}, {"sha256", sha256(output.array.bytes)},
                            {"nan", summary.nans},         {"infinite", summary.infinities},
                            {"first", std::move(first)}};
    if (output.card) {
      entry["card"] = {{"elements", output.card->elements}, {"other_bits", output.card->other}};
      if (output.card->other != 0) entry["card"]["first_other"] = output.card->first_other;
    }
    if (output.comparison) {
      entry["against_triton"] = {{"largest_absolute_error", output.comparison->largest_absolute},
                                 {"largest_relative_error", output.comparison->largest_relative},
                                 {"outside_tolerance", output.comparison->outside},
                                 {"first_outside", output.comparison->first_outside}};
    }
    outputs.push_back(std::move(entry));
  }
  nlohmann::json out = {{"holds", outcome.holds()},
                        {"shape", outcome.shape},
                        {"scalars", outcome.scalars},
                        {"outputs", std::move(outputs)},
                        {"findings", plumb::to_json(outcome.findings)},
                        {"counts",
                         {{"ctas", outcome.ctas},
                          {"warp_instructions", outcome.warp_instrs},
                          {"lane_instructions", outcome.lane_instrs},
                          {"mma_macs", outcome.mma_macs}}},
                        {"seconds", outcome.seconds}};
  if (outcome.profile) out["profile"] = to_json(*outcome.profile);
  return out;
}

std::string to_text(const RunOutcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour);
  if (outcome.is_bad_input) return out;
  out += fmt::format("  shape      {}\n", outcome.shape);
  for (const RunOutput& output : outcome.outputs) {
    const Summary summary = summarise(output);
    std::string first;
    for (const double value : summary.first) first += fmt::format("{}{:.6g}", first.empty() ? "" : ", ", value);
    out += fmt::format("  {:<10} {}({})  {}{}", output.name, output.type, fmt::join(output.array.shape, ", "), first,
                       summary.elements > kShown ? ", ..." : "");
    if (summary.nans + summary.infinities != 0)
      out += fmt::format("  ({} NaN, {} infinite)", summary.nans, summary.infinities);
    out += '\n';
    if (output.card) {
      out += fmt::format("             on the card: {} of {} elements have other bits{}{}\n", output.card->other,
                         output.card->elements, output.card->other == 0 ? "" : ", first ", output.card->first_other);
    }
    if (!output.comparison) continue;
    out += fmt::format(
        "             against the Triton source: largest error {:.3g} absolute, {:.3g} relative, {} outside of the "
        "tolerance\n",
        output.comparison->largest_absolute, output.comparison->largest_relative, output.comparison->outside);
    if (output.comparison->outside != 0)
      out += fmt::format("             first: {}\n", output.comparison->first_outside);
  }
  if (outcome.ctas == 0) return out + fmt::format("  the Triton source, {:.2f} s\n", outcome.seconds);
  out += fmt::format("  {} CTAs, {} warp instructions, {:.2f} s\n", outcome.ctas, outcome.warp_instrs, outcome.seconds);
  return outcome.profile ? out + to_text(*outcome.profile) : out;
}

}  // namespace plumb::session
