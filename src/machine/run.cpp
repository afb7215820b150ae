// SPDX-License-Identifier: Apache-2.0
// The control flow of a warp: splits, their order, and how lanes wait for each other.
#include "machine/run.h"

#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/lanes.h"
#include "machine/mend.h"
#include "machine/step_observer.h"

namespace plumb::machine {

namespace {

// Steps that a split may go on while others are ready: lanes that spin let the lanes that they wait for run.
constexpr std::uint64_t kTurn = 2048;

constexpr std::size_t kRegAlignment = 64;

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

}  // namespace

template <class D>
Place Decoded<D>::place(std::uint32_t pc) const {
  if (pc >= ops.size()) return {module->source, {}};
  const ptx::Function& function = module->functions[ops[pc].function];
  if (ops[pc].instr >= function.instrs.size()) return {module->source, function.span};
  return {module->source, function.instrs[ops[pc].instr].span};
}

template <class D>
WarpRun<D>::WarpRun(Cta<D>& cta, const Decoded<D>& program, D& dom, std::uint32_t index)
    : cta_(cta), program_(program), index_(index) {
  const Layout& layout = program.layout;
  storage_ = std::make_unique<std::byte[]>(layout.reg_bytes + kRegAlignment);
  void* begin = storage_.get();
  std::size_t space = layout.reg_bytes + kRegAlignment;
  this->regs_ = static_cast<std::byte*>(std::align(kRegAlignment, layout.reg_bytes, begin, space));
  pred_storage_.resize(layout.pred_count);
  this->preds_ = pred_storage_.data();
  if constexpr (D::kHasTags) {
    tag_storage_.resize(layout.reg_bytes);
    state_storage_.resize(layout.reg_bytes / kRegAlignment);
    pred_state_storage_.resize(layout.pred_count);
    pred_undefined_storage_.resize(layout.pred_count);
    bool_storage_.resize(std::size_t{layout.pred_count} * kLanes);
    this->tags_ = tag_storage_.data();
    this->states_ = state_storage_.data();
    this->pred_states_ = pred_state_storage_.data();
    this->pred_undefined_ = pred_undefined_storage_.data();
    this->pred_bools_ = bool_storage_.data();
  }
  this->dom_ = &dom;
  this->lists_ = layout.lists.data();
  // Nothing ever writes a constant, so that it is laid down once for all blocks that this object runs.
  for (const ConstantSlot& constant : layout.constants) {
    const std::uint64_t value = constant.value + (constant.is_shared_address ? cta.shared_base() : 0);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::memcpy(this->regs_ + constant.slot + lane * constant.width, &value, constant.width);
    }
    if constexpr (D::kHasTags) state_storage_[constant.slot >> 6] = RegState::Concrete;
  }
}

template <class D>
void WarpRun<D>::start(std::uint32_t exists) {
  const Layout& layout = program_.layout;
  std::memset(this->regs_, 0xcd, layout.variable_bytes);
  std::fill(pred_storage_.begin(), pred_storage_.end(), 0);
  if constexpr (D::kHasTags) {
    std::fill_n(state_storage_.begin(), layout.variable_bytes / kRegAlignment, RegState::Undefined);
    std::fill(pred_state_storage_.begin(), pred_state_storage_.end(), PredState::Mixed);
    std::fill(pred_undefined_storage_.begin(), pred_undefined_storage_.end(), kFullMask);
    pred_state_storage_[0] = PredState::Concrete;
  }
  if (layout.explicit_cluster != kNoPred) {
    this->mask_ = kFullMask;
    this->live_ = kFullMask;
    const bool is_explicit = program_.entry_function().reqnctapercluster[0] != 0 || cta_.cluster().size() > 1;
    this->write_pred(layout.explicit_cluster, is_explicit ? kFullMask : 0);
  }
  set_specials();
  local_stride_ = layout.local_bytes;
  stack_.fill(layout.local_bytes);
  for (std::vector<Call>& calls : calls_) calls.clear();
  local_.reset(local_stride_ * kLanes);
  call_params_.reset(std::size_t{layout.call_param_bytes} * kLanes);
  splits_.clear();
  copies_.clear(), open_copies_.clear(), groups_.clear();
  first_copy_ = 0;
  this->live_ = exists;
  this->stop_.reset();
  active_ = 0;
  is_yielding_ = has_polled_ = false;
  polled_.reset();
  idle_turns_ = 0;
  registers_ = program_.entry_function().maxnreg;
  last_buffer = nullptr;
  held.reset();
  transfers.reset();
  if (exists != 0) splits_.push_back({.pc = 0, .mask = exists});
}

