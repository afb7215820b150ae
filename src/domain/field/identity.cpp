// SPDX-License-Identifier: Apache-2.0
// Which values are known multiples of each other.
#include <algorithm>

#include "domain/field/shared.h"

namespace plumb::domain::field {
namespace {

// Each scale costs four look-ups for every new class.
constexpr std::size_t kMostScales = 16;

}  // namespace

void Shared::note_scale(const Residues& positive) {
  const Key k = key(positive);
  {
    const std::shared_lock lock(identity_mutex);
    if (known_scales.size() >= kMostScales || known_ratios.contains(k)) return;
  }
  const std::unique_lock lock(identity_mutex);
  if (known_scales.size() >= kMostScales || known_ratios.contains(k)) return;
  known_scales.push_back(positive);
  known_inverses.push_back(inverse(modulus, positive));
  known_ratios.clear();
  std::vector<Residues> factors = {modulus.one};
  factors.insert(factors.end(), known_scales.begin(), known_scales.end());
  factors.insert(factors.end(), known_inverses.begin(), known_inverses.end());
  for (const Residues& a : factors) {
    for (const Residues& b : factors) known_ratios.insert(key(mul(modulus, a, b)));
  }
}

int Shared::known_ratio(const Residues& a) const {
  const std::shared_lock lock(identity_mutex);
  if (known_ratios.contains(key(a))) return 1;
  return known_ratios.contains(key(neg(modulus, a))) ? -1 : 0;
}

std::optional<ScaleClass> Shared::find_class(const Residues& d) const {
  const auto look = [&](const Residues& a) -> std::optional<ScaleClass> {
    const Key plus = key(a), minus = key(neg(modulus, a));
    const std::uint32_t* found = classes.find(std::min(plus, minus));
    if (found == nullptr) return std::nullopt;
    return ScaleClass{*found >> 1, (*found & 1) != (plus < minus ? 1U : 0U)};
  };
  if (const auto found = look(d)) return found;
  for (std::size_t i = 0; i < known_scales.size(); ++i) {
    if (const auto found = look(mul(modulus, d, known_scales[i]))) return found;
    if (const auto found = look(mul(modulus, d, known_inverses[i]))) return found;
  }
  return std::nullopt;
}

std::optional<ScaleClass> Shared::classify(const Residues& d, bool insert) {
  {
    const std::shared_lock lock(identity_mutex);
    const std::optional<ScaleClass> found = find_class(d);
    if (found || !insert) return found;
  }
  const std::unique_lock lock(identity_mutex);
  if (const auto found = find_class(d)) return found;
  const auto index = static_cast<std::uint32_t>(class_values.size());
  const Key plus = key(d), minus = key(neg(modulus, d));
  classes.insert(std::min(plus, minus), index << 1 | (plus < minus ? 1U : 0U));
  class_values.push_back(d);
  return ScaleClass{index, false};
}

Residues Shared::class_value(std::uint32_t index) const {
  const std::shared_lock lock(identity_mutex);
  return class_values[index];
}

Shared::MaxForm Shared::max_form(const Key& form, const Residues& scale) {
  const std::unique_lock lock(identity_mutex);
  const auto [entry, is_new] = max_forms.try_emplace(form, scale);
  return {entry->second, is_new};
}

}  // namespace plumb::domain::field
