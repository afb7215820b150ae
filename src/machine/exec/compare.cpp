// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/compare.h"

#include <array>
#include <cstdint>
#include <utility>

namespace plumb::machine {
namespace {

using domain::Compare;
using domain::FloatMode;
using domain::Format;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

enum class BoolOp : std::uint8_t { None, And, Or, Xor };

BoolOp bool_op(const ptx::Instr& instr) {
  if (instr.has(Mod::and_)) return BoolOp::And;
  if (instr.has(Mod::or_)) return BoolOp::Or;
  if (instr.has(Mod::xor_)) return BoolOp::Xor;
  return BoolOp::None;
}

constexpr std::pair<Mod, Compare> kCompares[] = {
    {Mod::eq, Compare::Eq},   {Mod::ne, Compare::Ne},   {Mod::lt, Compare::Lt},   {Mod::le, Compare::Le},
    {Mod::gt, Compare::Gt},   {Mod::ge, Compare::Ge},   {Mod::lo, Compare::Lt},   {Mod::ls, Compare::Le},
    {Mod::hi, Compare::Gt},   {Mod::hs, Compare::Ge},   {Mod::equ, Compare::Equ}, {Mod::neu, Compare::Neu},
    {Mod::ltu, Compare::Ltu}, {Mod::leu, Compare::Leu}, {Mod::gtu, Compare::Gtu}, {Mod::geu, Compare::Geu},
    {Mod::num, Compare::Num}, {Mod::nan, Compare::Nan}};

Compare comparison(const ptx::Instr& instr) {
  for (const auto& [mod, compare] : kCompares) {
    if (instr.has(mod)) return compare;
  }
  return Compare::Eq;  // the validator lets no comparison through without its word
}

// Op::imm: the boolean operation; Op::aux: flush subnormals.
template <class D>
typename D::Bool combine(D& dom, BoolOp op, typename D::Bool a, typename D::Bool b) {
  switch (op) {
    case BoolOp::And:
      return dom.logical_and(a, b);
    case BoolOp::Or:
      return dom.logical_or(a, b);
    case BoolOp::Xor:
      return dom.logical_xor(a, b);
    case BoolOp::None:
      return a;
  }
  return a;
}
constexpr std::uint32_t combine(BoolOp op, std::uint32_t a, std::uint32_t b) {
  switch (op) {
    case BoolOp::And:
      return a & b;
    case BoolOp::Or:
      return a | b;
    case BoolOp::Xor:
      return a ^ b;
    case BoolOp::None:
      return a;
  }
  return a;
}

template <class D>
bool is_plain_third(Warp<D>& w, const Op<D>& op) {
  return static_cast<BoolOp>(op.imm) == BoolOp::None || w.is_plain(op.r);
}
template <class D>
std::uint32_t third_bits(Warp<D>& w, const Op<D>& op) {
  return static_cast<BoolOp>(op.imm) == BoolOp::None ? 0 : w.bits(op.r);
}

// Writes p = x op c and q = y op c. setp with one result: y = !x.
template <class D>
void write_pair(Warp<D>& w, const Op<D>& op, std::uint32_t x, std::uint32_t y) {
  const auto boolean = static_cast<BoolOp>(op.imm);
  if (is_plain_third(w, op)) {
    const std::uint32_t c = third_bits(w, op);
    w.write_pred(op.p, combine(boolean, x, c));
    return w.write_pred(op.q, combine(boolean, y, c));
  }
  typename D::Bool first[kLanes]{}, second[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    const typename D::Bool c = w.boolean(op.r, lane);
    first[lane] = combine(w.dom(), boolean, w.dom().boolean((x >> lane & 1) != 0), c);
    second[lane] = combine(w.dom(), boolean, w.dom().boolean((y >> lane & 1) != 0), c);
  });
  w.write_pred(op.p, first);
  w.write_pred(op.q, second);
}
template <class D>
void write_pair(Warp<D>& w, const Op<D>& op, const typename D::Bool (&x)[kLanes], const typename D::Bool (&y)[kLanes]) {
  const auto boolean = static_cast<BoolOp>(op.imm);
  typename D::Bool first[kLanes]{}, second[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    first[lane] = x[lane];
    second[lane] = y[lane];
    if (boolean == BoolOp::None) return;
    const typename D::Bool c = w.boolean(op.r, lane);
    first[lane] = combine(w.dom(), boolean, x[lane], c);
    second[lane] = combine(w.dom(), boolean, y[lane], c);
  });
  w.write_pred(op.p, first);
  w.write_pred(op.q, second);
}

