// SPDX-License-Identifier: Apache-2.0
// Values that a long unit drops make room, and those that it still refers to stay what they are.
#include <gtest/gtest.h>

#include <array>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

// A sum of products, long enough that the unit wants room; every value but the last is dropped.
Field::Real long_sum(Lab& lab) {
  Field::Real total = lab.mul(lab.x(0), lab.x(1));
  for (unsigned i = 0; i < 1 << 22 && !lab.field.wants_room(); ++i) {
    total = lab.fma(lab.x(i % 64), lab.x(i % 61), total);
  }
  return total;
}

std::array<Tag, 4> tags_of(Lab& lab, Field::Real value) {
  const Word word = lab.field.to_word(Lab::kF, value);
  return {word.tags[0], word.tags[1], word.tags[2], word.tags[3]};
}

TEST(Room, WhatIsReferredToStaysAndTheRestIsFilledAnew) {
  Lab lab;
  const Field::Real early = lab.mul(lab.x(2), lab.x(3));
  const Field::Real power = lab.ex2(lab.add(lab.x(4), lab.x(5)));
  const Field::Real total = long_sum(lab);
  ASSERT_TRUE(lab.field.wants_room());
  const auto total_residues = lab.field.residues(Lab::kF, total);
  const auto first = tags_of(lab, early), second = tags_of(lab, power), third = tags_of(lab, total);
  const std::array<std::span<const Tag>, 3> roots = {first, second, third};
  lab.field.keep_only(roots);
  EXPECT_FALSE(lab.field.wants_room());
  // Twice as many values as a chunk has, so that what was given up is written over.
  Field::Real other = lab.x(6);
  ValueId lowest = total.id;
  for (unsigned i = 0; i < 1 << 17; ++i) {
    other = lab.fma(lab.x(i % 60), lab.x(7), other);
    lowest = std::min(lowest, other.id);
  }
  EXPECT_LT(lowest, total.id);
  EXPECT_TRUE(lab.same(early, lab.mul(lab.x(3), lab.x(2))));
  EXPECT_EQ(lab.field.residues(Lab::kF, total), total_residues);
  // The exponent is part of what the power is made of: its logarithm is asked for.
  EXPECT_TRUE(lab.same(lab.lg2(power), lab.add(lab.x(5), lab.x(4))));
}

TEST(Room, NamesAreToldApartByTheirGeneration) {
  Lab lab;
  const Field::Real dropped = lab.mul(lab.x(2), lab.x(3));
  EXPECT_EQ(lab.field.generation(dropped.id), 0u);
  long_sum(lab);
  ASSERT_TRUE(lab.field.wants_room());
  lab.field.keep_only({});
  EXPECT_EQ(lab.field.generation(dropped.id), 1u);
  EXPECT_EQ(lab.field.generation(lab.x(2).id), 0u) << "an input is never given up";
  lab.field.end_unit();
  lab.field.begin_unit();
  EXPECT_EQ(lab.field.generation(dropped.id), 0u);
}

TEST(Room, AUnitWhoseTablesReferToItsValuesKeepsThem) {
  Lab lab;
  lab.max(lab.x(0), lab.x(1));
  Field::Real total = lab.x(2);
  for (unsigned i = 0; i < 34 << 16; ++i) total = lab.fma(lab.x(i % 64), lab.x(3), total);
  EXPECT_FALSE(lab.field.wants_room());
}

// Eight million variables in room for five: they are given up between units, and are what they were when they are read
// again, by name or by an id from before.
TEST(Room, VariablesAreMadeAgainWhereAllOfThemHaveNoRoom) {
  constexpr std::uint64_t kElements = std::uint64_t{1} << 23;
  FieldContext context({.seed = 5, .memory = std::uint64_t{320} << 20});
  Memory memory(true);
  Buffer& x = memory.add("x", kElements * 4, Init::Abstract, Format::F32);
  Buffer& out = memory.add("out", 8, Init::Undefined, Format::F32);
  Field field(context);
  const auto at = [&](std::uint64_t index) { return field.read(x, index * 4, Format::F32); };
  field.begin_unit();
  const Field::Real first = at(0);
  const auto residues = field.residues(Format::F32, first);
  const Word word = field.to_word(Format::F32, field.add(Format::F32, first, at(1), {}));
  const std::byte zeros[4] = {};
  field.store(out, 0, 4, zeros, word.tags);
  field.store(out, 4, 4, zeros, field.to_word(Format::F32, first).tags);
  field.end_unit();
  for (std::uint64_t unit = 0; unit < 64; ++unit) {
    field.begin_unit();
    for (std::uint64_t i = 0; i < kElements / 64; ++i) at(unit * (kElements / 64) + i);
    field.end_unit();
    ASSERT_FALSE(field.faulted()) << unit;
    ASSERT_LE(context.bytes(), std::uint64_t{320} << 20);
  }
  EXPECT_EQ(field.residues(Format::F32, first), residues);
  EXPECT_EQ(at(0).id, first.id);
  EXPECT_EQ(field.residues(Format::F32, field.read(out, 4, Format::F32)), residues);
  const Field::Real sum = field.add(Format::F32, at(1), at(0), {});
  EXPECT_EQ(field.compare_outputs(Format::F32, sum, field.read(out, 0, Format::F32)), Comparison::Equal);
  EXPECT_NE(field.residues(Format::F32, at(1)), residues);
}

}  // namespace
}  // namespace plumb::domain
