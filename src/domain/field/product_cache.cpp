// SPDX-License-Identifier: Apache-2.0
#include "domain/field/product_cache.h"

#include <mutex>

#include "base/hash.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t reduce(std::uint64_t x) { return x >= kPrime ? x - kPrime : x; }

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return reduce((static_cast<std::uint64_t>(product) & kPrime) + static_cast<std::uint64_t>(product >> 61));
}

}  // namespace

void ProductCache::seed(std::uint64_t key) {
  for (std::uint64_t& point : points_) {
    key = mix64(key);
    point = key % (kPrime - 2) + 2;
  }
}

Fingerprint ProductCache::fingerprint(std::span<const ValueId> line) const {
  Fingerprint sum;
  for (std::size_t i = line.size(); i-- > 0;) {
    for (unsigned point = 0; point < Fingerprint::kPoints; ++point) {
      sum.at[point] = reduce(times(sum.at[point], points_[point]) + line[i]);
    }
  }
  return sum;
}

Fingerprint ProductCache::power(std::uint64_t place) const {
  Fingerprint result{{1, 1, 1}};
  for (unsigned point = 0; point < Fingerprint::kPoints; ++point) {
    std::uint64_t base = points_[point];
    for (std::uint64_t left = place; left != 0; left >>= 1) {
      if ((left & 1) != 0) result.at[point] = times(result.at[point], base);
      base = times(base, base);
    }
  }
  return result;
}

void ProductCache::add(Fingerprint& sum, const Fingerprint& part, const Fingerprint& power) {
  for (unsigned point = 0; point < Fingerprint::kPoints; ++point) {
    sum.at[point] = reduce(sum.at[point] + times(part.at[point], power.at[point]));
  }
}

std::uint32_t ProductCache::Side::group(std::span<const Fingerprint> lines) {
  const auto [found, is_new] =
      groups.try_emplace({lines.begin(), lines.end()}, static_cast<std::uint32_t>(groups.size()));
  for (std::uint32_t i = 0; is_new && i < lines.size(); ++i) places[lines[i]] = {found->second, i};
  return found->second;
}

bool ProductCache::Side::find(std::span<const Fingerprint> lines, std::uint32_t& group,
                              std::vector<std::uint32_t>& indices) const {
  indices.clear();
  for (const Fingerprint& line : lines) {
    const auto found = places.find(line);
    if (found == places.end() || (!indices.empty() && found->second.group != group)) return false;
    group = found->second.group;
    indices.push_back(found->second.index);
  }
  return !indices.empty();
}

bool ProductCache::find(std::span<const Fingerprint> rows, std::span<const Fingerprint> columns, Residues* out) const {
  std::uint32_t row_group = 0, column_group = 0;
  std::vector<std::uint32_t> row_indices, column_indices;
  const std::shared_lock lock(mutex_);
  if (!rows_.find(rows, row_group, row_indices) || !columns_.find(columns, column_group, column_indices)) return false;
  const auto block = blocks_.find(std::uint64_t{row_group} << 32 | column_group);
  if (block == blocks_.end()) return false;
  for (const std::uint32_t i : row_indices) {
    const Residues* const row = block->second.products.data() + std::size_t{i} * block->second.columns;
    for (const std::uint32_t j : column_indices) *out++ = row[j];
  }
  return true;
}

void ProductCache::keep(std::span<const Fingerprint> rows, std::span<const Fingerprint> columns,
                        std::span<const Residues> products) {
  const std::unique_lock lock(mutex_);
  if (kept_ + products.size() > kMostKept) return;
  const std::uint64_t key = std::uint64_t{rows_.group(rows)} << 32 | columns_.group(columns);
  const auto [block, is_new] = blocks_.try_emplace(key);
  if (!is_new) return;
  block->second.columns = static_cast<std::uint32_t>(columns.size());
  block->second.products.assign(products.begin(), products.end());
  kept_ += products.size();
}

}  // namespace plumb::domain::field
