// SPDX-License-Identifier: Apache-2.0
#include "machine/async_agent.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/lanes.h"

namespace plumb::machine {

namespace {

constexpr std::size_t kMaxInFlight = 65536;
constexpr unsigned kSlothRange = 6;  // with a schedule: steps that an operation may take, as powers of two
constexpr unsigned kBlock = 16;      // bytes that a domain moves at once

MemorySpace space_of(const AsyncEnd& end) { return end.buffer != nullptr ? MemorySpace::Global : MemorySpace::Shared; }

std::uint64_t address_of(const AsyncEnd& end) {
  return end.buffer != nullptr ? end.buffer->address + end.offset : end.offset;
}

// Adds bytes to a list of ranges, to the last one where they go on from it.
void add_range(std::vector<AsyncRange>& ranges, const AsyncEnd& end, std::uint32_t size) {
  const AsyncRange range{space_of(end), end.rank, address_of(end), size};
  if (!ranges.empty()) {
    AsyncRange& last = ranges.back();
    if (last.space == range.space && last.rank == range.rank && last.address + last.size == range.address) {
      last.size += size;
      return;
    }
  }
  ranges.push_back(range);
}

// One element of `size` bytes as a word.
domain::Word word_at(const std::byte* bytes, const domain::Tag* tags, unsigned size) {
  domain::Word word;
  std::memcpy(&word.bits, bytes, size);
  if (tags != nullptr) std::copy_n(tags, size, word.tags);
  return word;
}

}  // namespace

template <class D>
void AsyncAgent<D>::reset(std::uint64_t seed) {
  ops_.clear();
  groups_.clear();
  next_id_ = 0;
  random_.seed(seed);
  sloth_ = std::uint64_t{2} << random_() % kSlothRange;
}

template <class D>
bool AsyncAgent<D>::issue(WarpRun<D>& warp, unsigned lane, AsyncOp<D> op) {
  if (ops_.size() >= kMaxInFlight) {
    warp.unmodelled("more than 65536 asynchronous operations in flight in one cluster");
    return false;
  }
  op.id = next_id_++;
  op.issuer = &warp, op.lane = lane, op.pc = warp.pc(), op.copies_before = warp.next_copy();
  if (op.completion == Completion::BulkGroup) {
    groups_[{warp.cta().rank(), warp.index(), lane}].open.push_back(op.id);
  }
  if (Observer* observer = warp.cta().observer()) {
    std::vector<AsyncRange> reads, writes;
    for (const AsyncPiece& piece : op.pieces) {
      if (!piece.is_fill && !op.is_read) add_range(reads, piece.from, piece.size);
      add_range(writes, piece.to, piece.size);
    }
    AsyncIssue issue;
    issue.id = op.id, issue.kind = op.kind, issue.instr = op.pc, issue.warp = warp.index(), issue.lane = lane;
    issue.reads = reads, issue.writes = writes;
    issue.has_mbarrier = op.completion != Completion::BulkGroup;
    issue.barrier_rank = op.barrier_rank, issue.barrier_offset = op.barrier_offset, issue.bytes = op.barrier_bytes;
    issue.map = op.map;
    observer->async_issued(issue);
  }
  ops_.push_back(std::make_unique<AsyncOp<D>>(std::move(op)));
  return true;
}

template <class D>
std::size_t AsyncAgent<D>::find(std::uint64_t id) const {
  const auto found = std::lower_bound(ops_.begin(), ops_.end(), id,
                                      [](const auto& op, std::uint64_t wanted) { return op->id < wanted; });
  return found != ops_.end() && (*found)->id == id ? static_cast<std::size_t>(found - ops_.begin()) : ops_.size();
}

template <class D>
void AsyncAgent<D>::commit(WarpRun<D>& warp) {
  for_lanes(warp.mask(), [&](unsigned lane) {
    const auto found = groups_.find({warp.cta().rank(), warp.index(), lane});
    if (found == groups_.end()) return;  // an empty group is complete
    found->second.closed.push_back(std::exchange(found->second.open, {}));
  });
}

template <class D>
void AsyncAgent<D>::wait(WarpRun<D>& warp, std::uint32_t pending, bool reads_only) {
  Observer* observer = warp.cta().observer();
  for_lanes(warp.mask(), [&](unsigned lane) {
    const auto found = groups_.find({warp.cta().rank(), warp.index(), lane});
    if (found == groups_.end()) return;
    auto& closed = found->second.closed;
    const std::size_t due = closed.size() > pending ? closed.size() - pending : 0;
    for (std::size_t i = 0; i < due; ++i) {
      for (const std::uint64_t id : closed[i]) {
        const std::size_t index = find(id);
        if (index != ops_.size() && reads_only) read(*ops_[index]);
        if (index != ops_.size() && !reads_only) complete(index);
        if (observer != nullptr) observer->async_waited(id, warp.pc(), {warp.index(), 1u << lane}, reads_only);
      }
    }
    if (!reads_only) closed.erase(closed.begin(), closed.begin() + static_cast<std::ptrdiff_t>(due));
  });
}

template <class D>
bool AsyncAgent<D>::complete_next(std::uint32_t rank, std::uint32_t offset) {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const AsyncOp<D>& op = *ops_[i];
    if (op.completion == Completion::BulkGroup || op.barrier_rank != rank || op.barrier_offset != offset) continue;
    complete(i);
    return true;
  }
  return false;
}

