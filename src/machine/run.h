// SPDX-License-Identifier: Apache-2.0
// The state of a running CTA: its warps with their control flow, its shared memory and barriers; cluster.h has what
// CTAs share. A warp is a set of splits, groups of lanes with one program counter. The deepest call and the smallest
// counter goes first, so that lanes meet again where their paths join; a split that spins gives way to the others after
// a while, so that lanes may wait for each other as independent thread scheduling allows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/memory.h"
#include "machine/barrier.h"
#include "machine/codes.h"
#include "machine/decoded.h"
#include "machine/machine.h"
#include "machine/mbarrier.h"
#include "machine/tensor_memory.h"
#include "machine/tensor_transfer.h"
#include "machine/warp.h"
#include "machine/warpgroup.h"

namespace plumb::machine {

template <class D>
class Cta;
template <class D>
class Cluster;
template <class D>
class WarpRun;

inline constexpr unsigned kMaxAccess = 32;  // bytes of one lane's access
// Of each lane: calls that have not returned, and bytes of local memory for frames and `alloca`.
inline constexpr std::size_t kMaxCalls = 512;
inline constexpr std::uint64_t kMaxStack = 1 << 16;

// Bytes and, in domains with tags, their tags. Not cleared: loads of a whole warp have many.
struct TaggedBytes {
  std::byte bytes[kMaxAccess];
  domain::Tag tags[kMaxAccess];
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

// What lanes wait for: in words, and as mbarriers (rank of the CTA, offset) of which one may let them go on.
struct WaitPicture {
  bool wants_text = true;
  std::string text;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> barriers;
};

// How lanes wait for something outside of their warp. The functions are called with the mask() and pc() of the lanes
// that wait.
template <class D>
struct Wait {
  // True: their results are written, and they go on at the next instruction.
  bool (*poll)(WarpRun<D>&, const Op<D>&) = nullptr;
  // Writes the results of a wait that gives up, as one with a time limit may; null: it does not.
  void (*give_up)(WarpRun<D>&, const Op<D>&) = nullptr;
  void (*explain)(WarpRun<D>&, const Op<D>&, WaitPicture&) = nullptr;
};

template <class D>
struct Split {
  enum class State : std::uint8_t { Ready, Collective, Barrier, Waiting };
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  std::uint32_t depth = 0;  // of calls
  State state = State::Ready;
  std::uint8_t barrier = 0;
  std::uint32_t member = 0;   // Collective: the lanes that must come
  const Op<D>* op = nullptr;  // what it waits at
  std::uint64_t stamp = 0;    // when it last ran
  const Wait<D>* wait = nullptr;
};

// One cp.async of one warp: what was issued, and for which lanes it is still in flight.
template <class D>
struct AsyncCopy {
  std::uint64_t id = 0;
  std::uint32_t mask = 0;
  std::uint32_t moved = 0;  // lanes whose bytes are there, whether anyone waited or not
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
  std::atomic<std::uint64_t> done{0};  // CTAs that ended
  std::uint64_t all = 0;               // CTAs of the run
  std::atomic<bool> is_cancelled{false};
  std::array<std::mutex, 64> atomics;  // by address: read-modify-write on global memory

