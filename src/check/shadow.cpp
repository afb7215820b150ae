// SPDX-License-Identifier: Apache-2.0
#include "check/shadow.h"

namespace plumb::check {

std::uint32_t& Shadow::granule(std::uint64_t index, std::uint32_t generation) {
  const std::uint64_t number = index / kPageGranules;
  if (number != last_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get();
    last_number_ = number;
  }
  Granule& granule = last_->granules[index % kPageGranules];
  if (granule.generation != generation) {
    granule.generation = generation;
    std::uint32_t* link = &granule.head;
    while (*link != kEnd) {
      Record& record = records_[*link];
      switch (record.kind) {
        case RecordKind::CopyWrite:
        case RecordKind::CopyRead:
        case RecordKind::PhaseWrite:
        case RecordKind::PhaseRead:
        case RecordKind::PastWrite:
          link = &record.next;
          continue;
        case RecordKind::Write:
        case RecordKind::Atomic:
          if (keeps_writes_) {
            record.kind = RecordKind::PastWrite;
            link = &record.next;
            continue;
          }
          break;
        case RecordKind::Read:
        case RecordKind::WaitedWrite:
          break;
      }
      remove(*link);
    }
  }
  return granule.head;
}

void Shadow::push(std::uint32_t& head, Record record) {
  record.next = head;
  if (free_ == kEnd) {
    head = static_cast<std::uint32_t>(records_.size());
    records_.push_back(record);
    return;
  }
  const std::uint32_t index = free_;
  free_ = records_[index].next;
  records_[index] = record;
  head = index;
}

void Shadow::remove(std::uint32_t& link) {
  const std::uint32_t index = link;
  link = records_[index].next;
  records_[index].next = free_;
  free_ = index;
}

}  // namespace plumb::check
