// SPDX-License-Identifier: Apache-2.0
// The state of a running CTA: its warps with their control flow, its shared memory and barriers. A warp is a set of
// splits, groups of lanes with one program counter. The deepest call and the smallest counter goes first, so that lanes
// meet again where their paths join; a split that spins gives way to the others after a while, so that lanes may wait
// for each other as independent thread scheduling allows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "domain/memory.h"
#include "machine/barrier.h"
#include "machine/codes.h"
#include "machine/decoded.h"
#include "machine/machine.h"
#include "machine/warp.h"

namespace plumb::machine {

template <class D>
class Cta;

inline constexpr unsigned kMaxAccess = 32;  // bytes of one lane's access

// Bytes and, in domains with tags, their tags.
struct TaggedBytes {
  std::byte bytes[kMaxAccess] = {};
  domain::Tag tags[kMaxAccess] = {};
};

// Storage of bytes with tags, aligned for vector loads.
template <class D>
class Store {
 public:
  // All bytes undefined: a poison pattern, so that a missing write shows in every domain.
  void reset(std::size_t size) {
    size_ = size;
    bytes_.assign(size, std::byte{0xcd});
    if constexpr (D::kHasTags) tags_.assign(size, domain::kUndefinedTag);
  }
  std::size_t size() const { return size_; }
  std::byte* bytes() { return bytes_.data(); }
  domain::Tag* tags() { return tags_.data(); }

 private:
  std::size_t size_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<domain::Tag> tags_;
};

template <class D>
struct Split {
  enum class State : std::uint8_t { Ready, Collective, Barrier };
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  std::uint32_t depth = 0;  // of calls
  State state = State::Ready;
  std::uint8_t barrier = 0;
  std::uint32_t member = 0;   // Collective: the lanes that must come
  const Op<D>* op = nullptr;  // what it waits at
  std::uint64_t stamp = 0;    // when it last ran
};

// One cp.async of one warp: what was issued, and for which lanes it is still in flight.
template <class D>
struct AsyncCopy {
  std::uint64_t id = 0;
  std::uint32_t mask = 0;
  std::uint32_t size = 0;
  std::array<std::uint32_t, kLanes> shared{};
  std::array<std::uint32_t, kLanes> source_size{};
  std::array<domain::Buffer*, kLanes> buffer{};
  std::array<std::uint64_t, kLanes> offset{};
};

// A commit of some lanes: the copies in [first, last) of the warp's list, for the lanes of the mask.
struct AsyncGroup {
  std::uint32_t mask = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> copies;  // number of the copy, lanes
};

// What all CTAs of a run share.
struct RunShared {
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  domain::Memory* memory = nullptr;
  std::vector<std::unique_ptr<domain::Buffer>> globals;  // module variables of the global space
  std::vector<std::byte> params;
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> is_cancelled{false};
  std::array<std::mutex, 64> atomics;  // by address: read-modify-write on global memory
};

template <class D>
class WarpRun : public Warp<D> {
 public:
  using typename Warp<D>::Word;
  using typename Warp<D>::Tag;
  using State = typename Split<D>::State;

  WarpRun(Cta<D>& cta, const Decoded<D>& program, D& dom, std::uint32_t index);
  WarpRun(const WarpRun&) = delete;  // the base points into this object's storage
  WarpRun& operator=(const WarpRun&) = delete;

  // Prepares for the CTA's current block index: every register undefined, lanes of `exists` at the entry.
  void start(std::uint32_t exists);
  // Runs until every lane waits or has exited, the steps are used up, or the run stops.
  void run(std::uint64_t steps);

  bool is_done() const { return this->live_ == 0; }
  bool is_ready() const;  // some split can go on
  std::uint32_t index() const { return index_; }
  Cta<D>& cta() { return cta_; }
  const Layout& layout() const { return program_.layout; }
  const std::vector<Split<D>>& splits() const { return splits_; }
  std::optional<Stop> take_stop() { return std::move(this->stop_); }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t lane_steps() const { return lane_steps_; }
  std::uint64_t macs() const { return this->macs_; }
  std::string thread_name(unsigned lane) const;  // "thread (3,0,0) of block (1,0,0)"
  void stop(Stop::Kind kind, const Code& code, std::string text);

  // -- For the meanings of control flow. ------------------------------------------------------------------------------
  std::uint32_t pc() const { return pc_; }
  std::uint32_t next() const { return next_; }
  std::uint32_t active() const { return active_; }
  void jump(std::uint32_t target);                       // the lanes of mask()
  void jump(std::uint32_t lanes, std::uint32_t target);  // some of them
  void call(std::uint32_t site);
  void ret(std::uint32_t function);
  void exit_lanes();
  // Waits until the live lanes of `member` stand at this instruction. True: mask() holds all of them. False: the step
  // does nothing, it will be stepped again.
  bool gather(const Op<D>& op, std::uint32_t member);
  // The member mask that the lanes of mask() name in a register; lanes with another one are stepped apart. False: a
  // finding.
  bool select_members(Slot member_slot, std::uint32_t& member);
  // Both.
  bool gather_members(const Op<D>& op, Slot member_slot, std::uint32_t& member);
  // The lanes of mask() go on at the next instruction when the barrier completes.
  void wait_at_barrier(const Op<D>& op, unsigned barrier);
  void wait_at(const Op<D>& op, std::uint32_t member);
  // Warp barriers at different places meet: releases all that wait with this member mask when complete.
  void sync_warp(const Op<D>& op, std::uint32_t member);
  void release_barrier(unsigned barrier, std::uint32_t threads, std::uint32_t voters);

