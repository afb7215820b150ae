// SPDX-License-Identifier: Apache-2.0
// Elements of the narrowest formats, which the field domain has no numbers of: there an operand times its scale becomes
// a number of f32, or the case is left alone.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "domain/domain.h"
#include "domain/ieee/scaled.h"

namespace plumb::machine {

// Empty: f32 does not hold it.
template <class D>
std::optional<typename D::Real> f32_of(D& dom, const domain::ieee::Term& term) {
  using domain::ieee::Term;
  if (term.kind != Term::Kind::Finite) return std::nullopt;
  const double value = term.value();
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow) || static_cast<double>(narrow) != value) return std::nullopt;
  return dom.constant(domain::Format::F32, std::bit_cast<std::uint32_t>(narrow));
}

// A byte that is abstract, times its scale (null: none). Empty: the format has no abstract numbers, or f32 may not hold
// the product.
template <class D>
std::optional<typename D::Real> f32_of(D& dom, domain::ieee::Narrow format, const domain::Word& byte,
                                       const domain::ieee::Term* scale) {
  using domain::Format;
  using domain::ieee::Narrow;
  using domain::ieee::Term;
  if (format != Narrow::E4M3 && format != Narrow::E5M2) return std::nullopt;
  if (scale != nullptr && (scale->kind != Term::Kind::Finite || scale->exponent <= -126)) return std::nullopt;
  const Format wide = format == Narrow::E4M3 ? Format::E4M3 : Format::E5M2;
  const typename D::Real x = dom.convert(Format::F32, wide, dom.from_word(wide, byte), {});
  if (scale == nullptr) return x;
  const auto factor = static_cast<float>(scale->value());
  return dom.mul(Format::F32, x, dom.constant(Format::F32, std::bit_cast<std::uint32_t>(factor)), {});
}

}  // namespace plumb::machine
