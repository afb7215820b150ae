// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/bulk_copy.h"

#include "machine/exec/operands.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

constexpr unsigned kUnit = 16;  // of addresses and sizes

// The list of a bulk copy: base and offset of the destination, the source and the mbarrier (stores to global memory:
// none), then the size, then the mask of a multicast.
enum : unsigned { kTo = 0, kFrom = 2, kBarrier = 4 };

// What Op::aux says.
struct Shape {
  enum class Route : std::uint8_t { GlobalToShared, SharedToShared, SharedToGlobal };
  Route route = Route::GlobalToShared;
  bool is_multicast = false, is_reduction = false;
  std::uint8_t wide = 0;  // a bit for each address that is 64 bits wide
  ReduceOp op = ReduceOp::Add;
  Type type = Type::b32;

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(route) | (is_multicast ? 4u : 0) | (is_reduction ? 8u : 0) |
           static_cast<std::uint32_t>(wide) << 4 | static_cast<std::uint32_t>(op) << 8 |
           static_cast<std::uint32_t>(type) << 16;
  }
  static Shape unpack(std::uint32_t aux) {
    return {static_cast<Route>(aux & 3),
            (aux & 4) != 0,
            (aux & 8) != 0,
            static_cast<std::uint8_t>(aux >> 4 & 7),
            static_cast<ReduceOp>(aux >> 8 & 255),
            static_cast<Type>(aux >> 16 & 255)};
  }
  unsigned width(unsigned index) const { return (wide >> (index / 2) & 1) != 0 ? 8 : 4; }
};

// `size` bytes of a global buffer; empty after a finding.
template <class D>
std::optional<AsyncEnd> global_bytes(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned lane,
                                     const char* verb) {
  if (address % kUnit != 0) {
    w.report_alignment(Space::global, address, kUnit, lane, verb);
    return std::nullopt;
  }
  domain::Buffer* buffer = w.global(address, size);
  if (buffer == nullptr) {
    w.report_bounds(Space::global, address, size, lane, verb);
    return std::nullopt;
  }
  return AsyncEnd{buffer, 0, address - buffer->address};
}

// The source in the executing CTA's own shared memory.
template <class D>
std::optional<AsyncEnd> own_bytes(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned lane) {
  const auto place = shared_bytes(w, address, size, kUnit, lane, "reads");
  if (!place) return std::nullopt;
  if (place->rank != w.cta().rank()) {
    w.fault(kBulkCopy, w.thread_name(lane) + " copies from the shared memory of another block");
    return std::nullopt;
  }
  return AsyncEnd{nullptr, place->rank, place->offset};
}

// Fills in destination and mbarrier, which lie in one CTA; false after a finding.
template <class D>
bool aim(WarpRun<D>& w, AsyncOp<D>& op, std::uint64_t to, std::uint64_t at, std::uint32_t size, unsigned alignment,
         unsigned lane) {
  const auto place = shared_target(w, to, size, alignment, lane);
  SharedPlace barrier;
  if (!place || mbarrier_at(w, at, false, lane, barrier) == nullptr) return false;
  if (barrier.rank != place->rank) {
    w.fault(kBulkCopy, w.thread_name(lane) + " writes the shared memory of the block with rank " +
                           std::to_string(place->rank) + " and signals an mbarrier of rank " +
                           std::to_string(barrier.rank));
    return false;
  }
  op.completion = Completion::CompleteTx;
  op.barrier_rank = barrier.rank, op.barrier_offset = barrier.offset, op.barrier_bytes = size;
  op.pieces.back().to = {nullptr, place->rank, place->offset};
  return true;
}

template <class D>
struct Copy {
  std::uint64_t to = 0, from = 0, barrier = 0;
  std::uint32_t size = 0;
  std::uint32_t ranks = 0;  // multicast
};

