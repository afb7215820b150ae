// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/int_arith.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace plumb::machine {
namespace {

using domain::BitOp;
using ptx::Mod;
using ptx::Type;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
constexpr unsigned kBits = 8 * sizeof(T);

// The product of two T, exact.
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

template <class T>
constexpr T low(T a, T b) {
  return static_cast<T>(static_cast<Wide<Unsigned<T>>>(static_cast<Unsigned<T>>(a)) * static_cast<Unsigned<T>>(b));
}
template <class T>
constexpr T high(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * b) >> kBits<T>);
}
template <class T>
constexpr T plus(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)));
}
template <class T>
constexpr T minus(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)));
}

constexpr std::int32_t clamp32(std::int64_t x) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(x, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

// Each operation is a function object on lanes with the domain's word for it on abstract bytes (none: no meaning).
struct Exact {
  static constexpr BitMeaning kBit = std::nullopt;
};
struct Add {
  static constexpr BitMeaning kBit = BitOp::Add;
  template <class T>
  T operator()(T a, T b) const {
    return plus(a, b);
  }
};
struct AddSat : Exact {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return clamp32(std::int64_t{a} + b); }
};
struct Sub {
  static constexpr BitMeaning kBit = BitOp::Sub;
  template <class T>
  T operator()(T a, T b) const {
    return minus(a, b);
  }
};
struct SubSat : Exact {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return clamp32(std::int64_t{a} - b); }
};
struct MulLo {
  static constexpr BitMeaning kBit = BitOp::Mul;
  template <class T>
  T operator()(T a, T b) const {
    return low(a, b);
  }
};
struct MulHi : Exact {
  template <class T>
  T operator()(T a, T b) const {
    return high(a, b);
  }
};
struct Div : Exact {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~Unsigned<T>{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return minus(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem : Exact {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~Unsigned<T>{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static constexpr BitMeaning kBitOf = std::is_signed_v<T> ? BitOp::MinS : BitOp::MinU;
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static constexpr BitMeaning kBitOf = std::is_signed_v<T> ? BitOp::MaxS : BitOp::MaxU;
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
template <class Inner>
struct Relu : Exact {
  template <class T>
  T operator()(T a, T b) const {
    return std::max<T>(Inner()(a, b), 0);
  }
};
// Two 16-bit halves of a 32-bit lane.
template <class Inner, class Half>
struct Packed : Exact {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const auto one = [&](unsigned shift) {
      const Half result = Inner()(static_cast<Half>(a >> shift), static_cast<Half>(b >> shift));
      return std::uint32_t{static_cast<std::uint16_t>(result)} << shift;
    };
    return one(0) | one(16);
  }
};
struct Abs : Exact {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? minus(T{0}, a) : a;
  }
};
struct Neg : Exact {
  template <class T>
  T operator()(T a) const {
    return minus(T{0}, a);
  }
};
struct SumAbs : Exact {
  template <class T>
  T operator()(T a, T b, T c) const {
    return plus(c, a > b ? minus(a, b) : minus(b, a));
  }
};

constexpr std::int64_t product24(std::int64_t a, std::int64_t b) { return a * b; }
template <class T>
constexpr std::int64_t low24(T a) {
  const auto bits = static_cast<std::uint32_t>(a) << 8;
  if constexpr (std::is_signed_v<T>) return static_cast<std::int32_t>(bits) >> 8;
  return bits >> 8;
}
struct Mul24Lo : Exact {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(product24(low24(a), low24(b)));
  }
};
struct Mul24Hi : Exact {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(product24(low24(a), low24(b)) >> 16);
  }
};
template <class Product>
struct MadOf {
  static constexpr BitMeaning kBit = std::is_same_v<Product, MulLo> ? BitMeaning(BitOp::Mad) : std::nullopt;
  template <class T>
  T operator()(T a, T b, T c) const {
    return plus(Product()(a, b), c);
  }
};
template <class Product>
struct MadOfSat : Exact {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return clamp32(std::int64_t{Product()(a, b)} + c);
  }
};