// -- The comparisons themselves
// ----------------------------------------------------------------------------------------
template <Compare C, class T>
constexpr bool holds(T a, T b) {
  if constexpr (C == Compare::Eq) return a == b;
  if constexpr (C == Compare::Ne) return a != b;
  if constexpr (C == Compare::Lt) return a < b;
  if constexpr (C == Compare::Le) return a <= b;
  if constexpr (C == Compare::Gt) return a > b;
  if constexpr (C == Compare::Ge) return a >= b;
}

// Whether all lanes of the mask compare known bits.
template <class D, class T>
bool are_known(Warp<D>& w, const Op<D>& op) {
  bool is_known = true;
  if constexpr (D::kHasTags) {
    if (w.is_plain(op.a) && w.is_plain(op.b)) return true;
    for_lanes(w.mask(), [&](unsigned lane) {
      is_known = is_known && !w.has_tag(w.word(op.a, sizeof(T), lane), sizeof(T)) &&
                 !w.has_tag(w.word(op.b, sizeof(T), lane), sizeof(T));
    });
  }
  return is_known;
}

// The lane mask of a[i] C b[i]; false when a lane of the mask is not concrete (and the run was ended).
template <class D, class T, Compare C>
bool compare_ints(Warp<D>& w, const Op<D>& op, std::uint32_t& out) {
  if (!are_known<D, T>(w, op)) {
    w.unmodelled("integer comparison of bytes that are abstract or were never written");
    return false;
  }
  const Lane<T>* a = w.template lanes<T>(op.a);
  const Lane<T>* b = w.template lanes<T>(op.b);
  out = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) out |= (holds<C, T>(a[lane], b[lane]) ? 1u : 0u) << lane;
  return true;
}
template <class D, class T, Compare C>
void step_setp_int(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!are_known<D, T>(w, op)) {
      typename D::Bool holds_for[kLanes]{}, fails_for[kLanes]{};
      for_lanes(w.mask(), [&](unsigned lane) {
        holds_for[lane] = w.dom().compare(C, 8 * sizeof(T), std::is_signed_v<T>, w.word(op.a, sizeof(T), lane),
                                          w.word(op.b, sizeof(T), lane));
        fails_for[lane] = w.dom().logical_not(holds_for[lane]);
      });
      return write_pair(w, op, holds_for, fails_for);
    }
  }
  std::uint32_t bits = 0;
  if (compare_ints<D, T, C>(w, op, bits)) write_pair(w, op, bits, ~bits);
}

template <class D>
FloatMode mode_of(const Op<D>& op) {
  FloatMode mode;
  mode.ftz = op.aux != 0;
  return mode;
}

