// SPDX-License-Identifier: Apache-2.0
// A hash map without allocation per entry, for small keys and 32-bit values; entries are never erased one by one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace plumb::domain::field {

template <class K, class Hash>
class FlatMap {
 public:
  // Null when there is none; good until the next insertion.
  const std::uint32_t* find(const K& key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[locate(key)];
    return slot.is_used ? &slot.value : nullptr;
  }
  // The value that the key has now, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const K& key, std::uint32_t value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[locate(key)];
    if (slot.is_used) return {slot.value, false};
    slot = {key, value, true};
    ++count_;
    return {value, true};
  }
  void clear() {
    if (slots_.size() > kSmall) {
      slots_ = std::vector<Slot>();
    } else if (count_ != 0) {
      slots_.assign(slots_.size(), Slot{});
    }
    count_ = 0;
  }

 private:
  static constexpr std::size_t kSmall = 1 << 12;  // tables up to here are kept when cleared
  struct Slot {
    K key{};
    std::uint32_t value = 0;
    bool is_used = false;
  };

  std::size_t locate(const K& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = Hash{}(key)&mask;
    while (slots_[at].is_used && !(slots_[at].key == key)) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.is_used) slots_[locate(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace plumb::domain::field
