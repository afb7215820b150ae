// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/logic.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace plumb::machine {
namespace {

using domain::BitOp;
using ptx::Mod;
using ptx::Type;

struct AndFn {
  static constexpr BitMeaning kBit = BitOp::And;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
  template <class D>
  static typename D::Bool of(D& dom, typename D::Bool a, typename D::Bool b) {
    return dom.logical_and(a, b);
  }
};
struct OrFn {
  static constexpr BitMeaning kBit = BitOp::Or;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
  template <class D>
  static typename D::Bool of(D& dom, typename D::Bool a, typename D::Bool b) {
    return dom.logical_or(a, b);
  }
};
struct XorFn {
  static constexpr BitMeaning kBit = BitOp::Xor;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
  template <class D>
  static typename D::Bool of(D& dom, typename D::Bool a, typename D::Bool b) {
    return dom.logical_xor(a, b);
  }
};
struct NotFn {
  static constexpr BitMeaning kBit = BitOp::Not;
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct CnotFn {
  static constexpr BitMeaning kBit = std::nullopt;
  template <class T>
  T operator()(T a) const {
    return a == 0 ? 1 : 0;
  }
};

template <class D, class T, class Fn>
void step1(Warp<D>& w, const Op<D>& op) {
  map1<T, T>(w, Fn::kBit, op.d, op.a, Fn());
}
template <class D, class T, class Fn>
void step2(Warp<D>& w, const Op<D>& op) {
  map2<T, T>(w, Fn::kBit, op.d, op.a, op.b, Fn());
}

// The second source predicate of a logical operation stands in Op::imm.
constexpr std::uint64_t pack(PredRef pred) { return std::uint64_t{pred.slot} << 1 | (pred.is_negated ? 1 : 0); }
constexpr PredRef unpack(std::uint64_t packed) { return {static_cast<PredSlot>(packed >> 1), (packed & 1) != 0}; }

template <class D, class Fn>
void step_pred2(Warp<D>& w, const Op<D>& op) {
  const PredRef a = op.r, b = unpack(op.imm);
  if (w.is_plain(a) && w.is_plain(b)) return w.write_pred(op.p, Fn()(w.bits(a), w.bits(b)));
  typename D::Bool values[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) { values[lane] = Fn::of(w.dom(), w.boolean(a, lane), w.boolean(b, lane)); });
  w.write_pred(op.p, values);
}
template <class D>
void step_pred_not(Warp<D>& w, const Op<D>& op) {
  if (w.is_plain(op.r)) return w.write_pred(op.p, ~w.bits(op.r));
  typename D::Bool values[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) { values[lane] = w.dom().logical_not(w.boolean(op.r, lane)); });
  w.write_pred(op.p, values);
}

template <class D, class Fn>
StepFn<D> select_two(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (instr.type() == Type::pred) {
    op.p = ctx.pred_dest(instr.operands[0]);
    op.r = ctx.pred_source(instr.operands[1]);
    op.imm = pack(ctx.pred_source(instr.operands[2]));
    return &step_pred2<D, Fn>;
  }
  ctx.three(instr, op);
  switch (instr.type()) {
    case Type::b16:
      return &step2<D, std::uint16_t, Fn>;
    case Type::b32:
      return &step2<D, std::uint32_t, Fn>;
    case Type::b64:
      return &step2<D, std::uint64_t, Fn>;
    default:
      return known<D>(ctx, nullptr);
  }
}

template <class D, class Fn>
StepFn<D> select_one(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  switch (instr.type()) {
    case Type::b16:
      return &step1<D, std::uint16_t, Fn>;
    case Type::b32:
      return &step1<D, std::uint32_t, Fn>;
    case Type::b64:
      return &step1<D, std::uint64_t, Fn>;
    default:
      return known<D>(ctx, nullptr);
  }
}