  // Tells the caller how far the run is; it may cancel it.
  void report() {
    if (options->progress && !options->progress(done.load(), all)) is_cancelled.store(true);
  }
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
  void call(std::uint32_t site) { call(site, this->mask_); }
  void call(std::uint32_t site, std::uint32_t lanes);  // some of those of mask()
  void ret(std::uint32_t function);
  // Where a lane's local memory ends, and what is added to it there; false after a finding.
  std::uint64_t stack_end(unsigned lane) const { return stack_[lane]; }
  bool push_stack(unsigned lane, std::uint64_t size, std::uint64_t alignment, std::uint64_t& begin);
  void pop_stack(unsigned lane, std::uint64_t end) { stack_[lane] = end; }
  // Where the stack of the function that runs starts, its frame included.
  std::uint64_t stack_start(unsigned lane) const {
    return calls_[lane].empty() ? layout().local_bytes : calls_[lane].back().stack;
  }
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
  // The lanes of mask() go on when `wait` lets them.
  void wait_until(const Op<D>& op, const Wait<D>& wait);
  // Asks the waiting lanes whether they can go on.
  void poll_waits();
  // Lets the lanes that wait with a limit go on without; false when there are none.
  bool give_up_waits();
  void explain_waits(const std::function<void(const Split<D>&, const WaitPicture&)>& fn, bool wants_text);
  // Ends the warp's turn after this step. `polls`: this mbarrier of the CTA was found incomplete.
  void yield() { is_yielding_ = is_interrupted_ = true; }
  void yield_polling(std::uint32_t barrier) {
    polled_ = barrier;
    has_polled_ = true;
    yield();
  }
  std::optional<std::uint32_t> polled() const { return polled_; }
  // Whether the warp does nothing but test mbarriers, perhaps with pauses between; said after each turn.
  void judge_turn(bool was_short) {
    if (!is_yielding_ || !was_short) {
      idle_turns_ = 0;
      polled_.reset();
    } else if (has_polled_) {
      idle_turns_ = 2;
    } else if (idle_turns_ > 0) {
      --idle_turns_;
    }
  }
  bool is_idle() const { return idle_turns_ > 0; }
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
  // The CTA of the cluster whose shared memory holds the bytes at a shared::cluster address, and makes the address an
  // offset in it; null after a finding.
  Cta<D>* shared_owner(std::uint64_t& address, unsigned size, unsigned lane, const char* verb);
  // True after a finding: bytes of a live mbarrier are read, or written while it is in use. A write ends one that is
  // idle, as compilers count on; what uses it later finds none there.
  bool meets_mbarrier(const Cta<D>& owner, std::uint64_t offset, unsigned size, unsigned lane, const char* verb);
  bool spoils_mbarrier(Cta<D>& owner, std::uint64_t offset, unsigned size, unsigned lane, const char* verb);
  bool load_cluster(std::uint64_t address, unsigned size, unsigned lane, TaggedBytes& out);
  bool store_cluster(std::uint64_t address, unsigned size, unsigned lane, const TaggedBytes& in);
  domain::Buffer* global(std::uint64_t address, std::uint64_t size);  // null: none holds it
  void report_bounds(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const char* verb);
  void report_alignment(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const char* verb);
  std::byte* local_bytes(unsigned lane) { return local_.bytes() + std::size_t{lane} * local_stride_; }
  // Every tag that a register or local memory may hold, and more: those of registers without any are stale.
  std::span<const Tag> register_tags() const { return tag_storage_; }
  std::span<const Tag> all_local_tags() { return {local_.tags(), local_.size()}; }
  Tag* local_tags(unsigned lane) { return local_.tags() + std::size_t{lane} * local_stride_; }
  // `value_key`: as Access::value_key.
  void observe(AccessKind kind, ptx::Space space, const Op<D>& op, std::uint32_t mask, unsigned size,
               const std::uint64_t* address, const std::uint64_t* value_key = nullptr);

  // -- setmaxnreg: registers of each thread of the warp, where `.maxnreg` says how many there are at the start; else 0.
  std::uint32_t registers() const { return registers_; }
  void set_registers(std::uint32_t count) { registers_ = count; }

  // -- cp.async -----------------------------------------------------------------------------------------------------
  AsyncCopy<D>& issue_copy();
  void commit_copies();
  // Waits until at most `pending` newest groups of each lane are in flight; `all` takes uncommitted copies along.
  void wait_copies(std::uint32_t pending, bool all);
  // The number of the next copy; those of `lane` with smaller numbers arrive.
  std::uint32_t next_copy() const { return first_copy_ + static_cast<std::uint32_t>(copies_.size()); }
  void land_copies(unsigned lane, std::uint32_t before);
  // Some of the copies in flight arrive, as `random` says.
  template <class Random>
  void land_some(Random& random) {
    for (AsyncCopy<D>& copy : copies_) {
      if (random() % 4 == 0) move_copy(copy, copy.mask & static_cast<std::uint32_t>(random()));
    }
  }

