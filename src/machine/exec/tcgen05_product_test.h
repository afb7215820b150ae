// SPDX-License-Identifier: Apache-2.0
// For tests of tcgen05.mma: kernels that fill all of shared memory and the first columns of tensor memory, multiply
// once or more, and write out all those columns; with what must be in them, by plain products of small numbers, which
// every format holds exactly. Where an element lies is written here apart from the meaning.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "machine/kernel_test.h"

namespace plumb::machine::test {

// A format: bits, fraction bits (0: an integer), exponent bias, code in the instruction descriptor.
struct Type {
  const char* name;
  unsigned bits, fraction;
  int bias;
  unsigned code;
  bool is_signed = true;

  std::uint32_t encode(int x) const {
    if (fraction == 0) return static_cast<std::uint32_t>(x) & 0xff;
    if (x == 0) return 0;
    const std::uint32_t sign = x < 0 ? 1u << (bits - 1) : 0;
    const int size = std::abs(x);
    int exponent = 0;
    while (size >> (exponent + 1) != 0) ++exponent;
    const auto rest = static_cast<std::uint32_t>(size - (1 << exponent)) << fraction >> exponent;
    return sign | static_cast<std::uint32_t>(exponent + bias) << fraction | rest;
  }
};
inline constexpr Type kF16{"f16", 16, 10, 15, 0}, kBF16{"bf16", 16, 7, 127, 1}, kTf32{"tf32", 32, 23, 127, 2},
    kE4M3{"e4m3", 8, 3, 7, 0}, kE5M2{"e5m2", 8, 2, 15, 1}, kE2M3{"e2m3", 6, 3, 1, 3}, kE3M2{"e3m2", 6, 2, 3, 4},
    kE2M1{"e2m1", 4, 1, 1, 5}, kFour{"e2m1", 4, 1, 1, 1}, kU8{"u8", 8, 0, 0, 0, false}, kS8{"s8", 8, 0, 0, 1};

struct Case {
  const char* kind;
  Type a, b;
  unsigned m, n;
  unsigned swizzle = 128;  // bytes of a row: 16 (none), 32, 64, 128; 129: 128 with units of 32 bytes
  unsigned group = 1;
  bool a_in_memory = false, a_transposed = false, b_transposed = false;
  bool is_sparse = false, is_stationary = false;
  bool is_half = false;  // f16 sums
  bool adds = true, negates_a = false, negates_b = false;
  unsigned scales = 0;
  bool has_ue4m3 = false;
  unsigned scale_d = 0;
  unsigned lane = 0;            // of the sums
  std::uint32_t stays[4] = {};  // lanes
  unsigned repeats = 1;
  unsigned first_column = 0, last_column = 0;  // zeroed by the mask
  unsigned shift = 0;
  const char* collector = "";   // words before the operands
  unsigned id_a = 0, id_b = 0;  // of scales
  bool is_wide = false;         // K = 96
  unsigned unit = 0;  // with K = 96: of 16 bytes in 128, where rows begin; past the eighth they go on elsewhere