template <class D>
std::size_t AsyncAgent<D>::in_flight_for(std::uint32_t rank, std::uint32_t offset) const {
  return static_cast<std::size_t>(std::count_if(ops_.begin(), ops_.end(), [&](const auto& op) {
    return op->completion != Completion::BulkGroup && op->barrier_rank == rank && op->barrier_offset == offset;
  }));
}

template <class D>
void AsyncAgent<D>::step() {
  for (std::size_t i = ops_.size(); i-- > 0;) {
    const std::uint64_t draw = random_();
    if (draw % sloth_ == 0) {
      complete(i);
    } else if (draw % sloth_ == 1) {
      read(*ops_[i]);
    }
  }
}

template <class D>
void AsyncAgent<D>::cta_exited(std::uint32_t rank) {
  const auto is_here = [&](const AsyncEnd& end) { return end.buffer == nullptr && end.rank == rank; };
  const std::string block = cluster_.cta(rank).name();
  for (const auto& op : ops_) {
    const char* what = nullptr;
    for (const AsyncPiece& piece : op->pieces) {
      if (is_here(piece.to)) what = "writes";
      if (!op->is_read && !piece.is_fill && is_here(piece.from)) what = "reads";
    }
    if (what == nullptr) continue;
    return cluster_.fault(Stop::Kind::Defect, kBulkCopy,
                          block + " exits while the operation issued here still " + what + " its shared memory; " +
                              "nobody has waited for that",
                          op->pc);
  }
  // What would only arrive at a barrier of the block is lost with it.
  std::erase_if(ops_, [&](const auto& op) { return op->completion == Completion::Arrive && op->barrier_rank == rank; });
}

template <class D>
void AsyncAgent<D>::finish() {
  while (!ops_.empty()) complete(0);
}

