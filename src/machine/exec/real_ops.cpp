// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/real_ops.h"

namespace plumb::machine {

using domain::Round;
using ptx::Mod;

FloatMode mode_of(const ptx::Instr& instr) {
  FloatMode mode;
  if (instr.has(Mod::rz)) mode.round = Round::Rz;
  if (instr.has(Mod::rm)) mode.round = Round::Rm;
  if (instr.has(Mod::rp)) mode.round = Round::Rp;
  if (instr.has(Mod::rna)) mode.round = Round::Rna;
  mode.ftz = instr.has(Mod::ftz);
  mode.sat = instr.has(Mod::sat);
  mode.relu = instr.has(Mod::relu);
  mode.satfinite = instr.has(Mod::satfinite);
  mode.nan = instr.has(Mod::NaN);
  mode.approximate = instr.has(Mod::approx) || instr.has(Mod::full);
  return mode;
}

std::uint64_t pack_mode(FloatMode mode) {
  return static_cast<std::uint64_t>(mode.round) | std::uint64_t{mode.ftz} << 4 | std::uint64_t{mode.sat} << 5 |
         std::uint64_t{mode.relu} << 6 | std::uint64_t{mode.satfinite} << 7 | std::uint64_t{mode.nan} << 8 |
         std::uint64_t{mode.approximate} << 9;
}

FloatMode unpack_mode(std::uint64_t packed) {
  FloatMode mode;
  mode.round = static_cast<Round>(packed & 15);
  mode.ftz = (packed >> 4 & 1) != 0;
  mode.sat = (packed >> 5 & 1) != 0;
  mode.relu = (packed >> 6 & 1) != 0;
  mode.satfinite = (packed >> 7 & 1) != 0;
  mode.nan = (packed >> 8 & 1) != 0;
  mode.approximate = (packed >> 9 & 1) != 0;
  return mode;
}

}  // namespace plumb::machine