  std::string kind_name() const { return kind; }
  bool is_packed() const { return kind_name() == "mxf4" || kind_name() == "mxf4nvf4"; }
  bool is_integer() const { return kind_name() == "i8"; }
  unsigned bits() const { return is_packed() ? 4 : a.bits < 8 ? 8 : a.bits; }
  unsigned stored() const { return is_wide ? 96 : 256 / bits(); }
  unsigned k() const { return is_sparse ? 2 * stored() : stored(); }
  unsigned rows() const { return m / group; }
  bool takes_half_lanes_sparse() const { return is_sparse && !is_stationary && group == 1 && m == 64; }
  std::string text() const {
    return kind_name() + " " + a.name + " x " + b.name + " m" + std::to_string(m) + " n" + std::to_string(n) +
           " group " + std::to_string(group) + " swizzle " + std::to_string(swizzle) +
           (a_in_memory ? " A in tensor memory" : "") + (a_transposed ? " A transposed" : "") +
           (b_transposed ? " B transposed" : "") + (is_sparse ? " sparse" : "") + (is_stationary ? " ws" : "") +
           (is_wide ? " K = 96 from unit " + std::to_string(unit) : "");
  }
};

// -- Shared memory ----------------------------------------------------------------------------------------------------

struct Placement {
  unsigned swizzle, width;
  bool transposed;
  unsigned bits;
  unsigned leading, stride;
  unsigned unit = 0, chunk = 0;  // where rows begin; bytes from the tile's start to where they go on, 0: nowhere
};
inline constexpr unsigned kAStart = 0, kBStart = 32768, kTile = 98304;  // bytes
inline Placement placement_of(const Case& c, bool is_a) {
  const bool transposed = is_a ? c.a_transposed : c.b_transposed;
  const unsigned lines = is_a ? c.rows() : c.n / c.group + 32;
  const unsigned k = is_a ? c.stored() : c.k(), bits = c.bits(), width = c.swizzle == 129 ? 128 : c.swizzle;
  Placement p{c.swizzle, width, transposed, bits, 0, 0};
  if (c.is_wide && width == 128) p.unit = c.unit, p.chunk = is_a ? 16384 : 32768;
  const unsigned atom = (c.swizzle == 129 ? 4 : 8) * width;
  if (!transposed) {
    p.stride = atom;
    p.leading = width == 16 ? atom * ((lines + 7) / 8) : 16;
  } else if (width == 16) {
    p.leading = 128, p.stride = 128 * (k / 8);
  } else {
    p.stride = atom, p.leading = atom * (k / (c.swizzle == 129 ? 4 : 8));
  }
  return p;
}
// Bit of an element from the tile's start: `line` runs over M or N, `k` over K.
inline unsigned bit_of(const Placement& p, const Type& t, unsigned line, unsigned k) {
  unsigned at = 0, bit = 0;  // bytes; bits in the byte
  const unsigned per_row = 8 * p.width / p.bits, group = p.swizzle == 129 ? 4 : 8;
  if (!p.transposed) {
    unsigned along = k * p.bits / 8;
    if (p.bits == 8 && t.bits < 8) {  // sixteen of them at the start of sixteen bytes
      along = k / 16 * 16 + k % 16 * t.bits / 8;
      bit = k % 16 * t.bits % 8;
    } else {
      bit = k * p.bits % 8;
    }
    along += 16 * p.unit;
    at = line / 8 * p.stride + line % 8 * p.width + (p.width == 16 ? along / 16 * p.leading + along % 16 : along);
    if (p.chunk != 0 && along >= 128) at += p.chunk - 128;
  } else if (p.width == 16) {
    at = line / per_row * p.stride + line % per_row * p.bits / 8 + k / 8 * p.leading + k % 8 * 16;
  } else {
    at = line / per_row * p.leading + line % per_row * p.bits / 8 + k / group * p.stride + k % group * p.width;
  }
  const unsigned row = at / 128 % 8;
  if (p.swizzle == 128) at ^= row << 4;
  if (p.swizzle == 64) at ^= (row & 3) << 4;
  if (p.swizzle == 32) at ^= (row & 1) << 4;
  if (p.swizzle == 129) at ^= (row & 3) << 5;
  return 8 * at + bit;
}
inline std::uint64_t descriptor(const Placement& p, unsigned start) {
  const std::uint64_t code = p.swizzle == 129   ? 1
                             : p.swizzle == 128 ? 2
                             : p.swizzle == 64  ? 4
                             : p.swizzle == 32  ? 6
                                                : 0;
  // Rows that go on elsewhere have an address for a leading offset.
  const std::uint64_t leading = p.chunk != 0 ? std::uint64_t{1} << 52 | std::uint64_t{(start + p.chunk) / 16} << 16
                                             : std::uint64_t{p.leading / 16} << 16;
  return code << 61 | std::uint64_t{1} << 46 | std::uint64_t{p.stride / 16} << 32 | leading | (start / 16 + p.unit);
}

inline constexpr unsigned kTileWords = kTile / 4;

// -- Tensor memory ----------------------------------------------------------------------------------------------------

inline constexpr unsigned kColumns = 320, kSums = 4, kA = 262, kMeta = 272, kScalesA = 280, kScalesB = 290;
// With K = 96: what one cell of a row has no room for lies behind the cells of all its 128 or 256 lines.
inline unsigned second_cell(bool is_a, unsigned lines) { return !is_a && lines > 128 ? 8 : 4; }
inline constexpr unsigned kCells = 128 * kColumns;

struct Place {
  unsigned cta, lane, column;
};
// Where the texts put the element (m, n) of the sums.
inline Place sum_place(const Case& c, unsigned m, unsigned n) {
  if (c.is_stationary && c.m == 64) return {0, m + (n >= c.n / 2 ? 64 : 0), kSums + n % (c.n / 2)};
  if (c.is_stationary && c.m == 32) return {0, m + 32 * (n / (c.n / 4)), kSums + n % (c.n / 4)};
  if (c.group == 1 && c.m == 64) return {0, m / 16 * 32 + m % 16 + c.lane, kSums + n};
  if (c.group == 2 && c.m == 128) return {m / 64, m % 64 + (n >= c.n / 2 ? 64 : 0), kSums + n % (c.n / 2)};
  return {m / 128, m % 128, kSums + n};
}

using Image = std::vector<std::uint32_t>;  // [lane][column]

inline void put_bits(Image& image, unsigned lane, unsigned column, unsigned bit, unsigned width, std::uint32_t bits) {
  std::uint32_t& cell = image[lane * kColumns + column + bit / 32];
  const std::uint32_t mask = width == 32 ? ~0u : ((1u << width) - 1) << (bit % 32);
  cell = (cell & ~mask) | (bits << (bit % 32) & mask);
}

struct Problem {
  Kernel kernel;
  std::vector<Image> expected;  // by CTA
  std::string product;          // the instruction
};

struct Data {
  std::vector<int> a, b;                 // A's stored elements [m][stored], B [k][n + shift]
  std::vector<unsigned> kept;            // of A's stored elements, the element of K
  std::vector<double> scale_a, scale_b;  // [line][block]
  std::vector<std::uint8_t> codes_a, codes_b;
  std::vector<std::uint8_t> nibbles;  // [m][chunk]
  std::vector<double> sums;
};

inline std::uint8_t draw_scale(const Case& c, std::mt19937& random, double& value) {
  if (c.has_ue4m3) {
    constexpr std::pair<std::uint8_t, double> kScales[] = {{0x38, 1}, {0x3c, 1.5}, {0x40, 2}, {0x30, 0.5}};
    const auto& [code, number] = kScales[random() % 4];
    value = number;
    return code;
  }
  const auto code = static_cast<std::uint8_t>(126 + random() % 3);
  value = std::ldexp(1.0, code - 127);
  return code;
}

inline Data draw(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  const auto small = [&](bool is_signed) { return static_cast<int>(random() % 7) - (is_signed ? 3 : 0); };
  Data d;
  d.a.resize(c.m * c.stored()), d.b.resize(c.k() * (c.n + c.shift));
  for (int& x : d.a) x = small(c.a.is_signed);
  for (int& x : d.b) x = small(c.b.is_signed);
  for (unsigned i = 0; i < c.m * c.n; ++i) d.sums.push_back(small(true));
  const unsigned per = c.is_packed() ? 2 : 1;  // elements of an item
  const bool is_tf32 = c.bits() == 32;
  for (unsigned m = 0; m < c.m; ++m) {
    for (unsigned s = 0; s < c.stored();) {
      if (!c.is_sparse) {
        d.kept.push_back(s++);
        continue;
      }
      if (is_tf32) {
        const unsigned which = random() % 2;
        d.nibbles.push_back(which == 0 ? 0x4 : 0xe);
        d.kept.push_back(2 * s++ + which);
        continue;
      }
      const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
      d.nibbles.push_back(static_cast<std::uint8_t>(first | second << 2));
      for (const unsigned item : {first, second}) {
        for (unsigned i = 0; i < per; ++i) d.kept.push_back(2 * (s / (2 * per) * (2 * per)) + item * per + i);
      }
      s += 2 * per;
    }
  }
  if (c.takes_half_lanes_sparse()) {
    // Rows 16 to 31 and 32 to 47 share cells under the two readings.
    const auto repeat = [&](auto& list) {
      const auto group = static_cast<std::ptrdiff_t>(list.size() / 4);
      std::copy_n(list.begin() + group, group, list.begin() + 2 * group);
    };
    repeat(d.nibbles), repeat(d.kept);
  }
  for (unsigned i = 0; i < c.m * c.scales; ++i) d.codes_a.push_back(draw_scale(c, random, d.scale_a.emplace_back()));
  for (unsigned i = 0; i < c.n * c.scales; ++i) d.codes_b.push_back(draw_scale(c, random, d.scale_b.emplace_back()));
  return d;
}

inline double product_of(const Case& c, const Data& d, unsigned m, unsigned n) {
  double sum = 0;
  if (n >= c.first_column && n < c.last_column) return 0;
  for (unsigned s = 0; s < c.stored(); ++s) {
    const unsigned k = d.kept[m * c.stored() + s];
    double term = d.a[m * c.stored() + s] * d.b[k * (c.n + c.shift) + n + c.shift];
    if (c.scales != 0) {
      const unsigned block = k / (c.k() / c.scales);
      term *= d.scale_a[m * c.scales + block] * d.scale_b[n * c.scales + block];
    }
    sum += term;
  }
  return c.negates_a != c.negates_b ? -sum : sum;
}

inline std::uint32_t encode_sum(const Case& c, double x) {
  if (c.is_integer()) return static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
  const auto f = static_cast<float>(x);
  if (!c.is_half) return std::bit_cast<std::uint32_t>(f);
  return kF16.encode(static_cast<int>(x));
}

inline std::vector<std::uint8_t> tile_image(const Case& c, const Data& d, unsigned cta) {
  std::vector<std::uint8_t> image(kTile, 0);
  const auto put = [&](unsigned start, const Placement& p, const Type& t, unsigned line, unsigned k, int x) {
    const unsigned bit = bit_of(p, t, line, k) + 8 * start;
    const std::uint32_t value = t.encode(x) << (bit % 8);
    for (unsigned i = 0; i < 4 && bit / 8 + i < kTile; ++i)
      image[bit / 8 + i] |= static_cast<std::uint8_t>(value >> (8 * i));
  };
  const Placement at_a = placement_of(c, true), at_b = placement_of(c, false);
  for (unsigned line = 0; line < c.rows() && !c.a_in_memory; ++line) {
    for (unsigned s = 0; s < c.stored(); ++s) {
      put(kAStart, at_a, c.a, line, s, d.a[(cta * c.rows() + line) * c.stored() + s]);
    }
  }
  const unsigned columns = c.n / c.group + c.shift;
  for (unsigned line = 0; line < columns; ++line) {
    for (unsigned k = 0; k < c.k(); ++k) {
      put(kBStart, at_b, c.b, line, k, d.b[k * (c.n + c.shift) + cta * (c.n / c.group) + line]);
    }
  }
  return image;
}

inline void put_a(const Case& c, const Data& d, std::vector<Image>& images) {
  for (unsigned m = 0; m < c.m; ++m) {
    const unsigned last = c.n - 1;
    for (const unsigned n : {0U, last}) {  // the lanes of both halves, where there are two
      const Place at = sum_place(c, m, n);
      for (unsigned s = 0; s < c.stored(); ++s) {
        const unsigned bit = s * c.bits() + (c.bits() == 8 && c.a.bits == 4 ? 2 : 0);
        put_bits(images[at.cta], at.lane, kA, bit, c.a.bits, c.a.encode(d.a[m * c.stored() + s]));
      }
    }
  }
}

inline void put_metadata(const Case& c, const Data& d, std::vector<Image>& images) {
  const unsigned per = c.bits() == 32 ? 2 : c.is_packed() ? 8 : 4, chunks = c.k() / per, rows = c.rows();
  for (unsigned m = 0; m < c.m; ++m) {
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const unsigned r = m % rows, k = chunk * per;
      unsigned lane = r, column = 0, bit = 0;
      if (c.bits() == 16) lane = r % 8 + 8 * (k / 16) + 16 * (r / 16), bit = k % 16 + 16 * (r / 8 % 2);
      if (c.bits() == 32) lane = r % 8 + 8 * (k / 8) + 16 * (r / 16), bit = 2 * (k % 8) + 16 * (r / 8 % 2);
      if (c.bits() == 8) column = k / 32, bit = k % 32;
      if (c.bits() == 4) column = k / 64, bit = k % 64 / 2;
      for (unsigned copy = 0; copy < 128 / rows; ++copy) {
        // Of half of the lanes: groups of 16 rows are 16 lanes apart, or 32.
        const unsigned apart = c.takes_half_lanes_sparse() ? c.lane + copy * (r / 16 * 16) : copy * rows;
        put_bits(images[m / rows], lane + apart, kMeta + column, bit, 4, d.nibbles[m * chunks + chunk]);
      }
    }
  }
}