  domain::Buffer* last_buffer = nullptr;  // where the last global access went: a hint

  // -- wgmma --------------------------------------------------------------------------------------------------------
  HeldRegisters held;

  TensorTransfers<D> transfers;  // tcgen05.ld, st
  // For what another warp of the group does in this one's place: the lanes that it is about; returns those before.
  std::uint32_t exchange_mask(std::uint32_t mask) { return std::exchange(this->mask_, mask); }
  // Adds a second place to the finding that the run stops with.
  void note(std::string text, std::uint32_t pc) {
    if (this->stop_) this->stop_->finding.notes.push_back({std::move(text), program_.place(pc)});
  }

 private:
  friend class Cta<D>;
  friend class Cluster<D>;
  template <class Fn>
  void for_waits(Fn&& fn);
  void go_on(Split<D>& split);
  bool pick();
  void merge_here();
  void save_active();
  void set_limit(std::uint32_t from);
  void forget_copies();
  void move_copy(AsyncCopy<D>& copy, std::uint32_t lanes);
  void complete_copy(std::uint32_t copy, std::uint32_t lanes);
  void set_specials();
  bool raw_local(std::uint64_t address, unsigned size, unsigned lane, ptx::Space space, std::byte*& bytes, Tag*& tags);

  // -- Calls. A lane keeps for each call under way where it returns to, where its stack ended, and, of a function that
  // may be under way already, all that this earlier run owns.
  struct Bytes {
    std::vector<std::byte> bytes;
    std::vector<Tag> tags;
    void clear() { bytes.clear(), tags.clear(); }
    void push(const Word& word, unsigned width);
    void push(const std::byte* from, const Tag* from_tags, std::size_t size);
    Word word(std::size_t at, unsigned width) const;
  };
  struct Call {
    std::uint32_t site = 0;
    std::uint64_t stack = 0;
    Bytes kept;
    std::vector<typename Warp<D>::KeptPred> preds;
  };
  // What is passed from its places into `in_transit_` and from there to its places, for the lanes of mask().
  void collect(const std::vector<Passed>& passed);
  void deliver(const std::vector<Passed>& passed);
  void keep(const FunctionPlace& function);
  void restore(const FunctionPlace& function);
  void forget_run(const FunctionPlace& function);
  bool enter_frame(const FunctionPlace& function);
  std::byte* call_param_bytes(unsigned lane) {
    return call_params_.bytes() + std::size_t{lane} * layout().call_param_bytes;
  }
  Tag* call_param_tags(unsigned lane) {
    if constexpr (D::kHasTags) return call_params_.tags() + std::size_t{lane} * layout().call_param_bytes;
    return nullptr;
  }

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
  std::vector<Split<D>> splits_;  // all but the one that runs
  const Op<D>* current_ = nullptr;
  std::uint32_t pc_ = 0, next_ = 0, active_ = 0, depth_ = 0, limit_ = 0;
  bool is_interrupted_ = false;  // the step changed the splits
  bool is_fair_turn_ = false;
  bool is_yielding_ = false;
  bool has_polled_ = false;              // in this turn
  std::optional<std::uint32_t> polled_;  // the mbarrier that was last tested in an idle turn
  std::uint32_t registers_ = 0;
  unsigned idle_turns_ = 0;  // how many more pauses may follow a test
  std::uint64_t clock_ = 0;
  std::uint64_t steps_ = 0, lane_steps_ = 0;

  std::deque<AsyncCopy<D>> copies_;  // in flight; the first has number first_copy_
  std::uint32_t first_copy_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open_copies_;
  std::vector<AsyncGroup> groups_;

  std::size_t local_stride_ = 0;  // bytes of a lane in `local_`: what its stack has needed so far
  std::array<std::uint64_t, kLanes> stack_{};
  std::array<std::vector<Call>, kLanes> calls_;
  std::array<Bytes, kLanes> in_transit_;
};

// In a cluster, shared::cluster addresses have the CTA's rank above the offset; a CTA's own addresses, too.
inline constexpr unsigned kRankShift = 24;

template <class D>
class Cta {
 public:
  Cta(Cluster<D>& cluster, const Decoded<D>& program, D& dom, RunShared& shared, std::uint32_t rank);

