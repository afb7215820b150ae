// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/mbarrier.h"

#include "machine/exec/memory.h"
#include "machine/exec/operands.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;
using Kind = MbarrierEvent::Kind;

// Op::a and imm: the address; Op::b: a count, bytes, a token or a parity; Op::d: where a token goes (0: nowhere);
// Op::p: the result of a wait. Op::aux: its low byte says the address's width, the bits above what the instruction
// does.
constexpr std::uint32_t kWidth = 255;
constexpr std::uint32_t kHasCount = 1 << 8, kExpects = 1 << 9, kDrops = 1 << 10, kNoComplete = 1 << 11;
constexpr std::uint32_t kRemote = 1 << 12;   // any block of the cluster
constexpr std::uint32_t kParity = 1 << 13;   // a wait names a parity, not a token
constexpr std::uint32_t kRelaxed = 1 << 14;  // orders nothing
constexpr std::uint32_t kNoIncrement = 1 << 15;

template <class D>
bool barrier_addresses(WarpRun<D>& w, const Op<D>& op, std::uint64_t (&address)[kLanes]) {
  return w.addresses(op, op.aux & kWidth, address);
}

template <class D>
void notify(WarpRun<D>& w, const Op<D>& op, Kind kind, unsigned lane, SharedPlace place, std::uint64_t phase,
            std::uint32_t count, bool completes) {
  if (w.cta().observer() == nullptr) return;
  MbarrierEvent event;
  event.kind = kind, event.instr = w.pc(), event.warp = w.index(), event.lane = lane;
  event.rank = place.rank, event.offset = place.offset, event.phase = phase, event.count = count;
  event.completes = completes;
  event.scope = op.order.scope == 0 ? Scope::Cta : static_cast<Scope>(op.order.scope);
  event.is_ordered = (op.aux & kRelaxed) == 0;
  w.cta().observer()->mbarrier(event);
}

template <class D>
void misuse(WarpRun<D>& w, unsigned lane, const SharedPlace& place, const std::string& error) {
  w.fault(kMbarrier, w.thread_name(lane) + ", at " +
                         describe_mbarrier(w.cta().cluster().cta(place.rank), place.offset) + ": " + error);
}

template <class D>
void step_init(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    const auto count = w.concrete(op.b, 4, lane, "the barrier's count");
    if (!count) return;
    // The card takes a second init of an idle mbarrier, and compilers count on it; who is at it is the checker's
    // question.
    const auto again = static_cast<std::uint32_t>(address[lane] - w.cta().shared_base());
    const bool is_again = w.cta().mbarrier(again) != nullptr;
    if (is_again && w.cta().cluster().in_flight_for(w.cta().rank(), again) == 0) w.cta().remove_mbarrier(again);
    const auto place =
        shared_bytes(w, address[lane], kMbarrierBytes, kMbarrierBytes, lane, "initialises an mbarrier of");
    if (!place) return;
    if (place->rank != w.cta().rank()) {
      return w.fault(kMbarrier, w.thread_name(lane) + " initialises an mbarrier of another block");
    }
    if (*count == 0 || *count > kMaxArrivals) {
      return w.fault(kMbarrier, w.thread_name(lane) + " initialises an mbarrier for " + std::to_string(*count) +
                                    " arrivals; it takes 1 to 1048575");
    }
    Mbarrier& barrier = w.cta().add_mbarrier(place->offset);
    barrier = {};
    barrier.expected = barrier.pending = static_cast<std::uint32_t>(*count);
    w.cta().cluster().progressed();
    notify(w, op, Kind::Init, lane, *place, 0, barrier.expected, false);
  });
}