inline void put_scales(const Case& c, const Data& d, std::vector<Image>& images) {
  for (unsigned m = 0; m < c.m; ++m) {
    const unsigned r = m % c.rows();
    for (unsigned w = 0; w < 4; ++w) {
      for (unsigned j = 0; j < c.scales; ++j) {
        const unsigned byte = c.id_a + j;
        put_bits(images[m / c.rows()], r % 32 + 32 * w, kScalesA + r / 32 + byte / 4 * second_cell(true, c.rows()),
                 8 * (byte % 4), 8, d.codes_a[m * c.scales + j]);
      }
    }
  }
  for (Image& image : images) {
    for (unsigned n = 0; n < c.n; ++n) {
      for (unsigned w = 0; w < 4; ++w) {
        for (unsigned j = 0; j < c.scales; ++j) {
          const std::uint8_t code = d.codes_b[n * c.scales + j];
          if (c.group == 2 && c.m == 128) {
            const unsigned h = n >= c.n / 2 ? 1 : 0;
            put_bits(image, n % 32 + 64 * h + 32 * (w % 2), kScalesB + n % (c.n / 2) / 32, 8 * (c.id_b + j), 8, code);
          } else {
            const unsigned byte = c.id_b + j;
            put_bits(image, n % 32 + 32 * w, kScalesB + n / 32 + byte / 4 * second_cell(false, c.n), 8 * (byte % 4), 8,
                     code);
          }
        }
      }
    }
  }
}

