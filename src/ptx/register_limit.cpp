// SPDX-License-Identifier: Apache-2.0
#include "ptx/register_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace plumb::ptx {
namespace {

constexpr unsigned kMostOfThread = 255, kLeastOfThread = 24;
constexpr std::uint64_t kOfMultiprocessor = 65536, kMostThreads = 2048, kMostBlocks = 32;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Registers are given to four warps at once, eight to a thread.
constexpr unsigned share_of(std::uint64_t threads) {
  return static_cast<unsigned>(
      std::min<std::uint64_t>(kOfMultiprocessor / round_up(threads, 128) / 8 * 8, kMostOfThread));
}

std::uint64_t threads_of(const std::array<std::uint32_t, 3>& block) {
  std::uint64_t threads = 1;
  // Beyond what a multiprocessor holds the exact number says nothing, and the product might not fit.
  for (const std::uint32_t extent : block) threads = std::min(threads * extent, kMostThreads + 1);
  return threads;
}

unsigned vector_size(const Instr& instr, std::size_t operand) {
  return static_cast<unsigned>(instr.operands[operand].elements.size());
}

// The accumulators, and the fragment of A where it is in registers.
unsigned of_wgmma(const Instr& instr) { return 26 + vector_size(instr, 0) + vector_size(instr, 1); }

}  // namespace

unsigned least_registers(const Instr& instr) {
  constexpr unsigned kBesideTensorMemory = 18;
  switch (instr.form) {
    case Form::WgmmaMmaAsync:
      return of_wgmma(instr);
    case Form::WgmmaMmaAsyncSp:
      return of_wgmma(instr) + 1;  // the metadata
    case Form::Tcgen05Ld:
      return kBesideTensorMemory + vector_size(instr, 0);
    case Form::Tcgen05LdRed:
      return kBesideTensorMemory + vector_size(instr, 0) + 1;  // what the values are reduced to
    case Form::Tcgen05St:
      return kBesideTensorMemory + vector_size(instr, instr.operands.size() - 1);
    default:
      return 0;
  }
}

RegisterLimit register_limit(const Function& entry) {
  RegisterLimit out{kMostOfThread, fmt::format("a thread has at most {}", kMostOfThread)};
  // ptxas ignores what is out of range, with a warning; `.maxnreg` then still keeps the size of a block from counting.
  if (entry.maxnreg != 0 && entry.maxnreg <= kMostOfThread) {
    out.count = std::max(entry.maxnreg, kLeastOfThread);
    out.reason = fmt::format("`.maxnreg {}` leaves {}", entry.maxnreg, out.count);
  }
  const bool is_required = entry.reqntid[0] != 0;
  const auto& block = is_required ? entry.reqntid : entry.maxntid;
  const std::uint64_t threads = block[0] == 0 ? 0 : threads_of(block);
  if (threads == 0 || threads > kMostThreads) return out;
  const auto bound = [&](std::uint64_t held, std::string what) {
    if (const unsigned share = share_of(held); share < out.count) {
      out = {share, fmt::format("{} leaves each {} of {} registers", what, share, kOfMultiprocessor)};
    }
  };
  const std::string of_block = fmt::format("{} of {} threads", is_required ? "`.reqntid`" : "`.maxntid`", threads);
  const std::uint64_t blocks = entry.minnctapersm, together = blocks * round_up(threads, 32);
  if (blocks != 0 && blocks <= kMostBlocks && together <= kMostThreads) {
    bound(together, fmt::format("{}, with `.minnctapersm {}`,", of_block, blocks));
  } else if (entry.maxnreg == 0) {
    bound(threads, of_block);
  }
  return out;
}

}  // namespace plumb::ptx
