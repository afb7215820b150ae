// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/int_bits.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace plumb::machine {
// -------------------------------------------------------------------------------------------
namespace {

using domain::BitOp;
using ptx::Mod;
using ptx::Type;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
constexpr unsigned kBits = 8 * sizeof(T);

template <class D, class T>
void step_popc(Warp<D>& w, const Op<D>& op) {
  map1<std::uint32_t, T>(w, std::nullopt, op.d, op.a, [](T a) { return static_cast<std::uint32_t>(std::popcount(a)); });
}
template <class D, class T>
void step_clz(Warp<D>& w, const Op<D>& op) {
  map1<std::uint32_t, T>(w, std::nullopt, op.d, op.a,
                         [](T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); });
}

template <class T, bool IsShift>
std::uint32_t find_msb(T a) {
  auto bits = static_cast<Unsigned<T>>(a);
  if constexpr (std::is_signed_v<T>) {
    if (a < 0) bits = static_cast<Unsigned<T>>(~bits);
  }
  if (bits == 0) return ~0u;
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
  return IsShift ? zeros : kBits<T> - 1 - zeros;
}
template <class D, class T, bool IsShift>
void step_bfind(Warp<D>& w, const Op<D>& op) {
  map1<std::uint32_t, T>(w, std::nullopt, op.d, op.a, [](T a) { return find_msb<T, IsShift>(a); });
}

template <class T>
T reverse_bits(T a) {
  T out = 0;
  for (unsigned i = 0; i < kBits<T>; ++i) out |= (a >> i & T{1}) << (kBits<T> - 1 - i);
  return out;
}
template <class D, class T>
void step_brev(Warp<D>& w, const Op<D>& op) {
  map1<T, T>(w, std::nullopt, op.d, op.a, [](T a) { return reverse_bits(a); });
}

// The 32-bit forms use the low 8 bits of position and length, the 64-bit forms all 32 (measured, sm_90).
template <class T>
std::uint32_t field_amount(std::uint32_t amount) {
  return sizeof(T) == 4 ? amount & 255 : amount;
}
// bits 0 .. count-1 set
template <class U>
U ones(std::uint32_t count) {
  return count >= kBits<U> ? ~U{0} : (U{1} << count) - 1;
}

template <class T>
T extract_field(T a, std::uint32_t b, std::uint32_t c) {
  using U = Unsigned<T>;
  const std::uint32_t position = field_amount<T>(b), length = field_amount<T>(c);
  if (length == 0) return 0;
  constexpr std::uint32_t kTop = kBits<T> - 1;
  const U bits = static_cast<U>(a);
  const std::uint64_t last = std::uint64_t{position} + length - 1;
  U field = position > kTop ? 0 : static_cast<U>(bits >> position);
  if (last >= kTop) {
    // The field reaches the top: what is above it repeats the sign.
    const std::uint32_t kept = position > kTop ? 0 : kBits<T> - position;
    if constexpr (std::is_signed_v<T>) {
      if ((bits >> kTop & 1) != 0) field |= static_cast<U>(~ones<U>(kept));
    }
    return static_cast<T>(field);
  }
  field &= ones<U>(length);
  if constexpr (std::is_signed_v<T>) {
    if ((bits >> last & 1) != 0) field |= static_cast<U>(~ones<U>(length));
  }
  return static_cast<T>(field);
}
template <class D, class T>
void step_bfe(Warp<D>& w, const Op<D>& op) {
  constexpr BitOp kOp = std::is_signed_v<T> ? BitOp::BfeS : BitOp::BfeU;
  map3<T, T, std::uint32_t, std::uint32_t>(
      w, kOp, op.d, op.a, op.b, op.c, [](T a, std::uint32_t b, std::uint32_t c) { return extract_field<T>(a, b, c); });
}

template <class U>
U insert_field(U a, U b, std::uint32_t c, std::uint32_t d) {
  const std::uint32_t position = field_amount<U>(c), length = field_amount<U>(d);
  if (position >= kBits<U>) return b;
  const U mask = static_cast<U>(ones<U>(length) << position);
  return static_cast<U>((b & ~mask) | (static_cast<U>(a << position) & mask));
}
// Lanes with tags: position and length, which must be known, as the domain takes them.
template <class D, class U>
void insert_tagged(Warp<D>& w, const Op<D>& op, Slot length_slot) {
  const Lane<std::uint32_t>* position = w.concrete_lanes(op.c, "the position of a bit field");
  const Lane<std::uint32_t>* length = w.concrete_lanes(length_slot, "the length of a bit field");
  if (position == nullptr || length == nullptr) return;
  domain::Word words[kLanes];
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const domain::Word a = w.word(op.a, sizeof(U), lane), b = w.word(op.b, sizeof(U), lane);
    const std::uint32_t at = position[lane], count = length[lane];
    const auto insert = [=](std::uint64_t x, std::uint64_t y, std::uint64_t) {
      return static_cast<std::uint64_t>(insert_field<U>(static_cast<U>(x), static_cast<U>(y), at, count));
    };
    domain::Word place;
    place.bits = (count & 255) << 8 | (at & 255);
    if (!w.has_tag(a, sizeof(U)) && !w.has_tag(b, sizeof(U))) {
      words[lane].bits = insert(a.bits, b.bits, 0);
    } else if (!w.bit_op(sizeof(U) == 4 ? BitMeaning(BitOp::Bfi) : std::nullopt, sizeof(U), sizeof(U), a, b, place, 0,
                         insert, words[lane])) {
      return;
    }
  }
  w.write_words(op.d, sizeof(U), words);
}

