// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "machine/exec/fragment.h"
#include "machine/exec/matrix_scaled.h"

namespace plumb::machine {
namespace {

using domain::DotKind;
using domain::DotShape;
using domain::Format;
using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

struct Shape {
  std::uint32_t m = 0, n = 8, k = 0;
};

constexpr std::pair<Mod, Shape> kShapes[] = {
    {Mod::m8n8k4, {8, 8, 4}},       {Mod::m8n8k16, {8, 8, 16}},    {Mod::m8n8k32, {8, 8, 32}},
    {Mod::m8n8k128, {8, 8, 128}},   {Mod::m16n8k4, {16, 8, 4}},    {Mod::m16n8k8, {16, 8, 8}},
    {Mod::m16n8k16, {16, 8, 16}},   {Mod::m16n8k32, {16, 8, 32}},  {Mod::m16n8k64, {16, 8, 64}},
    {Mod::m16n8k128, {16, 8, 128}}, {Mod::m16n8k256, {16, 8, 256}}};

std::optional<Shape> shape_of(const Instr& instr) {
  for (const auto& [mod, shape] : kShapes) {
    if (instr.has(mod)) return shape;
  }
  return std::nullopt;
}

// Where the elements of a fragment lie (PTX ISA, "matrix fragments for mma"; checked to be bijections by a test). Lane
// l has g = l / 4 and t = l % 4. A register holds `per` consecutive k; registers run over the row halves first, then
// over k.
struct Position {
  std::uint32_t row = 0, column = 0;
};
constexpr Position a_position(unsigned lane, unsigned reg, unsigned part, unsigned per, unsigned m) {
  const unsigned halves = m / 8;
  return {lane / 4 + 8 * (reg % halves), per * (lane % 4) + part + 4 * per * (reg / halves)};
}
constexpr Position b_position(unsigned lane, unsigned reg, unsigned part, unsigned per) {
  return {per * (lane % 4) + part + 4 * per * reg, lane / 4};
}
constexpr Position c_position(unsigned lane, unsigned element) {
  return {lane / 4 + 8 * (element / 2), 2 * (lane % 4) + element % 2};
}

// Op::list: the registers of d, a, b, c in turn; Op::aux: how many of each, a byte apiece; Op::imm: k; of f64, Op::d:
// the rounding.
template <class D>
struct Fragments {
  unsigned d, a, b, c;  // first index in the list
  unsigned a_count, b_count, c_count;
  explicit Fragments(const Op<D>& op)
      : d(0),
        a(op.aux & 0xff),
        b(a + (op.aux >> 8 & 0xff)),
        c(b + (op.aux >> 16 & 0xff)),
        a_count(op.aux >> 8 & 0xff),
        b_count(op.aux >> 16 & 0xff),
        c_count(op.aux >> 24) {}
};

// --- The way of domains with tags: registers as they are

constexpr unsigned kMostRegisters = 8;

// Places in the matrix of a fragment's elements, register by register: see Field::Fragment.
template <unsigned M, unsigned K, unsigned Per>
constexpr std::array<std::uint16_t, M * K> make_a_places() {
  std::array<std::uint16_t, M * K> places{};
  for (unsigned i = 0; i < M * K; ++i) {
    const Position p = a_position(i / Per % kLanes, i / Per / kLanes, i % Per, Per, M);
    places[i] = static_cast<std::uint16_t>(p.row * K + p.column);
  }
  return places;
}
template <unsigned K, unsigned Per>
constexpr std::array<std::uint16_t, 8 * K> make_b_places() {
  std::array<std::uint16_t, 8 * K> places{};
  for (unsigned i = 0; i < 8 * K; ++i) {
    const Position p = b_position(i / Per % kLanes, i / Per / kLanes, i % Per, Per);
    places[i] = static_cast<std::uint16_t>(p.column * K + p.row);
  }
  return places;
}
constexpr std::array<std::uint16_t, 128> make_c_places() {
  std::array<std::uint16_t, 128> places{};
  for (unsigned i = 0; i < places.size(); ++i) {
    const Position p = c_position(i % kLanes, i / kLanes);
    places[i] = static_cast<std::uint16_t>(p.row * 8 + p.column);
  }
  return places;
}
template <unsigned M, unsigned K, unsigned Per>
inline constexpr auto kAPlaces = make_a_places<M, K, Per>();
template <unsigned K, unsigned Per>
inline constexpr auto kBPlaces = make_b_places<K, Per>();
inline constexpr auto kCPlaces = make_c_places();

struct Places {
  std::span<const std::uint16_t> a, b;
};
template <unsigned K, unsigned PerA, unsigned PerB>
Places places() {
  return {kAPlaces<16, K, PerA>, kBPlaces<K, PerB>};
}
template <unsigned PerA, unsigned PerB>
Places places_of(unsigned k) {
  switch (k) {
    case 8:
      return places<8, PerA, PerB>();
    case 16:
      return places<16, PerA, PerB>();
    case 32:
      return places<32, PerA, PerB>();
    default:
      return {};
  }
}

// Tags of `count` listed registers; false when one has none or holds elements without tags throughout.
template <class D>
bool tags_of(Warp<D>& w, const Op<D>& op, unsigned first, unsigned count, const domain::Tag** out) {
  for (unsigned i = 0; i < count; ++i) {
    const Slot slot = w.listed(op, first + i);
    if (w.is_plain(slot)) return false;
    out[i] = w.writable_tags(slot, 4);
  }
  return true;
}

template <class D>
bool is_zero_list(Warp<D>& w, const Op<D>& op, unsigned first, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const Slot slot = w.listed(op, first + i);
    const Lane<std::uint32_t>* bits = w.template lanes<std::uint32_t>(slot);
    if (!w.is_plain(slot) || std::any_of(bits, bits + kLanes, [](std::uint32_t x) { return x << 1 != 0; }))
      return false;
  }
  return true;
}

// The step on whole registers of abstract values; false: not of that kind, and nothing is done.
template <Format A, Format B, class D>
bool step_tags(Warp<D>& w, const Op<D>& op, const Fragments<D>& at, unsigned k) {
  constexpr unsigned kPerA = std::max(1u, 4 / domain::byte_size(A)), kPerB = std::max(1u, 4 / domain::byte_size(B));
  const Places place = places_of<kPerA, kPerB>(k);
  if (place.a.empty()) return false;
  const domain::Tag *a[kMostRegisters], *b[kMostRegisters], *c[kMostRegisters];
  if (!tags_of(w, op, at.a, at.a_count, a) || !tags_of(w, op, at.b, at.b_count, b)) return false;
  const bool adds_nothing = is_zero_list(w, op, at.c, at.c_count);
  if (!adds_nothing && !tags_of(w, op, at.c, at.c_count, c)) return false;
  domain::Tag out[4][4 * kLanes];
  domain::Tag* const d[4] = {out[0], out[1], out[2], out[3]};
  const std::span<const domain::Tag* const> addends(c, adds_nothing ? 0 : at.c_count);
  if (!w.dom().dot(DotShape{16, 8, k, A, B, Format::F32, DotKind::MmaSync}, {{a, at.a_count}, place.a, A, 16, k},
                   {{b, at.b_count}, place.b, B, 8, k}, addends, kCPlaces, d)) {
    return false;
  }
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    const Slot slot = w.listed(op, at.d + reg);
    std::memcpy(w.writable_tags(slot, 4), out[reg], sizeof out[reg]);
    std::fill_n(w.template lanes<std::uint32_t>(slot), kLanes, 0u);
  }
  w.count_macs(std::uint64_t{16} * 8 * k);
  return true;
}

