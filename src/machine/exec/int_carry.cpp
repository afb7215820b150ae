// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/int_carry.h"

#include <cstdint>
#include <type_traits>

namespace plumb::machine {
namespace {

using ptx::Instr;
using ptx::Mod;
using ptx::Type;

enum class Kind : std::uint8_t { Add, Sub, MadLow, MadHigh };

template <class T>
struct WithCarry {
  T value = 0;
  bool carry = false;
};

template <class T>
WithCarry<T> add(T a, T b, bool carry) {
  const T sum = static_cast<T>(a + b), all = static_cast<T>(sum + (carry ? 1 : 0));
  return {all, sum < a || all < sum};
}

// The half of the product that a mad adds. T is signed where the instruction is.
template <class T>
std::make_unsigned_t<T> half_product(T a, T b, bool is_high) {
  using Unsigned = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<sizeof(T) == 4, std::int64_t, __int128>;
  using UnsignedWide = std::conditional_t<sizeof(T) == 4, std::uint64_t, unsigned __int128>;
  if (!is_high) return static_cast<Unsigned>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  constexpr unsigned kBits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return static_cast<Unsigned>((static_cast<Wide>(a) * b) >> kBits);
  return static_cast<Unsigned>((static_cast<UnsignedWide>(a) * b) >> kBits);
}

// Op::r is the flag that is taken, the always-false predicate when none is; Op::q the flag that is set.
template <class D, class T, Kind K>
void step_carry(Warp<D>& w, const Op<D>& op) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr bool kIsMad = K == Kind::MadLow || K == Kind::MadHigh;
  if (!w.is_plain(op.a) || !w.is_plain(op.b) || (kIsMad && !w.is_plain(op.c))) {
    return w.unmodelled("carrying arithmetic on bytes that are an abstract float or were never written");
  }
  if (!w.is_plain(op.r)) return w.unmodelled("a carry flag that no instruction has set");
  const Lane<T>* a = w.template lanes<T>(op.a);
  const Lane<T>* b = w.template lanes<T>(op.b);
  const Lane<T>* c = w.template lanes<T>(op.c);
  const std::uint32_t taken = w.bits(op.r);
  std::uint32_t set = 0;
  Unsigned results[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool carry = (taken >> lane & 1) != 0;
    WithCarry<Unsigned> result;
    if constexpr (K == Kind::Add) result = add(static_cast<Unsigned>(a[lane]), static_cast<Unsigned>(b[lane]), carry);
    if constexpr (K == Kind::Sub) {
      result = add(static_cast<Unsigned>(a[lane]), static_cast<Unsigned>(~b[lane]), carry);
    }
    if constexpr (kIsMad) {
      const Unsigned half = half_product<T>(a[lane], b[lane], K == Kind::MadHigh);
      result = add(half, static_cast<Unsigned>(c[lane]), carry);
    }
    results[lane] = result.value;
    set |= (result.carry ? 1u : 0u) << lane;
  }
  write_lanes<D, Unsigned>(w, op.d, [&](unsigned lane) { return results[lane]; });
  w.write_pred(op.q, set);
}

template <class D, Kind K>
StepFn<D> for_type(Type type) {
  switch (type) {
    case Type::u32:
      return &step_carry<D, std::uint32_t, K>;
    case Type::s32:
      return &step_carry<D, std::int32_t, K>;
    case Type::u64:
      return &step_carry<D, std::uint64_t, K>;
    default:
      return &step_carry<D, std::int64_t, K>;
  }
}

// `addc`, `subc` and `madc` take the flag. It holds what the hardware keeps: after a subtraction, whether nothing was
// borrowed.
template <class D>
void decode_flags(DecodeContext& ctx, const Instr& instr, Op<D>& op, bool is_subtraction = false) {
  const bool takes = instr.opcode.ends_with('c');
  op.r = takes ? PredRef{ctx.carry(), false} : PredRef{0, is_subtraction};  // predicate 0 is always false
  op.q = instr.has(Mod::cc) ? ctx.carry() : kNoPred;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::AddCarry>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  op.c = op.a;
  decode_flags(ctx, instr, op);
  return for_type<D, Kind::Add>(instr.type());
}

template <class D>
StepFn<D> Meaning<ptx::Form::SubCarry>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  op.c = op.a;
  decode_flags(ctx, instr, op, true);
  return for_type<D, Kind::Sub>(instr.type());
}

template <class D>
StepFn<D> Meaning<ptx::Form::MadCarry>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  ctx.four(instr, op);
  decode_flags(ctx, instr, op);
  return instr.has(Mod::hi) ? for_type<D, Kind::MadHigh>(instr.type()) : for_type<D, Kind::MadLow>(instr.type());
}

PLUMB_INSTANTIATE_MEANING(AddCarry)
PLUMB_INSTANTIATE_MEANING(SubCarry)
PLUMB_INSTANTIATE_MEANING(MadCarry)

}  // namespace plumb::machine