// Four sources: a loop of its own.
template <class D, class U>
void step_bfi(Warp<D>& w, const Op<D>& op) {
  const Slot length = w.listed(op, 0);
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a) || !w.is_plain(op.b) || !w.is_plain(op.c) || !w.is_plain(length)) {
      return insert_tagged<D, U>(w, op, length);
    }
  }
  const Lane<U>* a = w.template lanes<U>(op.a);
  const Lane<U>* b = w.template lanes<U>(op.b);
  const Lane<std::uint32_t>* c = w.template lanes<std::uint32_t>(op.c);
  const Lane<std::uint32_t>* d = w.template lanes<std::uint32_t>(length);
  write_lanes<D, U>(w, op.d, [=](unsigned lane) { return insert_field<U>(a[lane], b[lane], c[lane], d[lane]); });
}

std::uint32_t find_nth(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  if (base > 31) return ~0u;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  const bool is_up = offset > 0;
  std::uint32_t left = is_up ? static_cast<std::uint32_t>(offset) : 0u - static_cast<std::uint32_t>(offset);
  for (auto at = static_cast<std::int32_t>(base); at >= 0 && at < 32; at += is_up ? 1 : -1) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
  }
  return ~0u;
}
template <class D>
void step_fns(Warp<D>& w, const Op<D>& op) {
  map3<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t>(w, std::nullopt, op.d, op.a, op.b, op.c, find_nth);
}

template <class T, bool IsWrap>
T extend_low(T a, std::uint32_t b) {
  const std::uint32_t bits = IsWrap ? b & 31 : b;
  if (bits == 0) return 0;
  if (bits >= 32) return a;
  const auto shifted = static_cast<T>(static_cast<std::uint32_t>(a) << (32 - bits));
  return static_cast<T>(shifted >> (32 - bits));
}
template <class D, class T, bool IsWrap>
void step_szext(Warp<D>& w, const Op<D>& op) {
  map2<T, T, std::uint32_t>(w, std::nullopt, op.d, op.a, op.b,
                            [](T a, std::uint32_t b) { return extend_low<T, IsWrap>(a, b); });
}

template <class D, bool IsWrap>
void step_bmsk(Warp<D>& w, const Op<D>& op) {
  map2<std::uint32_t, std::uint32_t>(w, std::nullopt, op.d, op.a, op.b, [](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = IsWrap ? a & 31 : std::min(a, 32u);
    const std::uint32_t count = IsWrap ? b & 31 : std::min(b, 32u);
    return first >= 32 ? 0u : ones<std::uint32_t>(count) << first;
  });
}

template <class Part>
constexpr std::int64_t part_of(std::uint32_t word, unsigned index) {
  return static_cast<Part>(word >> (8 * sizeof(Part) * index));
}
// Integers of data: d = c plus the products of `Count` parts of a with those of b from `First` on, as numbers.
template <class D, class A, class B, unsigned Count, unsigned First>
void add_products(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  D& dom = w.dom();
  const auto part = [&]<class P>(const domain::Word& word, unsigned index, P) {
    domain::Word out;
    out.bits = word.bits >> (8 * sizeof(P) * index);
    for (unsigned i = 0; i < sizeof(P); ++i) out.tags[i] = word.tags[sizeof(P) * index + i];
    return dom.integer(out, 8 * sizeof(P), std::is_signed_v<P>);
  };
  domain::Word words[kLanes];
  for_lanes(w.mask(), [&](unsigned lane) {
    const domain::Word a = w.word(op.a, 4, lane), b = w.word(op.b, 4, lane);
    Real left[Count], right[Count], sum = dom.integer(w.word(op.c, 4, lane), 32, true, true);
    for (unsigned i = 0; i < Count; ++i) {
      left[i] = part(a, i, A{});
      right[i] = part(b, First + i, B{});
    }
    dom.int_dot(1, 1, Count, left, right, &sum, &sum, false);
    words[lane] = dom.integer_word(sum, 4);
  });
  w.write_words(op.d, 4, words);
}
template <class D>
bool are_plain(Warp<D>& w, const Op<D>& op) {
  return w.is_plain(op.a) && w.is_plain(op.b) && w.is_plain(op.c);
}

