// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/exchange.h"

#include <algorithm>

#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;

enum class ShflMode : std::uint32_t { Up, Down, Bfly, Idx };

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

// The member mask is the first listed slot.
template <class D>
bool meet(Warp<D>& warp, const Op<D>& op) {
  std::uint32_t member = 0;
  return run_of(warp).gather_members(op, warp.listed(op, 0), member);
}

struct ShflSource {
  unsigned lane = 0;
  bool is_in_range = false;
};

ShflSource shfl_source(ShflMode mode, unsigned lane, std::uint32_t b_operand, std::uint32_t c_operand) {
  const unsigned b = b_operand & 31, clamp = c_operand & 31, segment = c_operand >> 8 & 31;
  const unsigned low = lane & segment, high = low | (clamp & ~segment & 31);
  ShflSource from;
  switch (mode) {
    case ShflMode::Up:
      from = {lane - b, static_cast<int>(lane) - static_cast<int>(b) >= static_cast<int>(high)};
      break;
    case ShflMode::Down:
      from = {lane + b, lane + b <= high};
      break;
    case ShflMode::Bfly:
      from = {lane ^ b, (lane ^ b) <= high};
      break;
    case ShflMode::Idx:
      from.lane = low | (b & ~segment & 31);
      from.is_in_range = from.lane <= high;
      break;
  }
  if (!from.is_in_range) from.lane = lane;
  return from;
}

template <class D>
void step_shfl(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  const Lane<std::uint32_t>* b = w.concrete_lanes(op.b, "the lane operand");
  const Lane<std::uint32_t>* c = w.concrete_lanes(op.c, "the clamp operand");
  if (b == nullptr || c == nullptr) return;
  std::uint32_t in_range = 0, missing = 0;
  std::uint8_t from[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    const ShflSource source = shfl_source(static_cast<ShflMode>(op.aux), lane, b[lane], c[lane]);
    from[lane] = static_cast<std::uint8_t>(source.lane);
    if (source.is_in_range) in_range |= 1u << lane;
    if ((w.mask() >> source.lane & 1) == 0) missing |= 1u << lane;
  });
  if (missing == 0 && w.is_plain(op.a)) {
    std::uint32_t values[kLanes];
    std::memcpy(values, w.template lanes<std::uint32_t>(op.a), sizeof values);
    write_lanes<D, std::uint32_t>(w, op.d, [&](unsigned lane) { return values[from[lane] & 31]; });
  } else {
    domain::Word words[kLanes];
    for_lanes(w.mask(), [&](unsigned lane) {
      if ((missing >> lane & 1) == 0) {
        words[lane] = w.word(op.a, 4, from[lane]);
      } else {
        // The value of a lane that does not take part is undefined.
        words[lane].bits = D::kHasTags ? 0 : 0xcdcdcdcd;
        std::fill_n(words[lane].tags, 4, domain::kUndefinedTag);
      }
    });
    w.write_words(op.d, 4, words);
  }
  w.write_pred(op.p, in_range);
}

enum class VoteMode : std::uint32_t { All, Any, Uni, Ballot };

template <class D>
void step_vote(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  const std::uint32_t votes = w.decided(op.r, "the vote") & w.mask();
  if (w.is_stopped()) return;
  switch (static_cast<VoteMode>(op.aux)) {
    case VoteMode::All:
      return w.write_pred(op.p, votes == w.mask() ? kFullMask : 0);
    case VoteMode::Any:
      return w.write_pred(op.p, votes != 0 ? kFullMask : 0);
    case VoteMode::Uni:
      return w.write_pred(op.p, votes == 0 || votes == w.mask() ? kFullMask : 0);
    case VoteMode::Ballot:
      write_lanes<D, std::uint32_t>(w, op.d, [=](unsigned) { return votes; });
  }
}

// Op::aux: bytes of a value; Op::imm: 1 for match.all.
template <class D>
void step_match(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  std::uint64_t values[kLanes] = {};
  for_lanes(w.mask(),
            [&](unsigned lane) { values[lane] = w.concrete(op.a, op.aux, lane, "the value to match").value_or(0); });
  if (w.is_stopped()) return;
  std::uint32_t equal[kLanes] = {};
  bool is_all = true;
  for_lanes(w.mask(), [&](unsigned lane) {
    for_lanes(w.mask(), [&](unsigned other) {
      if (values[lane] == values[other]) equal[lane] |= 1u << other;
    });
    is_all = is_all && equal[lane] == w.mask();
  });
  const bool wants_all = op.imm != 0;
  const std::uint32_t everyone = is_all ? w.mask() : 0;
  write_lanes<D, std::uint32_t>(w, op.d, [&](unsigned lane) { return wants_all ? everyone : equal[lane]; });
  w.write_pred(op.p, everyone != 0 ? kFullMask : 0);
}