  // -- For the meanings of memory instructions. ---------------------------------------------------------------------
  // The addresses of the lanes of mask(); false when one is undefined or abstract (a finding).
  bool addresses(const Op<D>& op, unsigned width, std::uint64_t (&out)[kLanes]) {
    return addresses(op, width, out, this->mask_);
  }
  bool addresses(const Op<D>& op, unsigned width, std::uint64_t (&out)[kLanes], std::uint32_t lanes);
  // One lane's access of `size` bytes in a space (generic: already resolved); false after a finding.
  bool load(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, TaggedBytes& out);
  bool store(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const TaggedBytes& in);
  domain::Buffer* global(std::uint64_t address, std::uint64_t size);  // null: none holds it
  void report_bounds(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const char* verb);
  void report_alignment(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const char* verb);
  std::byte* local_bytes(unsigned lane) { return local_.bytes() + std::size_t{lane} * layout().local_bytes; }
  Tag* local_tags(unsigned lane) { return local_.tags() + std::size_t{lane} * layout().local_bytes; }
  void observe(AccessKind kind, ptx::Space space, const Op<D>& op, std::uint32_t mask, unsigned size,
               const std::uint64_t* address);

  // -- cp.async -----------------------------------------------------------------------------------------------------
  AsyncCopy<D>& issue_copy();
  void commit_copies();
  // Waits until at most `pending` newest groups of each lane are in flight; `all` takes uncommitted copies along.
  void wait_copies(std::uint32_t pending, bool all);

  domain::Buffer* last_buffer = nullptr;  // where the last global access went: a hint

 private:
  friend class Cta<D>;
  bool pick();
  void merge_here();
  void save_active();
  void set_limit(std::uint32_t from);
  void complete_copy(std::uint32_t copy, std::uint32_t lanes);
  void set_specials();
  bool raw_local(std::uint64_t address, unsigned size, unsigned lane, ptx::Space space, std::byte*& bytes, Tag*& tags);

  Cta<D>& cta_;
  const Decoded<D>& program_;
  std::uint32_t index_;
  std::unique_ptr<std::byte[]> storage_;
  std::vector<Tag> tag_storage_;
  std::vector<RegState> state_storage_;
  std::vector<std::uint32_t> pred_storage_, pred_undefined_storage_;
  std::vector<PredState> pred_state_storage_;
  std::vector<typename D::Bool> bool_storage_;
  Store<D> local_, call_params_;
  std::vector<std::array<std::uint32_t, kLanes>> return_site_;  // by function

  std::vector<Split<D>> splits_;  // all but the one that runs
  const Op<D>* current_ = nullptr;
  std::uint32_t pc_ = 0, next_ = 0, active_ = 0, depth_ = 0, limit_ = 0;
  bool is_interrupted_ = false;  // the step changed the splits
  bool is_fair_turn_ = false;
  std::uint64_t clock_ = 0;
  std::uint64_t steps_ = 0, lane_steps_ = 0;

  std::deque<AsyncCopy<D>> copies_;  // in flight; the first has number first_copy_
  std::uint32_t first_copy_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open_copies_;
  std::vector<AsyncGroup> groups_;
};

template <class D>
class Cta {
 public:
  Cta(const Decoded<D>& program, D& dom, RunShared& shared);

  // Runs one block from start to end; empty when every thread exited.
  std::optional<Stop> run(std::uint64_t cta, Counts& counts);

  const Dim3& block_index() const { return block_index_; }
  const Launch& launch() const { return *run_.launch; }
  RunShared& run_shared() { return run_; }
  Observer* observer() { return observer_.get(); }
  Store<D>& shared() { return shared_; }
  D& dom() { return dom_; }
  std::uint8_t* executed() { return executed_.data(); }
  std::uint64_t next_copy_id() { return copy_id_++; }

  // One warp's arrival with the lanes of its mask; false after a finding. `voters`: lanes whose predicate is true.
  bool arrive(WarpRun<D>& warp, unsigned barrier, std::uint32_t expected, bool is_aligned, bool is_reduction,
              std::uint32_t voters);
  void complete_if_full(unsigned barrier);
  void lanes_exited(WarpRun<D>& warp, std::uint32_t lanes);

 private:
  Stop deadlock() const;

  const Decoded<D>& program_;
  D& dom_;
  RunShared& run_;
  std::vector<std::unique_ptr<WarpRun<D>>> warps_;
  std::array<Barrier, kBarriers> barriers_;
  Store<D> shared_;
  std::unique_ptr<Observer> observer_;
  Dim3 block_index_;
  std::vector<std::uint8_t> executed_;
  std::uint64_t copy_id_ = 0;
};

}  // namespace plumb::machine
