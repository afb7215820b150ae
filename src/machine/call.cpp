// SPDX-License-Identifier: Apache-2.0
// Calls and returns of a warp: what is passed, what a function that calls itself keeps, the stack of local memory.
#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

template <class D>
void WarpRun<D>::Bytes::push(const Word& word, unsigned width) {
  const auto* from = reinterpret_cast<const std::byte*>(&word.bits);
  push(from, word.tags, width);
}

template <class D>
void WarpRun<D>::Bytes::push(const std::byte* from, const Tag* from_tags, std::size_t size) {
  bytes.insert(bytes.end(), from, from + size);
  if constexpr (D::kHasTags) tags.insert(tags.end(), from_tags, from_tags + size);
}

template <class D>
typename WarpRun<D>::Word WarpRun<D>::Bytes::word(std::size_t at, unsigned width) const {
  Word out;
  std::memcpy(&out.bits, bytes.data() + at, width);
  if constexpr (D::kHasTags) std::copy_n(tags.data() + at, width, out.tags);
  return out;
}

template <class D>
void WarpRun<D>::collect(const std::vector<Passed>& passed) {
  for_lanes(this->mask_, [&](unsigned lane) {
    Bytes& out = in_transit_[lane];
    out.clear();
    for (const Passed& one : passed) {
      if (one.from.width != 0) {
        out.push(this->word(one.from.at, one.from.width, lane), one.size);
      } else {
        out.push(call_param_bytes(lane) + one.from.at, call_param_tags(lane) + one.from.at, one.size);
      }
    }
  });
}

template <class D>
void WarpRun<D>::deliver(const std::vector<Passed>& passed) {
  std::size_t at = 0;
  for (const Passed& one : passed) {
    if (one.to.width != 0) {
      Word words[kLanes];
      for_lanes(this->mask_, [&](unsigned lane) { words[lane] = in_transit_[lane].word(at, one.size); });
      this->write_words(one.to.at, one.to.width, words);
    } else {
      for_lanes(this->mask_, [&](unsigned lane) {
        const Bytes& in = in_transit_[lane];
        std::copy_n(in.bytes.data() + at, one.size, call_param_bytes(lane) + one.to.at);
        if constexpr (D::kHasTags) std::copy_n(in.tags.data() + at, one.size, call_param_tags(lane) + one.to.at);
      });
    }
    at += one.size;
  }
}

template <class D>
void WarpRun<D>::keep(const FunctionPlace& function) {
  for_lanes(this->mask_, [&](unsigned lane) {
    Call& call = calls_[lane].back();
    for (const auto& reg : function.registers) call.kept.push(this->word(reg.slot, reg.width, lane), reg.width);
    for (const PredSlot pred : function.preds) call.preds.push_back(this->kept_pred(pred, lane));
    const OffsetRange& params = function.params;
    call.kept.push(call_param_bytes(lane) + params.begin, call_param_tags(lane) + params.begin,
                   params.end - params.begin);
  });
}

template <class D>
void WarpRun<D>::restore(const FunctionPlace& function) {
  std::size_t at = 0;
  for (const auto& reg : function.registers) {
    Word words[kLanes];
    for_lanes(this->mask_, [&](unsigned lane) { words[lane] = calls_[lane].back().kept.word(at, reg.width); });
    this->write_words(reg.slot, reg.width, words);
    at += reg.width;
  }
  for (std::size_t i = 0; i < function.preds.size(); ++i) {
    typename Warp<D>::KeptPred kept[kLanes];
    for_lanes(this->mask_, [&](unsigned lane) { kept[lane] = calls_[lane].back().preds[i]; });
    this->restore_pred(function.preds[i], kept);
  }
  for_lanes(this->mask_, [&](unsigned lane) {
    const Bytes& kept = calls_[lane].back().kept;
    const std::size_t size = function.params.end - function.params.begin;
    std::copy_n(kept.bytes.data() + at, size, call_param_bytes(lane) + function.params.begin);
    if constexpr (D::kHasTags) {
      std::copy_n(kept.tags.data() + at, size, call_param_tags(lane) + function.params.begin);
    }
  });
}

// A function starts with everything of its own undefined, whatever an earlier run left there.
template <class D>
void WarpRun<D>::forget_run(const FunctionPlace& function) {
  for (const auto& reg : function.registers) this->forget(reg.slot, reg.width);
  for (const PredSlot pred : function.preds) this->forget_pred(pred);
  const auto forget_bytes = [&](std::byte* bytes, Tag* tags, const OffsetRange& range) {
    std::fill_n(bytes + range.begin, range.end - range.begin, std::byte{0xcd});
    if constexpr (D::kHasTags) std::fill_n(tags + range.begin, range.end - range.begin, domain::kUndefinedTag);
  };
  for_lanes(this->mask_, [&](unsigned lane) {
    forget_bytes(call_param_bytes(lane), call_param_tags(lane), function.params);
    if (!function.is_recursive) forget_bytes(local_bytes(lane), local_tags(lane), function.locals);
  });
}

