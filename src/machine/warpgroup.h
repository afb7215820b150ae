// SPDX-License-Identifier: Apache-2.0
// The asynchronous matrix products of a warpgroup (wgmma): four warps that execute one list of them. A product takes
// effect, for all four warps, when the first of them gets past a `wgmma.wait_group` that covers it, and no warp gets
// past one before all four have issued it. Until a warp's own wait, the product owns the registers that it was given.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "machine/warp.h"

namespace plumb::machine {

template <class D>
class Cta;
template <class D>
class WarpRun;

inline constexpr unsigned kGroupWarps = 4;  // warps

// What wgmma has to do with the registers of one warp. Products are numbered from 1 in each warpgroup.
class HeldRegisters {
 public:
  struct Use {
    std::uint64_t result_of = 0, source_of = 0;  // the last product that was given the register
    std::uint64_t touched = 0;                   // the fence count when an ordinary instruction last touched it
    std::uint64_t result_fence = 0;              // the fence count when a product was last given it as a result
    std::uint64_t shape = 0;                     // of that product, and the register's place in its result
    std::uint32_t product_pc = 0, touch_pc = 0;  // of the last product and the last ordinary instruction
  };

  void reset() { uses_.clear(), fences_ = 1; }
  Use& at(Slot slot) {
    if (uses_.size() <= slot / 64) uses_.resize(slot / 64 + 1);
    return uses_[slot / 64];
  }
  // wgmma.fence executed so far, plus one.
  std::uint64_t fences() const { return fences_; }
  void fence() { ++fences_; }

 private:
  std::vector<Use> uses_;
  std::uint64_t fences_ = 1;
};

// One product: what the first warp that issued it gave; the others must give the same.
template <class D>
struct WarpgroupProduct {
  const Op<D>* op = nullptr;
  std::uint32_t pc = 0;
  std::uint64_t a = 0, b = 0;                                             // descriptors; a: 0 when it is in registers
  bool adds = true;                                                       // scale-d
  std::vector<std::uint32_t> a_pieces, b_pieces;                          // their 16-byte pieces (exec/descriptor.h)
  std::array<std::array<std::uint32_t, kLanes>, kGroupWarps> metadata{};  // of sparse products
};

template <class D>
class Warpgroup {
 public:
  struct Member {
    std::uint64_t issued = 0;  // products
    std::uint64_t waited = 0;  // of them, those that a wait of this warp has covered
    std::uint64_t groups = 0;  // committed
  };

  void reset();
  Member& member(std::uint32_t warp) { return members_[warp % kGroupWarps]; }
  // The product that a warp issues next; null: it is the first of the four to do so.
  WarpgroupProduct<D>* next(std::uint32_t warp);
  void add(WarpgroupProduct<D> product) { products_.push_back(std::move(product)); }
  WarpgroupProduct<D>& product(std::uint64_t number) { return products_[number - first_]; }
  std::uint64_t pending() const { return products_.size(); }
  // Closes a group; false when another warp made that group of other products.
  bool commit(std::uint32_t warp);
  // The last product of all groups but the newest `pending` ones of the warp.
  std::uint64_t covered(std::uint32_t warp, std::uint64_t pending) const;
  // Warps of the group that have not issued a product, as a mask over the four.
  unsigned missing(std::uint64_t number) const;
  // With a schedule: some of the products that all warps have issued take effect now, as `random` says.
  template <class Random>
  void complete_some(WarpRun<D>& warp, Random& random) {
    std::uint64_t last = first_ + products_.size() - 1;
    while (last >= first_ && missing(last) != 0) --last;
    if (last >= first_ && random() % 4 == 0) complete(warp, first_ + random() % (last - first_ + 1));
  }
  // Lets the products up to a number take effect; all warps have issued them.
  void complete(WarpRun<D>& waiting, std::uint64_t last);

  struct Scratch {
    std::vector<typename D::Real> a, b, c;
    std::vector<std::int32_t> int_a, int_b, int_c;
  };

 private:
  std::array<Member, kGroupWarps> members_;
  std::deque<WarpgroupProduct<D>> products_;  // issued by some warp, without effect yet
  std::uint64_t first_ = 1;                   // the number of the first of them
  std::vector<std::uint64_t> group_ends_;     // of each group, its last product
  Scratch scratch_;
};

// An instruction other than wgmma touches held registers: a finding when a product owns one of them.
template <class D>
void touch_held(WarpRun<D>& warp, const Op<D>& op);
template <class D>
void report_in_flight(WarpRun<D>& warp, const HeldRegisters::Use& use, const char* verb);

}  // namespace plumb::machine
