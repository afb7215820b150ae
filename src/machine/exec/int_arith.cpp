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
struct MulLo : Exact {
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
struct Min : Exact {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max : Exact {
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
struct MadOf : Exact {
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
template <class D, class T, class Fn>
void step2(Warp<D>& w, const Op<D>& op) {
  map2<T, T>(w, Fn::kBit, op.d, op.a, op.b, Fn());
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

template <class D>
StepFn<D> known(DecodeContext& ctx, StepFn<D> step) {
  if (step == nullptr) ctx.unmodelled("this type of the instruction has no meaning in the machine");
  return step;
}

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

// -- Counting and bit fields
// -------------------------------------------------------------------------------------------
namespace {

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
// Four sources: position and length are packed by a loop of its own, since abstract bytes have no meaning here.
template <class D, class U>
void step_bfi(Warp<D>& w, const Op<D>& op) {
  const Slot length = w.listed(op, 0);
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a) || !w.is_plain(op.b) || !w.is_plain(op.c) || !w.is_plain(length)) {
      return w.unmodelled("bit field insert on the bytes of abstract floats");
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
template <class D, class A, class B>
void step_dp4a(Warp<D>& w, const Op<D>& op) {
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