  // Everything as at the start of this block.
  void start(const Dim3& block_index);
  void finish(Counts& counts);

  Cluster<D>& cluster() { return cluster_; }
  std::uint32_t rank() const { return rank_; }
  // What its shared addresses start at.
  std::uint64_t shared_base() const { return std::uint64_t{rank_} << kRankShift; }
  const Dim3& block_index() const { return block_index_; }
  const Launch& launch() const { return *run_.launch; }
  RunShared& run_shared() { return run_; }
  Observer* observer() { return observer_.get(); }
  Store<D>& shared() { return shared_; }
  TensorMemory<D>& tensor_memory() { return tensor_memory_; }
  D& dom() { return dom_; }
  std::uint8_t* executed();
  std::uint64_t next_copy_id() { return copy_id_++; }
  // A clock that goes on with every look at it.
  std::uint64_t next_time() { return time_ += kTick; }
  // Registers (of each thread of a warp) that warps gave up by setmaxnreg and none has taken.
  std::uint32_t& free_registers() { return free_registers_; }
  WarpRun<D>* warp(std::uint32_t index) { return warps_[index].get(); }
  // The warpgroup that a warp belongs to; null when the block ends before its fourth warp.
  Warpgroup<D>* warpgroup(std::uint32_t warp) {
    return warp / kGroupWarps < warpgroups_.size() ? &warpgroups_[warp / kGroupWarps] : nullptr;
  }
  std::span<const std::unique_ptr<WarpRun<D>>> warps() const { return warps_; }
  const Barrier& barrier(unsigned id) const { return barriers_[id]; }
  bool is_done() const { return live_warps_ == 0; }
  std::string name() const;  // "block (1,0,0)"

  // The mbarrier at an offset of shared memory; null when there is none.
  Mbarrier* mbarrier(std::uint32_t offset) {
    const auto found = mbarriers_.find(offset);
    return found == mbarriers_.end() ? nullptr : &found->second;
  }
  Mbarrier& add_mbarrier(std::uint32_t offset) { return mbarriers_[offset]; }
  void remove_mbarrier(std::uint32_t offset) { mbarriers_.erase(offset); }
  // An mbarrier of which [offset, offset + size) holds a byte.
  std::optional<std::uint32_t> mbarrier_in(std::uint64_t offset, std::uint64_t size) const {
    const auto next = mbarriers_.lower_bound(static_cast<std::uint32_t>(offset + size));
    if (next == mbarriers_.begin()) return std::nullopt;
    const std::uint32_t at = std::prev(next)->first;
    return at + kMbarrierBytes > offset ? std::optional(at) : std::nullopt;
  }

  // One warp's arrival with the lanes of its mask; false after a finding. `voters`: lanes whose predicate is true.
  bool arrive(WarpRun<D>& warp, unsigned barrier, std::uint32_t expected, bool is_aligned, bool is_reduction,
              std::uint32_t voters);
  void complete_if_full(unsigned barrier);
  void lanes_exited(WarpRun<D>& warp, std::uint32_t lanes);

 private:
  Cluster<D>& cluster_;
  const Decoded<D>& program_;
  D& dom_;
  RunShared& run_;
  std::uint32_t rank_;
  std::vector<std::unique_ptr<WarpRun<D>>> warps_;
  std::vector<Warpgroup<D>> warpgroups_;
  std::uint32_t live_warps_ = 0;
  std::array<Barrier, kBarriers> barriers_;
  Store<D> shared_;
  TensorMemory<D> tensor_memory_;
  std::map<std::uint32_t, Mbarrier> mbarriers_;  // by offset in shared memory
  std::unique_ptr<Observer> observer_;
  Dim3 block_index_;
  static constexpr std::uint64_t kTick = 32;
  std::uint64_t copy_id_ = 0;
  std::uint32_t free_registers_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace plumb::machine
