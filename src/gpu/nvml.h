// SPDX-License-Identifier: Apache-2.0
// What the management library says about a card: clocks, throttle reasons, heat, power, other processes. It is only
// read, never used to set anything, and its absence costs facts, nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plumb::gpu {

struct CardState {
  unsigned sm_mhz = 0, memory_mhz = 0, celsius = 0;
  double watts = 0;
  std::uint64_t throttle = 0;  // bits of the library's "event reasons"
};

class Nvml {
 public:
  // Null where there is none. `pci` as in "00000000:0f:00.0".
  static std::unique_ptr<Nvml> open(const std::string& pci);
  ~Nvml();
  Nvml(const Nvml&) = delete;  // owns the library's session
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  CardState state() const;
  // Processes with a context on the card, this one included; -1 where that cannot be read.
  int process_count() const;

 private:
  struct Calls;
  Nvml();
  std::unique_ptr<Calls> calls_;
};

// The reasons among the bits that mean "slower than it could be": heat, power caps, hardware slow-down. Idle and
// application clocks are none. Comma separated; empty: none.
std::string slowdown_names(std::uint64_t throttle);

}  // namespace plumb::gpu
