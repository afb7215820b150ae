// SPDX-License-Identifier: Apache-2.0
// The warp and its register file, as the meanings of instructions see them. A register is 32 lanes side by side: 8 and
// 16 bit registers take 2 bytes a lane, 32 bit 4, 64 bit 8, 128 bit two 64-bit planes; a predicate is a 32-bit lane
// mask. In domains with tags each byte may carry a tag; a register whose bytes are all concrete is marked so, and costs
// nothing more than in the IEEE domain. Immediates, special registers and addresses of variables are registers, too.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "base/stop.h"
#include "domain/format.h"
#include "domain/word.h"

namespace plumb::machine {

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint32_t kFullMask = 0xffffffffu;

using Slot = std::uint32_t;      // byte offset of a register in the warp's storage; a multiple of 64
using PredSlot = std::uint32_t;  // index of a predicate register
inline constexpr PredSlot kNoPred = ~0u;

struct PredRef {
  PredSlot slot = kNoPred;
  bool is_negated = false;
};

// What a register's tags say; tags are looked at only for `Tagged`.
enum class RegState : std::uint8_t { Concrete, Tagged, Undefined };
enum class PredState : std::uint8_t { Concrete, Mixed };  // Mixed: a lane is abstract or was never written

// The meaning of an integer operation on bytes of abstract floats; none: meeting one ends the run as unmodelled.
using BitMeaning = std::optional<domain::BitOp>;

template <class D>
class Warp;
template <class D>
struct Op;
template <class D>
using StepFn = void (*)(Warp<D>&, const Op<D>&);

// How a memory instruction orders: scope as machine::Scope (0: weak).
struct Order {
  std::uint8_t scope = 0;
  bool is_acquire = false, is_release = false;
};

// One decoded instruction. What the fields mean is between `Meaning<F>::select` and the step function that it chose.
template <class D>
struct Op {
  StepFn<D> step = nullptr;
  Slot d = 0, a = 0, b = 0, c = 0;
  std::uint64_t imm = 0;
  PredSlot p = kNoPred, q = kNoPred;  // destination predicates
  PredRef r;                          // source predicate
  std::uint32_t list = 0;             // first of further slots: Warp::listed(op, i)
  std::uint32_t aux = 0;
  std::uint32_t watch = 0;     // touches registers that an asynchronous operation may own: their list, from 1; 0: none
  std::uint32_t instr = 0;     // index in the function's instrs
  std::uint32_t function = 0;  // index in Module::functions
  PredRef guard;
  Order order;
};

template <class T>
struct LaneOf {
  using type [[gnu::may_alias]] = T;  // one register is read as several types: {h0, h1} of an f16x2
};
template <class T>
using Lane = typename LaneOf<T>::type;

template <class D>
class Warp {
 public:
  using Real = typename D::Real;
  using Bool = typename D::Bool;
  using Word = domain::Word;
  using Tag = domain::Tag;
  using Format = domain::Format;

  D& dom() const { return *dom_; }
  std::uint32_t mask() const { return mask_; }             // lanes that execute this step; never 0
  std::uint32_t live() const { return live_; }             // lanes that exist and have not exited
  bool is_whole() const { return (live_ & ~mask_) == 0; }  // no live lane is left out
  Slot listed(const Op<D>& op, unsigned index) const { return lists_[op.list + index]; }

  // The step's first defect (or unmodelled case) ends the run; later ones are ignored.
  void fault(const Code& code, std::string text);
  void unmodelled(std::string text);
  bool is_stopped() const { return static_cast<bool>(stop_); }

  // For `.aligned` instructions that need all 32 lanes: false when this step must do nothing now, because lanes are
  // still to come (it is stepped again) or because one never can (a finding).
  bool gather_warp(const Op<D>& op);
  void count_macs(std::uint64_t macs) { macs_ += macs; }

  // -- Plain lanes: bits without regard to tags. ------------------------------------------------------------------
  template <class T>
  Lane<T>* lanes(Slot slot) const {
    return reinterpret_cast<Lane<T>*>(regs_ + slot);
  }
  // All bytes of the lanes of mask() are known to be concrete. `width`: bytes a lane (2, 4, 8).
  bool is_plain(Slot slot) const {
    if constexpr (!D::kHasTags) return true;
    return states_[slot >> 6] == RegState::Concrete;
  }
  // Says that the lanes of mask() were written through lanes() with concrete bits.
  void wrote_plain(Slot slot, unsigned width) {
    if constexpr (D::kHasTags) {
      RegState& state = states_[slot >> 6];
      if (state == RegState::Concrete) return;
      if (is_whole()) {
        state = RegState::Concrete;
      } else {
        clear_tags(slot, width);
      }
    }
  }

  // The tags of a register that is about to get tagged bytes: [lane * width + byte]. Those of lanes that are not
  // written are kept.
  Tag* writable_tags(Slot slot, unsigned width) {
    materialise(slot, width);
    return tags_ + slot;
  }

