// SPDX-License-Identifier: Apache-2.0
#include "machine/warp.h"

#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/codes.h"
#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

constexpr std::uint64_t low_bytes(unsigned width) {
  return width >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * width)) - 1;
}

// What a register that was never written holds, and what is made of it. Memory that was never written has another tag,
// so that an output that is not stored is told from one that is stored and means nothing.
constexpr domain::Tag kUnwrittenRegister = domain::make_tag(domain::kUndefined, 1);

}  // namespace

template <class D>
void Warp<D>::fault(const Code& code, std::string text) {
  static_cast<WarpRun<D>&>(*this).stop(Stop::Kind::Defect, code, std::move(text));
}

template <class D>
void Warp<D>::unmodelled(std::string text) {
  static_cast<WarpRun<D>&>(*this).stop(Stop::Kind::Unmodelled, kUnmodelled, std::move(text));
}

template <class D>
bool Warp<D>::gather_warp(const Op<D>& op) {
  if (live_ != kFullMask) {
    fault(kCollective, "lanes of the warp have exited or do not exist; this instruction needs all 32");
    return false;
  }
  return static_cast<WarpRun<D>&>(*this).gather(op, kFullMask);
}

template <class D>
domain::Word Warp<D>::word(Slot slot, unsigned width, unsigned lane) const {
  Word out;
  std::memcpy(&out.bits, regs_ + slot + lane * width, width);
  if constexpr (D::kHasTags) {
    const RegState state = states_[slot >> 6];
    if (state == RegState::Tagged) {
      std::memcpy(out.tags, tags_ + slot + lane * width, width * sizeof(Tag));
    } else if (state == RegState::Undefined) {
      out.bits = 0;
      for (unsigned i = 0; i < width; ++i) out.tags[i] = kUnwrittenRegister;
    }
  }
  return out;
}

template <class D>
void Warp<D>::materialise(Slot slot, unsigned width) {
  if constexpr (D::kHasTags) {
    RegState& state = states_[slot >> 6];
    if (state == RegState::Tagged) return;
    const Tag tag = state == RegState::Undefined ? kUnwrittenRegister : 0;
    std::fill_n(tags_ + slot, kLanes * width, tag);
    if (tag != 0) std::memset(regs_ + slot, 0, kLanes * width);
    state = RegState::Tagged;
  }
}

template <class D>
void Warp<D>::clear_tags(Slot slot, unsigned width) {
  if constexpr (D::kHasTags) {
    if (states_[slot >> 6] == RegState::Undefined) {
      // The lanes of mask() already hold their new bits; only the others are blanked.
      std::fill_n(tags_ + slot, kLanes * width, kUnwrittenRegister);
      for_lanes(~mask_, [&](unsigned lane) { std::memset(regs_ + slot + lane * width, 0, width); });
      states_[slot >> 6] = RegState::Tagged;
    }
    for_lanes(mask_, [&](unsigned lane) { std::fill_n(tags_ + slot + lane * width, width, Tag{0}); });
  }
}

template <class D>
void Warp<D>::write_words(Slot slot, unsigned width, const Word (&words)[kLanes]) {
  bool any = false;
  if constexpr (D::kHasTags) {
    for_lanes(mask_, [&](unsigned lane) { any |= has_tag(words[lane], width); });
    if (any) materialise(slot, width);
  }
  for_lanes(mask_, [&](unsigned lane) { std::memcpy(regs_ + slot + lane * width, &words[lane].bits, width); });
  if constexpr (D::kHasTags) {
    if (!any) return wrote_plain(slot, width);
    for_lanes(mask_,
              [&](unsigned lane) { std::memcpy(tags_ + slot + lane * width, words[lane].tags, width * sizeof(Tag)); });
  }
}

