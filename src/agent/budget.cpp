// SPDX-License-Identifier: Apache-2.0
#include "agent/budget.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/codes.h"
#include "base/file.h"
#include "base/toml.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

std::uint64_t count(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// A number above 0, and nothing after it.
std::optional<double> positive(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value) || value <= 0) return {};
  return value;
}

constexpr double kMostCount = 1e15;

bool set(Budget& budget, std::string_view name, double value) {
  const bool is_count = name == "turns" || name == "tokens";
  if (is_count && (value > kMostCount || value != std::floor(value))) return false;
  if (name == "turns") budget.turns = static_cast<std::uint64_t>(value);
  else if (name == "tokens") budget.tokens = static_cast<std::uint64_t>(value);
  else if (name == "usd") budget.usd = value;
  else if (name == "minutes") budget.minutes = value;
  else return false;
  return true;
}

}  // namespace

Json to_json(const Usage& usage) {
  return {{"input", usage.input},
          {"output", usage.output},
          {"cache_read", usage.cache_read},
          {"cache_write", usage.cache_write}};
}

Usage usage_of(const Json& value) {
  if (!value.is_object()) return {};
  return {count(value, "input"), count(value, "output"), count(value, "cache_read"), count(value, "cache_write")};
}

double cost(const Usage& usage, const Price& price) {
  return 1e-6 * (static_cast<double>(usage.input) * price.input + static_cast<double>(usage.output) * price.output +
                 static_cast<double>(usage.cache_read) * price.cache_read +
                 static_cast<double>(usage.cache_write) * price.cache_write);
}

std::optional<Prices> read_prices(const std::filesystem::path& path, Findings& findings) {
  const SourcePtr source = read_source(path, findings);
  if (!source) return std::nullopt;
  const std::optional<Toml> toml = parse_toml(source, source->text(), findings);
  if (!toml) return std::nullopt;
  Prices out;
  for (const auto& entry : toml->value.items()) {
    const std::string& model = entry.key();
    const Json& row = entry.value();
    const std::string at = "/" + model;
    const auto number = [&](const char* key) -> std::optional<double> {
      if (!row.is_object() || !row.contains(key)) return std::nullopt;
      if (row[key].is_number() && row[key].get<double>() >= 0) return row[key].get<double>();
      findings.add(kPrices, fmt::format("`{}` is no price", key), toml->place(at + "/" + key));
      return std::nullopt;
    };
    const auto input = number("input"), output = number("output");
    if (!input || !output) {
      findings.add(kPrices, fmt::format("the prices of `{}` need `input` and `output`", model), toml->place(at));
      continue;
    }
    const auto read = number("cache_read"), write = number("cache_write");
    out[model] = {*input, *output, read.value_or(*input), write.value_or(*input)};
  }
  if (findings.has_error()) return std::nullopt;
  return out;
}

std::optional<Budget> parse_budget(std::string_view text, Findings& findings) {
  Budget budget;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    const auto value = equals == std::string_view::npos ? std::nullopt : positive(part.substr(equals + 1));
    if (value && set(budget, part.substr(0, equals), *value)) continue;
    findings.add(kBudget, fmt::format("`{}` is no part of a budget", part)).hint =
        "as in turns=40,tokens=2000000,usd=5,minutes=60";
    return std::nullopt;
  }
  return budget;
}

void Spent::add_turn(const nlohmann::json& event) {
  const Usage of = usage_of(event.value("usage", nlohmann::json()));
  ++turns;
  usage.input += of.input;
  usage.output += of.output;
  usage.cache_read += of.cache_read;
  usage.cache_write += of.cache_write;
  usd += event.value("usd", 0.0);
}

std::string_view exceeded(const Budget& budget, const Spent& spent) {
  if (budget.turns && spent.turns >= *budget.turns) return "turns";
  if (budget.tokens && spent.usage.all() >= *budget.tokens) return "tokens";
  if (budget.usd && spent.usd >= *budget.usd) return "usd";
  if (budget.minutes && spent.seconds >= 60 * *budget.minutes) return "minutes";
  return {};
}

std::string to_text(const Budget& budget, const Spent& spent, bool knows_price) {
  std::string out = fmt::format("turns {}", spent.turns);
  if (budget.turns) out += fmt::format("/{}", *budget.turns);
  out += fmt::format(", tokens {}", spent.usage.all());
  if (budget.tokens) out += fmt::format("/{}", *budget.tokens);
  if (knows_price) out += fmt::format(", ${:.2f}", spent.usd);
  if (knows_price && budget.usd) out += fmt::format("/{:.2f}", *budget.usd);
  out += fmt::format(", {:.1f}", spent.seconds / 60);
  if (budget.minutes) out += fmt::format("/{:g}", *budget.minutes);
  return out + " min";
}

}  // namespace plumb::agent
