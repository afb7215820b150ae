// SPDX-License-Identifier: Apache-2.0
// Global memory, the meeting place of the two sides of a proof: named buffers at fixed virtual addresses with guard
// gaps between them. Both sides are run on equal copies; `prove` compares what they leave. Buffers never move or resize
// during a run, so workers may read and write disjoint bytes without locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/format.h"
#include "domain/word.h"

namespace plumb::domain {

// How a buffer starts out.
enum class Init : std::uint8_t {
  Concrete,   // the bytes given
  Abstract,   // field domain: every element is a free variable of the element format (keyed by tensor name and index)
  Undefined,  // output: reading before writing is a finding
};

struct Buffer {
  std::string name;
  std::uint64_t address = 0;  // virtual; what kernels see
  std::uint64_t size = 0;     // bytes
  Init init = Init::Concrete;
  Format element = Format::F32;    // meaning of abstract elements
  std::uint8_t integer_bytes = 0;  // not zero: abstract elements are integers of this many bytes, and no floats
  std::uint32_t tensor = 0;        // key of the free variables: equal on both sides of a proof
  std::unique_ptr<std::byte[]> bytes;
  std::unique_ptr<Tag[]> tags;  // one per byte; null in memories without tags (IEEE runs)
};

class Memory {
 public:
  explicit Memory(bool has_tags) : has_tags_(has_tags) {}

  // `misalign` bytes are added to a 256-byte aligned address; 16-byte promises are tested by setting it to less.
  // Buffers added in the same order with the same arguments get the same addresses.
  Buffer& add(std::string name, std::uint64_t size, Init init, Format element, std::uint32_t misalign = 0);

  bool has_tags() const { return has_tags_; }
  // The buffer that holds all of [address, address + size), or null.
  Buffer* find(std::uint64_t address, std::uint64_t size);
  const Buffer* find(std::uint64_t address, std::uint64_t size) const;
  // The buffer nearest to an address that is in none: for messages ("12 bytes past the end of `out_ptr`").
  const Buffer* nearest(std::uint64_t address) const;
  Buffer* find(std::string_view name);
  const Buffer* find(std::string_view name) const;
  std::span<const std::unique_ptr<Buffer>> buffers() const { return buffers_; }

 private:
  bool has_tags_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // sorted by address
};

}  // namespace plumb::domain