// -- lop3
// -------------------------------------------------------------------------------------------------------------- Bit i
// of the result is bit 4*a_i + 2*b_i + c_i of the table.
constexpr std::uint32_t look_up(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t out = 0;
  for (unsigned row = 0; row < 8; ++row) {
    const std::uint32_t all = 0u - (table >> row & 1);
    out |= all & ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return out;
}
static_assert(look_up(0xF0, 0xCC, 0xAA, 0x96) == (0xF0 ^ 0xCC ^ 0xAA));
static_assert((look_up(0xF0, 0xCC, 0xAA, 0xEA) & 0xFF) == ((0xF0 & 0xCC) | 0xAA));

template <class D>
void step_lop3(Warp<D>& w, const Op<D>& op) {
  const auto table = static_cast<std::uint32_t>(op.imm);
  map3<std::uint32_t, std::uint32_t>(
      w, BitOp::Lop3, op.d, op.a, op.b, op.c,
      [table](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return look_up(a, b, c, table); }, table);
}

// lop3.or / lop3.and: also p = (d != 0) op q. On concrete lanes only.
template <class D, bool IsOr>
void step_lop3_pred(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a) || !w.is_plain(op.b) || !w.is_plain(op.c) || !w.is_plain(op.r)) {
      return w.unmodelled("`lop3` with a predicate on the bytes of abstract floats");
    }
  }
  step_lop3(w, op);
  const Lane<std::uint32_t>* d = w.template lanes<std::uint32_t>(op.d);
  std::uint32_t bits = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) bits |= (d[lane] != 0 ? 1u : 0u) << lane;
  w.write_pred(op.p, IsOr ? bits | w.bits(op.r) : bits & w.bits(op.r));
}

// -- Shifts
// ------------------------------------------------------------------------------------------------------------
struct Left {
  template <class T>
  T operator()(T a, std::uint32_t b) const {
    return b >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << b);
  }
};
struct Right {
  template <class T>
  T operator()(T a, std::uint32_t b) const {
    constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(b, kTop));
    return b > kTop ? T{0} : static_cast<T>(a >> b);
  }
};
template <class D, class T, class Fn>
void step_shift(Warp<D>& w, const Op<D>& op) {
  constexpr BitOp kOp = std::is_same_v<Fn, Left> ? BitOp::Shl : std::is_signed_v<T> ? BitOp::ShrS : BitOp::ShrU;
  map2<T, T, std::uint32_t>(w, kOp, op.d, op.a, op.b, [](T a, std::uint32_t b) { return Fn()(a, b); });
}

template <bool IsLeft, bool IsWrap>
constexpr std::uint32_t funnel(std::uint32_t low, std::uint32_t high, std::uint32_t amount) {
  const std::uint32_t n = IsWrap ? amount & 31 : std::min(amount, 32u);
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  return static_cast<std::uint32_t>(IsLeft ? (both << n) >> 32 : both >> n);
}
static_assert(funnel<true, false>(0x11111111, 0x22222222, 8) == 0x22222211);
static_assert(funnel<false, false>(0x11111111, 0x22222222, 40) == 0x22222222);

template <class D, bool IsLeft, bool IsWrap>
void step_funnel(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    // The domain's funnel shift clamps; a wrapping one differs only for amounts of 32 and more.
    if (IsWrap && (!w.is_plain(op.a) || !w.is_plain(op.b))) {
      const Lane<std::uint32_t>* amount = w.template lanes<std::uint32_t>(op.c);
      bool is_small = w.is_plain(op.c);
      for_lanes(w.mask(), [&](unsigned lane) { is_small = is_small && amount[lane] < 32; });
      if (!is_small) return w.unmodelled("`shf.wrap` by 32 or more on the bytes of abstract floats");
    }
  }
  map3<std::uint32_t, std::uint32_t>(w, IsLeft ? BitOp::FunnelLeft : BitOp::FunnelRight, op.d, op.a, op.b, op.c,
                                     funnel<IsLeft, IsWrap>);
}