// The word that the hardware leaves becomes memory again.
template <class D>
void step_inval(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    SharedPlace place;
    if (mbarrier_at(w, address[lane], true, lane, place) == nullptr) return;
    if (!w.cta().cluster().tensor_pipe().end_barrier(place.rank, place.offset)) {
      return misuse(w, lane, place, "it ends while a `tcgen05.commit` that signals it tracks operations in flight");
    }
    const Mbarrier* const barrier = w.cta().mbarrier(place.offset);
    const std::uint64_t word = barrier->word(), phase = barrier->phase;
    w.cta().remove_mbarrier(place.offset);
    Store<D>& shared = w.cta().shared();
    std::memcpy(shared.bytes() + place.offset, &word, sizeof word);
    if constexpr (D::kHasTags) std::fill_n(shared.tags() + place.offset, sizeof word, domain::Tag{0});
    notify(w, op, Kind::Inval, lane, place, phase, 0, false);
  });
}

// expect_tx and complete_tx as instructions of their own.
template <class D, bool IsExpect>
void step_tx(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    const auto bytes = w.concrete(op.b, 4, lane, "the count of bytes");
    SharedPlace place;
    Mbarrier* barrier = bytes ? mbarrier_at(w, address[lane], (op.aux & kRemote) == 0, lane, place) : nullptr;
    if (barrier == nullptr) return;
    const std::uint64_t phase = barrier->phase;
    const auto count = static_cast<std::int64_t>(*bytes);
    const std::string error = IsExpect ? barrier->expect(count) : barrier->complete(count);
    if (!error.empty()) return misuse(w, lane, place, error);
    notify(w, op, IsExpect ? Kind::ExpectTx : Kind::CompleteTx, lane, place, phase, static_cast<std::uint32_t>(*bytes),
           barrier->is_full());
    w.cta().cluster().settle(place.rank, place.offset);
  });
}

// What one arrival does to the counts; the error, if any.
std::string arrive(Mbarrier& barrier, std::uint32_t aux, std::uint32_t operand) {
  std::uint32_t count = 1;
  if ((aux & kExpects) != 0) {
    if (std::string error = barrier.expect(operand); !error.empty()) return error;
  } else if ((aux & kHasCount) != 0) {
    count = operand;
  }
  if (std::string error = (aux & kDrops) != 0 ? barrier.drop(count) : barrier.arrive(count); !error.empty()) {
    return error;
  }
  if ((aux & kNoComplete) != 0 && barrier.pending == 0 && barrier.tx == 0) {
    return "`.noComplete` arrives as the last one of its phase";
  }
  return {};
}

template <class D>
void step_arrive(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  const std::uint32_t lanes = w.mask();
  std::uint64_t tokens[kLanes] = {};
  for_lanes(lanes, [&](unsigned lane) {
    if (w.is_stopped()) return;
    std::optional<std::uint64_t> operand = 0;
    if ((op.aux & (kHasCount | kExpects)) != 0) operand = w.concrete(op.b, 4, lane, "the count of an arrival");
    SharedPlace place;
    Mbarrier* barrier = operand ? mbarrier_at(w, address[lane], (op.aux & kRemote) == 0, lane, place) : nullptr;
    if (barrier == nullptr) return;
    const std::uint64_t phase = barrier->phase;
    tokens[lane] = barrier->token();
    const std::string error = arrive(*barrier, op.aux, static_cast<std::uint32_t>(*operand));
    if (!error.empty()) return misuse(w, lane, place, error);
    if ((op.aux & kExpects) != 0) {
      notify(w, op, Kind::ExpectTx, lane, place, phase, static_cast<std::uint32_t>(*operand), false);
    }
    notify(w, op, Kind::Arrive, lane, place, phase,
           (op.aux & kHasCount) != 0 ? static_cast<std::uint32_t>(*operand) : 1, barrier->is_full());
    w.cta().cluster().settle(place.rank, place.offset);
  });
  if (op.d != 0 && !w.is_stopped()) write_lanes<D, std::uint64_t>(w, op.d, [&](unsigned lane) { return tokens[lane]; });
}