// -- Steps -----------------------------------------------------------------------------------------------------------
template <class D, class T, class Fn>
void step1(Warp<D>& w, const Op<D>& op) {
  map1<T, T>(w, Fn::kBit, op.d, op.a, Fn());
}
// The domain's word for an operation, which for some depends on the sign of the type.
template <class T, class Fn>
constexpr BitMeaning meaning_of() {
  if constexpr (requires { Fn::kBit; }) {
    return Fn::kBit;
  } else {
    return Fn::template kBitOf<T>;
  }
}
template <class D, class T, class Fn>
void step2(Warp<D>& w, const Op<D>& op) {
  map2<T, T>(w, meaning_of<T, Fn>(), op.d, op.a, op.b, Fn());
}
template <class D, class T, class Fn>
void step3(Warp<D>& w, const Op<D>& op) {
  map3<T, T>(w, Fn::kBit, op.d, op.a, op.b, op.c, Fn());
}
template <class D, class T>
void step_mul_wide(Warp<D>& w, const Op<D>& op) {
  map2<Wide<T>, T>(w, std::nullopt, op.d, op.a, op.b, [](T a, T b) { return static_cast<Wide<T>>(a) * b; });
}
template <class D, class T>
void step_mad_wide(Warp<D>& w, const Op<D>& op) {
  map3<Wide<T>, T, T, Wide<T>>(w, std::nullopt, op.d, op.a, op.b, op.c,
                               [](T a, T b, Wide<T> c) { return plus<Wide<T>>(static_cast<Wide<T>>(a) * b, c); });
}

// The step for one of the integer types, or null.
#define PLUMB_STEP_FOR(step, D, type, Fn)   \
  [](Type which) -> StepFn<D> {             \
    switch (which) {                        \
      case Type::u16:                       \
        return &step<D, std::uint16_t, Fn>; \
      case Type::s16:                       \
        return &step<D, std::int16_t, Fn>;  \
      case Type::u32:                       \
        return &step<D, std::uint32_t, Fn>; \
      case Type::s32:                       \
        return &step<D, std::int32_t, Fn>;  \
      case Type::u64:                       \
        return &step<D, std::uint64_t, Fn>; \
      case Type::s64:                       \
        return &step<D, std::int64_t, Fn>;  \
      default:                              \
        return nullptr;                     \
    }                                       \
  }(type)
#define PLUMB_SIGNED_STEP_FOR(step, D, type, Fn) \
  [](Type which) -> StepFn<D> {                  \
    switch (which) {                             \
      case Type::s16:                            \
        return &step<D, std::int16_t, Fn>;       \
      case Type::s32:                            \
        return &step<D, std::int32_t, Fn>;       \
      case Type::s64:                            \
        return &step<D, std::int64_t, Fn>;       \
      default:                                   \
        return nullptr;                          \
    }                                            \
  }(type)

template <class D, class Inner>
StepFn<D> packed_or(DecodeContext& ctx, Type type, StepFn<D> plain) {
  if (type == Type::u16x2) return &step2<D, std::uint32_t, Packed<Inner, std::uint16_t>>;
  if (type == Type::s16x2) return &step2<D, std::uint32_t, Packed<Inner, std::int16_t>>;
  return known<D>(ctx, plain);
}

template <class D, class Inner>
StepFn<D> select_minmax(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  const Type type = instr.type();
  if (instr.has(Mod::relu)) {
    if (type == Type::s16x2) return &step2<D, std::uint32_t, Packed<Relu<Inner>, std::int16_t>>;
    if (type == Type::s32) return &step2<D, std::int32_t, Relu<Inner>>;
    return known<D>(ctx, nullptr);
  }
  return packed_or<D, Inner>(ctx, type, PLUMB_STEP_FOR(step2, D, type, Inner));
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::AddInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  if (instr.has(Mod::sat)) return &step2<D, std::int32_t, AddSat>;
  return packed_or<D, Add>(ctx, instr.type(), PLUMB_STEP_FOR(step2, D, instr.type(), Add));
}

template <class D>
StepFn<D> Meaning<ptx::Form::SubInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  if (instr.has(Mod::sat)) return &step2<D, std::int32_t, SubSat>;
  return known<D>(ctx, PLUMB_STEP_FOR(step2, D, instr.type(), Sub));
}

template <class D>
StepFn<D> Meaning<ptx::Form::MulInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  const Type type = instr.type();
  if (instr.has(Mod::wide)) {
    switch (type) {
      case Type::u16:
        return &step_mul_wide<D, std::uint16_t>;
      case Type::s16:
        return &step_mul_wide<D, std::int16_t>;
      case Type::u32:
        return &step_mul_wide<D, std::uint32_t>;
      case Type::s32:
        return &step_mul_wide<D, std::int32_t>;
      default:
        return known<D>(ctx, nullptr);
    }
  }
  if (instr.has(Mod::hi)) return known<D>(ctx, PLUMB_STEP_FOR(step2, D, type, MulHi));
  return known<D>(ctx, PLUMB_STEP_FOR(step2, D, type, MulLo));
}

