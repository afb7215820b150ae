// SPDX-License-Identifier: Apache-2.0
// Numbers known to be k * 2^exponent with low <= k <= high: codes, signs, what magic constants leave. An operation
// whose result a format holds, whatever the inputs, rounds nothing, and is no rounding of the contract.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/field/worker.h"

namespace plumb::domain::field {

struct Fixed {
  std::int64_t low = 0, high = 0;
  int exponent = 0;
};

// A number without its trailing zero bits. Empty for infinities, NaN and numbers of many bits.
std::optional<Fixed> exactly(double value);
// Empty where nothing is known.
std::optional<Fixed> fixed_of(Worker& w, Format f, Real a);
inline bool is_fixed(Worker& w, Real a) { return !a.is_concrete() && w.peek(a.id).is(Kind::Fixed); }

// Empty also where the numbers become too large to be worth keeping.
std::optional<Fixed> sum(const std::optional<Fixed>& a, const std::optional<Fixed>& b);
std::optional<Fixed> product(const std::optional<Fixed>& a, const std::optional<Fixed>& b);
std::optional<Fixed> negated(const std::optional<Fixed>& a);
// Either of the two.
std::optional<Fixed> either(const std::optional<Fixed>& a, const std::optional<Fixed>& b);
// Between two doubles, a multiple of 2^exponent.
std::optional<Fixed> between(double low, double high, int exponent);
bool is_held(Format f, const Fixed& a);

// `Worker::finish` of a result just made: without a rounding where the format holds what is known of it.
Real finish_fixed(Worker& w, Format f, ValueId id, FloatMode mode, const std::optional<Fixed>& known,
                  bool is_rounding = true);
// The same number in another format, with a rounding unless the format holds it.
Real converted(Worker& w, Format to, Format from, ValueId id, FloatMode mode, bool is_rounding);

}  // namespace plumb::domain::field
