// SPDX-License-Identifier: Apache-2.0
#include "machine/pack.h"

#include <gtest/gtest.h>

#include <random>

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

ptx::Function function_of(unsigned registers, std::vector<ptx::Form> forms) {
  ptx::Function function;
  for (unsigned i = 0; i < registers; ++i) function.registers.push_back({"r", ptx::Type::b32, {}});
  for (const ptx::Form form : forms) {
    function.instrs.emplace_back();
    function.instrs.back().form = form;
  }
  return function;
}

TEST(Pack, ValuesThatAreNeverNeededTogetherShareASlot) {
  // r0 = ..; r1 = r0; r2 = r1; r3 = r2 (each dies where the next but one begins)
  const ptx::Function function = function_of(4, std::vector<ptx::Form>(5, ptx::Form::AddInt));
  const Packing packing = pack_registers(function, {{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{2}, {3}}, {{3}, {}}}, {});
  EXPECT_EQ(packing.widths.size(), 2u);
  EXPECT_EQ(packing.group[0], packing.group[2]);
  EXPECT_NE(packing.group[0], packing.group[1]);
  EXPECT_EQ(packing.group[1], packing.group[3]);
}

TEST(Pack, AResultDoesNotTakeTheSlotOfASourceOfItsInstruction) {
  const ptx::Function function = function_of(2, std::vector<ptx::Form>(3, ptx::Form::AddInt));
  const Packing packing = pack_registers(function, {{{}, {0}}, {{0}, {1}}, {{1}, {}}}, {});
  EXPECT_NE(packing.group[0], packing.group[1]);
}

TEST(Pack, WhatALoopCarriesIsKeptThroughTheWholeLoop) {
  // 0: r0 = ..   1 (label 0): r1 = r0   2: r2 = r1   3: r0 = r2   4: bra 1   5: use r0
  ptx::Function function = function_of(3, {ptx::Form::AddInt, ptx::Form::AddInt, ptx::Form::AddInt, ptx::Form::AddInt,
                                           ptx::Form::Bra, ptx::Form::AddInt});
  function.instrs[4].operands.emplace_back();
  function.instrs[4].operands[0].kind = ptx::Operand::Kind::Label;
  function.instrs[4].guard = ptx::Guard{};
  const Packing packing = pack_registers(function, {{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{2}, {0}}, {}, {{0}, {}}}, {1});
  EXPECT_NE(packing.group[0], packing.group[1]);
  EXPECT_NE(packing.group[0], packing.group[2]);
}

TEST(Pack, ARegisterThatAPathReadsFirstHasASlotOfItsOwn) {
  // r1 is read before it is written: nothing else may use its bytes, or it would not be seen to be undefined.
  const ptx::Function function = function_of(3, std::vector<ptx::Form>(4, ptx::Form::AddInt));
  const Packing packing = pack_registers(function, {{{1}, {0}}, {{0}, {}}, {{}, {2}}, {{2}, {}}}, {});
  EXPECT_NE(packing.group[1], packing.group[0]);
  EXPECT_NE(packing.group[1], packing.group[2]);
  EXPECT_EQ(packing.group[0], packing.group[2]);
}

// A kernel of random adds with forward and counted backward branches; what it computes does not depend on packing if
// the same operations on an array that has a place for each register give the same.
TEST(Pack, RandomProgramsComputeWhatUnpackedRegistersWould) {
  constexpr unsigned kRegisters = 12;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::string body;
    for (unsigned i = 0; i < kRegisters; ++i) {
      body += "add.u32 %r" + std::to_string(i) + ", %t, " + std::to_string(i * 77) + ";\n";
    }
    struct Step {
      unsigned d, a, b, kind;
    };
    std::vector<Step> steps;
    for (unsigned i = 0; i < 60; ++i) steps.push_back({pick(kRegisters), pick(kRegisters), pick(kRegisters), pick(5)});
    for (unsigned i = 0; i < steps.size(); ++i) {
      const auto [d, a, b, kind] = steps[i];
      const std::string reg = "%r" + std::to_string(d) + ", %r" + std::to_string(a) + ", %r" + std::to_string(b);
      const std::string label = "L" + std::to_string(i);
      if (kind == 4) {
        body += "and.b32 %r20, %r" + std::to_string(a) + ", 4;\nsetp.eq.u32 %p1, %r20, 0;\n@%p1 bra " + label +
                ";\nsub.u32 " + reg + ";\n" + label + ":\n";
      } else if (kind == 3) {
        body += "and.b32 %r21, %t, 1;\nsetp.eq.u32 %p2, %r21, 0;\n@%p2 xor.b32 " + reg + ";\n";
      } else {
        body += (kind == 0 ? "add.u32 " : kind == 1 ? "mul.lo.u32 " : "sub.u32 ") + reg + ";\n";
      }
    }
    body += "mov.u32 %r22, 0;\n";
    for (unsigned i = 0; i < kRegisters; ++i) {
      body += "mul.lo.u32 %r22, %r22, 31;\nadd.u32 %r22, %r22, %r" + std::to_string(i) + ";\n";
    }
    body += "st.global.u32 [%mine], %r22;\n";
    const Ran ran = run({.body = body});
    ASSERT_EQ(ran.message(), "");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      std::uint32_t r[kRegisters];
      for (std::uint32_t i = 0; i < kRegisters; ++i) r[i] = lane + i * 77;
      for (const auto& [d, a, b, kind] : steps) {
        if (kind == 0) r[d] = r[a] + r[b];
        if (kind == 1) r[d] = r[a] * r[b];
        if (kind == 2) r[d] = r[a] - r[b];
        if (kind == 3 && lane % 2 == 0) r[d] = r[a] ^ r[b];
        if (kind == 4 && (r[a] & 4) != 0) r[d] = r[a] - r[b];
      }
      std::uint32_t hash = 0;
      for (const std::uint32_t value : r) hash = hash * 31 + value;
      EXPECT_EQ(ran.out[lane], hash) << "seed " << seed << " lane " << lane;
    }
  }
}

}  // namespace
}  // namespace plumb::machine::test