template <class D, Format A, Format B, Format Acc, unsigned M>
void step_real(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  constexpr unsigned kN = 8, kLargestK = 32, kHalves = M / 8;
  constexpr unsigned kPerA = std::max(1u, 4 / domain::byte_size(A)), kPerB = std::max(1u, 4 / domain::byte_size(B));
  // Two neighbouring columns of an accumulator share an f16x2 register, and lie in two registers otherwise.
  constexpr bool kIsPacked = Acc == Format::F16;
  if (!w.gather_warp(op)) return;
  const Fragments<D> at(op);
  const auto k = static_cast<unsigned>(op.imm);
  if constexpr (D::kHasTags && Acc == Format::F32 && M == 16) {
    if (step_tags<A, B>(w, op, at, k)) return;
  }
  Real a[M * kLargestK], b[kLargestK * kN], c[M * kN];
  for (unsigned reg = 0; reg < at.a_count; ++reg) {
    Real* block = a + 8 * (reg % kHalves) * k + 4 * kPerA * (reg / kHalves);
    load_block<A, kPerA>(w, w.listed(op, at.a + reg), block, k, 1);
  }
  for (unsigned reg = 0; reg < at.b_count; ++reg) {
    load_block<B, kPerB>(w, w.listed(op, at.b + reg), b + 4 * kPerB * reg * kN, 1, kN);
  }
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    const Slot slot = w.listed(op, at.c + reg);
    if constexpr (kIsPacked) {
      load_block<Acc, 2>(w, slot, c + 8 * reg * kN, kN, 1);
    } else {
      load_block<Acc, 1>(w, slot, c + 8 * (reg / 2) * kN + reg % 2, kN, 2);
    }
  }
  const DotShape shape{M, kN, k, A, B, Acc, DotKind::MmaSync};
  if constexpr (A == Format::F64) {
    dot_rounded(w.dom(), shape, static_cast<domain::Round>(op.d), a, b, c);
  } else {
    w.dom().dot(shape, a, b, c, c);
  }
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    const Slot slot = w.listed(op, at.d + reg);
    if constexpr (kIsPacked) {
      store_block<Acc, 2>(w, slot, c + 8 * reg * kN, kN, 1);
    } else {
      store_block<Acc, 1>(w, slot, c + 8 * (reg / 2) * kN + reg % 2, kN, 2);
    }
  }
  w.count_macs(std::uint64_t{M} * kN * k);
}