// -- prmt
// --------------------------------------------------------------------------------------------------------------
enum class PermuteMode : std::uint8_t { Index, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

// Which of the eight source bytes goes to byte k of the result; bit 3: replicate its sign.
constexpr unsigned selector(PermuteMode mode, std::uint32_t c, unsigned k) {
  const unsigned i = c & 3;
  switch (mode) {
    case PermuteMode::Index:
      return c >> (4 * k) & 15;
    case PermuteMode::F4e:
      return i + k;
    case PermuteMode::B4e:
      return (i - k) & 7;
    case PermuteMode::Rc8:
      return i;
    case PermuteMode::Ecl:
      return std::max(k, i);
    case PermuteMode::Ecr:
      return std::min(k, i);
    case PermuteMode::Rc16:
      return (i & 1) * 2 + (k & 1);
  }
  return 0;
}

template <PermuteMode Mode>
constexpr std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t out = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned from = selector(Mode, c, k);
    std::uint32_t byte = both >> (8 * (from & 7)) & 0xff;
    if ((from & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << (8 * k);
  }
  return out;
}
static_assert(permute<PermuteMode::Index>(0x33221100, 0x77665544, 0x7531) == 0x77553311);
static_assert(permute<PermuteMode::Rc16>(0x33221100, 0x77665544, 1) == 0x33223322);

template <class D, PermuteMode Mode>
void step_prmt(Warp<D>& w, const Op<D>& op) {
  map3<std::uint32_t, std::uint32_t>(w, Mode == PermuteMode::Index ? BitMeaning(BitOp::Prmt) : std::nullopt, op.d, op.a,
                                     op.b, op.c, permute<Mode>);
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::And>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_two<D, AndFn>(ctx, instr, op);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Or>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_two<D, OrFn>(ctx, instr, op);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Xor>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_two<D, XorFn>(ctx, instr, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::Not>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (instr.type() == Type::pred) {
    op.p = ctx.pred_dest(instr.operands[0]);
    op.r = ctx.pred_source(instr.operands[1]);
    return &step_pred_not<D>;
  }
  return select_one<D, NotFn>(ctx, instr, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::Cnot>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_one<D, CnotFn>(ctx, instr, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::Lop3>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const bool has_pred = instr.operands[0].kind == ptx::Operand::Kind::Pair;
  op.d = ctx.dest(has_pred ? instr.operands[0].elements[0] : instr.operands[0]);
  op.a = ctx.source(instr.operands[1], Type::b32);
  op.b = ctx.source(instr.operands[2], Type::b32);
  op.c = ctx.source(instr.operands[3], Type::b32);
  op.imm = static_cast<std::uint64_t>(instr.operands[4].integer) & 0xff;
  if (!has_pred) return &step_lop3<D>;
  op.p = ctx.pred_dest(instr.operands[0].elements[1]);
  op.r = ctx.pred_source(instr.operands[5]);
  return instr.has(Mod::or_) ? &step_lop3_pred<D, true> : &step_lop3_pred<D, false>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Shf>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op, Type::b32);
  const bool is_wrap = instr.has(Mod::wrap);
  if (instr.has(Mod::l)) return is_wrap ? &step_funnel<D, true, true> : &step_funnel<D, true, false>;
  return is_wrap ? &step_funnel<D, false, true> : &step_funnel<D, false, false>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Shl>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  op.b = ctx.source(instr.operands[2], Type::u32);
  switch (instr.type()) {
    case Type::b16:
      return &step_shift<D, std::uint16_t, Left>;
    case Type::b32:
      return &step_shift<D, std::uint32_t, Left>;
    default:
      return &step_shift<D, std::uint64_t, Left>;
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Shr>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  op.b = ctx.source(instr.operands[2], Type::u32);
  switch (instr.type()) {
    case Type::s16:
      return &step_shift<D, std::int16_t, Right>;
    case Type::s32:
      return &step_shift<D, std::int32_t, Right>;
    case Type::s64:
      return &step_shift<D, std::int64_t, Right>;
    case Type::b16:
    case Type::u16:
      return &step_shift<D, std::uint16_t, Right>;
    case Type::b32:
    case Type::u32:
      return &step_shift<D, std::uint32_t, Right>;
    default:
      return &step_shift<D, std::uint64_t, Right>;
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Prmt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op, Type::b32);
  if (instr.has(Mod::f4e)) return &step_prmt<D, PermuteMode::F4e>;
  if (instr.has(Mod::b4e)) return &step_prmt<D, PermuteMode::B4e>;
  if (instr.has(Mod::rc8)) return &step_prmt<D, PermuteMode::Rc8>;
  if (instr.has(Mod::ecl)) return &step_prmt<D, PermuteMode::Ecl>;
  if (instr.has(Mod::ecr)) return &step_prmt<D, PermuteMode::Ecr>;
  if (instr.has(Mod::rc16)) return &step_prmt<D, PermuteMode::Rc16>;
  return &step_prmt<D, PermuteMode::Index>;
}

PLUMB_INSTANTIATE_MEANING(And)
PLUMB_INSTANTIATE_MEANING(Or)
PLUMB_INSTANTIATE_MEANING(Xor)
PLUMB_INSTANTIATE_MEANING(Not)
PLUMB_INSTANTIATE_MEANING(Cnot)
PLUMB_INSTANTIATE_MEANING(Lop3)
PLUMB_INSTANTIATE_MEANING(Shf)
PLUMB_INSTANTIATE_MEANING(Shl)
PLUMB_INSTANTIATE_MEANING(Shr)
PLUMB_INSTANTIATE_MEANING(Prmt)

}  // namespace plumb::machine