template <class D, class A, class B>
void step_dp4a(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!are_plain(w, op)) return add_products<D, A, B, 4, 0>(w, op);
  }
  map3<std::uint32_t, std::uint32_t>(w, std::nullopt, op.d, op.a, op.b, op.c,
                                     [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
                                       std::int64_t sum = 0;
                                       for (unsigned i = 0; i < 4; ++i) sum += part_of<A>(a, i) * part_of<B>(b, i);
                                       return c + static_cast<std::uint32_t>(sum);
                                     });
}
// `First`: which two bytes of b take part, 0 for .lo and 2 for .hi.
template <class D, class A, class B, unsigned First>
void step_dp2a(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!are_plain(w, op)) return add_products<D, A, B, 2, First>(w, op);
  }
  map3<std::uint32_t, std::uint32_t>(w, std::nullopt, op.d, op.a, op.b, op.c,
                                     [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
                                       std::int64_t sum = 0;
                                       for (unsigned i = 0; i < 2; ++i)
                                         sum += part_of<A>(a, i) * part_of<B>(b, First + i);
                                       return c + static_cast<std::uint32_t>(sum);
                                     });
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Popc>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  return instr.type() == Type::b64 ? &step_popc<D, std::uint64_t> : &step_popc<D, std::uint32_t>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Clz>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  return instr.type() == Type::b64 ? &step_clz<D, std::uint64_t> : &step_clz<D, std::uint32_t>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Bfind>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  const bool is_shift = instr.has(Mod::shiftamt);
  switch (instr.type()) {
    case Type::u32:
      return is_shift ? &step_bfind<D, std::uint32_t, true> : &step_bfind<D, std::uint32_t, false>;
    case Type::s32:
      return is_shift ? &step_bfind<D, std::int32_t, true> : &step_bfind<D, std::int32_t, false>;
    case Type::u64:
      return is_shift ? &step_bfind<D, std::uint64_t, true> : &step_bfind<D, std::uint64_t, false>;
    case Type::s64:
      return is_shift ? &step_bfind<D, std::int64_t, true> : &step_bfind<D, std::int64_t, false>;
    default:
      return known<D>(ctx, nullptr);
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Fns>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op);
  return &step_fns<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Brev>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  return instr.type() == Type::b64 ? &step_brev<D, std::uint64_t> : &step_brev<D, std::uint32_t>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Bfe>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  op.b = ctx.source(instr.operands[2], Type::u32);
  op.c = ctx.source(instr.operands[3], Type::u32);
  switch (instr.type()) {
    case Type::u32:
      return &step_bfe<D, std::uint32_t>;
    case Type::s32:
      return &step_bfe<D, std::int32_t>;
    case Type::u64:
      return &step_bfe<D, std::uint64_t>;
    case Type::s64:
      return &step_bfe<D, std::int64_t>;
    default:
      return known<D>(ctx, nullptr);
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Bfi>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  op.c = ctx.source(instr.operands[3], Type::u32);
  op.list = ctx.list({ctx.source(instr.operands[4], Type::u32)});
  return instr.type() == Type::b64 ? &step_bfi<D, std::uint64_t> : &step_bfi<D, std::uint32_t>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Szext>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  op.b = ctx.source(instr.operands[2], Type::u32);
  const bool is_wrap = instr.has(Mod::wrap);
  if (instr.type() == Type::s32) {
    return is_wrap ? &step_szext<D, std::int32_t, true> : &step_szext<D, std::int32_t, false>;
  }
  return is_wrap ? &step_szext<D, std::uint32_t, true> : &step_szext<D, std::uint32_t, false>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Bmsk>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  return instr.has(Mod::wrap) ? &step_bmsk<D, true> : &step_bmsk<D, false>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Dp4a>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op, Type::b32);
  if (instr.type(0) == Type::s32) {
    return instr.type(1) == Type::s32 ? &step_dp4a<D, std::int8_t, std::int8_t>
                                      : &step_dp4a<D, std::int8_t, std::uint8_t>;
  }
  return instr.type(1) == Type::s32 ? &step_dp4a<D, std::uint8_t, std::int8_t>
                                    : &step_dp4a<D, std::uint8_t, std::uint8_t>;
}

template <class D, unsigned First>
StepFn<D> select_dp2a(Type a, Type b) {
  if (a == Type::s32) {
    return b == Type::s32 ? &step_dp2a<D, std::int16_t, std::int8_t, First>
                          : &step_dp2a<D, std::int16_t, std::uint8_t, First>;
  }
  return b == Type::s32 ? &step_dp2a<D, std::uint16_t, std::int8_t, First>
                        : &step_dp2a<D, std::uint16_t, std::uint8_t, First>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Dp2a>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op, Type::b32);
  return instr.has(Mod::hi) ? select_dp2a<D, 2>(instr.type(0), instr.type(1))
                            : select_dp2a<D, 0>(instr.type(0), instr.type(1));
}

PLUMB_INSTANTIATE_MEANING(Popc)
PLUMB_INSTANTIATE_MEANING(Clz)
PLUMB_INSTANTIATE_MEANING(Bfind)
PLUMB_INSTANTIATE_MEANING(Fns)
PLUMB_INSTANTIATE_MEANING(Brev)
PLUMB_INSTANTIATE_MEANING(Bfe)
PLUMB_INSTANTIATE_MEANING(Bfi)
PLUMB_INSTANTIATE_MEANING(Szext)
PLUMB_INSTANTIATE_MEANING(Bmsk)
PLUMB_INSTANTIATE_MEANING(Dp4a)
PLUMB_INSTANTIATE_MEANING(Dp2a)

}  // namespace plumb::machine
