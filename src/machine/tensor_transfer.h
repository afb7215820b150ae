// SPDX-License-Identifier: Apache-2.0
// Moves between registers of a warp and tensor memory (tcgen05.ld, tcgen05.st): which cell each register of each thread
// goes with, and the moves of one warp that are in flight. A load reads tensor memory and writes its registers, and a
// store writes tensor memory, at the warp's next wait for its kind: the latest legal moment. An instruction that
// touches a register before that gets the result all the same, as PTX promises for true dependences; it has not waited.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "domain/word.h"
#include "machine/observer.h"
#include "machine/tensor_memory.h"
#include "machine/warp.h"

namespace plumb::machine {

template <class D>
class WarpRun;

enum class TransferShape : std::uint8_t { L32x32b, L16x64b, L16x128b, L16x256b, L16x32bx2 };

// What an instruction says about a move.
struct TransferSpec {
  TransferShape shape = TransferShape::L32x32b;
  bool is_packed = false;       // .pack::16b, .unpack::16b: two columns to a register
  std::uint16_t registers = 1;  // of each thread
  std::uint32_t split = 0;      // 16x32bx2: added to the address for threads 16 to 31

  std::uint64_t bits() const;
  static TransferSpec of(std::uint64_t bits);

  unsigned parts() const { return shape == TransferShape::L16x32bx2 ? 2 : 1; }
  // The address of a part: threads of the second one are 16 to 31.
  TensorAddress part(std::uint32_t address, unsigned index) const {
    return TensorAddress::of(index == 0 ? address : address + split);
  }
  std::uint32_t lanes() const { return shape == TransferShape::L32x32b ? 32 : 16; }
  // Columns of one part.
  std::uint32_t columns() const;
  // The cell of a register of a thread, counted from the address of the thread's part; packed, the first of two.
  TensorAddress cell(unsigned thread, unsigned reg) const;
};

// tcgen05.ld.red: what becomes of all the registers that a thread loads.
struct TransferReduction {
  enum class Kind : std::uint8_t { None, Float, Signed, Unsigned };
  Kind kind = Kind::None;
  bool is_max = false, of_magnitudes = false, propagates_nan = false;

  std::uint32_t bits() const {
    return static_cast<std::uint32_t>(kind) | std::uint32_t{is_max} << 8 | std::uint32_t{of_magnitudes} << 9 |
           std::uint32_t{propagates_nan} << 10;
  }
  static TransferReduction of(std::uint32_t bits) {
    return {static_cast<Kind>(bits & 0xff), (bits >> 8 & 1) != 0, (bits >> 9 & 1) != 0, (bits >> 10 & 1) != 0};
  }
};

// A move in flight. Op::imm holds its spec, Op::list its registers; Op::b of a load its reduction, whose result follows
// in the list.
template <class D>
struct TensorTransfer {
  const Op<D>* op = nullptr;
  std::uint32_t pc = 0;
  std::uint64_t id = 0;  // as observers hear of it
  std::uint32_t address = 0;
  // Stores: register by register, 32 threads each.
  std::vector<std::uint32_t> values;
  std::vector<std::array<domain::Tag, kCellBytes>> tags;  // in domains with tags
  bool is_done = false;                                   // has taken effect, though nobody has waited
};

// The moves of one warp that it has not waited for, oldest first. Loads are numbered from 1;
// HeldRegisters::Use::result_of is the last load that was given a register.
template <class D>
struct TensorTransfers {
  std::deque<TensorTransfer<D>> loads, stores;
  std::uint64_t loads_issued = 0;

  void reset() { loads.clear(), stores.clear(), loads_issued = 0; }
  std::uint64_t loads_waited() const { return loads_issued - loads.size(); }
};

// The rectangles of cells that a move touches, all marked as read (loads) or written.
std::vector<TensorUse> transfer_uses(std::uint32_t rank, const TransferSpec& spec, std::uint32_t address,
                                     bool is_store);
// Lets the moves of one kind that the warp has issued take effect and forgets them.
template <class D>
void complete_transfers(WarpRun<D>& warp, TensorKind kind);
// Lets the loads up to a number take effect.
template <class D>
void complete_loads(WarpRun<D>& warp, std::uint64_t last);
// An instruction touches registers that loads in flight write: they take effect first.
template <class D>
void touch_loads(WarpRun<D>& warp, const Op<D>& op);
// With a schedule: some of the moves in flight take effect now.
template <class D>
void complete_some_transfers(WarpRun<D>& warp, std::mt19937_64& random);

}  // namespace plumb::machine
