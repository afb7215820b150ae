// SPDX-License-Identifier: Apache-2.0
// The contract between meaning and number. A domain says what a float is during execution. Integers, addresses and
// predicates on them stay concrete in every domain; only data floats (and, in the field domain, bytes and predicates
// made from them) are the domain's own.
//
// `Ieee`  (ieee/ieee.h):  Real is the value's bits in its format; results are the hardware's bit for bit.
// `Field` (field/field.h): Real is a handle of an abstract value, or concrete bits for constants.
//
// A domain object is one worker's: it is not shared between threads. An operation that a domain cannot give a meaning
// to calls `fault`; the first fault stays until `take_fault`, and whoever runs the instructions checks it after each
// and ends the run as `unknown` with the place. Results after a fault are meaningless but harmless.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "base/finding.h"
#include "domain/format.h"
#include "domain/memory.h"
#include "domain/word.h"

namespace plumb::domain {

struct Fault {
  const Code* code = nullptr;
  std::string text;  // lower case, no full stop
};

// What a matrix product promises about its sums (equivalence theory section 9; hardware facts section 3).
enum class DotKind : std::uint8_t {
  MmaSync,    // mma.sync: one fused step over the instruction's K (fp8: expanded as the card does)
  Wgmma,      // wgmma
  TritonDot,  // tl.dot: f32 accumulation, order free
};

struct DotShape {
  std::uint32_t m = 0, n = 0, k = 0;
  Format a = Format::F16, b = Format::F16, acc = Format::F32;
  DotKind kind = DotKind::MmaSync;
  // Of TritonDot on fp8: partial sums of so much of K go to f32; 0: the accumulator may keep few bits throughout.
  std::uint32_t promoted_k = 0;
};

template <class D>
concept Domain = requires(D& d, const D& cd, typename D::Real x, typename D::Bool p, Format f, FloatMode mode,
                          std::uint64_t bits, std::int64_t integer, const typename D::Real* in, typename D::Real* out,
                          Buffer& buffer, std::byte* bytes, const std::byte* cbytes, Tag* tags, const Tag* ctags,
                          Word word) {
  // Each function has a run-time format; `Ieee` inlines so that constant formats fold away.
  { d.constant(f, bits) } -> std::same_as<typename D::Real>;  // bits of format f
  { d.add(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.sub(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.mul(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.fma(f, x, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.div(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.neg(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.abs(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.min(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.max(f, x, x, mode) } -> std::same_as<typename D::Real>;
  { d.rcp(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.sqrt(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.rsqrt(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.ex2(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.lg2(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.exp(f, x) } -> std::same_as<typename D::Real>;  // base e: Triton's tl.exp
  { d.log(f, x) } -> std::same_as<typename D::Real>;
  { d.sin(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.cos(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.tanh(f, x, mode) } -> std::same_as<typename D::Real>;
  { d.erf(f, x) } -> std::same_as<typename D::Real>;
  { d.floor(f, x) } -> std::same_as<typename D::Real>;
  { d.ceil(f, x) } -> std::same_as<typename D::Real>;
  { d.rint(f, x) } -> std::same_as<typename D::Real>;
  { d.trunc(f, x) } -> std::same_as<typename D::Real>;
  { d.convert(f, f, x, mode) } -> std::same_as<typename D::Real>;  // (to, from, x)
  { d.from_int(f, integer, mode) } -> std::same_as<typename D::Real>;
  { d.from_uint(f, bits, mode) } -> std::same_as<typename D::Real>;
  // Float to integer of `width` bits, clamped as PTX cvt does. Empty when the value is abstract (then also a fault).
  { d.to_int(f, x, 32u, true, Round::Rz) } -> std::same_as<std::optional<std::uint64_t>>;
  { d.compare(f, Compare::Lt, x, x, mode) } -> std::same_as<typename D::Bool>;
  { d.select(f, p, x, x) } -> std::same_as<typename D::Real>;  // p ? first : second
  // Predicates.
  { d.boolean(true) } -> std::same_as<typename D::Bool>;
  { d.logical_and(p, p) } -> std::same_as<typename D::Bool>;
  { d.logical_or(p, p) } -> std::same_as<typename D::Bool>;
  { d.logical_xor(p, p) } -> std::same_as<typename D::Bool>;
  { d.logical_not(p) } -> std::same_as<typename D::Bool>;
  { cd.decide(p) } -> std::same_as<std::optional<bool>>;  // empty: abstract
  // d[m x n] = a[m x k] * b[k x n] + c[m x n], all row-major. `out` may alias c.
  d.dot(DotShape{}, in, in, in, out);
  // Sum of n values, order free (Triton's tl.sum); the IEEE domain sums pairwise.
  { d.sum(f, in, 5u) } -> std::same_as<typename D::Real>;
  // Bytes. `load` and `store` move n <= 16 bytes between a buffer and (bytes, tags); tags are null in domains without.
  { D::kHasTags } -> std::convertible_to<bool>;
  d.load(buffer, bits, 4u, bytes, tags);
  d.store(buffer, bits, 4u, cbytes, ctags);
  { d.from_word(f, word) } -> std::same_as<typename D::Real>;  // the low bytes of a register lane as a float
  { d.to_word(f, x) } -> std::same_as<Word>;
  // Brackets one CTA or one Triton program: values that did not reach memory may be dropped at its end.
  d.begin_unit();
  d.end_unit();
  { d.faulted() } -> std::same_as<bool>;
  { d.take_fault() } -> std::same_as<Fault>;
  d.fault(*static_cast<const Code*>(nullptr), std::string());
};

}  // namespace plumb::domain
