// SPDX-License-Identifier: Apache-2.0
// Number formats and rounding, the words that PTX and Triton share.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumb::domain {

// Tf32 is kept in 32-bit storage with its low 13 bits ignored.
enum class Format : std::uint8_t { F16, BF16, Tf32, F32, F64, E4M3, E5M2 };

constexpr unsigned byte_size(Format format) {
  switch (format) {
    case Format::F16:
    case Format::BF16:
      return 2;
    case Format::Tf32:
    case Format::F32:
      return 4;
    case Format::F64:
      return 8;
    case Format::E4M3:
    case Format::E5M2:
      return 1;
  }
  return 0;
}
std::string_view name(Format format);

enum class Round : std::uint8_t { Rn, Rz, Rm, Rp, Rna };

// How one operation of an instruction treats its result; the default is IEEE round to nearest even.
struct FloatMode {
  Round round = Round::Rn;
  bool ftz = false;          // subnormal inputs and results become zero of their sign
  bool sat = false;          // clamp to [0, 1], NaN becomes +0
  bool relu = false;         // negative becomes +0
  bool satfinite = false;    // overflow becomes the largest finite value
  bool nan = false;          // min/max: NaN wins
  bool approximate = false;  // the approximate instruction (ex2.approx, div.full, ...), not the correctly rounded one
  bool narrow = false;       // div.approx and rcp.approx: not for divisors beyond 2^126 or below 2^-126
};

enum class Compare : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

}  // namespace plumb::domain