inline std::uint32_t instruction_descriptor(const Case& c) {
  std::uint32_t bits = c.a.code << 7 | c.b.code << 10 | (c.negates_a ? 1u << 13 : 0) | (c.negates_b ? 1u << 14 : 0) |
                       (c.a_transposed ? 1u << 15 : 0) | (c.b_transposed ? 1u << 16 : 0) | c.n / 8 << 17 |
                       c.m / 16 << 24 | (c.is_sparse ? 4u : 0);
  if (c.scales != 0) {
    return bits | (c.has_ue4m3 ? 0 : 1u << 23) | c.id_a << 29 | c.id_b << 4 | (c.is_wide ? 1u << 31 : 0);
  }
  return bits | (c.is_integer() ? 2u : c.is_half ? 0u : 1u) << 4 | (c.shift == 0 ? 0 : c.shift <= 8 ? 1u : 2u) << 30;
}

inline std::string number(std::uint64_t x) { return std::to_string(x); }

inline std::string product_text(const Case& c) {
  std::string text = "tcgen05.mma";
  if (c.is_stationary) text += ".ws";
  if (c.is_sparse) text += ".sp";
  text += ".cta_group::" + number(c.group) + ".kind::" + c.kind;
  if (c.is_wide) {
    text += ".block_scale.block" + number(96 / c.scales);
  } else if (c.scales != 0) {
    text += ".block_scale.scale_vec::" + number(c.scales) + "X";
  }
  text += c.collector;
  text += " [%sums], " + std::string(c.a_in_memory ? "[%base + " + number(kA) + "]" : "%da") + ", %db";
  if (c.a_in_memory && c.lane != 0)
    text = text.replace(text.find("[%base + "), std::string("[%base + " + number(kA) + "]").size(), "[%ha]");
  if (c.is_sparse) text += c.lane == 0 ? ", [%base + " + number(kMeta) + "]" : ", [%hm]";
  text += ", %id";
  if (c.scales != 0) text += ", [%base + " + number(kScalesA) + "], [%base + " + number(kScalesB) + "]";
  if ((c.stays[0] | c.stays[1] | c.stays[2] | c.stays[3]) != 0) text += ", {%s0, %s1, %s2, %s3}";
  text += ", %adds";
  if (c.scale_d != 0) text += ", " + number(c.scale_d);
  if (c.last_column != 0 || c.shift != 0) text += ", %mask";
  return text + ";\n";
}