  // -- Words: bits with tags. `width` is the register's bytes a lane (2, 4 or 8). -----------------------------------
  Word word(Slot slot, unsigned width, unsigned lane) const;
  // The bits of a lane that must be concrete, because they steer something; empty after a fault. `use` names what for.
  std::optional<std::uint64_t> concrete(Slot slot, unsigned width, unsigned lane, const char* use) {
    if (!is_plain(slot)) return concrete_tagged(slot, width, lane, use);
    std::uint64_t bits = 0;
    std::memcpy(&bits, regs_ + slot + lane * width, width);
    return bits;
  }
  // The same of 32-bit registers in all lanes of mask(); null after a fault. The other lanes hold anything.
  const Lane<std::uint32_t>* concrete_lanes(Slot slot, const char* use) {
    bool is_good = true;
    if (!is_plain(slot)) {
      for (std::uint32_t left = mask_; left != 0; left &= left - 1) {
        is_good = is_good && concrete_tagged(slot, 4, static_cast<unsigned>(std::countr_zero(left)), use);
      }
    }
    return is_good ? lanes<std::uint32_t>(slot) : nullptr;
  }
  // Writes the lanes of mask().
  void write_words(Slot slot, unsigned width, const Word (&words)[kLanes]);
  static bool has_tag(const Word& word, unsigned width) {
    Tag any = 0;
    for (unsigned i = 0; i < width; ++i) any |= word.tags[i];
    return any != 0;
  }
  // out = op(a, b, c) on words of which at least one has a tag; false when it faulted. Widths in bytes: the operands'
  // and the result's. `fn` does the same to known bits. An operand that was never written makes a result that was
  // never written.
  bool bit_op(BitMeaning op, unsigned width, unsigned d_width, const Word& a, const Word& b, const Word& c,
              std::uint32_t immediate, const domain::IntFunction& fn, Word& out);

  // -- Floats: element `part` of a lane that holds `parts` of them side by side (f16x2: 2). ------------------------
  Real real(Format format, Slot slot, unsigned lane, unsigned part = 0, unsigned parts = 1) const {
    const unsigned size = domain::byte_size(format), width = size * parts < 2 ? 2 : size * parts;
    if constexpr (!D::kHasTags) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, regs_ + slot + lane * width + part * size, size);
      return dom_->constant(format, bits);
    } else {
      Word whole = word(slot, width, lane);
      Word element;
      element.bits = whole.bits >> (8 * size * part);
      if (size < 8) element.bits &= (std::uint64_t{1} << (8 * size)) - 1;
      for (unsigned i = 0; i < size; ++i) element.tags[i] = whole.tags[part * size + i];
      return dom_->from_word(format, element);
    }
  }
  // Writes the lanes of mask(); reals[lane * parts + part].
  void write_reals(Format format, Slot slot, unsigned parts, const Real* reals);

  // -- Predicates. --------------------------------------------------------------------------------------------------
  bool is_plain(PredRef pred) const {
    if constexpr (!D::kHasTags) return true;
    return pred_states_[pred.slot] == PredState::Concrete;
  }
  // The lane mask of a plain predicate (all 32 lanes).
  std::uint32_t bits(PredRef pred) const { return pred.is_negated ? ~preds_[pred.slot] : preds_[pred.slot]; }
  // One lane's; faults when it was never written.
  Bool boolean(PredRef pred, unsigned lane);
  // As above for control: faults when a lane of mask() is undefined or abstract.
  std::uint32_t decided(PredRef pred, const char* use);
  // Both write the lanes of mask(); kNoPred is ignored.
  void write_pred(PredSlot slot, std::uint32_t bits) {
    if (slot == kNoPred) return;
    preds_[slot] = (preds_[slot] & ~mask_) | (bits & mask_);
    if constexpr (D::kHasTags) settle_pred(slot);
  }
  void write_pred(PredSlot slot, const Bool (&values)[kLanes]);

  // -- What a call keeps of a function that is called again. ---------------------------------------------------------
  struct KeptPred {
    Bool value{};
    bool is_defined = true;
  };
  KeptPred kept_pred(PredSlot slot, unsigned lane) const;
  // Writes the lanes of mask().
  void restore_pred(PredSlot slot, const KeptPred (&kept)[kLanes]);
  // The lanes of mask() were never written.
  void forget(Slot slot, unsigned width);
  void forget_pred(PredSlot slot);

 protected:
  void clear_tags(Slot slot, unsigned width);
  void settle_pred(PredSlot slot);
  void mix_pred(PredSlot slot);
  std::optional<std::uint64_t> concrete_tagged(Slot slot, unsigned width, unsigned lane, const char* use);
  void materialise(Slot slot, unsigned width);

  D* dom_ = nullptr;
  std::byte* regs_ = nullptr;
  Tag* tags_ = nullptr;         // tags_[slot + lane * width + byte]; null without tags
  RegState* states_ = nullptr;  // [slot / 64]
  std::uint32_t* preds_ = nullptr;
  PredState* pred_states_ = nullptr;
  std::uint32_t* pred_undefined_ = nullptr;  // lanes never written, when Mixed
  Bool* pred_bools_ = nullptr;               // [slot * 32 + lane]
  const Slot* lists_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t live_ = 0;
  std::uint64_t macs_ = 0;
  std::optional<Stop> stop_;
};

}  // namespace plumb::machine
