// SPDX-License-Identifier: Apache-2.0
// Loops over the lanes of a warp. On plain registers they are straight loops that the compiler vectorises; lanes with
// tags take the domain's way. The functions given work on one lane and must not fail on any input bits: they are also
// called for lanes that do not execute.
#pragma once

#include <functional>
#include <type_traits>

#include "machine/warp.h"

// Before a loop over lanes: a register that is read and written is so lane by lane.
#ifdef __clang__
#define PLUMB_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLUMB_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace plumb::machine {

// Calls fn(lane) for each lane of a mask.
template <class Fn>
void for_lanes(std::uint32_t mask, Fn&& fn) {
  if (mask == kFullMask) {
    for (unsigned lane = 0; lane < kLanes; ++lane) fn(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) fn(static_cast<unsigned>(std::countr_zero(mask)));
}

// d[lane] = fn(lane) for the lanes of the mask, for plain bits.
template <class D, class R, class Fn>
[[gnu::always_inline]] inline void write_lanes(Warp<D>& w, Slot d, Fn&& fn) {
  Lane<R>* out = w.template lanes<R>(d);
  if (w.mask() == kFullMask) {
    PLUMB_INDEPENDENT_LANES
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<R>(fn(lane));
  } else {
    R results[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) results[lane] = static_cast<R>(fn(lane));
    for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
      const int lane = std::countr_zero(mask);
      out[lane] = results[lane];
    }
  }
  w.wrote_plain(d, sizeof(R));
}

// One integer source: a register and its bytes a lane.
struct LaneSource {
  Slot slot = 0;
  unsigned width = 0;
};

// The way of integer operations when a source has tags: lane by lane, concrete lanes by `fn(a, b, c)` on bits (as
// std::uint64_t), others by the domain's meaning of `op` at the width of the first source.
template <class D, class Fn>
[[gnu::noinline]] void tagged_lanes(Warp<D>& w, BitMeaning op, std::uint32_t immediate, Slot d, unsigned d_width,
                                    LaneSource a, LaneSource b, LaneSource c, Fn&& fn) {
  domain::Word out[kLanes];
  const domain::IntFunction on_bits = std::ref(fn);
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const domain::Word x = w.word(a.slot, a.width, lane);
    const domain::Word y = b.width != 0 ? w.word(b.slot, b.width, lane) : domain::Word{};
    const domain::Word z = c.width != 0 ? w.word(c.slot, c.width, lane) : domain::Word{};
    if (w.has_tag(x, a.width) || w.has_tag(y, b.width) || w.has_tag(z, c.width)) {
      if (!w.bit_op(op, a.width, d_width, x, y, z, immediate, on_bits, out[lane])) return;
    } else {
      out[lane].bits = static_cast<std::uint64_t>(fn(x.bits, y.bits, z.bits));
    }
  }
  w.write_words(d, d_width, out);
}

// d = fn(a), fn(a, b), fn(a, b, c) on integers: sources of types T, U, V, result of type R (integer types of a
// register's storage width; signedness is what `fn` sees). `op` is the meaning on tagged lanes; `immediate` goes with
// it.
template <class R, class T, class D, class Fn>
[[gnu::always_inline]] inline void map1(Warp<D>& w, BitMeaning op, Slot d, Slot a, Fn fn, std::uint32_t immediate = 0) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(a)) {
      return tagged_lanes(w, op, immediate, d, sizeof(R), LaneSource{a, sizeof(T)}, {}, {},
                          [&](std::uint64_t x, std::uint64_t, std::uint64_t) {
                            return static_cast<std::make_unsigned_t<R>>(fn(static_cast<T>(x)));
                          });
    }
  }
  const Lane<T>* x = w.template lanes<T>(a);
  write_lanes<D, R>(w, d, [=](unsigned lane) { return fn(static_cast<T>(x[lane])); });
}