// The shape of sm_70: four products of 8 x 8 x 4, one in the lanes of each pair of quads, q and q + 4. Op::imm says
// which operand is stored the other way round and which accumulators are f16.
struct QuadPair {
  static constexpr std::uint64_t kColumnA = 1, kRowB = 2, kHalfD = 4, kHalfC = 8;
  unsigned lane[8];  // by line of A or B
  explicit QuadPair(unsigned q) {
    for (unsigned i = 0; i < 8; ++i) lane[i] = 4 * q + i % 4 + 16 * (i / 4);
  }
  // The place of element i of a lane's accumulators; `line` is the lane's index above.
  static Position sum(unsigned line, unsigned i, bool is_half) {
    if (is_half) return {line, i};
    return {(line & 1) + (i & 2) + (line & 4), (i & 4) + (line & 2) + (i & 1)};
  }
};

// The hardware has no unit for it any more: f32 multiply-adds for k rising, then c is added.
template <class D>
typename D::Real quad_pair_sum(D& dom, const typename D::Real* a, const typename D::Real* b, typename D::Real c) {
  typename D::Real sum = dom.mul(Format::F32, a[0], b[0], {});
  for (unsigned k = 1; k < 4; ++k) sum = dom.fma(Format::F32, a[k], b[k], sum, {});
  return dom.add(Format::F32, sum, c, {});
}

template <class D>
void step_quad_pairs(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  constexpr unsigned kSize = 8, kDepth = 4;
  if (!w.gather_warp(op)) return;
  const Fragments<D> at(op);
  const bool is_half_d = (op.imm & QuadPair::kHalfD) != 0, is_half_c = (op.imm & QuadPair::kHalfC) != 0;
  D& dom = w.dom();
  const auto half = [&](unsigned first, unsigned lane, unsigned i) {
    return dom.convert(Format::F32, Format::F16, w.real(Format::F16, w.listed(op, first + i / 2), lane, i % 2, 2), {});
  };
  Real sums[4][kSize * kSize];
  for (unsigned q = 0; q < 4; ++q) {
    const QuadPair pair(q);
    Real a[kSize * kDepth], b[kSize * kDepth];  // rows of A, columns of B
    for (unsigned line = 0; line < kSize; ++line) {
      for (unsigned i = 0; i < kDepth; ++i) {
        const unsigned along = line * kDepth + i, across = (i + (line & 4)) * kDepth + line % 4;
        a[(op.imm & QuadPair::kColumnA) != 0 ? across : along] = half(at.a, pair.lane[line], i);
        b[(op.imm & QuadPair::kRowB) != 0 ? across : along] = half(at.b, pair.lane[line], i);
      }
    }
    for (unsigned i = 0; i < kSize * kSize; ++i) {
      const unsigned line = i / kSize, part = i % kSize;
      const Position p = QuadPair::sum(line, part, is_half_c);
      const Real c = is_half_c ? half(at.c, pair.lane[line], part)
                               : w.real(Format::F32, w.listed(op, at.c + part), pair.lane[line]);
      const Real sum = quad_pair_sum(dom, a + p.row * kDepth, b + p.column * kDepth, c);
      sums[q][p.row * kSize + p.column] = is_half_d ? dom.convert(Format::F16, Format::F32, sum, {}) : sum;
    }
  }
  const unsigned per = is_half_d ? 2 : 1;
  for (unsigned reg = 0; reg < (op.aux & 0xff); ++reg) {
    Real elements[kLanes * 2];
    for (unsigned q = 0; q < 4; ++q) {
      const QuadPair pair(q);
      for (unsigned i = 0; i < kSize * per; ++i) {
        const Position p = QuadPair::sum(i / per, reg * per + i % per, is_half_d);
        elements[pair.lane[i / per] * per + i % per] = sums[q][p.row * kSize + p.column];
      }
    }
    w.write_reals(is_half_d ? Format::F16 : Format::F32, w.listed(op, reg), per, elements);
  }
  w.count_macs(std::uint64_t{4} * kSize * kSize * kDepth);
}

