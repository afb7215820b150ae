// SPDX-License-Identifier: Apache-2.0
// Keys of what lanes store, as Access::value_key has them: so that an observer can tell lanes that write one value to
// one place from a race.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

inline std::uint64_t mixed(std::uint64_t key, std::uint64_t word) {
  key = (key ^ word) * 0x9e3779b97f4a7c15;
  key ^= key >> 32;
  return key == 0 ? 1 : key;
}

// Whether two lanes have one address.
inline bool has_shared_place(const std::uint64_t* address, std::uint32_t mask) {
  bool is_rising = true;
  std::uint64_t last = 0;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const std::uint64_t at = address[std::countr_zero(left)];
    is_rising = is_rising && (left == mask || at > last);
    last = at;
  }
  if (is_rising) return false;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    for (std::uint32_t rest = left & (left - 1); rest != 0; rest &= rest - 1) {
      if (address[std::countr_zero(left)] == address[std::countr_zero(rest)]) return true;
    }
  }
  return false;
}

// The key of `size` bytes; 0 when they have none. Up to eight bytes of concrete data, and a repeated word of them, have
// keys of their own, so that no kernel can be built whose different values share one; other concrete data has none.
// Abstract data is told apart by the names of its values, and `by_value`, which costs more, by the values.
template <class D>
std::uint64_t value_key(D& dom, const TaggedBytes& stored, unsigned size, bool by_value) {
  std::uint64_t first = 0, key = size;
  std::memcpy(&first, stored.bytes, std::min<std::size_t>(sizeof first, size));
  for (unsigned at = sizeof first; at < size; at += sizeof first) {
    if (std::memcmp(stored.bytes, stored.bytes + at, sizeof first) != 0) return 0;
  }
  key = mixed(key, first);
  if constexpr (D::kHasTags) {
    domain::ValueId last = domain::kNoValue;
    for (unsigned at = 0; at < size; ++at) {
      const domain::Tag tag = stored.tags[at];
      const domain::ValueId id = domain::tag_value(tag);
      if (!by_value || id < domain::kFirstValue) {
        key = mixed(key, tag);
        if (const std::uint32_t generation = dom.generation(id); generation != 0) key = mixed(key, generation);
        continue;
      }
      key = mixed(key, domain::tag_byte(tag));
      if (id == last) continue;
      last = id;
      for (const std::uint32_t residue : dom.residues(domain::Format::F32, {id, 0})) key = mixed(key, residue);
    }
  }
  return key;
}

}  // namespace plumb::machine
