// SPDX-License-Identifier: Apache-2.0
#include "domain/memory.h"

#include <gtest/gtest.h>

#include "domain/stored_tag.h"

namespace plumb::domain {
namespace {

TEST(Memory, FindsTheBufferThatHoldsAllBytesOfAnAccess) {
  Memory memory(true);
  Buffer& a = memory.add("a", 100, Init::Abstract, Format::F32);
  Buffer& b = memory.add("b", 64, Init::Concrete, Format::F32);
  EXPECT_EQ(memory.find(a.address, 4), &a);
  EXPECT_EQ(memory.find(a.address + 96, 4), &a);
  EXPECT_EQ(memory.find(a.address + 97, 4), nullptr);
  EXPECT_EQ(memory.find(a.address + 100, 1), nullptr);
  EXPECT_EQ(memory.find(a.address - 1, 2), nullptr);
  EXPECT_EQ(memory.find(b.address, 64), &b);
  EXPECT_EQ(memory.find(b.address, 65), nullptr);
  EXPECT_EQ(memory.find(b.address + 8, ~std::uint64_t{0}), nullptr);
  EXPECT_EQ(memory.find("b"), &b);
  EXPECT_EQ(memory.find("c"), nullptr);
}

TEST(Memory, KeepsGuardGapsBetweenBuffers) {
  Memory memory(false);
  for (int i = 0; i < 4; ++i) memory.add("t", 1000 + i, Init::Concrete, Format::F16);
  const auto buffers = memory.buffers();
  for (std::size_t i = 1; i < buffers.size(); ++i) {
    EXPECT_GE(buffers[i]->address - (buffers[i - 1]->address + buffers[i - 1]->size), 65536u);
  }
}

TEST(Memory, MisalignsByExactlyTheBytesAsked) {
  Memory memory(false);
  EXPECT_EQ(memory.add("a", 8, Init::Concrete, Format::F16).address % 256, 0u);
  EXPECT_EQ(memory.add("b", 8, Init::Concrete, Format::F16, 2).address % 256, 2u);
  EXPECT_EQ(memory.add("c", 8, Init::Concrete, Format::F16, 16).address % 256, 16u);
}

TEST(Memory, GivesTheSameAddressesForTheSameBuffers) {
  Memory first(true), second(false);
  for (Memory* memory : {&first, &second}) {
    memory->add("a", 12345, Init::Abstract, Format::BF16);
    memory->add("b", 7, Init::Undefined, Format::F32, 4);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(first.buffers()[i]->address, second.buffers()[i]->address);
}

TEST(Memory, NamesTheNearestBufferOfAStrayAddress) {
  Memory memory(true);
  EXPECT_EQ(memory.nearest(1), nullptr);
  Buffer& a = memory.add("a", 100, Init::Abstract, Format::F32);
  Buffer& b = memory.add("b", 100, Init::Abstract, Format::F32);
  EXPECT_EQ(memory.nearest(a.address + 112), &a);
  EXPECT_EQ(memory.nearest(b.address - 4), &b);
  EXPECT_EQ(memory.nearest(b.address + 4), &b);
  EXPECT_EQ(memory.nearest(0), &a);
  EXPECT_EQ(memory.nearest(~std::uint64_t{0}), &b);
}

TEST(Memory, StartsBytesAsTheirInitSays) {
  Memory memory(true);
  EXPECT_EQ(stored_tag(Init::Abstract, memory.add("a", 4, Init::Abstract, Format::F32).tags[3]), kPristineTag);
  EXPECT_EQ(stored_tag(Init::Undefined, memory.add("b", 4, Init::Undefined, Format::F32).tags[0]), kUndefinedTag);
  EXPECT_EQ(stored_tag(Init::Concrete, memory.add("c", 4, Init::Concrete, Format::F32).tags[0]), 0u);
  Memory ieee(false);
  EXPECT_EQ(ieee.add("a", 4, Init::Concrete, Format::F32).tags, nullptr);
  EXPECT_EQ(ieee.add("b", 4, Init::Undefined, Format::F32).bytes[1], std::byte{0xff});
}

}  // namespace
}  // namespace plumb::domain