enum class ReduxMode : std::uint32_t { Add, MinU, MinS, MaxU, MaxS, And, Or, Xor };

std::uint32_t reduce(ReduxMode mode, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (mode) {
    case ReduxMode::Add:
      return a + b;
    case ReduxMode::MinU:
      return std::min(a, b);
    case ReduxMode::MaxU:
      return std::max(a, b);
    case ReduxMode::MinS:
      return sa < sb ? a : b;
    case ReduxMode::MaxS:
      return sa > sb ? a : b;
    case ReduxMode::And:
      return a & b;
    case ReduxMode::Or:
      return a | b;
    case ReduxMode::Xor:
      return a ^ b;
  }
  return a;
}

// Of lanes some of which are data: as many operations in the order of the lanes.
template <class D>
void reduce_words(Warp<D>& w, const Op<D>& op, ReduxMode mode) {
  using domain::BitOp;
  constexpr BitOp kOps[] = {BitOp::Add,  BitOp::MinU, BitOp::MinS, BitOp::MaxU,
                            BitOp::MaxS, BitOp::And,  BitOp::Or,   BitOp::Xor};
  const domain::IntFunction fn = [mode](std::uint64_t a, std::uint64_t b, std::uint64_t) {
    return std::uint64_t{reduce(mode, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b))};
  };
  std::optional<domain::Word> total;
  bool is_good = true;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (!is_good) return;
    const domain::Word value = w.word(op.a, 4, lane);
    if (!total) {
      total = value;
    } else if (!w.has_tag(*total, 4) && !w.has_tag(value, 4)) {
      total->bits = fn(total->bits, value.bits, 0);
    } else {
      const domain::Word before = *total;
      is_good = w.bit_op(kOps[static_cast<unsigned>(mode)], 4, 4, before, value, {}, 0, fn, *total);
    }
  });
  if (!is_good || !total) return;
  domain::Word out[kLanes];
  std::fill_n(out, kLanes, *total);
  w.write_words(op.d, 4, out);
}

template <class D>
void step_redux(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a)) return reduce_words(w, op, static_cast<ReduxMode>(op.aux));
  }
  std::optional<std::uint32_t> total;
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto value = w.concrete(op.a, 4, lane, "the value to reduce");
    if (!value) return;
    const auto bits = static_cast<std::uint32_t>(*value);
    total = total ? reduce(static_cast<ReduxMode>(op.aux), *total, bits) : bits;
  });
  if (w.is_stopped() || !total) return;
  write_lanes<D, std::uint32_t>(w, op.d, [=](unsigned) { return *total; });
}

// The largest or smallest float: as many `max` or `min` in the order of the lanes.
struct FloatRedux {
  bool is_max = false, of_magnitudes = false, propagates_nan = false;
  std::uint32_t bits() const { return is_max | of_magnitudes << 1 | propagates_nan << 2; }
  static FloatRedux of(std::uint32_t bits) { return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}; }
};

template <class D>
void step_redux_float(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  constexpr domain::Format kFormat = domain::Format::F32;
  const FloatRedux redux = FloatRedux::of(op.aux);
  const domain::FloatMode mode{.nan = redux.propagates_nan};
  D& d = w.dom();
  std::optional<typename D::Real> total;
  for_lanes(w.mask(), [&](unsigned lane) {
    typename D::Real value = w.real(kFormat, op.a, lane);
    if (redux.of_magnitudes) value = d.abs(kFormat, value, {});
    if (!total) {
      // With itself: a NaN alone becomes the canonical one.
      total = redux.is_max ? d.max(kFormat, value, value, mode) : d.min(kFormat, value, value, mode);
    } else {
      total = redux.is_max ? d.max(kFormat, *total, value, mode) : d.min(kFormat, *total, value, mode);
    }
  });
  if (w.is_stopped() || !total) return;
  typename D::Real reals[kLanes];
  std::fill_n(reals, kLanes, *total);
  w.write_reals(kFormat, op.d, 1, reals);
}

