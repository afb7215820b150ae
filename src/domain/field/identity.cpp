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

namespace {

// A value or its negative, whichever has the smaller key, and which of them it is.
std::pair<Residues, bool> oriented(const Modulus& modulus, const Residues& a) {
  const Residues minus = neg(modulus, a);
  const bool is_negative = key(minus) < key(a);
  return {is_negative ? minus : a, is_negative};
}

bool has_exponential(const Value& v) { return (v.flags & kHasExponential) != 0; }

}  // namespace

std::optional<ScaleClass> Shared::find_class(const Value& d) const {
  const auto look = [&](const Residues& a) -> std::optional<ScaleClass> {
    const auto [residues, is_negative] = oriented(modulus, a);
    const std::uint32_t* found = classes.find(identity(residues, has_exponential(d)));
    if (found == nullptr) return std::nullopt;
    return ScaleClass{*found >> 1, ((*found & 1) != 0) != is_negative};
  };
  if (const auto found = look(d.residues)) return found;
  for (std::size_t i = 0; i < known_scales.size(); ++i) {
    if (const auto found = look(mul(modulus, d.residues, known_scales[i]))) return found;
    if (const auto found = look(mul(modulus, d.residues, known_inverses[i]))) return found;
  }
  return std::nullopt;
}

std::optional<ScaleClass> Shared::classify(const Value& d, bool insert) {
  {
    const std::shared_lock lock(identity_mutex);
    const std::optional<ScaleClass> found = find_class(d);
    if (found || !insert) return found;
  }
  const std::unique_lock lock(identity_mutex);
  if (const auto found = find_class(d)) return found;
  const auto index = static_cast<std::uint32_t>(class_identities.size());
  const auto [residues, is_negative] = oriented(modulus, d.residues);
  const Key k = identity(residues, has_exponential(d));
  classes.insert(k, index << 1 | (is_negative ? 1U : 0U));
  class_identities.push_back(is_negative ? Key{~k.low, ~k.high} : k);
  return ScaleClass{index, false};
}

Key Shared::class_identity(std::uint32_t index) const {
  const std::shared_lock lock(identity_mutex);
  return class_identities[index];
}

Shared::MaxForm Shared::max_form(const Key& form, const Residues& scale) {
  const std::unique_lock lock(identity_mutex);
  const auto [entry, is_new] = max_forms.try_emplace(form, scale);
  return {entry->second, is_new};
}

}  // namespace plumb::domain::field