// Element `part` of each lane compared.
template <class D, Format F, Compare C, unsigned Parts>
void compare_reals(Warp<D>& w, const Op<D>& op, unsigned part, typename D::Bool (&out)[kLanes]) {
  const FloatMode mode = mode_of(op);
  for_lanes(w.mask(), [&](unsigned lane) {
    out[lane] = w.dom().compare(F, C, w.real(F, op.a, lane, part, Parts), w.real(F, op.b, lane, part, Parts), mode);
  });
}
template <class D, Format F, Compare C>
void step_setp_real(Warp<D>& w, const Op<D>& op) {
  if constexpr (!D::kHasTags) {
    const FloatMode mode = mode_of(op);
    std::uint32_t bits = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const bool is_true = w.dom().compare(F, C, w.real(F, op.a, lane), w.real(F, op.b, lane), mode);
      bits |= (is_true ? 1u : 0u) << lane;
    }
    return write_pair(w, op, bits, ~bits);
  }
  typename D::Bool x[kLanes]{}, y[kLanes]{};
  compare_reals<D, F, C, 1>(w, op, 0, x);
  for_lanes(w.mask(), [&](unsigned lane) { y[lane] = w.dom().logical_not(x[lane]); });
  write_pair(w, op, x, y);
}
template <class D, Format F, Compare C>
void step_setp_pair(Warp<D>& w, const Op<D>& op) {
  typename D::Bool x[kLanes]{}, y[kLanes]{};
  compare_reals<D, F, C, 2>(w, op, 0, x);
  compare_reals<D, F, C, 2>(w, op, 1, y);
  write_pair(w, op, x, y);
}

// The step for a comparison and an integer type.
template <class D, template <class, class, Compare> class Chosen, class T>
StepFn<D> for_compare(Compare compare) {
  switch (compare) {
    case Compare::Eq:
      return &Chosen<D, T, Compare::Eq>::step;
    case Compare::Ne:
      return &Chosen<D, T, Compare::Ne>::step;
    case Compare::Lt:
      return &Chosen<D, T, Compare::Lt>::step;
    case Compare::Le:
      return &Chosen<D, T, Compare::Le>::step;
    case Compare::Gt:
      return &Chosen<D, T, Compare::Gt>::step;
    case Compare::Ge:
      return &Chosen<D, T, Compare::Ge>::step;
    default:
      return nullptr;
  }
}
template <class D, template <class, class, Compare> class Chosen>
StepFn<D> for_int(Type type, Compare compare) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return for_compare<D, Chosen, std::uint16_t>(compare);
    case Type::s16:
      return for_compare<D, Chosen, std::int16_t>(compare);
    case Type::b32:
    case Type::u32:
      return for_compare<D, Chosen, std::uint32_t>(compare);
    case Type::s32:
      return for_compare<D, Chosen, std::int32_t>(compare);
    case Type::b64:
    case Type::u64:
      return for_compare<D, Chosen, std::uint64_t>(compare);
    case Type::s64:
      return for_compare<D, Chosen, std::int64_t>(compare);
    default:
      return nullptr;
  }
}
template <class D, template <class, Format, Compare> class Chosen, Format F, std::size_t... I>
StepFn<D> for_real_in(Compare compare, std::index_sequence<I...>) {
  constexpr std::array<StepFn<D>, sizeof...(I)> kSteps = {&Chosen<D, F, static_cast<Compare>(I)>::step...};
  return kSteps[static_cast<std::size_t>(compare)];
}
template <class D, template <class, Format, Compare> class Chosen, Format F>
StepFn<D> for_real(Compare compare) {
  return for_real_in<D, Chosen, F>(compare, std::make_index_sequence<14>());
}

template <class D, class T, Compare C>
struct SetpInt {
  static void step(Warp<D>& w, const Op<D>& op) { step_setp_int<D, T, C>(w, op); }
};
template <class D, Format F, Compare C>
struct SetpReal {
  static void step(Warp<D>& w, const Op<D>& op) { step_setp_real<D, F, C>(w, op); }
};
template <class D, Format F, Compare C>
struct SetpPair {
  static void step(Warp<D>& w, const Op<D>& op) { step_setp_pair<D, F, C>(w, op); }
};