template <class R, class T, class U = T, class D, class Fn>
[[gnu::always_inline]] inline void map2(Warp<D>& w, BitMeaning op, Slot d, Slot a, Slot b, Fn fn,
                                        std::uint32_t immediate = 0) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(a) || !w.is_plain(b)) {
      return tagged_lanes(w, op, immediate, d, sizeof(R), LaneSource{a, sizeof(T)}, LaneSource{b, sizeof(U)}, {},
                          [&](std::uint64_t x, std::uint64_t y, std::uint64_t) {
                            return static_cast<std::make_unsigned_t<R>>(fn(static_cast<T>(x), static_cast<U>(y)));
                          });
    }
  }
  const Lane<T>* x = w.template lanes<T>(a);
  const Lane<U>* y = w.template lanes<U>(b);
  write_lanes<D, R>(w, d, [=](unsigned lane) { return fn(static_cast<T>(x[lane]), static_cast<U>(y[lane])); });
}

template <class R, class T, class U = T, class V = T, class D, class Fn>
[[gnu::always_inline]] inline void map3(Warp<D>& w, BitMeaning op, Slot d, Slot a, Slot b, Slot c, Fn fn,
                                        std::uint32_t immediate = 0) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(a) || !w.is_plain(b) || !w.is_plain(c)) {
      return tagged_lanes(
          w, op, immediate, d, sizeof(R), LaneSource{a, sizeof(T)}, LaneSource{b, sizeof(U)}, LaneSource{c, sizeof(V)},
          [&](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
            return static_cast<std::make_unsigned_t<R>>(fn(static_cast<T>(x), static_cast<U>(y), static_cast<V>(z)));
          });
    }
  }
  const Lane<T>* x = w.template lanes<T>(a);
  const Lane<U>* y = w.template lanes<U>(b);
  const Lane<V>* z = w.template lanes<V>(c);
  write_lanes<D, R>(w, d, [=](unsigned lane) {
    return fn(static_cast<T>(x[lane]), static_cast<U>(y[lane]), static_cast<V>(z[lane]));
  });
}

// The unsigned integer that holds one element of a format.
template <domain::Format F>
using BitsOf =
    std::conditional_t<domain::byte_size(F) == 8, std::uint64_t,
                       std::conditional_t<domain::byte_size(F) == 4, std::uint32_t,
                                          std::conditional_t<domain::byte_size(F) == 2, std::uint16_t, std::uint8_t>>>;

// The loop of `real_map` where memory is plain bytes. Flattened: with everything inlined it is straight-line code that
// the compiler vectorises.
template <domain::Format To, domain::Format From, unsigned Parts, class D, class Fn, class... Slots>
[[gnu::flatten]] void plain_reals(Warp<D>& w, Slot d, Fn fn, Slots... sources) {
  using In = BitsOf<From>;
  using Out = BitsOf<To>;
  constexpr unsigned kCount = kLanes * Parts;
  D& dom = w.dom();
  Lane<Out>* out = w.template lanes<Out>(d);
  const auto one = [&](unsigned i) {
    const auto result = fn(dom, dom.constant(From, w.template lanes<In>(sources)[i])...);
    return static_cast<Out>(dom.to_word(To, result).bits);
  };
  if (w.mask() == kFullMask) {
    PLUMB_INDEPENDENT_LANES
    for (unsigned i = 0; i < kCount; ++i) out[i] = one(i);
  } else {
    Out results[kCount];
    for (unsigned i = 0; i < kCount; ++i) results[i] = one(i);
    for (unsigned i = 0; i < kCount; ++i) {
      if ((w.mask() >> (i / Parts) & 1) != 0) out[i] = results[i];
    }
  }
}

// d = fn(dom, a, ...) on floats: `Parts` elements of format From side by side in each source, as many of format To in
// the result. `fn` maps D::Real to D::Real. One-byte formats are not for these: they sit in wider registers; use
// real().
template <domain::Format To, domain::Format From, unsigned Parts, class D, class Fn, class... Slots>
void real_map(Warp<D>& w, Slot d, Fn fn, Slots... sources) {
  if constexpr (!D::kHasTags) {
    plain_reals<To, From, Parts>(w, d, fn, sources...);
  } else {
    typename D::Real results[kLanes * Parts];
    for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(mask));
      for (unsigned part = 0; part < Parts; ++part) {
        results[lane * Parts + part] = fn(w.dom(), w.real(From, sources, lane, part, Parts)...);
      }
    }
    w.write_reals(To, d, Parts, results);
  }
}

}  // namespace plumb::machine
