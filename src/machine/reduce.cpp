// SPDX-License-Identifier: Apache-2.0
#include "machine/reduce.h"

#include <algorithm>
#include <utility>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/codes.h"

namespace plumb::machine {

namespace {

using domain::Format;
using domain::Word;
using ptx::Mod;
using ptx::Type;

std::optional<Format> float_format(Type type) {
  switch (type) {
    case Type::f32:
      return Format::F32;
    case Type::f64:
      return Format::F64;
    case Type::f16:
    case Type::f16x2:
      return Format::F16;
    case Type::bf16:
    case Type::bf16x2:
      return Format::BF16;
    default:
      return std::nullopt;
  }
}

std::uint64_t integer_result(ReduceOp op, Type type, std::uint64_t old, std::uint64_t b, std::uint64_t c) {
  const unsigned shift = 64 - 8 * ptx::byte_size(type);
  const auto as_signed = [&](std::uint64_t x) { return static_cast<std::int64_t>(x << shift) >> shift; };
  const bool is_less = ptx::is_signed(type) ? as_signed(b) < as_signed(old) : b < old;
  switch (op) {
    case ReduceOp::And:
      return old & b;
    case ReduceOp::Or:
      return old | b;
    case ReduceOp::Xor:
      return old ^ b;
    case ReduceOp::Exch:
      return b;
    case ReduceOp::Cas:
      return old == b ? c : old;
    case ReduceOp::Add:
      return (old + b) << shift >> shift;
    case ReduceOp::Inc:
      return old >= b ? 0 : old + 1;
    case ReduceOp::Dec:
      return old == 0 || old > b ? b : old - 1;
    case ReduceOp::Min:
      return is_less ? b : old;
    case ReduceOp::Max:
      return is_less ? old : b;
  }
  return old;
}

Word part_of(const Word& word, unsigned begin, unsigned size) {
  Word out;
  out.bits = word.bits >> (8 * begin);
  if (size < 8) out.bits &= (std::uint64_t{1} << (8 * size)) - 1;
  std::copy_n(word.tags + begin, size, out.tags);
  return out;
}

// Sums, minima and maxima of the one or two floats of a word.
template <class D>
Word float_result(D& dom, Format format, const Reduction& reduction, const Word& a, const Word& b) {
  const unsigned size = domain::byte_size(format);
  domain::FloatMode mode;
  mode.ftz = reduction.flushes;
  Word out;
  for (unsigned begin = 0; begin < ptx::byte_size(reduction.type); begin += size) {
    const auto x = dom.from_word(format, part_of(a, begin, size)), y = dom.from_word(format, part_of(b, begin, size));
    const auto result = reduction.op == ReduceOp::Min   ? dom.min(format, x, y, mode)
                        : reduction.op == ReduceOp::Max ? dom.max(format, x, y, mode)
                                                        : dom.add(format, x, y, mode);
    const Word word = dom.to_word(format, result);
    out.bits |= word.bits << (8 * begin);
    std::copy_n(word.tags, size, out.tags + begin);
  }
  return out;
}

std::optional<domain::BitOp> bit_op(ReduceOp op, bool is_signed) {
  using domain::BitOp;
  switch (op) {
    case ReduceOp::And:
      return BitOp::And;
    case ReduceOp::Or:
      return BitOp::Or;
    case ReduceOp::Xor:
      return BitOp::Xor;
    case ReduceOp::Add:
      return BitOp::Add;
    case ReduceOp::Min:
      return is_signed ? BitOp::MinS : BitOp::MinU;
    case ReduceOp::Max:
      return is_signed ? BitOp::MaxS : BitOp::MaxU;
    default:
      return std::nullopt;
  }
}

// Of integers of data, as far as the domain follows them.
template <class D>
std::optional<Word> abstract_result(D& dom, const Reduction& reduction, const Word& old, const Word& b, const Word& c,
                                    ReduceError& error) {
  if constexpr (D::kHasTags) {
    const ptx::Type type = reduction.type;
    const unsigned width = 8 * ptx::byte_size(type);
    const domain::IntFunction fn = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
      return integer_result(reduction.op, type, x, y, z);
    };
    Word out;
    if (dom.int_op(bit_op(reduction.op, ptx::is_signed(type)), width, width, old, b, c, 0, fn, out)) return out;
    error = {&kUnmodelled, dom.take_fault().text};
  }
  (void)dom, (void)reduction, (void)old, (void)b, (void)c, (void)error;
  return std::nullopt;
}

}  // namespace

ReduceOp reduce_op_of(const ptx::Instr& instr) {
  constexpr std::pair<Mod, ReduceOp> kOps[] = {
      {Mod::and_, ReduceOp::And},  {Mod::or_, ReduceOp::Or},  {Mod::xor_, ReduceOp::Xor},
      {Mod::exch, ReduceOp::Exch}, {Mod::cas, ReduceOp::Cas}, {Mod::inc, ReduceOp::Inc},
      {Mod::dec, ReduceOp::Dec},   {Mod::min, ReduceOp::Min}, {Mod::max, ReduceOp::Max}};
  for (const auto& [mod, op] : kOps) {
    if (instr.has(mod)) return op;
  }
  return ReduceOp::Add;
}

template <class D>
std::optional<Word> reduced(D& dom, const Reduction& reduction, const Word& old, const Word& b, const Word& c,
                            ReduceError& error) {
  if (reduction.op == ReduceOp::Exch) return b;
  const auto format = float_format(reduction.type);
  if (format && reduction.op != ReduceOp::Cas) return float_result(dom, *format, reduction, old, b);
  bool is_abstract = false;
  for (const Word* word : {&old, &b, &c}) {
    for (unsigned i = 0; i < ptx::byte_size(reduction.type); ++i) {
      is_abstract = is_abstract || word->tags[i] != 0;
      if (domain::tag_value(word->tags[i]) != domain::kUndefined) continue;
      error = {&kUndefined, "an operand was never written"};
      return std::nullopt;
    }
  }
  if (is_abstract) return abstract_result(dom, reduction, old, b, c, error);
  return Word{.bits = integer_result(reduction.op, reduction.type, old.bits, b.bits, c.bits)};
}

template std::optional<Word> reduced(domain::Ieee&, const Reduction&, const Word&, const Word&, const Word&,
                                     ReduceError&);
template std::optional<Word> reduced(domain::Field&, const Reduction&, const Word&, const Word&, const Word&,
                                     ReduceError&);

}  // namespace plumb::machine