template <class D>
void decode_setp(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const Operand& d = instr.operands[0];
  const bool is_pair = d.kind == Operand::Kind::Pair;
  op.p = ctx.pred_dest(is_pair ? d.elements[0] : d);
  op.q = is_pair ? ctx.pred_dest(d.elements[1]) : kNoPred;
  op.a = ctx.source(instr.operands[1], instr.type());
  op.b = ctx.source(instr.operands[2], instr.type());
  op.imm = static_cast<std::uint64_t>(bool_op(instr));
  if (bool_op(instr) != BoolOp::None) op.r = ctx.pred_source(instr.operands[3]);
  op.aux = instr.has(Mod::ftz) ? 1 : 0;
}

// -- set: all ones or 1.0 in the destination's type
// --------------------------------------------------------------------
std::uint64_t true_of(Type type) {
  switch (type) {
    case Type::f32:
      return 0x3f800000;
    case Type::f16:
      return 0x3c00;
    case Type::bf16:
      return 0x3f80;
    case Type::f16x2:
      return 0x3c003c00;
    case Type::bf16x2:
      return 0x3f803f80;
    case Type::u16:
    case Type::s16:
      return 0xffff;
    default:
      return 0xffffffff;
  }
}

// Op::imm: the boolean operation, and from bit 8 the value that stands for true.
template <class D, class R>
void write_truth(Warp<D>& w, const Op<D>& op, std::uint32_t low, std::uint32_t high, bool is_packed) {
  const auto boolean = static_cast<BoolOp>(op.imm & 0xff);
  const auto truth = static_cast<std::uint32_t>(op.imm >> 8);
  if (boolean != BoolOp::None && !w.is_plain(op.r)) return w.unmodelled("`set` with an abstract predicate");
  const std::uint32_t c = boolean == BoolOp::None ? 0 : w.bits(op.r);
  low = combine(boolean, low, c);
  high = combine(boolean, high, c);
  write_lanes<D, R>(w, op.d, [=](unsigned lane) -> R {
    if (!is_packed) return static_cast<R>((low >> lane & 1) != 0 ? truth : 0);
    const std::uint32_t first = (low >> lane & 1) != 0 ? truth & 0xffff : 0;
    return static_cast<R>(first | ((high >> lane & 1) != 0 ? truth & 0xffff0000u : 0));
  });
}
template <class D, Format F, Compare C, unsigned Parts>
bool decided_reals(Warp<D>& w, const Op<D>& op, unsigned part, std::uint32_t& out) {
  typename D::Bool values[kLanes]{};
  compare_reals<D, F, C, Parts>(w, op, part, values);
  bool is_decided = true;
  for_lanes(w.mask(), [&](unsigned lane) {
    const std::optional<bool> value = w.dom().decide(values[lane]);
    is_decided = is_decided && value.has_value();
    out |= (value.value_or(false) ? 1u : 0u) << lane;
  });
  if (!is_decided) w.unmodelled("`set` on abstract floats");
  return is_decided;
}

template <class D, class T, Compare C>
struct SetInt {
  static void step(Warp<D>& w, const Op<D>& op) {
    std::uint32_t bits = 0;
    if (compare_ints<D, T, C>(w, op, bits)) write_truth<D, std::uint32_t>(w, op, bits, 0, false);
  }
};
template <class R, bool IsPacked>
struct SetRealTo {
  template <class D, Format F, Compare C>
  struct Chosen {
    static void step(Warp<D>& w, const Op<D>& op) {
      std::uint32_t low = 0, high = 0;
      if (!decided_reals < D, F, C, IsPacked ? 2 : 1 > (w, op, 0, low)) return;
      if (IsPacked && !decided_reals<D, F, C, 2>(w, op, 1, high)) return;
      write_truth<D, R>(w, op, low, high, IsPacked && sizeof(R) == 4);
    }
  };
};

template <class D>
void decode_set(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], instr.type(1));
  op.b = ctx.source(instr.operands[2], instr.type(1));
  op.imm = static_cast<std::uint64_t>(bool_op(instr)) | true_of(instr.type(0)) << 8;
  if (bool_op(instr) != BoolOp::None) op.r = ctx.pred_source(instr.operands[3]);
  op.aux = instr.has(Mod::ftz) ? 1 : 0;
}