// One element of an integer operand: `Bits` wide, signed or not.
template <unsigned Bits, bool IsSigned>
constexpr std::int32_t element(std::uint32_t word, unsigned part) {
  const std::uint32_t raw = word >> (Bits * part) & ((1u << Bits) - 1);
  return IsSigned ? static_cast<std::int32_t>(raw << (32 - Bits)) >> (32 - Bits) : static_cast<std::int32_t>(raw);
}

enum class Product : std::uint8_t { Times, XorPopc, AndPopc };

template <class D>
bool is_plain_list(Warp<D>& w, const Op<D>& op, unsigned first, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (!w.is_plain(w.listed(op, first + i))) return false;
  }
  return true;
}

// The same on integers of data: numbers in place of bits.
template <class D, unsigned Bits, bool IsSignedA, bool IsSignedB, unsigned M, bool IsSaturating>
void step_int_numbers(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  constexpr unsigned kN = 8, kPer = 32 / Bits;
  const Fragments<D> at(op);
  const auto k = static_cast<unsigned>(op.imm);
  D& dom = w.dom();
  std::vector<Real> a(M * k), b(kN * k), c(M * kN), d(M * kN);
  const auto number = [&](const domain::Word& word, unsigned part, bool is_signed) {
    domain::Word element;
    if constexpr (Bits >= 8) {
      element.tags[0] = word.tags[part];
      element.bits = word.bits >> (8 * part) & 0xff;
      return dom.integer(element, Bits, is_signed);
    } else {
      domain::Word amount;
      amount.bits = Bits * part % 8;
      element.tags[0] = word.tags[Bits * part / 8];
      element.bits = word.bits >> (Bits * part / 8 * 8) & 0xff;
      if (Warp<D>::has_tag(element, 1) && amount.bits != 0) {
        const domain::Word whole = element;
        const auto shift = [](std::uint64_t x, std::uint64_t by, std::uint64_t) { return x >> by; };
        if (!w.bit_op(domain::BitOp::ShrU, 1, 1, whole, amount, {}, 0, shift, element)) return Real{};
      } else {
        element.bits >>= amount.bits;
      }
      return dom.integer(element, Bits, is_signed);
    }
  };
  for (unsigned reg = 0; reg < at.a_count + at.b_count; ++reg) {
    const bool is_left = reg < at.a_count;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const domain::Word word = w.word(w.listed(op, at.a + reg), 4, lane);
      for (unsigned part = 0; part < kPer; ++part) {
        const Position p =
            is_left ? a_position(lane, reg, part, kPer, M) : b_position(lane, reg - at.a_count, part, kPer);
        (is_left ? a[p.row * k + p.column] : b[p.row * kN + p.column]) =
            number(word, part, is_left ? IsSignedA : IsSignedB);
      }
    }
  }
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Position p = c_position(lane, reg);
      c[p.row * kN + p.column] = dom.integer(w.word(w.listed(op, at.c + reg), 4, lane), 32, true, !IsSaturating);
    }
  }
  dom.int_dot(M, kN, k, a.data(), b.data(), c.data(), d.data(), IsSaturating);
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    domain::Word words[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Position p = c_position(lane, reg);
      words[lane] = dom.integer_word(d[p.row * kN + p.column], 4);
    }
    w.write_words(w.listed(op, at.d + reg), 4, words);
  }
  w.count_macs(std::uint64_t{M} * kN * k);
}