// Brings the source bytes in; later changes of the source are not seen.
template <class D>
void AsyncAgent<D>::read(AsyncOp<D>& op) {
  if (op.is_read) return;
  op.is_read = true;
  std::size_t total = 0;
  for (const AsyncPiece& piece : op.pieces) total += piece.size;
  op.bytes.resize(total);
  if constexpr (D::kHasTags) op.tags.assign(total, domain::Tag{0});
  std::size_t at = 0;
  for (const AsyncPiece& piece : op.pieces) {
    if (piece.is_fill) {
      for (std::uint32_t i = 0; i < piece.size; ++i) {
        op.bytes[at + i] = static_cast<std::byte>(piece.fill >> (8 * (i % 4)));
      }
    } else if (piece.from.buffer != nullptr) {
      domain::Tag* tags = D::kHasTags ? op.tags.data() + at : nullptr;
      for (std::uint32_t i = 0; i < piece.size; i += kBlock) {
        cluster_.dom().load(*piece.from.buffer, piece.from.offset + i, std::min(kBlock, piece.size - i),
                            op.bytes.data() + at + i, D::kHasTags ? tags + i : nullptr);
      }
    } else {
      Store<D>& shared = cluster_.cta(piece.from.rank).shared();
      std::memcpy(op.bytes.data() + at, shared.bytes() + piece.from.offset, piece.size);
      if constexpr (D::kHasTags) {
        std::copy_n(shared.tags() + piece.from.offset, piece.size, op.tags.data() + at);
      }
    }
    at += piece.size;
  }
  if (Observer* observer = op.issuer->cta().observer()) observer->async_read(op.id);
}

template <class D>
void AsyncAgent<D>::move_out(const AsyncOp<D>& op, const AsyncPiece& piece, std::size_t at) {
  if (piece.to.buffer != nullptr) {
    const domain::Tag* tags = D::kHasTags ? op.tags.data() + at : nullptr;
    for (std::uint32_t i = 0; i < piece.size; i += kBlock) {
      cluster_.dom().store(*piece.to.buffer, piece.to.offset + i, std::min(kBlock, piece.size - i),
                           op.bytes.data() + at + i, D::kHasTags ? tags + i : nullptr);
    }
    return;
  }
  Store<D>& shared = cluster_.cta(piece.to.rank).shared();
  std::memcpy(shared.bytes() + piece.to.offset, op.bytes.data() + at, piece.size);
  if constexpr (D::kHasTags) std::copy_n(op.tags.data() + at, piece.size, shared.tags() + piece.to.offset);
}

template <class D>
void AsyncAgent<D>::reduce_into(const AsyncOp<D>& op, const AsyncPiece& piece, std::size_t at) {
  const unsigned size = ptx::byte_size(op.reduction.type);
  for (std::uint32_t i = 0; i < piece.size; i += size) {
    const domain::Word value = word_at(op.bytes.data() + at + i, D::kHasTags ? op.tags.data() + at + i : nullptr, size);
    std::unique_lock<std::mutex> lock;
    std::byte bytes[8];
    domain::Tag tags[8] = {};
    domain::Tag* tags_or_null = D::kHasTags ? tags : nullptr;
    Store<D>* shared = nullptr;
    if (piece.to.buffer != nullptr) {
      auto& locks = cluster_.run_shared().atomics;
      lock = std::unique_lock(locks[(address_of(piece.to) + i) / kBlock % locks.size()]);
      cluster_.dom().load(*piece.to.buffer, piece.to.offset + i, size, bytes, tags_or_null);
    } else {
      shared = &cluster_.cta(piece.to.rank).shared();
      std::memcpy(bytes, shared->bytes() + piece.to.offset + i, size);
      if constexpr (D::kHasTags) std::copy_n(shared->tags() + piece.to.offset + i, size, tags);
    }
    ReduceError error;
    const domain::Word old = word_at(bytes, tags_or_null, size);
    const auto result = reduced(cluster_.dom(), op.reduction, old, value, value, error);
    if (!result) {
      const auto kind = error.code == &kUnmodelled ? Stop::Kind::Unmodelled : Stop::Kind::Defect;
      return cluster_.fault(kind, *error.code, std::move(error.text), op.pc);
    }
    std::memcpy(bytes, &result->bits, size);
    std::copy_n(result->tags, size, tags);
    if (piece.to.buffer != nullptr) {
      cluster_.dom().store(*piece.to.buffer, piece.to.offset + i, size, bytes, tags_or_null);
    } else {
      std::memcpy(shared->bytes() + piece.to.offset + i, bytes, size);
      if constexpr (D::kHasTags) std::copy_n(tags, size, shared->tags() + piece.to.offset + i);
    }
  }
}