template <class D>
StepFn<D> Meaning<ptx::Form::MadInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const Type type = instr.type();
  if (instr.has(Mod::wide)) {
    ctx.three(instr, op);
    const auto addend = [&](Type wide) { op.c = ctx.source(instr.operands[3], wide); };
    switch (type) {
      case Type::u16:
        addend(Type::u32);
        return &step_mad_wide<D, std::uint16_t>;
      case Type::s16:
        addend(Type::s32);
        return &step_mad_wide<D, std::int16_t>;
      case Type::u32:
        addend(Type::u64);
        return &step_mad_wide<D, std::uint32_t>;
      case Type::s32:
        addend(Type::s64);
        return &step_mad_wide<D, std::int32_t>;
      default:
        return known<D>(ctx, nullptr);
    }
  }
  ctx.four(instr, op);
  if (instr.has(Mod::sat)) return &step3<D, std::int32_t, MadOfSat<MulHi>>;
  if (instr.has(Mod::hi)) return known<D>(ctx, PLUMB_STEP_FOR(step3, D, type, MadOf<MulHi>));
  return known<D>(ctx, PLUMB_STEP_FOR(step3, D, type, MadOf<MulLo>));
}

template <class D>
StepFn<D> Meaning<ptx::Form::Mul24>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  const bool is_signed = instr.type() == Type::s32;
  if (instr.has(Mod::hi)) {
    return is_signed ? &step2<D, std::int32_t, Mul24Hi> : &step2<D, std::uint32_t, Mul24Hi>;
  }
  return is_signed ? &step2<D, std::int32_t, Mul24Lo> : &step2<D, std::uint32_t, Mul24Lo>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Mad24>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op);
  const bool is_signed = instr.type() == Type::s32;
  if (instr.has(Mod::sat)) return &step3<D, std::int32_t, MadOfSat<Mul24Hi>>;
  if (instr.has(Mod::hi)) {
    return is_signed ? &step3<D, std::int32_t, MadOf<Mul24Hi>> : &step3<D, std::uint32_t, MadOf<Mul24Hi>>;
  }
  return is_signed ? &step3<D, std::int32_t, MadOf<Mul24Lo>> : &step3<D, std::uint32_t, MadOf<Mul24Lo>>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Sad>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.four(instr, op);
  return known<D>(ctx, PLUMB_STEP_FOR(step3, D, instr.type(), SumAbs));
}

template <class D>
StepFn<D> Meaning<ptx::Form::DivInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  return known<D>(ctx, PLUMB_STEP_FOR(step2, D, instr.type(), Div));
}

template <class D>
StepFn<D> Meaning<ptx::Form::RemInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  return known<D>(ctx, PLUMB_STEP_FOR(step2, D, instr.type(), Rem));
}

template <class D>
StepFn<D> Meaning<ptx::Form::AbsInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  return known<D>(ctx, PLUMB_SIGNED_STEP_FOR(step1, D, instr.type(), Abs));
}

template <class D>
StepFn<D> Meaning<ptx::Form::NegInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  return known<D>(ctx, PLUMB_SIGNED_STEP_FOR(step1, D, instr.type(), Neg));
}

template <class D>
StepFn<D> Meaning<ptx::Form::MinInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_minmax<D, Min>(ctx, instr, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::MaxInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_minmax<D, Max>(ctx, instr, op);
}

PLUMB_INSTANTIATE_MEANING(AddInt)
PLUMB_INSTANTIATE_MEANING(SubInt)
PLUMB_INSTANTIATE_MEANING(MulInt)
PLUMB_INSTANTIATE_MEANING(MadInt)
PLUMB_INSTANTIATE_MEANING(Mul24)
PLUMB_INSTANTIATE_MEANING(Mad24)
PLUMB_INSTANTIATE_MEANING(Sad)
PLUMB_INSTANTIATE_MEANING(DivInt)
PLUMB_INSTANTIATE_MEANING(RemInt)
PLUMB_INSTANTIATE_MEANING(AbsInt)
PLUMB_INSTANTIATE_MEANING(NegInt)
PLUMB_INSTANTIATE_MEANING(MinInt)
PLUMB_INSTANTIATE_MEANING(MaxInt)

}  // namespace plumb::machine
