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

// -- Clusters and the asynchronous agent. -----------------------------------------------------------------------------
// An event goes to the observer of the CTA whose thread caused it. Shared addresses are offsets in the shared memory of
// the CTA with the given rank in the cluster.

enum class AsyncKind : std::uint8_t {
  BulkCopy,
  BulkReduce,
  TensorCopy,
  TensorReduce,
  RemoteStore,
  RemoteReduce,
  CopyArrive
};

struct AsyncRange {
  MemorySpace space = MemorySpace::Shared;
  std::uint32_t rank = 0;     // shared
  std::uint64_t address = 0;  // virtual address, or offset in the CTA's shared memory
  std::uint32_t size = 0;
};

struct AsyncIssue {
  std::uint64_t id = 0;  // counts up per cluster
  AsyncKind kind = AsyncKind::BulkCopy;
  std::uint32_t instr = 0, warp = 0, lane = 0;
  std::span<const AsyncRange> reads, writes;
  bool has_mbarrier = false;  // else it belongs to a bulk group of its thread
  std::uint32_t barrier_rank = 0, barrier_offset = 0, bytes = 0;
  std::uint64_t map = 0;  // global address of the tensor map that it reads, when it is in global memory
};

struct MbarrierEvent {
  // Overwritten: the instruction is about to write the bytes of an idle mbarrier, which is none from then on.
  enum class Kind : std::uint8_t { Init, Inval, ExpectTx, CompleteTx, Arrive, WaitTrue, WaitFalse, Overwritten };
  Kind kind = Kind::Init;
  std::uint32_t instr = 0, warp = 0, lane = 0;
  std::uint32_t rank = 0, offset = 0;  // of the barrier
  std::uint64_t phase = 0;             // that the barrier was in before; WaitTrue: the completed one
  std::uint32_t count = 0;             // arrivals, or bytes
  bool completes = false;              // the phase ends with this event
  Scope scope = Scope::Cta;
  bool is_ordered = true;  // acquires or releases
  // The event of an asynchronous operation (CompleteTx, Arrive): it is the agent's, not that of the thread, which only
  // issued it.
  bool is_async = false;
  std::uint64_t operation = 0;
  bool is_commit = false;  // `operation` is the id of a tensor_committed, and the arrival is that commit's
};

// -- Tensor memory (tcgen05). -----------------------------------------------------------------------------------------
// Cells are named by the rank of the CTA in the cluster, lane and column. Operations of cta_group::2 touch both CTAs of
// the pair and are told to the observer of the CTA whose thread issued them.

// CopyRow: tcgen05.cp.4x256b, which PTX orders otherwise than the other shapes.
enum class TensorKind : std::uint8_t { Load, Store, Mma, Copy, CopyRow, Shift };
// What cells are to an operation: A, sparsity metadata, scale factors or accumulator of a product; otherwise Data.
enum class TensorRole : std::uint8_t { Data, A, Metadata, Scale, Accumulator };

struct TensorUse {
  TensorRole role = TensorRole::Data;
  bool reads = false, writes = false;
  std::uint32_t rank = 0;
  std::uint32_t lane = 0, lanes = 0, column = 0, columns = 0;  // a rectangle of cells
};

struct TensorShared {
  std::uint32_t rank = 0;
  std::span<const std::uint32_t> pieces;  // offsets of 16 bytes each, read through the async proxy
};

struct TensorIssue {
  std::uint64_t id = 0;  // counts up per cluster, in one row with those of commits
  TensorKind kind = TensorKind::Load;
  std::uint32_t instr = 0, warp = 0;
  std::uint32_t mask = 0;   // Load and Store: the whole warp; otherwise the one lane that issued it
  std::uint32_t group = 1;  // cta_group
  std::uint64_t shape = 0;  // Mma: equal for products of one kind and shape
  std::span<const TensorUse> uses;
  std::span<const TensorShared> shared;
};

struct TensorBarrier {
  std::uint32_t rank = 0, offset = 0;
};

enum class ProxyFence : std::uint8_t {
  Alias,
  Async,
  AsyncGlobal,
  AsyncSharedCta,
  AsyncSharedCluster,
  TensormapRelease,
  TensormapAcquire
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

  // An observer that does not follow an event below hears of it here.
  virtual void unfollowed(std::uint32_t instr, WarpMask who, const char* what);

  // Shared memory of another CTA of the cluster: `access.address` are offsets in the memory of the CTA `rank`.
  virtual void remote_access(const Access& access, std::uint32_t rank);
  virtual void async_issued(const AsyncIssue& issue);
  // The sources have been read; all effects have taken place.
  virtual void async_read(std::uint64_t id);
  virtual void async_completed(std::uint64_t id);
  // The thread has waited for operation `id` of a bulk group, or for its reads only.
  virtual void async_waited(std::uint64_t id, std::uint32_t instr, WarpMask who, bool reads_only);
  virtual void mbarrier(const MbarrierEvent& event);
  // wgmma: one product of a warpgroup, issued once by each of its four warps with the same `id`. Until every warp has
  // waited for it, the async proxy reads these pieces of 16 bytes (shared offsets) of A, where it is in shared memory,
  // and of B.
  virtual void product_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, std::span<const std::uint32_t> a,
                              std::span<const std::uint32_t> b);
  virtual void product_waited(std::uint64_t id, WarpMask who);
  // `map`: TensormapAcquire: the global address of the tensor map that each lane acquires, [32]; otherwise null.
  virtual void proxy_fence(std::uint32_t instr, WarpMask who, ProxyFence fence, const std::uint64_t* map);
  // fence.mbarrier_init, and fences restricted to one kind of shared memory.
  virtual void cluster_fence(std::uint32_t instr, WarpMask who);
  virtual void cluster_arrived(std::uint32_t instr, WarpMask who, bool releases);
  virtual void cluster_waited(std::uint32_t instr, WarpMask who);

  // Columns of the CTA's tensor memory begin or cease to be usable: `who` has executed alloc or dealloc (the write of
  // the address to shared memory is an access of its own). With cta_group::2 each CTA of the pair is told of its part.
  virtual void tensor_allocated(std::uint32_t instr, WarpMask who, std::uint32_t column, std::uint32_t columns);
  virtual void tensor_released(std::uint32_t instr, WarpMask who, std::uint32_t column, std::uint32_t columns);
  // An asynchronous operation begins. Nothing but a wait (loads and stores) or the arrival of a commit (the others)
  // says that it has ended. Its operation number never occurs in async_completed.
  virtual void tensor_issued(const TensorIssue& issue);
  // wait::ld, wait::st: the loads, or stores, that these lanes have issued so far have ended.
  virtual void tensor_waited(std::uint32_t instr, WarpMask who, TensorKind kind);
  // A lane used the result of a load before waiting: PTX orders that use after the load, and nothing else.
  virtual void tensor_result_used(std::uint64_t id, std::uint32_t instr, WarpMask who);
  // tcgen05.commit: when all mma, cp and shift operations that the lane has issued before for this cta_group have
  // ended, each barrier has one arrival (mbarrier() with is_commit). It is a fence::before_thread_sync, too.
  virtual void tensor_committed(std::uint64_t id, std::uint32_t instr, WarpMask who, std::uint32_t group,
                                std::span<const TensorBarrier> barriers);
  // tcgen05.fence::before_thread_sync, ::after_thread_sync.
  virtual void tensor_fence(std::uint32_t instr, WarpMask who, bool is_after);
};

}  // namespace plumb::machine