inline std::string body_of(const Case& c) {
  const std::string group = number(c.group), words = number(kTileWords), in_words = number(kTileWords + kCells);
  std::string body =
      ".reg .b32 %base, %sums, %ha, %hm, %id, %rank, %s<4>, %cell, %lane, %w;\n.reg .b64 %da, %db, %mask, "
      "%mine_in;\n.reg "
      ".pred "
      "%adds, %one, %w0;\n.shared .align 8 .b64 bar;\n.shared .align 4 .b32 slot;\n"
      "mov.u32 %rank, %cluster_ctarank;\nmul.wide.u32 %mine_in, %rank, " +
      number(4 * (kTileWords + kCells)) + ";\nadd.u64 %mine_in, %mine_in, %in;\nmul.wide.u32 %rd5, %rank, " +
      number(4 * kCells) +
      ";\nadd.u64 %out, %out, %rd5;\n"
      "setp.eq.u32 %one, %t, 0;\nshr.u32 %w, %t, 5;\nsetp.eq.u32 %w0, %w, 0;\n"
      "@%one mbarrier.init.shared.b64 [bar], 1;\n@%one fence.mbarrier_init.release.cluster;\n"
      "mov.u32 %r0, tile;\nmov.u32 %r1, %t;\nCOPY:\nmul.wide.u32 %rd0, %r1, 4;\nadd.u64 %rd0, %rd0, %mine_in;\n"
      "ld.global.b32 %r2, [%rd0];\nmad.lo.u32 %r3, %r1, 4, %r0;\nst.shared.b32 [%r3], %r2;\nadd.u32 %r1, %r1, 128;\n"
      "setp.lt.u32 %p0, %r1, " +
      words +
      ";\n@%p0 bra COPY;\nfence.proxy.async;\n"
      "bar.sync 0;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "@!%w0 bra NOALLOC;\nmov.u32 %r4, slot;\ntcgen05.alloc.cta_group::" +
      group +
      ".sync.aligned.shared::cta.b32 [%r4], 512;\nNOALLOC:\nbar.sync 0;\nld.shared.b32 %base, [slot];\n"
      // Each warp fills its lanes, column by column.
      "shl.b32 %lane, %w, 21;\nadd.u32 %cell, %base, %lane;\nmul.wide.u32 %rd1, %t, " +
      number(4 * kColumns) + ";\nadd.u64 %rd1, %rd1, %mine_in;\nadd.u64 %rd1, %rd1, " + number(4 * kTileWords) +
      ";\nmov.u32 %r5, 0;\nFILL:\nld.global.b32 %r6, [%rd1];\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%cell], {%r6};\n"
      "add.u64 %rd1, %rd1, 4;\nadd.u32 %cell, %cell, 1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, " +
      number(kColumns) +
      ";\n@%p0 bra FILL;\ntcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\ntcgen05.fence::after_thread_sync;\n";
  body += "add.u32 %sums, %base, " + number(kSums + (c.lane << 16)) + ";\nadd.u32 %ha, %base, " +
          number(kA + (c.lane << 16)) + ";\nadd.u32 %hm, %base, " + number(kMeta + (c.lane << 16)) +
          ";\nmov.b32 %id, " + number(instruction_descriptor(c)) + ";\nmov.b64 %da, " +
          number(descriptor(placement_of(c, true), kAStart)) + ";\nmov.b64 %db, " +
          number(descriptor(placement_of(c, false), kBStart)) + ";\n";
  // The tile stands behind the other variables.
  body +=
      "mov.u32 %r4, tile;\nshr.u32 %r4, %r4, 4;\ncvt.u64.u32 %rd6, %r4;\nadd.u64 %da, %da, %rd6;\nadd.u64 %db, %db, "
      "%rd6;\n";
  if (placement_of(c, true).chunk != 0) {
    body += "shl.b64 %rd6, %rd6, 16;\nadd.u64 %da, %da, %rd6;\nadd.u64 %db, %db, %rd6;\n";
  }
  for (unsigned i = 0; i < 4; ++i) body += "mov.b32 %s" + number(i) + ", " + number(c.stays[i]) + ";\n";
  // One run of zeroed columns, after one of used ones.
  const std::uint64_t mask =
      (c.last_column == 0 ? 0
                          : 1ULL << 39 | std::uint64_t{c.last_column - c.first_column - 1} << 40 |
                                std::uint64_t{c.first_column - 1} << 48) |
      std::uint64_t{c.shift} << 56;
  body += "mov.b64 %mask, " + number(mask) + ";\nsetp.ne.u32 %adds, 0, " + (c.adds ? "1" : "0") +
          ";\nsetp.eq.u32 %p2, %rank, 0;\n@!%one bra WAIT;\n@!%p2 bra WAIT;\n";
  for (unsigned i = 0; i < c.repeats; ++i) body += product_text(c);
  body += "mov.u32 %r7, bar;\n";
  body += c.group == 1
              ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n"
              : "mov.u16 %h0, 3;\ntcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::"
                "cluster.b64 [%r7], %h0;\n";
  body +=
      "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;\nbar.warp.sync 0xffffffff;\n"
      "tcgen05.fence::after_thread_sync;\nadd.u32 %cell, %base, %lane;\nmul.wide.u32 %rd1, %t, " +
      number(4 * kColumns) +
      ";\nadd.u64 %rd1, %rd1, %out;\nmov.u32 %r5, 0;\nDRAIN:\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%cell];\n"
      "tcgen05.wait::ld.sync.aligned;\nst.global.b32 [%rd1], %r6;\nadd.u64 %rd1, %rd1, 4;\nadd.u32 %cell, %cell, 1;\n"
      "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, " +
      number(kColumns) +
      ";\n@%p0 bra DRAIN;\n"
      "tcgen05.fence::before_thread_sync;\nbar.sync "
      "0;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "tcgen05.fence::after_thread_sync;\n@!%w0 bra NODEALLOC;\ntcgen05.dealloc.cta_group::" +
      group + ".sync.aligned.b32 %base, 512;\nNODEALLOC:\n";
  return body;
}