// Elements are rounded, the fill around them is not.
template <class D>
void AsyncAgent<D>::round_tf32(AsyncOp<D>& op) {
  D& dom = cluster_.dom();
  std::size_t first = 0;
  for (const AsyncPiece& piece : op.pieces) {
    for (std::size_t at = first; !piece.is_fill && at + 4 <= first + piece.size; at += 4) {
      const domain::Word in = word_at(op.bytes.data() + at, D::kHasTags ? op.tags.data() + at : nullptr, 4);
      const auto rounded =
          dom.convert(domain::Format::Tf32, domain::Format::F32, dom.from_word(domain::Format::F32, in), {});
      const domain::Word out = dom.to_word(domain::Format::Tf32, rounded);
      std::memcpy(op.bytes.data() + at, &out.bits, 4);
      if constexpr (D::kHasTags) std::copy_n(out.tags, 4, op.tags.data() + at);
    }
    first += piece.size;
  }
}

template <class D>
void AsyncAgent<D>::write(AsyncOp<D>& op) {
  read(op);
  if (op.effect == AsyncEffect::RoundTf32) round_tf32(op);
  std::size_t at = 0;
  for (const AsyncPiece& piece : op.pieces) {
    if (op.effect == AsyncEffect::Reduce) {
      reduce_into(op, piece, at);
    } else {
      move_out(op, piece, at);
    }
    at += piece.size;
  }
  if constexpr (D::kHasTags) {
    if (cluster_.dom().faulted()) {
      domain::Fault fault = cluster_.dom().take_fault();
      cluster_.fault(Stop::Kind::Unmodelled, *fault.code, std::move(fault.text), op.pc);
    }
  }
}

// The operation leaves the list before its signal wakes anyone.
template <class D>
void AsyncAgent<D>::complete(std::size_t index) {
  const std::unique_ptr<AsyncOp<D>> op = std::move(ops_[index]);
  ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(index));
  if (op->completion == Completion::Arrive) {
    op->issuer->land_copies(op->lane, op->copies_before);
  } else {
    write(*op);
  }
  cluster_.progressed();
  if (Observer* observer = op->issuer->cta().observer()) observer->async_completed(op->id);
  if (op->completion != Completion::BulkGroup) signal(*op);
}

template <class D>
void AsyncAgent<D>::signal(const AsyncOp<D>& op) {
  Mbarrier* barrier = cluster_.cta(op.barrier_rank).mbarrier(op.barrier_offset);
  std::string error = "there is no mbarrier any more where it signals";
  MbarrierEvent event;
  if (barrier != nullptr) {
    event.phase = barrier->phase;
    error = op.completion == Completion::Arrive ? barrier->arrive(1) : barrier->complete(op.barrier_bytes);
  }
  if (!error.empty()) {
    return cluster_.fault(Stop::Kind::Defect, kMbarrier, "when the operation issued here completes: " + error, op.pc);
  }
  if (Observer* observer = op.issuer->cta().observer()) {
    const bool is_arrival = op.completion == Completion::Arrive;
    event.kind = is_arrival ? MbarrierEvent::Kind::Arrive : MbarrierEvent::Kind::CompleteTx;
    event.instr = op.pc, event.warp = op.issuer->index(), event.lane = op.lane;
    event.rank = op.barrier_rank, event.offset = op.barrier_offset;
    event.count = is_arrival ? 1 : op.barrier_bytes;
    event.completes = barrier->is_full();
    event.is_async = true, event.operation = op.id;
    observer->mbarrier(event);
  }
  cluster_.settle(op.barrier_rank, op.barrier_offset);
}

template class AsyncAgent<domain::Ieee>;
template class AsyncAgent<domain::Field>;

}  // namespace plumb::machine
