// SPDX-License-Identifier: Apache-2.0
#include "machine/mbarrier.h"

namespace plumb::machine {

namespace {

constexpr unsigned kParityBit = 63, kPendingBit = 43, kTxBit = 21, kExpectedBit = 1;
constexpr std::uint64_t kArrivalMask = (1u << 20) - 1, kTxMask = (1u << 21) - 1;

// Counters are held as what is missing to the overflow.
std::uint64_t negated(std::uint64_t value, std::uint64_t mask) { return (0 - value) & mask; }

}  // namespace

std::uint64_t Mbarrier::word() const {
  return (phase & 1) << kParityBit | negated(pending, kArrivalMask) << kPendingBit |
         negated(static_cast<std::uint64_t>(tx), kTxMask) << kTxBit | negated(expected, kArrivalMask) << kExpectedBit;
}

std::string Mbarrier::add_tx(std::int64_t bytes) {
  if (bytes > kMaxTx || bytes < -kMaxTx) {
    return "a count of " + std::to_string(bytes < 0 ? -bytes : bytes) + " bytes; the most is 1048575";
  }
  if (tx + bytes > kMaxTx || tx + bytes < -kMaxTx) {
    return "the count of pending bytes would become " + std::to_string(tx + bytes) + "; it holds -1048575 to 1048575";
  }
  tx += bytes;
  return {};
}

std::string Mbarrier::arrive(std::uint32_t count) {
  if (count == 0 || count > kMaxArrivals) {
    return "an arrival that counts " + std::to_string(count) + "; it counts 1 to 1048575";
  }
  if (pending == 0) {
    return expected == 0 && tx == 0
               ? "an arrival at a barrier that expects none"
               : "an arrival beyond the count of its phase, which still waits for " + std::to_string(tx) + " bytes";
  }
  if (count > pending) {
    return "an arrival that counts " + std::to_string(count) + " where the phase needs only " +
           std::to_string(pending) + " more";
  }
  pending -= count;
  return {};
}

std::string Mbarrier::drop(std::uint32_t count) {
  if (count > expected) {
    return "a drop of " + std::to_string(count) + " arrivals of " + std::to_string(expected) + " expected";
  }
  std::string error = arrive(count);
  if (error.empty()) expected -= count;
  return error;
}

bool Mbarrier::try_complete() {
  if (!is_full()) return false;
  ++phase;
  pending = expected;
  return true;
}

std::uint32_t pending_of_token(std::uint64_t token) {
  return static_cast<std::uint32_t>(negated(token >> kPendingBit, kArrivalMask));
}

bool has_completed_token(const Mbarrier& barrier, std::uint64_t token) {
  return (barrier.phase & 1) != token >> kParityBit;
}

}  // namespace plumb::machine