template <class D, unsigned Bits, bool IsSignedA, bool IsSignedB, Product P, unsigned M, bool IsSaturating>
void step_int(Warp<D>& w, const Op<D>& op) {
  constexpr unsigned kN = 8, kPer = 32 / Bits, kLargestK = 8 * kPer;
  if (!w.gather_warp(op)) return;
  const Fragments<D> at(op);
  if (!is_plain_list(w, op, at.a, at.a_count + at.b_count + at.c_count)) {
    if constexpr (D::kHasTags && P == Product::Times) {
      return step_int_numbers<D, Bits, IsSignedA, IsSignedB, M, IsSaturating>(w, op);
    }
    return w.unmodelled("a `mma` of single bits on bytes that are abstract or were never written");
  }
  const auto k = static_cast<unsigned>(op.imm);
  std::int32_t a[M * kLargestK], b[kN * kLargestK];
  for (unsigned reg = 0; reg < at.a_count; ++reg) {
    const Lane<std::uint32_t>* words = w.template lanes<std::uint32_t>(w.listed(op, at.a + reg));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned part = 0; part < kPer; ++part) {
        const Position p = a_position(lane, reg, part, kPer, M);
        a[p.row * k + p.column] = element<Bits, IsSignedA>(words[lane], part);
      }
    }
  }
  for (unsigned reg = 0; reg < at.b_count; ++reg) {
    const Lane<std::uint32_t>* words = w.template lanes<std::uint32_t>(w.listed(op, at.b + reg));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned part = 0; part < kPer; ++part) {
        const Position p = b_position(lane, reg, part, kPer);
        b[p.column * k + p.row] = element<Bits, IsSignedB>(words[lane], part);
      }
    }
  }
  for (unsigned reg = 0; reg < at.c_count; ++reg) {
    const Lane<std::int32_t>* c = w.template lanes<std::int32_t>(w.listed(op, at.c + reg));
    write_lanes<D, std::int32_t>(w, w.listed(op, at.d + reg), [&](unsigned lane) {
      const Position p = c_position(lane, reg);
      std::int64_t sum = c[lane];
      for (unsigned i = 0; i < k; ++i) {
        const std::int32_t x = a[p.row * k + i], y = b[p.column * k + i];
        sum += P == Product::Times ? x * y : P == Product::XorPopc ? x ^ y : x & y;
      }
      if (IsSaturating) {
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    });
  }
  w.count_macs(std::uint64_t{M} * kN * k);
}

// -- Choosing the step
// -------------------------------------------------------------------------------------------------
std::optional<Format> format_of(Type type) {
  switch (type) {
    case Type::f16:
      return Format::F16;
    case Type::bf16:
      return Format::BF16;
    case Type::tf32:
      return Format::Tf32;
    case Type::f32:
      return Format::F32;
    case Type::f64:
      return Format::F64;
    case Type::e4m3:
      return Format::E4M3;
    case Type::e5m2:
      return Format::E5M2;
    default:
      return std::nullopt;
  }
}

template <class D, Format A, Format B>
StepFn<D> with_accumulator(Format acc) {
  return acc == Format::F16 ? &step_real<D, A, B, Format::F16, 16> : &step_real<D, A, B, Format::F32, 16>;
}

domain::Round rounding_of(const Instr& instr) {
  if (instr.has(Mod::rz)) return domain::Round::Rz;
  if (instr.has(Mod::rm)) return domain::Round::Rm;
  return instr.has(Mod::rp) ? domain::Round::Rp : domain::Round::Rn;
}