// One copy for each CTA of a multicast, at the same offsets; they complete each on its own.
template <class D>
void issue_multicast(WarpRun<D>& w, const Copy<D>& copy, const AsyncOp<D>& op, unsigned lane) {
  Cluster<D>& cluster = w.cta().cluster();
  if (copy.ranks >> cluster.size() != 0 || copy.ranks == 0) {
    return w.fault(kBulkCopy, w.thread_name(lane) + " multicasts to the ranks of mask " + std::to_string(copy.ranks) +
                                  " in a cluster of " + std::to_string(cluster.size()));
  }
  std::uint64_t to = copy.to, barrier = copy.barrier;
  if (!to_shared(w, to, lane) || !to_shared(w, barrier, lane)) return;
  constexpr std::uint64_t kOffsetMask = (1u << kRankShift) - 1;
  for (std::uint32_t rank = 0; rank < cluster.size(); ++rank) {
    if ((copy.ranks >> rank & 1) == 0) continue;
    const std::uint64_t base = std::uint64_t{rank} << kRankShift;
    AsyncOp<D> each = op;
    if (!aim(w, each, base | (to & kOffsetMask), base | (barrier & kOffsetMask), copy.size, kUnit, lane)) return;
    if (!cluster.agent().issue(w, lane, std::move(each))) return;
  }
}

template <class D>
void issue(WarpRun<D>& w, const Shape& shape, const Copy<D>& copy, unsigned lane) {
  using Route = Shape::Route;
  if (copy.size % kUnit != 0) {
    return w.fault(kBulkCopy, w.thread_name(lane) + " copies " + std::to_string(copy.size) +
                                  " bytes, which is not a multiple of 16");
  }
  AsyncOp<D> op;
  op.kind = shape.is_reduction ? AsyncKind::BulkReduce : AsyncKind::BulkCopy;
  op.effect = shape.is_reduction ? AsyncEffect::Reduce : AsyncEffect::Copy;
  op.reduction = {shape.op, shape.type, false};
  op.pieces.push_back({});
  op.pieces.back().size = copy.size;
  const auto from = shape.route == Route::GlobalToShared ? global_bytes(w, copy.from, copy.size, lane, "reads")
                                                         : own_bytes(w, copy.from, copy.size, lane);
  if (!from) return;
  op.pieces.back().from = *from;
  if (shape.route == Route::SharedToGlobal) {
    const auto to = global_bytes(w, copy.to, copy.size, lane, "writes");
    if (!to) return;
    op.pieces.back().to = *to;
    op.completion = Completion::BulkGroup;
  } else if (shape.is_multicast) {
    return issue_multicast(w, copy, op, lane);
  } else if (!aim(w, op, copy.to, copy.barrier, copy.size, kUnit, lane)) {
    return;
  }
  w.cta().cluster().agent().issue(w, lane, std::move(op));
}

template <class D>
void step_copy(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const Shape shape = Shape::unpack(op.aux);
  const bool has_barrier = shape.route != Shape::Route::SharedToGlobal;
  std::uint64_t to[kLanes], from[kLanes], barrier[kLanes] = {};
  if (!listed_addresses(w, op, kTo, shape.width(kTo), to)) return;
  if (!listed_addresses(w, op, kFrom, shape.width(kFrom), from)) return;
  if (has_barrier && !listed_addresses(w, op, kBarrier, shape.width(kBarrier), barrier)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    const auto size = w.concrete(op.b, 4, lane, "the size of a copy");
    const auto ranks = shape.is_multicast ? w.concrete(op.c, 2, lane, "the mask of a multicast") : 0;
    if (!size || !ranks) return;
    issue<D>(
        w, shape,
        {to[lane], from[lane], barrier[lane], static_cast<std::uint32_t>(*size), static_cast<std::uint32_t>(*ranks)},
        lane);
  });
}

template <class D>
StepFn<D> select_copy(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool is_reduction) {
  if (instr.has(Mod::cp_mask)) {
    ctx.unmodelled("masks of bytes");
    return nullptr;
  }
  Shape shape;
  const bool has_barrier = instr.has(Mod::mbarrier_complete_tx_bytes);
  if (!has_barrier) {
    shape.route = Shape::Route::SharedToGlobal;
  } else if (!instr.has(Mod::global)) {
    shape.route = Shape::Route::SharedToShared;
  }
  shape.is_multicast = instr.has(Mod::multicast_cluster);
  shape.is_reduction = is_reduction;
  if (is_reduction) shape.op = reduce_op_of(instr), shape.type = instr.type();
  std::vector<Slot> slots;
  const auto take = [&](std::size_t operand) {
    const unsigned index = static_cast<unsigned>(slots.size()) / 2;
    if (add_address(ctx, instr.operands[operand], slots) == 8) shape.wide |= static_cast<std::uint8_t>(1u << index);
  };
  take(0), take(1);
  if (has_barrier) take(3);
  op.b = ctx.source(instr.operands[2], Type::u32);
  if (shape.is_multicast) op.c = ctx.source(instr.operands[4], Type::u16);
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  return &step_copy<D>;
}

