// SPDX-License-Identifier: Apache-2.0
// One card as a worker process holds it: its context, compiled code, launches that are watched until they end, and
// buffers between zones that nothing may touch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "gpu/job.h"
#include "gpu/nvml.h"

namespace plumb::gpu {

// Why a step of a job did not happen. `kind` is a word of the protocol: "compile", "params", "launch", "timeout",
// "fault", "memory", "driver", "input".
struct Failure {
  std::string kind, message;
  bool is_dead = false;  // the context cannot be used any more: the process must end
};
using Outcome = std::optional<Failure>;  // empty: it happened

struct Loaded {
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  std::vector<std::size_t> param_bytes;
};

// A buffer whose both ends lie beside unmapped addresses, as near as its alignment allows; what is left of the mapped
// pages holds a pattern. Where the driver has no virtual memory calls, only the pattern guards it.
class GuardedBuffer {
 public:
  static constexpr unsigned char kPattern = 0xc5;

  static std::unique_ptr<GuardedBuffer> make(const class Card& card, std::uint64_t bytes, std::uint32_t alignment,
                                             bool is_at_end, Failure& failure);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;  // owns device memory
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  DevicePtr address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  // Offset from the buffer's begin of the first byte beside it that was written: negative before it, at least `bytes()`
  // behind it.
  std::optional<std::int64_t> first_written_beside(Failure& failure) const;

 private:
  explicit GuardedBuffer(const Card& card) : card_(card) {}

  const Card& card_;
  DevicePtr reserved_ = 0, mapped_ = 0, address_ = 0;
  std::uint64_t reserved_bytes_ = 0, mapped_bytes_ = 0, bytes_ = 0;
  AllocationHandle handle_ = 0;
  bool is_virtual_ = false;
};

class Card {
 public:
  // Takes the first card. Null with a finding when there is none.
  static std::unique_ptr<Card> open(const std::filesystem::path& driver, Findings& findings);

  const Driver& driver() const { return *driver_; }
  Stream stream() const { return stream_; }
  int fact(DeviceFact which) const;
  const Nvml* nvml() const { return nvml_.get(); }
  bool has_virtual_memory() const { return has_virtual_memory_; }
  // Name, uuid, compute capability, sizes, versions.
  nlohmann::json facts() const;

  // Compiles and loads; a fresh module every time.
  std::optional<Loaded> load(const KernelLaunch& launch, Failure& failure);
  void unload(Loaded& loaded) const;
  // The driver's remarks on a text that was loaded.
  std::string compile_log(const std::string& ptx) const;
  // Registers, spills, shared memory, occupancy at the launch's block.
  nlohmann::json facts(const Loaded& loaded, const KernelLaunch& launch) const;

  // Enqueues; `addresses` are those of the buffers.
  Outcome enqueue(const Loaded& loaded, const KernelLaunch& launch, const std::vector<DevicePtr>& addresses,
                  DevicePtr workspace) const;
  // Waits for the stream, no longer than that.
  Outcome wait(double seconds) const;

  // plumb's own kernels: fill the shared memory of every SM; read and write `bytes` at `address`; do nothing.
  Outcome scrub(unsigned char pattern) const;
  Outcome sweep(DevicePtr address, std::uint64_t bytes) const;
  Outcome nothing() const;

  // A driver call of plumb's own: a failure of kind "driver", "memory" or "fault".
  Outcome check(Status status, std::string_view what) const;

 private:
  Card() = default;
  Outcome open_own_kernels();
  bool load_module(const std::string& ptx, ModuleHandle& module, Failure& failure);
  Outcome start(FunctionHandle function, const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3],
                std::uint32_t shared, void** params) const;

  std::unique_ptr<const Driver> driver_;
  std::unique_ptr<Nvml> nvml_;
  Device device_ = 0;
  Stream stream_ = nullptr;
  bool has_virtual_memory_ = false;
  std::map<std::string, std::string> logs_;  // by the PTX's sha256
  ModuleHandle own_ = nullptr;
  FunctionHandle scrub_ = nullptr, sweep_ = nullptr, nothing_ = nullptr;
};

}  // namespace plumb::gpu