template <class D>
StepFn<D> real_step(Format a, Format b, Format acc, unsigned m) {
  if (a == Format::F64)
    return m == 8 ? &step_real<D, Format::F64, Format::F64, Format::F64, 8>
                  : &step_real<D, Format::F64, Format::F64, Format::F64, 16>;
  if (m != 16) return nullptr;
  if (a == Format::F16 && b == a) return with_accumulator<D, Format::F16, Format::F16>(acc);
  if (a == Format::BF16 && b == a) return &step_real<D, Format::BF16, Format::BF16, Format::F32, 16>;
  if (a == Format::Tf32 && b == a) return &step_real<D, Format::Tf32, Format::Tf32, Format::F32, 16>;
  if (a == Format::E4M3) {
    return b == Format::E4M3 ? with_accumulator<D, Format::E4M3, Format::E4M3>(acc)
                             : with_accumulator<D, Format::E4M3, Format::E5M2>(acc);
  }
  if (a == Format::E5M2) {
    return b == Format::E4M3 ? with_accumulator<D, Format::E5M2, Format::E4M3>(acc)
                             : with_accumulator<D, Format::E5M2, Format::E5M2>(acc);
  }
  return nullptr;
}

template <class D, unsigned Bits, bool A, bool B, Product P = Product::Times>
StepFn<D> int_step(unsigned m, bool is_saturating) {
  if (m == 8) return is_saturating ? &step_int<D, Bits, A, B, P, 8, true> : &step_int<D, Bits, A, B, P, 8, false>;
  return is_saturating ? &step_int<D, Bits, A, B, P, 16, true> : &step_int<D, Bits, A, B, P, 16, false>;
}
template <class D, unsigned Bits>
StepFn<D> int_step(bool a, bool b, unsigned m, bool is_saturating) {
  if (a) return b ? int_step<D, Bits, true, true>(m, is_saturating) : int_step<D, Bits, true, false>(m, is_saturating);
  return b ? int_step<D, Bits, false, true>(m, is_saturating) : int_step<D, Bits, false, false>(m, is_saturating);
}

std::vector<Operand> elements_of(const Operand& operand) {
  if (operand.kind == Operand::Kind::Vector) return operand.elements;
  return {operand};
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Mma>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  if (instr.has(Mod::kind_f8f6f4)) return select_narrow_mma(ctx, instr, op);
  const std::optional<Shape> shape = shape_of(instr);
  if (!shape) return ctx.unmodelled("this shape of `mma` has no meaning in the machine"), nullptr;
  const Type a = instr.type(1), b = instr.type(2);
  std::vector<Slot> slots;
  const Type source_type = a == Type::f64 ? Type::f64 : Type::b32;
  for (unsigned i = 0; i < 4; ++i) {
    const std::vector<Operand> elements = elements_of(instr.operands[i]);
    for (const Operand& element : elements) {
      slots.push_back(i == 0 ? ctx.dest(element) : ctx.source(element, source_type));
    }
    op.aux |= static_cast<std::uint32_t>(elements.size()) << (8 * i);
  }
  op.list = ctx.list(slots);
  op.imm = shape->k;
  if (a == Type::f16 && shape->m == 8) {
    const auto flag = [](bool is_set, std::uint64_t bit) { return is_set ? bit : 0; };
    // The layouts of A and B stand in the order written.
    std::vector<bool> is_column;
    for (const Mod mod : instr.mods) {
      if (mod == Mod::row || mod == Mod::col) is_column.push_back(mod == Mod::col);
    }
    op.imm = flag(is_column[0], QuadPair::kColumnA) | flag(!is_column[1], QuadPair::kRowB) |
             flag(instr.type(0) == Type::f16, QuadPair::kHalfD) | flag(instr.type(3) == Type::f16, QuadPair::kHalfC);
    return &step_quad_pairs<D>;
  }
  if (a == Type::f64) op.d = static_cast<Slot>(rounding_of(instr));
  const bool is_saturating = instr.has(Mod::satfinite);
  StepFn<D> step = nullptr;
  if (const std::optional<Format> format = format_of(a)) {
    step = real_step<D>(*format, *format_of(b), *format_of(instr.type(0)), shape->m);
  } else if (a == Type::b1) {
    step = instr.has(Mod::and_) ? int_step<D, 1, false, false, Product::AndPopc>(shape->m, false)
                                : int_step<D, 1, false, false, Product::XorPopc>(shape->m, false);
  } else if (a == Type::s4 || a == Type::u4) {
    step = int_step<D, 4>(a == Type::s4, b == Type::s4, shape->m, is_saturating);
  } else {
    step = int_step<D, 8>(a == Type::s8, b == Type::s8, shape->m, is_saturating);
  }
  if (step == nullptr) ctx.unmodelled("this shape of `mma` has no meaning in the machine");
  return step;
}

PLUMB_INSTANTIATE_MEANING(Mma)

}  // namespace plumb::machine