template <class D>
void WarpRun<D>::set_specials() {
  const Launch& launch = cta_.launch();
  const Dim3 grid = launch.grid, block = launch.block, at = cta_.block_index();
  const Dim3 shape = cta_.cluster().shape();
  const auto pick_axis = [](const Dim3& dim, unsigned axis) -> std::uint64_t {
    return axis == 0 ? dim.x : axis == 1 ? dim.y : axis == 2 ? dim.z : 0;
  };
  for (const SpecialSlot& special : program_.layout.specials) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t linear = std::uint64_t{index_} * kLanes + lane;
      std::uint64_t value = 0;
      switch (special.special) {
        case ptx::Special::tid: {
          const Dim3 tid{static_cast<std::uint32_t>(linear % block.x),
                         static_cast<std::uint32_t>(linear / block.x % block.y),
                         static_cast<std::uint32_t>(linear / block.x / block.y)};
          value = pick_axis(tid, special.axis);
          break;
        }
        case ptx::Special::ntid:
          value = pick_axis(block, special.axis);
          break;
        case ptx::Special::ctaid:
          value = pick_axis(at, special.axis);
          break;
        case ptx::Special::nctaid:
          value = pick_axis(grid, special.axis);
          break;
        case ptx::Special::clusterid:
          value = pick_axis({at.x / shape.x, at.y / shape.y, at.z / shape.z}, special.axis);
          break;
        case ptx::Special::nclusterid:
          value = pick_axis({grid.x / shape.x, grid.y / shape.y, grid.z / shape.z}, special.axis);
          break;
        case ptx::Special::cluster_ctaid:
          value = pick_axis({at.x % shape.x, at.y % shape.y, at.z % shape.z}, special.axis);
          break;
        case ptx::Special::cluster_nctaid:
          value = pick_axis(shape, special.axis);
          break;
        case ptx::Special::cluster_ctarank:
          value = cta_.rank();
          break;
        case ptx::Special::cluster_nctarank:
          value = cta_.cluster().size();
          break;
        case ptx::Special::laneid:
          value = lane;
          break;
        case ptx::Special::warpid:
          value = index_;
          break;
        case ptx::Special::nwarpid:
          value = (block.count() + kLanes - 1) / kLanes;
          break;
        case ptx::Special::warp_sz:
          value = kLanes;
          break;
        case ptx::Special::lanemask_eq:
          value = 1u << lane;
          break;
        case ptx::Special::lanemask_lt:
          value = (1u << lane) - 1;
          break;
        case ptx::Special::lanemask_le:
          value = (2ull << lane) - 1;
          break;
        case ptx::Special::lanemask_gt:
          value = ~((2ull << lane) - 1);
          break;
        case ptx::Special::lanemask_ge:
          value = ~((1ull << lane) - 1);
          break;
        case ptx::Special::dynamic_smem_size:
          value = launch.dynamic_shared;
          break;
        case ptx::Special::total_smem_size:
          value = program_.layout.static_shared - program_.layout.shared_start + launch.dynamic_shared;
          break;
        default:
          break;  // decoding refuses the others
      }
      std::memcpy(this->regs_ + special.slot + lane * special.width, &value, special.width);
    }
    if constexpr (D::kHasTags) state_storage_[special.slot >> 6] = RegState::Concrete;
  }
}

template <class D>
bool WarpRun<D>::is_ready() const {
  return std::any_of(splits_.begin(), splits_.end(), [](const Split<D>& split) { return split.state == State::Ready; });
}

