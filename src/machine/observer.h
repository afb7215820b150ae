// SPDX-License-Identifier: Apache-2.0
// What a run tells a checker. One observer watches one CTA; calls come in execution order from one thread. Lanes are
// given as 32-bit masks over one warp; `instr` indexes the entry's instructions (ptx::Function::instrs), those of
// functions that it calls have numbers beyond them. Program::place gives the place of each.
#pragma once

#include <cstdint>
#include <span>

namespace plumb::machine {

enum class MemorySpace : std::uint8_t { Global, Shared, Local, Param, Const };
enum class AccessKind : std::uint8_t { Read, Write, Atomic };
enum class Scope : std::uint8_t { None, Cta, Cluster, Gpu, Sys };

struct Access {
  MemorySpace space = MemorySpace::Global;
  AccessKind kind = AccessKind::Read;
  Scope scope = Scope::None;  // None: weak
  bool is_acquire = false, is_release = false;
  std::uint32_t instr = 0;
  std::uint32_t warp = 0;
  std::uint32_t mask = 0;                  // lanes that access
  std::uint32_t size = 0;                  // bytes per lane (ldmatrix: 16 per row address)
  const std::uint64_t* address = nullptr;  // [32]; shared: offset in the CTA's shared window
  // Writes: a key of the bytes that each lane stores, [32]; equal keys stand for equal values, so that two lanes that
  // write the same value to one place can be told from a race. Null: not known.
  const std::uint64_t* value_key = nullptr;
};

struct WarpMask {
  std::uint32_t warp = 0;
  std::uint32_t mask = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void access(const Access& access) = 0;

  // cp.async: one operation per warp instruction. Between issue and wait the bytes belong to the copy. `id` counts up
  // per CTA. `address` of shared destination and global source per lane; `source_size` may be smaller (zero fill).
  virtual void async_copy_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, const std::uint64_t* shared,
                                 const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) = 0;
  // The lanes of `who` have waited for operation `id`.
  virtual void async_copy_waited(std::uint64_t id, WarpMask who) = 0;

  // CTA barriers (bar, barrier). `arrived` at each arrival, `completed` once per generation with everyone who took
  // part.
  virtual void barrier_arrived(std::uint32_t instr, std::uint32_t barrier, WarpMask who) = 0;
  virtual void barrier_completed(std::uint32_t barrier, std::span<const WarpMask> participants) = 0;
  // bar.warp.sync completed for these lanes (memory ordering among them).
  virtual void warp_synchronized(std::uint32_t instr, WarpMask who) = 0;
  virtual void fence(std::uint32_t instr, WarpMask who, Scope scope) = 0;
  virtual void exited(WarpMask who) = 0;
};

}  // namespace plumb::machine
