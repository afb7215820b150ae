// SPDX-License-Identifier: Apache-2.0
// One mbarrier object: its phase, the arrivals it still waits for, and the bytes that asynchronous copies still owe it.
// The ranges, the order of the checks and the 64-bit word are those that the hardware shows.
#pragma once

#include <cstdint>
#include <string>

namespace plumb::machine {

inline constexpr std::uint32_t kMbarrierBytes = 8;
inline constexpr std::uint32_t kMaxArrivals = (1u << 20) - 1;
inline constexpr std::int64_t kMaxTx = (1 << 20) - 1;  // either way

struct Mbarrier {
  std::uint64_t phase = 0;     // phases completed so far
  std::uint32_t expected = 0;  // arrivals of the next phase
  std::uint32_t pending = 0;   // arrivals that this phase still needs
  std::int64_t tx = 0;         // bytes announced and not yet there; below zero when they came first

  // What `inval` leaves in memory.
  std::uint64_t word() const;
  // What an arrival returns: the high half of the word before it. The low half is unspecified on the hardware; here it
  // counts phases, so that a token of an older phase is noticed.
  std::uint64_t token() const { return (word() >> 32 << 32) | (phase & 0xffffffff); }

  // Each says what is wrong, empty when nothing is, and leaves the phase to `try_complete`.
  std::string expect(std::int64_t bytes) { return add_tx(bytes); }
  std::string complete(std::int64_t bytes) { return add_tx(-bytes); }
  std::string arrive(std::uint32_t count);
  std::string drop(std::uint32_t count);                           // arrives, and is missing from the phases to come
  bool is_idle() const { return pending == expected && tx == 0; }  // nothing has happened in its phase
  bool is_full() const { return pending == 0 && tx == 0; }         // has all arrivals and all bytes of its phase
  // Begins the next phase when this one is full.
  bool try_complete();

  bool has_completed_parity(std::uint32_t parity) const { return (phase & 1) != (parity & 1); }

 private:
  std::string add_tx(std::int64_t bytes);
};

// The arrivals that the phase of a token needed when it was taken.
std::uint32_t pending_of_token(std::uint64_t token);
// Whether the token's phase is complete, as the hardware tells it: by the parity bit alone.
bool has_completed_token(const Mbarrier& barrier, std::uint64_t token);

}  // namespace plumb::machine