// -- selp, slct
// -------------------------------------------------------------------------------------------------------- d = bit of
// `choice` ? a : b, tags included.
template <class D, class T>
void select_lanes(Warp<D>& w, const Op<D>& op, std::uint32_t choice) {
  if (w.is_plain(op.a) && w.is_plain(op.b)) {
    const Lane<T>* a = w.template lanes<T>(op.a);
    const Lane<T>* b = w.template lanes<T>(op.b);
    return write_lanes<D, T>(w, op.d, [=](unsigned lane) { return (choice >> lane & 1) != 0 ? a[lane] : b[lane]; });
  }
  domain::Word words[kLanes];
  for_lanes(w.mask(),
            [&](unsigned lane) { words[lane] = w.word((choice >> lane & 1) != 0 ? op.a : op.b, sizeof(T), lane); });
  w.write_words(op.d, sizeof(T), words);
}
// By an abstract predicate, where all lanes choose between integers; false otherwise, and nothing done.
template <class D, class T>
bool select_integers(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    domain::Word words[kLanes];
    for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(mask));
      const typename D::Bool p = w.boolean(op.r, lane);
      const domain::Word a = w.word(op.a, sizeof(T), lane), b = w.word(op.b, sizeof(T), lane);
      if (const auto decided = w.dom().decide(p)) {
        words[lane] = *decided ? a : b;
      } else if (w.dom().is_integer_choice(p, a, b)) {
        words[lane] = w.dom().select(8 * sizeof(T), p, a, b);
      } else {
        return false;
      }
    }
    w.write_words(op.d, sizeof(T), words);
    return true;
  } else {
    return false;
  }
}

template <class D, class T>
void step_selp(Warp<D>& w, const Op<D>& op) {
  if (w.is_plain(op.r)) return select_lanes<D, T>(w, op, w.bits(op.r));
  if (select_integers<D, T>(w, op)) return;
  if constexpr (sizeof(T) == 2) {
    w.unmodelled("`selp` of 16-bit data by an abstract predicate");
  } else {
    constexpr Format kFormat = sizeof(T) == 8 ? Format::F64 : Format::F32;
    typename D::Real results[kLanes]{};
    for_lanes(w.mask(), [&](unsigned lane) {
      results[lane] =
          w.dom().select(kFormat, w.boolean(op.r, lane), w.real(kFormat, op.a, lane), w.real(kFormat, op.b, lane));
    });
    w.write_reals(kFormat, op.d, 1, results);
  }
}