// The local variables of this run of a function that calls itself, and the registers with their addresses.
template <class D>
bool WarpRun<D>::enter_frame(const FunctionPlace& function) {
  if (function.locals.end == 0) return true;
  std::uint64_t begin[kLanes] = {};
  bool is_good = true;
  for_lanes(this->mask_, [&](unsigned lane) {
    is_good = is_good && push_stack(lane, function.locals.end, kFrameAlignment, begin[lane]);
  });
  if (!is_good) return false;
  for (const auto& address : function.frame_addresses) {
    Word words[kLanes];
    for_lanes(this->mask_, [&](unsigned lane) { words[lane].bits = begin[lane] + address.offset; });
    this->write_words(address.reg.slot, address.reg.width, words);
  }
  return true;
}

template <class D>
bool WarpRun<D>::push_stack(unsigned lane, std::uint64_t size, std::uint64_t alignment, std::uint64_t& begin) {
  begin = aligned(stack_[lane], alignment);
  const std::uint64_t room = layout().local_bytes + kMaxStack;
  if (begin > room || size > room - begin) {
    this->unmodelled(thread_name(lane) + " needs a stack of more than " + std::to_string(kMaxStack) + " bytes");
    return false;
  }
  const std::uint64_t end = begin + size;
  if (end > local_stride_) {
    // As much again for every lane, so that the copies are few.
    const std::size_t stride = std::max<std::size_t>(end, 2 * local_stride_);
    Store<D> larger;
    larger.reset(stride * kLanes);
    for (unsigned one = 0; one < kLanes; ++one) {
      std::copy_n(local_bytes(one), local_stride_, larger.bytes() + one * stride);
      if constexpr (D::kHasTags) std::copy_n(local_tags(one), local_stride_, larger.tags() + one * stride);
    }
    local_ = std::move(larger);
    local_stride_ = stride;
  }
  std::fill_n(local_bytes(lane) + begin, size, std::byte{0xcd});
  if constexpr (D::kHasTags) std::fill_n(local_tags(lane) + begin, size, domain::kUndefinedTag);
  stack_[lane] = end;
  return true;
}

template <class D>
void WarpRun<D>::call(std::uint32_t site_index, std::uint32_t lanes) {
  const CallSite& site = layout().calls[site_index];
  const FunctionPlace& function = layout().functions[site.function];
  const std::uint32_t all = std::exchange(this->mask_, lanes);
  collect(site.arguments);
  for_lanes(lanes, [&](unsigned lane) {
    if (calls_[lane].size() == kMaxCalls) {
      this->unmodelled(thread_name(lane) + " calls more than " + std::to_string(kMaxCalls) + " functions deep");
      return;
    }
    calls_[lane].push_back({.site = site_index, .stack = stack_[lane], .kept = {}, .preds = {}});
  });
  if (!this->is_stopped()) {
    if (function.is_recursive) keep(function);
    forget_run(function);
    if (enter_frame(function)) {
      deliver(site.arguments);
      Split<D> split;
      split.pc = site.target, split.mask = lanes, split.depth = depth_ + 1, split.stamp = ++clock_;
      splits_.push_back(split);
      active_ &= ~lanes;
    }
  }
  this->mask_ = all;
  is_interrupted_ = true;
}

template <class D>
void WarpRun<D>::ret(std::uint32_t function) {
  if (program_.module->functions[function].is_entry) return exit_lanes();
  const FunctionPlace& place = layout().functions[function];
  const std::uint32_t all = this->mask_;
  for (std::uint32_t left = all; left != 0;) {
    const std::uint32_t site_index = calls_[static_cast<unsigned>(std::countr_zero(left))].back().site;
    const CallSite& site = layout().calls[site_index];
    Split<D> split;
    split.pc = site.next, split.depth = depth_ == 0 ? 0 : depth_ - 1, split.stamp = ++clock_;
    for_lanes(left, [&](unsigned lane) {
      if (calls_[lane].back().site == site_index) split.mask |= 1u << lane;
    });
    this->mask_ = split.mask;
    collect(site.results);
    if (place.is_recursive) restore(place);
    for_lanes(split.mask, [&](unsigned lane) {
      stack_[lane] = calls_[lane].back().stack;
      calls_[lane].pop_back();
    });
    deliver(site.results);
    splits_.push_back(split);
    left &= ~split.mask;
  }
  this->mask_ = all;
  active_ &= ~all;
  is_interrupted_ = true;
}

#define PLUMB_INSTANTIATE_CALL(D)                                                               \
  template bool WarpRun<D>::push_stack(unsigned, std::uint64_t, std::uint64_t, std::uint64_t&); \
  template void WarpRun<D>::call(std::uint32_t, std::uint32_t);                                 \
  template void WarpRun<D>::ret(std::uint32_t);

PLUMB_INSTANTIATE_CALL(domain::Ieee)
PLUMB_INSTANTIATE_CALL(domain::Field)

}  // namespace plumb::machine