template <class D>
void step_elect(Warp<D>& w, const Op<D>& op) {
  if (!meet(w, op)) return;
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(w.mask()));
  write_lanes<D, std::uint32_t>(w, op.d, [=](unsigned) { return leader; });
  w.write_pred(op.p, 1u << leader);
}

// `d` or `d|p`.
template <class D>
void pair_dest(DecodeContext& ctx, const Operand& operand, Op<D>& op) {
  if (operand.kind == Operand::Kind::Pair) {
    op.d = ctx.dest(operand.elements[0]);
    op.p = ctx.pred_dest(operand.elements[1]);
  } else {
    op.d = ctx.dest(operand);
  }
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Shfl>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  pair_dest(ctx, instr.operands[0], op);
  op.a = ctx.source(instr.operands[1], ptx::Type::b32);
  op.b = ctx.source(instr.operands[2], ptx::Type::u32);
  op.c = ctx.source(instr.operands[3], ptx::Type::u32);
  op.list = ctx.list({ctx.source(instr.operands[4], ptx::Type::u32)});
  const ShflMode mode = instr.has(Mod::up)     ? ShflMode::Up
                        : instr.has(Mod::down) ? ShflMode::Down
                        : instr.has(Mod::bfly) ? ShflMode::Bfly
                                               : ShflMode::Idx;
  op.aux = static_cast<std::uint32_t>(mode);
  return &step_shfl<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Vote>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const bool is_ballot = instr.has(Mod::ballot);
  if (is_ballot) op.d = ctx.dest(instr.operands[0]);
  else op.p = ctx.pred_dest(instr.operands[0]);
  op.r = ctx.pred_source(instr.operands[1]);
  op.list = ctx.list({ctx.source(instr.operands[2], ptx::Type::u32)});
  op.aux = static_cast<std::uint32_t>(is_ballot             ? VoteMode::Ballot
                                      : instr.has(Mod::all) ? VoteMode::All
                                      : instr.has(Mod::any) ? VoteMode::Any
                                                            : VoteMode::Uni);
  return &step_vote<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Match>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  pair_dest(ctx, instr.operands[0], op);
  op.a = ctx.source(instr.operands[1], instr.type());
  op.list = ctx.list({ctx.source(instr.operands[2], ptx::Type::b32)});
  op.aux = storage_width(instr.type());
  op.imm = instr.has(Mod::all) ? 1 : 0;
  return &step_match<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Activemask>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  return [](Warp<D>& w, const Op<D>& o) {
    write_lanes<D, std::uint32_t>(w, o.d, [mask = w.mask()](unsigned) { return mask; });
  };
}

template <class D>
StepFn<D> Meaning<ptx::Form::Redux>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op);
  op.list = ctx.list({ctx.source(instr.operands[2], ptx::Type::b32)});
  if (instr.type() == ptx::Type::f32) {
    op.aux = FloatRedux{instr.has(Mod::max), instr.has(Mod::abs), instr.has(Mod::NaN)}.bits();
    return &step_redux_float<D>;
  }
  const bool is_signed = ptx::is_signed(instr.type());
  const ReduxMode mode = instr.has(Mod::add)    ? ReduxMode::Add
                         : instr.has(Mod::min)  ? (is_signed ? ReduxMode::MinS : ReduxMode::MinU)
                         : instr.has(Mod::max)  ? (is_signed ? ReduxMode::MaxS : ReduxMode::MaxU)
                         : instr.has(Mod::and_) ? ReduxMode::And
                         : instr.has(Mod::or_)  ? ReduxMode::Or
                                                : ReduxMode::Xor;
  op.aux = static_cast<std::uint32_t>(mode);
  return &step_redux<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Elect>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  pair_dest(ctx, instr.operands[0], op);
  op.list = ctx.list({ctx.source(instr.operands[1], ptx::Type::b32)});
  return &step_elect<D>;
}

PLUMB_INSTANTIATE_MEANING(Shfl)
PLUMB_INSTANTIATE_MEANING(Vote)
PLUMB_INSTANTIATE_MEANING(Match)
PLUMB_INSTANTIATE_MEANING(Activemask)
PLUMB_INSTANTIATE_MEANING(Redux)
PLUMB_INSTANTIATE_MEANING(Elect)

}  // namespace plumb::machine
