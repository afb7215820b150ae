// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/value_key.h"

#include <gtest/gtest.h>

#include "domain/field/field.h"

namespace plumb::machine {
namespace {

using domain::Field;
using domain::Format;

TaggedBytes stored(Field& field, Field::Real value) {
  TaggedBytes bytes = {};
  const domain::Word word = field.to_word(Format::F32, value);
  std::copy_n(word.tags, 4, bytes.tags);
  return bytes;
}

// Otherwise two writes that race would pass for writes of one value.
TEST(ValueKey, ANameThatIsHandedOutAgainHasAnotherKey) {
  domain::FieldContext context({.seed = 3});
  domain::Memory memory(true);
  domain::Buffer& x = memory.add("x", 1024, domain::Init::Abstract, Format::F32);
  Field field(context);
  field.begin_unit();
  const auto input = [&](unsigned i) { return field.read(x, 4 * (i % 256), Format::F32); };
  const Field::Real before = field.mul(Format::F32, input(0), input(1), {});
  const std::uint64_t key = value_key(field, stored(field, before), 4, false);
  EXPECT_EQ(value_key(field, stored(field, before), 4, false), key);
  for (unsigned i = 0; i < 1 << 22 && !field.wants_room(); ++i) field.mul(Format::F32, input(i), input(2), {});
  ASSERT_TRUE(field.wants_room());
  field.keep_only({});
  Field::Real after = before;
  for (unsigned i = 0; i < 1 << 22; ++i) {
    after = field.mul(Format::F32, input(i), input(3), {});
    if (after.id == before.id) break;
  }
  ASSERT_EQ(after.id, before.id);
  EXPECT_NE(value_key(field, stored(field, after), 4, false), key);
}

}  // namespace
}  // namespace plumb::machine
