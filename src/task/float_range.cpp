// SPDX-License-Identifier: Apache-2.0
#include "task/float_range.h"

#include <charconv>
#include <cmath>

namespace plumb::task {
namespace {

std::optional<double> number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<FloatRange> float_range(std::string_view init) {
  if (init == "zeros") return FloatRange{0, 0};
  if (init == "uniform") return FloatRange{0, 1};
  constexpr std::string_view kOpen = "uniform(";
  if (!init.starts_with(kOpen) || !init.ends_with(')')) return std::nullopt;
  init = init.substr(kOpen.size(), init.size() - kOpen.size() - 1);
  const std::size_t comma = init.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto low = number(init.substr(0, comma)), high = number(init.substr(comma + 1));
  if (!low || !high || *low > *high) return std::nullopt;
  return FloatRange{*low, *high};
}

}  // namespace plumb::task
