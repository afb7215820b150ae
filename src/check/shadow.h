// SPDX-License-Identifier: Apache-2.0
// Shadow memory: for each 16-byte granule the accesses that a later one may still conflict with. A record stands for
// one warp instruction's accesses to one granule. Records that a barrier of the whole CTA put in everyone's past are
// dropped when their granule is next touched; where the async proxy is at work, writes are kept for its sake.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace plumb::check {

inline constexpr unsigned kGranuleBytes = 16;

// Which lanes touch which bytes of a granule: every lane in `lanes` all of `bytes`, or one after the other: byte b
// belongs to lane `first + (b >> shift)`.
struct Pattern {
  static constexpr std::uint8_t kAllLanes = 0xff;
  std::uint32_t lanes = 0;
  std::uint16_t bytes = 0;
  std::int8_t first = 0;
  std::uint8_t shift = kAllLanes;

  std::uint32_t lanes_of(unsigned byte) const {
    if (shift == kAllLanes) return lanes;
    return 1U << static_cast<unsigned>(first + static_cast<int>(byte >> shift));
  }
};

enum class RecordKind : std::uint8_t {
  Read,
  Write,
  Atomic,
  CopyWrite,  // Copy*: in flight
  CopyRead,
  PhaseWrite,  // Phase*: of an operation that an mbarrier counted, in the phase before `epoch`
  PhaseRead,
  WaitedWrite,  // of an operation in the async proxy that the thread has waited for
  PastWrite     // before a barrier of the whole CTA: ordered, but perhaps not for the async proxy
};

struct Record {
  // Write: key of the value (0: not known); Copy*: number of the operation; Phase*: number of the mbarrier.
  std::uint64_t key = 0;
  std::uint32_t next = 0;  // in its granule's list
  std::uint32_t epoch = 0;
  std::uint32_t instr = 0;
  Pattern pattern;  // bytes shrink as later ordered writes cover them
  std::uint16_t warp = 0;
  RecordKind kind = RecordKind::Read;
};

// One address space of one CTA.
class Shadow {
 public:
  static constexpr std::uint32_t kEnd = ~0U;

  // `keeps_writes`: the async proxy may come to use what threads wrote.
  explicit Shadow(bool keeps_writes) : keeps_writes_(keeps_writes) {}

  // Head of the granule's list, after records of earlier generations were dropped. What asynchronous operations did
  // stays, since no barrier waits for them.
  std::uint32_t& granule(std::uint64_t index, std::uint32_t generation);
  Record& record(std::uint32_t index) { return records_[index]; }
  // Puts a record at the head of a list.
  void push(std::uint32_t& head, Record record);
  // Takes the record that `link` (a head or a record's `next`) names out of its list.
  void remove(std::uint32_t& link);

 private:
  static constexpr unsigned kPageGranules = 256;
  struct Granule {
    std::uint32_t head = kEnd;
    std::uint32_t generation = 0;
  };
  struct Page {
    Granule granules[kPageGranules];
  };

  bool keeps_writes_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~0ULL;
  Page* last_ = nullptr;
  std::vector<Record> records_;
  std::uint32_t free_ = kEnd;
};

}  // namespace plumb::check
