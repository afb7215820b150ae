// SPDX-License-Identifier: Apache-2.0
#include "ptx/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace plumb::ptx {

namespace {
constexpr std::size_t kLongestWord = 48;
}  // namespace

unsigned edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of prefixes: the two before the present one are enough.
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      const bool has_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (has_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  unsigned least = 3;
  for (const std::string_view one : known) {
    if (one.size() > kLongestWord) continue;
    const unsigned distance = edit_distance(word, one);
    if (2 * distance >= std::max(word.size(), one.size())) continue;
    if (distance < least || (distance == least && one < best)) least = distance, best = one;
  }
  return std::string(best);
}

}  // namespace plumb::ptx