template <class D>
bool Warp<D>::bit_op(BitMeaning op, unsigned width, unsigned d_width, const Word& a, const Word& b, const Word& c,
                     std::uint32_t immediate, const domain::IntFunction& fn, Word& out) {
  if constexpr (D::kHasTags) {
    for (const Word* word : {&a, &b, &c}) {
      if (std::any_of(std::begin(word->tags), std::end(word->tags),
                      [](Tag tag) { return domain::tag_value(tag) == domain::kUndefined; })) {
        out = Word{};
        std::fill_n(out.tags, d_width, kUnwrittenRegister);
        return true;
      }
    }
    return dom_->int_op(op, 8 * width, 8 * d_width, a, b, c, immediate, fn, out);
  } else {
    (void)op, (void)width, (void)d_width, (void)a, (void)b, (void)c, (void)immediate, (void)fn, (void)out;
    return false;
  }
}

template <class D>
void Warp<D>::write_reals(Format format, Slot slot, unsigned parts, const Real* reals) {
  const unsigned size = domain::byte_size(format), width = std::max(2u, size * parts);
  if constexpr (D::kHasTags) {
    bool is_abstract = parts == 1 && format == Format::F32;
    for_lanes(mask_, [&](unsigned lane) { is_abstract = is_abstract && reals[lane].id >= domain::kFirstValue; });
    if (is_abstract) {
      materialise(slot, width);
      for_lanes(mask_, [&](unsigned lane) {
        std::memset(regs_ + slot + lane * width, 0, 4);
        for (unsigned i = 0; i < 4; ++i) tags_[slot + lane * width + i] = domain::make_tag(reals[lane].id, i);
      });
      return;
    }
  }
  Word words[kLanes];
  for_lanes(mask_, [&](unsigned lane) {
    for (unsigned part = 0; part < parts; ++part) {
      const Word element = dom_->to_word(format, reals[lane * parts + part]);
      words[lane].bits |= (element.bits & low_bytes(size)) << (8 * size * part);
      if constexpr (D::kHasTags) {
        for (unsigned i = 0; i < size; ++i) words[lane].tags[part * size + i] = element.tags[i];
      }
    }
  });
  write_words(slot, width, words);
}

template <class D>
std::optional<std::uint64_t> Warp<D>::concrete_tagged(Slot slot, unsigned width, unsigned lane, const char* use) {
  const Word value = word(slot, width, lane);
  if constexpr (D::kHasTags) {
    for (unsigned i = 0; i < width; ++i) {
      if (value.tags[i] == 0) continue;
      auto& run = static_cast<WarpRun<D>&>(*this);
      if (domain::tag_value(value.tags[i]) == domain::kUndefined) {
        fault(kUndefined, std::string(use) + " of " + run.thread_name(lane) + " was never written");
      } else {
        run.stop(Stop::Kind::Unmodelled, kDataControl,
                 std::string(use) + " of " + run.thread_name(lane) + " depends on abstract data");
      }
      return std::nullopt;
    }
  }
  return value.bits;
}

template <class D>
typename D::Bool Warp<D>::boolean(PredRef pred, unsigned lane) {
  if constexpr (D::kHasTags) {
    if (pred_states_[pred.slot] != PredState::Concrete) {
      if ((pred_undefined_[pred.slot] >> lane & 1) != 0) {
        fault(kUndefined, "a predicate of " + static_cast<WarpRun<D>&>(*this).thread_name(lane) + " was never written");
        return dom_->boolean(false);
      }
      const Bool value = pred_bools_[pred.slot * kLanes + lane];
      return pred.is_negated ? dom_->logical_not(value) : value;
    }
  }
  return dom_->boolean((bits(pred) >> lane & 1) != 0);
}

template <class D>
std::uint32_t Warp<D>::decided(PredRef pred, const char* use) {
  if (is_plain(pred)) return bits(pred);
  std::uint32_t out = 0;
  if constexpr (D::kHasTags) {
    for_lanes(mask_, [&](unsigned lane) {
      const std::optional<bool> value = dom_->decide(boolean(pred, lane));
      if (!value) {
        auto& run = static_cast<WarpRun<D>&>(*this);
        run.stop(Stop::Kind::Unmodelled, kDataControl,
                 std::string(use) + " of " + run.thread_name(lane) + " depends on abstract data");
      } else if (*value) {
        out |= 1u << lane;
      }
    });
  }
  return out;
}

