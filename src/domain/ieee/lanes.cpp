// SPDX-License-Identifier: Apache-2.0
#include "domain/ieee/lanes.h"

#include "domain/ieee/clones.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain::ieee {
namespace {

using Bits = std::uint32_t;

// Sources and result are the same registers or different ones, never shifted against each other.
#if defined(__clang__)
#define PLUMB_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLUMB_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <class Fn>
[[gnu::always_inline]] inline void each(Bits* out, std::size_t count, bool ftz, Fn fn) {
  if (ftz) {
    PLUMB_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Bits>(fn(i, FloatMode{.ftz = true}));
  } else {
    PLUMB_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Bits>(fn(i, FloatMode{}));
  }
}

}  // namespace

#define PLUMB_LANES2(function)                                                                                    \
  [[gnu::flatten]] PLUMB_CLONES void function##_lanes(const Bits* a, const Bits* b, Bits* out, std::size_t count, \
                                                      bool ftz) {                                                 \
    each(out, count, ftz,                                                                                         \
         [=](std::size_t i, FloatMode mode) { return Ieee().function(Format::F32, a[i], b[i], mode); });          \
  }
PLUMB_LANES2(add)
PLUMB_LANES2(sub)
PLUMB_LANES2(mul)
PLUMB_LANES2(min)
PLUMB_LANES2(max)
#undef PLUMB_LANES2

[[gnu::flatten]] PLUMB_CLONES void ex2_lanes(const Bits* a, Bits* out, std::size_t count, bool ftz) {
  each(out, count, ftz, [=](std::size_t i, FloatMode mode) { return Ieee().ex2(Format::F32, a[i], mode); });
}

namespace {

// With a fused instruction in hardware; otherwise `Ieee` builds it from doubles. The results are the same.
[[gnu::always_inline, maybe_unused]] inline void fma_in_hardware(const Bits* a, const Bits* b, const Bits* c, Bits* out,
                                                                 std::size_t count, bool ftz) {
  each(out, count, ftz, [=](std::size_t i, FloatMode mode) {
    constexpr float kUp = 0x1p64F;  // as in Ieee::flushed32
    const auto in = [=](Bits bits) { return f32(mode.ftz ? flush(Format::F32, bits) : bits); };
    const float x = in(a[i]), y = in(b[i]), z = in(c[i]);
    std::uint64_t bits = bits_of(__builtin_fmaf(x, y, z));
    if (mode.ftz) {
      const float scaled = __builtin_fmaf(x * kUp, y, z * kUp);
      bits = scaled < 0x1p-62F && scaled > -0x1p-62F ? bits & 0x80000000 : bits;
    }
    return finish<Format::F32>(bits, mode);
  });
}
[[gnu::always_inline]] inline void fma_in_doubles(const Bits* a, const Bits* b, const Bits* c, Bits* out,
                                                  std::size_t count, bool ftz) {
  each(out, count, ftz, [=](std::size_t i, FloatMode mode) { return Ieee().fma(Format::F32, a[i], b[i], c[i], mode); });
}

#if defined(PLUMB_HAS_CLONES)
[[gnu::flatten, gnu::target("default")]] void fma_chosen(const Bits* a, const Bits* b, const Bits* c, Bits* out,
                                                         std::size_t count, bool ftz) {
  fma_in_doubles(a, b, c, out, count, ftz);
}
[[gnu::flatten, gnu::target("arch=x86-64-v3")]] void fma_chosen(const Bits* a, const Bits* b, const Bits* c, Bits* out,
                                                                std::size_t count, bool ftz) {
  fma_in_hardware(a, b, c, out, count, ftz);
}
[[gnu::flatten, gnu::target("arch=x86-64-v4")]] void fma_chosen(const Bits* a, const Bits* b, const Bits* c, Bits* out,
                                                                std::size_t count, bool ftz) {
  fma_in_hardware(a, b, c, out, count, ftz);
}
#else
[[gnu::flatten]] void fma_chosen(const Bits* a, const Bits* b, const Bits* c, Bits* out, std::size_t count, bool ftz) {
#ifdef __FMA__
  fma_in_hardware(a, b, c, out, count, ftz);
#else
  fma_in_doubles(a, b, c, out, count, ftz);
#endif
}
#endif

}  // namespace

void fma_lanes(const Bits* a, const Bits* b, const Bits* c, Bits* out, std::size_t count, bool ftz) {
  fma_chosen(a, b, c, out, count, ftz);
}

}  // namespace plumb::domain::ieee
