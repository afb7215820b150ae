// SPDX-License-Identifier: Apache-2.0
// What a run may use and what it has used. Money counts only where the price of the model is known: prices are data,
// read from a file, and never guessed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace plumb::agent {

// Of one answer of a model, as the server counts; input is what was neither read from the cache nor written to it.
struct Usage {
  std::uint64_t input = 0, output = 0, cache_read = 0, cache_write = 0;
  std::uint64_t all() const { return input + output + cache_read + cache_write; }
};
nlohmann::json to_json(const Usage& usage);
Usage usage_of(const nlohmann::json& value);

// Dollars for a million tokens.
struct Price {
  double input = 0, output = 0, cache_read = 0, cache_write = 0;
};
double cost(const Usage& usage, const Price& price);

// A table [MODEL] with input, output and, where they differ from input, cache_read and cache_write.
using Prices = std::map<std::string, Price, std::less<>>;
std::optional<Prices> read_prices(const std::filesystem::path& path, Findings& findings);

struct Budget {
  std::optional<std::uint64_t> turns, tokens;
  std::optional<double> usd, minutes;
};
// "turns=40,tokens=2000000,usd=5,minutes=60", any of them.
std::optional<Budget> parse_budget(std::string_view text, Findings& findings);

struct Spent {
  std::uint64_t turns = 0;
  Usage usage;
  double usd = 0, seconds = 0;
  void add_turn(const nlohmann::json& event);  // a `turn` of the run log; its seconds are the run's affair
};
// The name of what is used up ("turns"); empty when nothing is.
std::string_view exceeded(const Budget& budget, const Spent& spent);
// "turns 3/40, tokens 12034/2000000, $0.12, 2.1/60 min"
std::string to_text(const Budget& budget, const Spent& spent, bool knows_price);

}  // namespace plumb::agent