template <class D>
std::string WarpRun<D>::thread_name(unsigned lane) const {
  const Dim3 block = cta_.launch().block, at = cta_.block_index();
  const std::uint32_t linear = index_ * kLanes + lane;
  return "thread " + triple(linear % block.x, linear / block.x % block.y, linear / block.x / block.y) + " of block " +
         triple(at.x, at.y, at.z);
}

template <class D>
void WarpRun<D>::stop(Stop::Kind kind, const Code& code, std::string text) {
  is_interrupted_ = true;
  if (this->stop_) return;
  this->stop_ = Stop{kind, Finding{&code, Severity::Error, std::move(text), program_.place(pc_), {}, mend_of(code)}};
}

// Takes the next split to run out of the list: the deepest call, then the smallest counter; after a turn that was used
// up, the one that has waited longest. False when none is ready.
template <class D>
bool WarpRun<D>::pick() {
  const auto before = [&](const Split<D>& a, const Split<D>& b) {
    if (is_fair_turn_) return a.stamp < b.stamp;
    if (a.depth != b.depth) return a.depth > b.depth;
    return a.pc < b.pc;
  };
  auto best = splits_.end();
  for (auto it = splits_.begin(); it != splits_.end(); ++it) {
    if (it->state == State::Ready && (best == splits_.end() || before(*it, *best))) best = it;
  }
  if (best == splits_.end()) return false;
  pc_ = best->pc, active_ = best->mask, depth_ = best->depth;
  splits_.erase(best);
  merge_here();
  set_limit(pc_);
  return true;
}

// Takes in the ready splits that stand where the running one stands.
template <class D>
void WarpRun<D>::merge_here() {
  std::erase_if(splits_, [&](const Split<D>& split) {
    if (split.state != State::Ready || split.pc != pc_) return false;
    active_ |= split.mask;
    depth_ = std::max(depth_, split.depth);
    return true;
  });
}

// The running split, which goes on at `from`, does not look at the others below this counter.
template <class D>
void WarpRun<D>::set_limit(std::uint32_t from) {
  limit_ = ~0u;
  for (const Split<D>& split : splits_) {
    if (split.state == State::Ready && split.pc >= from) limit_ = std::min(limit_, split.pc);
  }
}

template <class D>
void WarpRun<D>::save_active() {
  if (active_ != 0) {
    Split<D> split;
    split.pc = pc_, split.mask = active_, split.depth = depth_, split.stamp = ++clock_;
    splits_.push_back(split);
  }
  active_ = 0;
}

template <class D>
void WarpRun<D>::run(std::uint64_t steps) {
  const Op<D>* ops = program_.ops.data();
  std::uint8_t* executed = cta_.executed();
  auto* const follower = dynamic_cast<StepObserver*>(cta_.observer());
  is_yielding_ = has_polled_ = false;
  while (steps > 0 && !is_yielding_ && !this->stop_ && pick()) {
    std::uint64_t turn = splits_.empty() ? steps : std::min(steps, kTurn);
    const std::uint64_t given = turn;
    std::uint64_t lanes = 0;
    auto count = static_cast<unsigned>(std::popcount(active_));
    is_interrupted_ = false;
    for (; turn > 0; --turn) {
      const Op<D>& op = ops[pc_];
      next_ = pc_ + 1;
      this->mask_ = active_;
      if (op.guard.slot != kNoPred) {
        this->mask_ &= this->decided(op.guard, "the guard");
        lanes += static_cast<unsigned>(std::popcount(this->mask_));
      } else {
        lanes += count;
      }
      const std::uint32_t stepped = this->mask_;
      const std::uint64_t macs = this->macs_;
      if (op.watch != 0 && this->mask_ != 0) touch_held(*this, op);
      if (this->mask_ != 0 && !is_interrupted_) {
        executed[pc_] = 1;
        current_ = &op;
        op.step(*this, op);
        if constexpr (D::kHasTags) {
          if (this->dom_->faulted()) {
            domain::Fault fault = this->dom_->take_fault();
            stop(Stop::Kind::Unmodelled, *fault.code, std::move(fault.text));
          }
        }
      }
      if (follower != nullptr) follower->stepped(pc_, {index_, stepped}, this->macs_ - macs);
      if (is_interrupted_) {
        pc_ = next_;
        --turn;
        break;
      }
      pc_ = next_;
      if (pc_ >= limit_) {
        if (pc_ > limit_) {
          --turn;
          break;
        }
        merge_here();
        set_limit(pc_);
        count = static_cast<unsigned>(std::popcount(active_));
      }
    }
    // Only a turn used up, or given up, while others are ready is a reason to change the order.
    is_fair_turn_ = is_yielding_ || (turn == 0 && !is_interrupted_ && !splits_.empty());
    steps -= given - turn;
    steps_ += given - turn;
    lane_steps_ += lanes;
    save_active();
  }
}