template <class D, class T>
void step_slct_int(Warp<D>& w, const Op<D>& op) {
  if (!w.is_plain(op.c)) return w.unmodelled("`slct` by the bytes of an abstract float");
  const Lane<std::int32_t>* c = w.template lanes<std::int32_t>(op.c);
  std::uint32_t choice = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) choice |= (c[lane] >= 0 ? 1u : 0u) << lane;
  select_lanes<D, T>(w, op, choice);
}
template <class D, class T>
void step_slct_real(Warp<D>& w, const Op<D>& op) {
  std::uint32_t choice = 0;
  bool is_decided = true;
  for_lanes(w.mask(), [&](unsigned lane) {
    const typename D::Real zero = w.dom().constant(Format::F32, 0);
    const std::optional<bool> value =
        w.dom().decide(w.dom().compare(Format::F32, Compare::Ge, w.real(Format::F32, op.c, lane), zero, mode_of(op)));
    is_decided = is_decided && value.has_value();
    choice |= (value.value_or(false) ? 1u : 0u) << lane;
  });
  if (!is_decided) return w.unmodelled("`slct` by an abstract float");
  select_lanes<D, T>(w, op, choice);
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Setp>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  decode_setp(ctx, instr, op);
  const Compare compare = comparison(instr);
  switch (instr.type()) {
    case Type::f32:
      return for_real<D, SetpReal, Format::F32>(compare);
    case Type::f64:
      return for_real<D, SetpReal, Format::F64>(compare);
    default:
      return known<D>(ctx, for_int<D, SetpInt>(instr.type(), compare));
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::SetpHalf>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  decode_setp(ctx, instr, op);
  const Compare compare = comparison(instr);
  switch (instr.type()) {
    case Type::f16:
      return for_real<D, SetpReal, Format::F16>(compare);
    case Type::bf16:
      return for_real<D, SetpReal, Format::BF16>(compare);
    case Type::f16x2:
      return for_real<D, SetpPair, Format::F16>(compare);
    case Type::bf16x2:
      return for_real<D, SetpPair, Format::BF16>(compare);
    default:
      return known<D>(ctx, nullptr);
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Set>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  decode_set(ctx, instr, op);
  const Compare compare = comparison(instr);
  switch (instr.type(1)) {
    case Type::f32:
      return for_real<D, SetRealTo<std::uint32_t, false>::template Chosen, Format::F32>(compare);
    case Type::f64:
      return for_real<D, SetRealTo<std::uint32_t, false>::template Chosen, Format::F64>(compare);
    default:
      return known<D>(ctx, for_int<D, SetInt>(instr.type(1), compare));
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::SetHalf>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  decode_set(ctx, instr, op);
  const Compare compare = comparison(instr);
  const bool is_short = ptx::byte_size(instr.type(0)) == 2;
  switch (instr.type(1)) {
    case Type::f16:
      return is_short ? for_real<D, SetRealTo<std::uint16_t, false>::template Chosen, Format::F16>(compare)
                      : for_real<D, SetRealTo<std::uint32_t, false>::template Chosen, Format::F16>(compare);
    case Type::bf16:
      return is_short ? for_real<D, SetRealTo<std::uint16_t, false>::template Chosen, Format::BF16>(compare)
                      : for_real<D, SetRealTo<std::uint32_t, false>::template Chosen, Format::BF16>(compare);
    case Type::f16x2:
      return for_real<D, SetRealTo<std::uint32_t, true>::template Chosen, Format::F16>(compare);
    case Type::bf16x2:
      return for_real<D, SetRealTo<std::uint32_t, true>::template Chosen, Format::BF16>(compare);
    default:
      return known<D>(ctx, nullptr);
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Selp>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  op.r = ctx.pred_source(instr.operands[3]);
  switch (ptx::byte_size(instr.type())) {
    case 2:
      return &step_selp<D, std::uint16_t>;
    case 4:
      return &step_selp<D, std::uint32_t>;
    default:
      return &step_selp<D, std::uint64_t>;
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Slct>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  op.c = ctx.source(instr.operands[3], instr.type(1));
  op.aux = instr.has(Mod::ftz) ? 1 : 0;
  const bool is_real = instr.type(1) == Type::f32;
  switch (ptx::byte_size(instr.type())) {
    case 2:
      return is_real ? &step_slct_real<D, std::uint16_t> : &step_slct_int<D, std::uint16_t>;
    case 4:
      return is_real ? &step_slct_real<D, std::uint32_t> : &step_slct_int<D, std::uint32_t>;
    default:
      return is_real ? &step_slct_real<D, std::uint64_t> : &step_slct_int<D, std::uint64_t>;
  }
}

PLUMB_INSTANTIATE_MEANING(Set)
PLUMB_INSTANTIATE_MEANING(Setp)
PLUMB_INSTANTIATE_MEANING(Selp)
PLUMB_INSTANTIATE_MEANING(Slct)
PLUMB_INSTANTIATE_MEANING(SetHalf)
PLUMB_INSTANTIATE_MEANING(SetpHalf)

}  // namespace plumb::machine