// -- st.async and red.async -----------------------------------------------------------------------------------------

constexpr unsigned kMaxElements = 4;

// The list: base and offset of the destination and of the mbarrier, then the elements.
enum : unsigned { kRemoteTo = 0, kRemoteBarrier = 2, kElements = 4 };

struct RemoteShape {
  Type type = Type::b32;
  unsigned count = 1;
  bool is_reduction = false, is_wide = false, is_barrier_wide = false;
  ReduceOp op = ReduceOp::Add;

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(type) | count << 8 | (is_reduction ? 1u << 12 : 0) | (is_wide ? 1u << 13 : 0) |
           (is_barrier_wide ? 1u << 14 : 0) | static_cast<std::uint32_t>(op) << 16;
  }
  static RemoteShape unpack(std::uint32_t aux) {
    return {static_cast<Type>(aux & 255), aux >> 8 & 15,        (aux >> 12 & 1) != 0,
            (aux >> 13 & 1) != 0,         (aux >> 14 & 1) != 0, static_cast<ReduceOp>(aux >> 16)};
  }
};

// The value travels with the operation: its register may be written again at once.
template <class D>
void send(WarpRun<D>& w, const Op<D>& instruction, const RemoteShape& shape, std::uint64_t to, std::uint64_t barrier,
          unsigned lane) {
  const unsigned size = ptx::byte_size(shape.type), total = size * shape.count;
  AsyncOp<D> op;
  op.kind = shape.is_reduction ? AsyncKind::RemoteReduce : AsyncKind::RemoteStore;
  op.effect = shape.is_reduction ? AsyncEffect::Reduce : AsyncEffect::Copy;
  op.reduction = {shape.op, shape.type, false};
  op.pieces.push_back({});
  op.pieces.back().size = total;
  if (!aim(w, op, to, barrier, total, total, lane)) return;
  if (shape.is_reduction && op.barrier_rank == w.cta().rank()) {
    return w.fault(kCluster, w.thread_name(lane) + " reduces into its own block; `red.async` goes to another one");
  }
  op.is_read = true;
  op.bytes.resize(total);
  if constexpr (D::kHasTags) op.tags.resize(total);
  for (unsigned i = 0; i < shape.count; ++i) {
    const domain::Word word = w.word(w.listed(instruction, kElements + i), size, lane);
    std::memcpy(op.bytes.data() + i * size, &word.bits, size);
    if constexpr (D::kHasTags) std::copy_n(word.tags, size, op.tags.data() + i * size);
  }
  w.cta().cluster().agent().issue(w, lane, std::move(op));
}

template <class D>
void step_send(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const RemoteShape shape = RemoteShape::unpack(op.aux);
  std::uint64_t to[kLanes], barrier[kLanes];
  if (!listed_addresses(w, op, kRemoteTo, shape.is_wide ? 8 : 4, to)) return;
  if (!listed_addresses(w, op, kRemoteBarrier, shape.is_barrier_wide ? 8 : 4, barrier)) return;
  if (w.cta().cluster().size() == 1) {
    return w.fault(kCluster, "an asynchronous store to a block of the cluster, in a cluster of one block");
  }
  for_lanes(w.mask(), [&](unsigned lane) {
    if (!w.is_stopped()) send(w, op, shape, to[lane], barrier[lane], lane);
  });
}

template <class D>
StepFn<D> select_send(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool is_reduction) {
  if (!instr.has(Mod::mbarrier_complete_tx_bytes)) {
    ctx.unmodelled("asynchronous stores to global memory");
    return nullptr;
  }
  RemoteShape shape;
  shape.type = instr.type();
  shape.is_reduction = is_reduction;
  if (is_reduction) shape.op = reduce_op_of(instr);
  std::vector<Slot> slots;
  shape.is_wide = add_address(ctx, instr.operands[0], slots) == 8;
  shape.is_barrier_wide = add_address(ctx, instr.operands[2], slots) == 8;
  const Operand& value = instr.operands[1];
  const bool is_vector = value.kind == Operand::Kind::Vector;
  shape.count = is_vector ? static_cast<unsigned>(value.elements.size()) : 1;
  if (shape.count > kMaxElements) {
    ctx.unmodelled("a vector of this length");
    return nullptr;
  }
  for (unsigned i = 0; i < shape.count; ++i) {
    slots.push_back(ctx.source(is_vector ? value.elements[i] : value, shape.type));
  }
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  return &step_send<D>;
}