template <class D>
void WarpRun<D>::jump(std::uint32_t target) {
  if (this->mask_ == active_) {
    next_ = target;
    // Behind, other splits may stand in the way; what stands ahead is passed over only by another choice of split.
    if (target <= pc_ && !splits_.empty()) set_limit(target);
    return;
  }
  jump(this->mask_, target);
}

template <class D>
void WarpRun<D>::jump(std::uint32_t lanes, std::uint32_t target) {
  Split<D> split;
  split.pc = target, split.mask = lanes, split.depth = depth_, split.stamp = ++clock_;
  splits_.push_back(split);
  active_ &= ~lanes;
  is_interrupted_ = true;
}

template <class D>
void WarpRun<D>::exit_lanes() {
  const std::uint32_t lanes = this->mask_;
  active_ &= ~lanes;
  this->live_ &= ~lanes;
  is_interrupted_ = true;
  // Those who wait for the lanes that left look again.
  for (Split<D>& split : splits_) {
    if (split.state == State::Collective) split.state = State::Ready;
  }
  cta_.lanes_exited(*this, lanes);
}

template <class D>
void WarpRun<D>::wait_at(const Op<D>& op, std::uint32_t member) {
  Split<D> split;
  split.pc = pc_, split.mask = this->mask_, split.depth = depth_, split.state = State::Collective;
  split.member = member, split.op = &op, split.stamp = ++clock_;
  splits_.push_back(split);
  active_ &= ~this->mask_;
  is_interrupted_ = true;
}

template <class D>
bool WarpRun<D>::gather(const Op<D>& op, std::uint32_t member) {
  const std::uint32_t required = member & this->live_;
  if ((required & ~this->mask_) == 0) return true;
  std::uint32_t here = this->mask_;
  for (const Split<D>& split : splits_) {
    if (split.state == State::Collective && split.pc == pc_ && split.member == member) here |= split.mask;
  }
  if ((required & ~here) != 0) {
    wait_at(op, member);
    return false;
  }
  std::erase_if(splits_, [&](const Split<D>& split) {
    return split.state == State::Collective && split.pc == pc_ && split.member == member;
  });
  active_ |= here;
  this->mask_ = here;
  is_interrupted_ = true;  // the running split has grown
  return true;
}

template <class D>
bool WarpRun<D>::select_members(Slot member_slot, std::uint32_t& member) {
  const Lane<std::uint32_t>* members = this->concrete_lanes(member_slot, "the member mask");
  if (members == nullptr) return false;
  member = members[std::countr_zero(this->mask_)];
  std::uint32_t same = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) same |= static_cast<std::uint32_t>(members[lane] == member) << lane;
  same &= this->mask_;
  if ((same & ~member) != 0) {
    this->fault(kCollective, thread_name(static_cast<unsigned>(std::countr_zero(same & ~member))) +
                                 " is not in its own member mask");
    return false;
  }
  if (same != this->mask_) {
    jump(this->mask_ & ~same, pc_);
    this->mask_ = same;
  }
  return true;
}

template <class D>
bool WarpRun<D>::gather_members(const Op<D>& op, Slot member_slot, std::uint32_t& member) {
  return select_members(member_slot, member) && gather(op, member);
}