template <class D>
void Warp<D>::write_pred(PredSlot slot, const Bool (&values)[kLanes]) {
  if (slot == kNoPred) return;
  std::uint32_t decided_bits = 0;
  bool is_abstract = false;
  for_lanes(mask_, [&](unsigned lane) {
    const std::optional<bool> value = dom_->decide(values[lane]);
    if (!value) is_abstract = true;
    if (value && *value) decided_bits |= 1u << lane;
  });
  if (!is_abstract) return write_pred(slot, decided_bits);
  if constexpr (D::kHasTags) {
    mix_pred(slot);
    pred_undefined_[slot] &= ~mask_;
    for_lanes(mask_, [&](unsigned lane) { pred_bools_[slot * kLanes + lane] = values[lane]; });
  }
}

// Makes every lane's value of the predicate readable as a Bool.
template <class D>
void Warp<D>::mix_pred(PredSlot slot) {
  if constexpr (D::kHasTags) {
    if (pred_states_[slot] == PredState::Mixed) return;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      pred_bools_[slot * kLanes + lane] = dom_->boolean((preds_[slot] >> lane & 1) != 0);
    }
    pred_undefined_[slot] = 0;
    pred_states_[slot] = PredState::Mixed;
  }
}

// After the lanes of mask() of a predicate were written with bits.
template <class D>
void Warp<D>::settle_pred(PredSlot slot) {
  if constexpr (D::kHasTags) {
    PredState& state = pred_states_[slot];
    if (state == PredState::Concrete) return;
    pred_undefined_[slot] &= ~mask_;
    if (is_whole()) {
      state = PredState::Concrete;
      return;
    }
    for_lanes(mask_, [&](unsigned lane) {
      pred_bools_[slot * kLanes + lane] = dom_->boolean((preds_[slot] >> lane & 1) != 0);
    });
  }
}

template <class D>
typename Warp<D>::KeptPred Warp<D>::kept_pred(PredSlot slot, unsigned lane) const {
  if constexpr (D::kHasTags) {
    if (pred_states_[slot] == PredState::Mixed) {
      return {pred_bools_[slot * kLanes + lane], (pred_undefined_[slot] >> lane & 1) == 0};
    }
  }
  return {dom_->boolean((preds_[slot] >> lane & 1) != 0), true};
}

template <class D>
void Warp<D>::restore_pred(PredSlot slot, const KeptPred (&kept)[kLanes]) {
  Bool values[kLanes] = {};
  std::uint32_t undefined = 0;
  for_lanes(mask_, [&](unsigned lane) {
    values[lane] = kept[lane].is_defined ? kept[lane].value : dom_->boolean(false);
    if (!kept[lane].is_defined) undefined |= 1u << lane;
  });
  write_pred(slot, values);
  if constexpr (D::kHasTags) {
    if (undefined == 0) return;
    mix_pred(slot);
    pred_undefined_[slot] |= undefined;
  }
}

template <class D>
void Warp<D>::forget(Slot slot, unsigned width) {
  if constexpr (D::kHasTags) {
    RegState& state = states_[slot >> 6];
    if (state == RegState::Undefined) return;
    if (is_whole()) {
      state = RegState::Undefined;
      return;
    }
    materialise(slot, width);
    for_lanes(mask_, [&](unsigned lane) {
      std::fill_n(tags_ + slot + lane * width, width, kUnwrittenRegister);
      std::memset(regs_ + slot + lane * width, 0, width);
    });
  } else {
    for_lanes(mask_, [&](unsigned lane) { std::memset(regs_ + slot + lane * width, 0xcd, width); });
  }
}

template <class D>
void Warp<D>::forget_pred(PredSlot slot) {
  preds_[slot] &= ~mask_;
  if constexpr (D::kHasTags) {
    mix_pred(slot);
    pred_undefined_[slot] |= mask_;
  }
}

template class Warp<domain::Ieee>;
template class Warp<domain::Field>;

}  // namespace plumb::machine