// Whether the phase that a lane waits for is complete; empty after a finding.
template <class D>
std::optional<bool> is_complete(WarpRun<D>& w, const Op<D>& op, std::uint64_t address, unsigned lane,
                                SharedPlace& place) {
  const bool is_parity = (op.aux & kParity) != 0;
  const auto wanted = w.concrete(op.b, is_parity ? 4 : 8, lane, is_parity ? "the phase parity" : "the barrier's state");
  const Mbarrier* barrier = wanted ? mbarrier_at(w, address, true, lane, place) : nullptr;
  if (barrier == nullptr) return std::nullopt;
  if (is_parity) return barrier->has_completed_parity(static_cast<std::uint32_t>(*wanted));
  const auto age = static_cast<std::uint32_t>(barrier->phase - *wanted);
  if (age > 1) {
    misuse(w, lane, place, "a wait for a phase that is neither the current one nor the one before it");
    return std::nullopt;
  }
  return has_completed_token(*barrier, *wanted);
}

// The lanes whose phases are complete; `first` is a barrier that is not. False after a finding.
template <class D>
bool completed_lanes(WarpRun<D>& w, const Op<D>& op, std::uint32_t& done, std::uint32_t& first) {
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return false;
  done = 0;
  for_lanes(w.mask(), [&](unsigned lane) {
    SharedPlace place;
    const auto complete = w.is_stopped() ? std::nullopt : is_complete(w, op, address[lane], lane, place);
    if (!complete) return;
    if (*complete) {
      done |= 1u << lane;
    } else {
      first = place.offset;
    }
    if (w.cta().observer() != nullptr && *complete) {
      const std::uint64_t phase = w.cta().mbarrier(place.offset)->phase;
      notify(w, op, Kind::WaitTrue, lane, place, phase - 1, 0, false);
    }
  });
  return !w.is_stopped();
}

template <class D>
void step_test_wait(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint32_t done = 0, first = 0;
  if (!completed_lanes(w, op, done, first)) return;
  w.write_pred(op.p, done);
  if (done == 0) w.yield_polling(first);
}

template <class D>
bool poll_wait(WarpRun<D>& w, const Op<D>& op) {
  std::uint32_t done = 0, first = 0;
  if (!completed_lanes(w, op, done, first) || done == 0) return false;
  w.write_pred(op.p, done);
  return true;
}

template <class D>
void give_up_wait(WarpRun<D>& w, const Op<D>& op) {
  w.write_pred(op.p, 0);
}

template <class D>
void explain_wait(WarpRun<D>& w, const Op<D>& op, WaitPicture& picture) {
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    std::uint64_t at = address[lane];
    if (!to_shared(w, at, lane)) return;
    const std::pair barrier(w.cta().rank(), static_cast<std::uint32_t>(at - w.cta().shared_base()));
    if (!picture.barriers.empty() && picture.barriers.back() == barrier) return;
    picture.barriers.push_back(barrier);
    if (picture.wants_text && picture.text.empty()) {
      picture.text = "for " + describe_mbarrier(w.cta(), barrier.second);
    }
  });
}

template <class D>
constexpr Wait<D> kTryWait{&poll_wait<D>, &give_up_wait<D>, &explain_wait<D>};

template <class D>
void step_try_wait(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint32_t done = 0, first = 0;
  if (!completed_lanes(w, op, done, first)) return;
  if (done == 0) return w.wait_until(op, kTryWait<D>);
  w.write_pred(op.p, done);
}

template <class D>
void step_pending_count(Warp<D>& w, const Op<D>& op) {
  std::uint32_t counts[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    if (const auto token = w.concrete(op.a, 8, lane, "the barrier's state")) counts[lane] = pending_of_token(*token);
  });
  if (!w.is_stopped()) write_lanes<D, std::uint32_t>(w, op.d, [&](unsigned lane) { return counts[lane]; });
}

// Each lane's copies so far, when they have arrived, arrive at the barrier.
template <class D>
void step_copy_arrive(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!barrier_addresses(w, op, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    SharedPlace place;
    Mbarrier* barrier = mbarrier_at(w, address[lane], true, lane, place);
    if (barrier == nullptr) return;
    if ((op.aux & kNoIncrement) == 0) {
      if (barrier->pending == kMaxArrivals) return misuse(w, lane, place, "more than 1048575 pending arrivals");
      ++barrier->pending;
    }
    AsyncOp<D> arrival;
    arrival.kind = AsyncKind::CopyArrive;
    arrival.completion = Completion::Arrive;
    arrival.barrier_rank = place.rank, arrival.barrier_offset = place.offset;
    w.cta().cluster().agent().issue(w, lane, std::move(arrival));
  });
}