template <class D>
void WarpRun<D>::sync_warp(const Op<D>& op, std::uint32_t member) {
  const auto waits_here = [&](const Split<D>& split) {
    return split.state == State::Collective && split.op->step == op.step && split.member == member;
  };
  std::uint32_t here = this->mask_;
  for (const Split<D>& split : splits_) {
    if (waits_here(split)) here |= split.mask;
  }
  if (((member & this->live_) & ~here) != 0) return wait_at(op, member);
  for (Split<D>& split : splits_) {
    if (!waits_here(split)) continue;
    split.state = State::Ready;
    ++split.pc;
  }
  if (here != this->mask_) is_interrupted_ = true;
  if (cta_.observer() != nullptr) cta_.observer()->warp_synchronized(pc_, {index_, here});
}

template <class D>
void WarpRun<D>::wait_at_barrier(const Op<D>& op, unsigned barrier) {
  Split<D> split;
  split.pc = next_, split.mask = this->mask_, split.depth = depth_, split.state = State::Barrier;
  split.barrier = static_cast<std::uint8_t>(barrier), split.op = &op, split.stamp = ++clock_;
  splits_.push_back(split);
  active_ &= ~this->mask_;
  is_interrupted_ = true;
}

template <class D>
void WarpRun<D>::release_barrier(unsigned barrier, std::uint32_t popcount, std::uint32_t voters) {
  for (Split<D>& split : splits_) {
    if (split.state != State::Barrier || split.barrier != barrier) continue;
    split.state = State::Ready;
    const Op<D>& op = *split.op;
    if (op.d == 0 && op.p == kNoPred) continue;
    const std::uint32_t saved = std::exchange(this->mask_, split.mask);
    if (op.p != kNoPred) {
      this->write_pred(op.p, (op.imm == 0 ? popcount == voters : popcount != 0) ? kFullMask : 0);
    } else {
      write_lanes<D, std::uint32_t>(*this, op.d, [&](unsigned) { return popcount; });
    }
    this->mask_ = saved;
  }
}

template <class D>
void WarpRun<D>::wait_until(const Op<D>& op, const Wait<D>& wait) {
  Split<D> split;
  split.pc = pc_, split.mask = this->mask_, split.depth = depth_, split.state = State::Waiting;
  split.op = &op, split.wait = &wait, split.stamp = ++clock_;
  splits_.push_back(split);
  active_ &= ~this->mask_;
  is_interrupted_ = true;
}

// Calls fn(split) for each split that waits, with the warp's mask and counter those of the split.
template <class D>
template <class Fn>
void WarpRun<D>::for_waits(Fn&& fn) {
  const std::uint32_t mask = this->mask_, pc = pc_;
  for (Split<D>& split : splits_) {
    if (split.state != State::Waiting) continue;
    this->mask_ = split.mask, pc_ = split.pc;
    fn(split);
  }
  this->mask_ = mask, pc_ = pc;
}

template <class D>
void WarpRun<D>::go_on(Split<D>& split) {
  split.state = State::Ready;
  ++split.pc;
  is_interrupted_ = true;  // the running split has another beside it
}

template <class D>
void WarpRun<D>::poll_waits() {
  for_waits([&](Split<D>& split) {
    if (split.wait->poll(*this, *split.op)) go_on(split);
  });
}

template <class D>
bool WarpRun<D>::give_up_waits() {
  bool any = false;
  for_waits([&](Split<D>& split) {
    if (split.wait->give_up == nullptr) return;
    split.wait->give_up(*this, *split.op);
    go_on(split);
    any = true;
  });
  return any;
}

template <class D>
void WarpRun<D>::explain_waits(const std::function<void(const Split<D>&, const WaitPicture&)>& fn, bool wants_text) {
  for_waits([&](Split<D>& split) {
    WaitPicture picture;
    picture.wants_text = wants_text;
    split.wait->explain(*this, *split.op, picture);
    fn(split, picture);
  });
}

template class WarpRun<domain::Ieee>;
template class WarpRun<domain::Field>;
template struct Decoded<domain::Ieee>;
template struct Decoded<domain::Field>;

}  // namespace plumb::machine