// Op::a, imm: destination; Op::b: bytes, which become zero at once.
template <class D>
void step_fill(Warp<D>& warp, const Op<D>& op) {
  constexpr unsigned kFillUnit = 8;
  auto& w = run_of(warp);
  std::uint64_t address[kLanes];
  if (!w.addresses(op, op.aux, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto size = w.is_stopped() ? std::nullopt : w.concrete(op.b, 8, lane, "the size of a fill");
    if (!size) return;
    if (*size % kFillUnit != 0 || *size > w.cta().shared().size()) {
      return w.fault(kBulkCopy, w.thread_name(lane) + " fills " + std::to_string(*size) +
                                    " bytes; that must be a multiple of 8 and fit in shared memory");
    }
    const auto bytes = static_cast<std::uint32_t>(*size);
    const auto place = shared_target(w, address[lane], bytes, kFillUnit, lane);
    if (!place) return;
    Store<D>& shared = w.cta().cluster().cta(place->rank).shared();
    std::memset(shared.bytes() + place->offset, 0, bytes);
    if constexpr (D::kHasTags) std::fill_n(shared.tags() + place->offset, bytes, domain::Tag{0});
    if (Observer* observer = w.cta().observer()) {
      std::uint64_t offset[kLanes] = {};
      offset[lane] = place->offset;
      Access access;
      access.space = MemorySpace::Shared, access.kind = AccessKind::Write;
      access.instr = w.pc(), access.warp = w.index(), access.mask = 1u << lane;
      access.size = bytes, access.address = offset;
      if (place->rank == w.cta().rank()) {
        observer->access(access);
      } else {
        observer->remote_access(access, place->rank);
      }
    }
  });
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulk>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_copy(ctx, instr, op, false);
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpReduceAsyncBulk>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_copy(ctx, instr, op, true);
}

// A hint: it moves nothing that a program can see.
template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkPrefetch>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>&, const Op<D>&) {};
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkCommitGroup>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) { run_of(w).cta().cluster().agent().commit(run_of(w)); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkWaitGroup>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  const auto pending = static_cast<std::uint64_t>(instr.operands[0].integer);
  op.imm = std::min<std::uint64_t>(pending, 0xffffffff);
  op.aux = instr.has(Mod::read) ? 1 : 0;
  return [](Warp<D>& w, const Op<D>& o) {
    run_of(w).cta().cluster().agent().wait(run_of(w), static_cast<std::uint32_t>(o.imm), o.aux != 0);
  };
}

template <class D>
StepFn<D> Meaning<ptx::Form::StAsync>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_send(ctx, instr, op, false);
}

template <class D>
StepFn<D> Meaning<ptx::Form::RedAsync>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_send(ctx, instr, op, true);
}

template <class D>
StepFn<D> Meaning<ptx::Form::StBulk>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0], !instr.has(Mod::shared_cta));
  op.a = at.base, op.imm = at.offset, op.aux = at.width;
  op.b = ctx.source(instr.operands[1], Type::u64);
  return &step_fill<D>;
}

PLUMB_INSTANTIATE_MEANING(CpAsyncBulk)
PLUMB_INSTANTIATE_MEANING(CpReduceAsyncBulk)
PLUMB_INSTANTIATE_MEANING(CpAsyncBulkPrefetch)
PLUMB_INSTANTIATE_MEANING(CpAsyncBulkCommitGroup)
PLUMB_INSTANTIATE_MEANING(CpAsyncBulkWaitGroup)
PLUMB_INSTANTIATE_MEANING(StAsync)
PLUMB_INSTANTIATE_MEANING(StBulk)
PLUMB_INSTANTIATE_MEANING(RedAsync)

}  // namespace plumb::machine