template <class D>
void take_address(DecodeContext& ctx, const ptx::Instr& instr, std::size_t operand, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[operand], space_of(instr) == ptx::Space::none);
  op.a = at.base, op.imm = at.offset, op.aux |= at.width;
  if (instr.has(Mod::shared_cluster)) op.aux |= kRemote;
  if (instr.has(Mod::relaxed)) op.aux |= kRelaxed;
  op.order = order_of(instr);
}

template <class D>
StepFn<D> select_arrive(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool drops) {
  op.d = ctx.dest(instr.operands[0]);
  take_address(ctx, instr, 1, op);
  if (drops) op.aux |= kDrops;
  if (instr.has(Mod::noComplete)) op.aux |= kNoComplete;
  if (instr.has(Mod::expect_tx)) op.aux |= kExpects;
  if (instr.operands.size() > 2) {
    op.b = ctx.source(instr.operands[2], ptx::Type::u32);
    if (!instr.has(Mod::expect_tx)) op.aux |= kHasCount;
  }
  return &step_arrive<D>;
}

template <class D>
void take_wait(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.p = ctx.pred_dest(instr.operands[0]);
  take_address(ctx, instr, 1, op);
  const bool is_parity = instr.has(Mod::parity);
  if (is_parity) op.aux |= kParity;
  op.b = ctx.source(instr.operands[2], is_parity ? ptx::Type::u32 : ptx::Type::b64);
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierInit>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_address(ctx, instr, 0, op);
  op.b = ctx.source(instr.operands[1], ptx::Type::u32);
  return &step_init<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierInval>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_address(ctx, instr, 0, op);
  return &step_inval<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierExpectTx>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_address(ctx, instr, 0, op);
  op.aux |= kRelaxed;
  op.b = ctx.source(instr.operands[1], ptx::Type::u32);
  return &step_tx<D, true>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierCompleteTx>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_address(ctx, instr, 0, op);
  op.aux |= kRelaxed;
  op.b = ctx.source(instr.operands[1], ptx::Type::u32);
  return &step_tx<D, false>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierArrive>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_arrive(ctx, instr, op, false);
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierArriveDrop>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_arrive(ctx, instr, op, true);
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierTestWait>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_wait(ctx, instr, op);
  return &step_test_wait<D>;
}

// The time limit is not looked at: time is not modelled. A wait gives up when nothing else can go on.
template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierTryWait>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_wait(ctx, instr, op);
  return &step_try_wait<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::MbarrierPendingCount>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], ptx::Type::b64);
  return &step_pending_count<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncMbarrierArrive>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  take_address(ctx, instr, 0, op);
  if (instr.has(Mod::noinc)) op.aux |= kNoIncrement;
  return &step_copy_arrive<D>;
}

PLUMB_INSTANTIATE_MEANING(MbarrierInit)
PLUMB_INSTANTIATE_MEANING(MbarrierInval)
PLUMB_INSTANTIATE_MEANING(MbarrierExpectTx)
PLUMB_INSTANTIATE_MEANING(MbarrierCompleteTx)
PLUMB_INSTANTIATE_MEANING(MbarrierArrive)
PLUMB_INSTANTIATE_MEANING(MbarrierArriveDrop)
PLUMB_INSTANTIATE_MEANING(MbarrierTestWait)
PLUMB_INSTANTIATE_MEANING(MbarrierTryWait)
PLUMB_INSTANTIATE_MEANING(MbarrierPendingCount)
PLUMB_INSTANTIATE_MEANING(CpAsyncMbarrierArrive)

}  // namespace plumb::machine