// in, for each CTA: its shared memory, then its tensor memory.
inline Problem make(const Case& c, unsigned seed) {
  const Data d = draw(c, seed);
  std::mt19937 random(seed + 1);
  std::vector<Image> images(c.group, Image(kCells));
  for (Image& image : images) {
    for (std::uint32_t& cell : image) cell = random();
  }
  for (unsigned m = 0; m < c.m; ++m) {
    for (unsigned n = 0; n < c.n; ++n) {
      const Place at = sum_place(c, m, n);
      put_bits(images[at.cta], at.lane, at.column, 0, c.is_half ? 16 : 32,
               encode_sum(c, d.sums[m * c.n + n] * (1 << c.scale_d)));
    }
  }
  if (c.a_in_memory) put_a(c, d, images);
  if (c.is_sparse) put_metadata(c, d, images);
  if (c.scales != 0) put_scales(c, d, images);
  Problem problem;
  Kernel& kernel = problem.kernel;
  for (unsigned cta = 0; cta < c.group; ++cta) {
    const std::vector<std::uint8_t> tile = tile_image(c, d, cta);
    kernel.in.resize(kernel.in.size() + kTileWords);
    std::memcpy(kernel.in.data() + kernel.in.size() - kTileWords, tile.data(), kTile);
    kernel.in.insert(kernel.in.end(), images[cta].begin(), images[cta].end());
  }
  problem.expected = images;
  for (unsigned m = 0; m < c.m; ++m) {
    for (unsigned n = 0; n < c.n; ++n) {
      const Place at = sum_place(c, m, n);
      if ((c.stays[at.lane / 32] >> (at.lane % 32) & 1) != 0) continue;
      const double sum = (c.adds ? d.sums[m * c.n + n] : 0) + product_of(c, d, m, n) * (c.adds ? c.repeats : 1);
      put_bits(problem.expected[at.cta], at.lane, at.column, 0, c.is_half ? 16 : 32, encode_sum(c, sum));
    }
  }
  kernel.body = body_of(c);
  kernel.before = ".extern .shared .align 1024 .b8 tile[];\n";
  kernel.block = {128, 1, 1}, kernel.grid = {c.group, 1, 1}, kernel.cluster = {c.group, 1, 1};
  kernel.directives = c.group == 1 ? "" : ".reqntid 128, 1, 1 .reqnctapercluster 2, 1, 1 ";
  kernel.target = c.is_wide ? "sm_103a" : "sm_100a", kernel.version = "8.8";
  kernel.out_words = c.group * kCells;
  kernel.dynamic_shared = kTile;
  return problem;
}

}  // namespace plumb::machine::test
