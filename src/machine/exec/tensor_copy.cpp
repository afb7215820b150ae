// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tensor_copy.h"

#include <algorithm>
#include <string>

#include "machine/exec/operands.h"
#include "machine/exec/tensormap_replace.h"
#include "machine/tensor_box.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

enum class Route : std::uint8_t { Load, Store, Reduce, Prefetch };

// The list: base and offset of the map, of the tile in shared memory (prefetches: none) and of the mbarrier (loads),
// then coordinates, then offsets.
enum : unsigned { kMap = 0, kTile = 2, kBarrier = 4 };

// What Op::aux says.
struct Shape {
  Route route = Route::Load;
  TensorMode mode = TensorMode::Tile;
  unsigned dims = 1;
  bool is_multicast = false;
  bool is_tile_wide = false, is_barrier_wide = false;  // 64-bit addresses
  bool is_paired = false;                              // the mbarrier may be the other CTA's of the pair
  ReduceOp op = ReduceOp::Add;

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(route) | static_cast<std::uint32_t>(mode) << 2 | dims << 4 |
           (is_multicast ? 1u << 8 : 0) | (is_tile_wide ? 1u << 9 : 0) | (is_barrier_wide ? 1u << 10 : 0) |
           (is_paired ? 1u << 11 : 0) | static_cast<std::uint32_t>(op) << 16;
  }
  static Shape unpack(std::uint32_t aux) {
    return {static_cast<Route>(aux & 3),
            static_cast<TensorMode>(aux >> 2 & 3),
            aux >> 4 & 15,
            (aux >> 8 & 1) != 0,
            (aux >> 9 & 1) != 0,
            (aux >> 10 & 1) != 0,
            (aux >> 11 & 1) != 0,
            static_cast<ReduceOp>(aux >> 16)};
  }
  unsigned coordinates() const { return mode == TensorMode::Gather4 ? 5 : dims; }
  unsigned offsets() const {
    const bool has_offsets = mode == TensorMode::Im2col && (route == Route::Load || route == Route::Prefetch);
    return has_offsets ? dims - 2 : 0;
  }
  unsigned first_coordinate() const { return route == Route::Prefetch ? 2 : route == Route::Load ? 6 : 4; }
};

// The reduction of an element type, as the hardware has it; empty when it has none.
std::optional<Reduction> reduction_of(ReduceOp op, TensorType type) {
  constexpr Type kTypes[kTensorTypes] = {Type::u8,  Type::u16, Type::u32, Type::s32,  Type::u64, Type::s64, Type::f16,
                                         Type::f32, Type::f32, Type::f64, Type::bf16, Type::f32, Type::f32};
  const Reduction out{op, kTypes[static_cast<unsigned>(type)],
                      type == TensorType::F32Ftz || type == TensorType::Tf32Ftz};
  const bool is_half = type == TensorType::F16 || type == TensorType::Bf16;
  const bool is_word = type == TensorType::U32 || type == TensorType::S32 || type == TensorType::U64;
  switch (op) {
    case ReduceOp::Add:
      if (is_word || is_float(type)) return out;
      break;
    case ReduceOp::Min:
    case ReduceOp::Max:
      if (is_word || is_half || type == TensorType::S64) return out;
      break;
    case ReduceOp::Inc:
    case ReduceOp::Dec:
      if (type == TensorType::U32) return out;
      break;
    case ReduceOp::And:
    case ReduceOp::Or:
    case ReduceOp::Xor:
      if (is_word) return out;
      break;
    default:
      break;
  }
  return std::nullopt;
}

// One lane's operands.
struct Request {
  std::uint64_t map = 0;  // generic
  std::uint64_t tile = 0, barrier = 0;
  std::uint32_t ranks = 0;  // multicast
  TensorAccess access;
};

// Of a kernel. No tensor lies so low: an address below is one of the parameter space that was not made generic.
constexpr std::uint64_t kMostParameterBytes = 32768;

template <class D>
std::string at_map(WarpRun<D>& w, const Request& request, unsigned lane) {
  const Space space = space_of(request.map);
  const char* where = space == Space::param      ? "in a kernel parameter"
                      : space == Space::constant ? "in constant memory"
                                                 : "in global memory";
  return w.thread_name(lane) + " copies by the tensor map " + where;
}

template <class D>
std::optional<TensorMap> read_map(WarpRun<D>& w, const Request& request, unsigned lane) {
  const Space space = space_of(request.map);
  if (space != Space::global && space != Space::param && space != Space::constant) {
    w.fault(kTensorMap, w.thread_name(lane) +
                            " copies by a tensor map that is neither a kernel parameter nor in "
                            "constant or global memory");
    return std::nullopt;
  }
  if (space == Space::global && request.map < kMostParameterBytes) {
    w.fault(kTensorMap,
            w.thread_name(lane) + " copies by a tensor map at the address " + std::to_string(request.map) +
                ", which is a parameter's place among the parameters: `cvta.param.u64` makes it an address");
    return std::nullopt;
  }
  const auto image = load_tensor_map(w, space, request.map - window(space), lane);
  if (!image) return std::nullopt;
  std::string why;
  std::optional<TensorMap> map = decode(*image, why);
  if (!map) w.fault(kTensorMap, at_map(w, request, lane) + ", which no driver encodes: " + why);
  return map;
}

template <class D>
std::optional<TensorPlan> plan_of(WarpRun<D>& w, const TensorMap& map, const Request& request, unsigned lane) {
  TensorError error;
  TensorPlan plan = plan_tensor_copy(map, request.access, error);
  switch (error.kind) {
    case TensorError::Kind::None:
      return plan;
    case TensorError::Kind::Map:
      w.fault(kTensorMap, at_map(w, request, lane) + ": " + error.text);
      break;
    case TensorError::Kind::Coordinate:
      w.fault(kTensorCopy, w.thread_name(lane) + ": " + error.text);
      break;
    case TensorError::Kind::Unmodelled:
      w.unmodelled(error.text);
      break;
  }
  return std::nullopt;
}

// The bytes of shared memory that the tile spans; a tile without pieces still has a place.
std::uint32_t extent_of(const TensorPlan& plan, std::uint32_t tile) {
  std::uint32_t end = tile;
  for (const TensorPiece& piece : plan.pieces) end = std::max(end, piece.shared + piece.size);
  return std::max(end - tile, 16u);
}

// Fills in the pieces, with the tile in the CTA of a rank; false after a finding.
template <class D>
bool add_pieces(WarpRun<D>& w, const TensorMap& map, const TensorPlan& plan, std::uint32_t rank, bool is_load,
                AsyncOp<D>& op, unsigned lane) {
  op.pieces.reserve(plan.pieces.size());
  for (const TensorPiece& piece : plan.pieces) {
    AsyncPiece out;
    AsyncEnd& global = is_load ? out.from : out.to;
    (is_load ? out.to : out.from) = {nullptr, rank, piece.shared};
    out.size = piece.size, out.is_fill = piece.is_fill, out.fill = fill_pattern(map);
    if (!piece.is_fill) {
      domain::Buffer* buffer = w.global(piece.global, piece.size);
      if (buffer == nullptr) {
        w.report_bounds(Space::global, piece.global, piece.size, lane, is_load ? "reads" : "writes");
        return false;
      }
      global = {buffer, 0, piece.global - buffer->address};
    }
    op.pieces.push_back(out);
  }
  return true;
}

std::uint64_t global_map(const Request& request) { return space_of(request.map) == Space::global ? request.map : 0; }

template <class D>
void load_into(WarpRun<D>& w, const TensorMap& map, const TensorPlan& plan, const Request& request,
               std::uint64_t rank_base, std::uint64_t barrier_base, unsigned lane) {
  const std::uint32_t size = extent_of(plan, request.access.shared);
  const auto tile = shared_target(w, rank_base | request.access.shared, size, kTensorTileAlignment, lane);
  SharedPlace barrier;
  if (!tile || mbarrier_at(w, barrier_base | request.barrier, false, lane, barrier) == nullptr) return;
  AsyncOp<D> op;
  op.kind = AsyncKind::TensorCopy;
  const bool is_tf32 = map.type == TensorType::Tf32 || map.type == TensorType::Tf32Ftz;
  op.effect = is_tf32 ? AsyncEffect::RoundTf32 : AsyncEffect::Copy;
  op.completion = Completion::CompleteTx;
  op.barrier_rank = barrier.rank, op.barrier_offset = barrier.offset, op.barrier_bytes = plan.bytes;
  op.map = global_map(request);
  if (add_pieces(w, map, plan, tile->rank, true, op, lane)) w.cta().cluster().agent().issue(w, lane, std::move(op));
}

// The tile and its mbarrier lie in one CTA, those of a multicast in each of its CTAs, at the same offsets. Of a pair,
// the mbarrier lies in the CTA with the parity of the rank that is named, for each tile in its own pair.
template <class D>
void load_tile(WarpRun<D>& w, const TensorMap& map, const TensorPlan& plan, Request request, const Shape& shape,
               unsigned lane) {
  constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kRankShift) - 1;
  Cluster<D>& cluster = w.cta().cluster();
  const auto tile_rank = static_cast<std::uint32_t>(request.tile >> kRankShift);
  const auto barrier_rank = static_cast<std::uint32_t>(request.barrier >> kRankShift);
  request.barrier &= kOffsetMask;
  const auto load = [&](std::uint32_t rank) {
    const std::uint32_t barrier = shape.is_paired ? (rank & ~1U) | (barrier_rank & 1) : rank;
    load_into(w, map, plan, request, std::uint64_t{rank} << kRankShift, std::uint64_t{barrier} << kRankShift, lane);
  };
  if (!shape.is_multicast) {
    if (shape.is_paired ? tile_rank / 2 != barrier_rank / 2 : tile_rank != barrier_rank) {
      return w.fault(kTensorCopy, w.thread_name(lane) +
                                      " writes the shared memory of one block and signals an mbarrier of another" +
                                      (shape.is_paired ? " that is not of its pair" : ""));
    }
    return load(tile_rank);
  }
  if (request.ranks == 0 || request.ranks >> cluster.size() != 0) {
    return w.fault(kTensorCopy, w.thread_name(lane) + " multicasts to the ranks of mask " +
                                    std::to_string(request.ranks) + " in a cluster of " +
                                    std::to_string(cluster.size()));
  }
  for (std::uint32_t rank = 0; rank < cluster.size() && !w.is_stopped(); ++rank) {
    if ((request.ranks >> rank & 1) != 0) load(rank);
  }
}

template <class D>
void store_tile(WarpRun<D>& w, const TensorMap& map, const TensorPlan& plan, const Request& request,
                const std::optional<Reduction>& reduction, unsigned lane) {
  const std::uint32_t size = extent_of(plan, request.access.shared);
  const auto tile = shared_bytes(w, request.tile, size, kTensorTileAlignment, lane, "reads");
  if (!tile) return;
  if (tile->rank != w.cta().rank()) {
    return w.fault(kTensorCopy, w.thread_name(lane) + " copies from the shared memory of another block");
  }
  AsyncOp<D> op;
  op.kind = reduction ? AsyncKind::TensorReduce : AsyncKind::TensorCopy;
  op.effect = reduction ? AsyncEffect::Reduce : AsyncEffect::Copy;
  if (reduction) op.reduction = *reduction;
  op.completion = Completion::BulkGroup;
  op.map = global_map(request);
  if (add_pieces(w, map, plan, tile->rank, false, op, lane)) w.cta().cluster().agent().issue(w, lane, std::move(op));
}

template <class D>
void copy_tile(WarpRun<D>& w, const Shape& shape, Request request, unsigned lane) {
  const auto map = read_map(w, request, lane);
  if (!map) return;
  request.access.mode = shape.mode, request.access.dims = shape.dims;
  request.access.is_store = shape.route == Route::Store || shape.route == Route::Reduce;
  if (shape.route != Route::Prefetch) {
    if (!to_shared(w, request.tile, lane) || !to_shared(w, request.barrier, lane)) return;
    request.access.shared = static_cast<std::uint32_t>(request.tile & ((1u << kRankShift) - 1));
  }
  if (request.access.shared % kTensorTileAlignment != 0) {
    return w.report_alignment(Space::shared, request.access.shared, kTensorTileAlignment, lane,
                              request.access.is_store ? "reads" : "writes");
  }
  const auto plan = plan_of(w, *map, request, lane);
  if (!plan) return;
  std::optional<Reduction> reduction;
  switch (shape.route) {
    case Route::Load:
      return load_tile(w, *map, *plan, request, shape, lane);
    case Route::Reduce:
      reduction = reduction_of(shape.op, map->type);
      if (!reduction) {
        return w.fault(kTensorCopy, w.thread_name(lane) + ": there is no such reduction of " +
                                        std::string(name_of(map->type)) + " elements");
      }
      [[fallthrough]];
    case Route::Store:
      return store_tile(w, *map, *plan, request, reduction, lane);
    case Route::Prefetch:
      break;  // moves nothing that a program can see
  }
}

template <class D>
void step_copy(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const Shape shape = Shape::unpack(op.aux);
  const bool is_load = shape.route == Route::Load;
  std::uint64_t map[kLanes], tile[kLanes] = {}, barrier[kLanes] = {};
  if (!listed_addresses(w, op, kMap, 8, map)) return;
  if (shape.route != Route::Prefetch && !listed_addresses(w, op, kTile, shape.is_tile_wide ? 8 : 4, tile)) return;
  if (is_load && !listed_addresses(w, op, kBarrier, shape.is_barrier_wide ? 8 : 4, barrier)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    Request request{map[lane], tile[lane], barrier[lane], 0, {}};
    unsigned at = shape.first_coordinate();
    for (unsigned i = 0; i < shape.coordinates(); ++i) {
      const auto value = w.concrete(w.listed(op, at++), 4, lane, "a coordinate of a tensor");
      if (!value) return;
      request.access.coordinates[i] = static_cast<std::int32_t>(*value);
    }
    for (unsigned i = 0; i < shape.offsets(); ++i) {
      const auto value = w.concrete(w.listed(op, at++), 2, lane, "an offset of an im2col copy");
      if (!value) return;
      request.access.offsets[i] = static_cast<std::uint16_t>(*value);
    }
    if (shape.is_multicast) {
      const auto ranks = w.concrete(op.c, 2, lane, "the mask of a multicast");
      if (!ranks) return;
      request.ranks = static_cast<std::uint32_t>(*ranks);
    }
    copy_tile(w, shape, request, lane);
  });
}

std::optional<TensorMode> mode_of(const ptx::Instr& instr) {
  if (instr.has(Mod::im2col_w) || instr.has(Mod::im2col_w_128)) return std::nullopt;
  if (instr.has(Mod::im2col) || instr.has(Mod::im2col_no_offs)) return TensorMode::Im2col;
  if (instr.has(Mod::tile_gather4) || instr.has(Mod::tile_scatter4)) return TensorMode::Gather4;
  return TensorMode::Tile;
}

unsigned dims_of(const ptx::Instr& instr) {
  constexpr Mod kDims[] = {Mod::_1d, Mod::_2d, Mod::_3d, Mod::_4d, Mod::_5d};
  for (unsigned i = 0; i < 5; ++i) {
    if (instr.has(kDims[i])) return i + 1;
  }
  return 0;
}

template <class D>
StepFn<D> select_copy(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, Route route) {
  const auto mode = mode_of(instr);
  if (!mode) return ctx.unmodelled("im2col copies along W"), nullptr;
  Shape shape;
  shape.route = route, shape.mode = *mode, shape.dims = dims_of(instr);
  shape.is_multicast = instr.has(Mod::multicast_cluster), shape.is_paired = instr.has(Mod::cta_group_2);
  if (route == Route::Reduce) shape.op = reduce_op_of(instr);
  // Loads name the tile first, stores the map.
  const Operand& map = instr.operands[route == Route::Load ? 1 : 0];
  std::vector<Slot> slots;
  const DecodeContext::Address at = ctx.address(map, true);
  Operand offset;
  offset.kind = Operand::Kind::Int;
  offset.integer = static_cast<std::int64_t>(at.offset);
  slots = {at.base, ctx.source(offset, Type::b64)};
  if (route != Route::Prefetch) {
    shape.is_tile_wide = add_address(ctx, instr.operands[route == Route::Load ? 0 : 1], slots) == 8;
  }
  if (route == Route::Load) shape.is_barrier_wide = add_address(ctx, instr.operands[2], slots) == 8;
  const Operand& coordinates = map.elements[0];
  if (coordinates.elements.size() != shape.coordinates()) {
    ctx.unmodelled("this number of coordinates");
    return nullptr;
  }
  for (const Operand& coordinate : coordinates.elements) slots.push_back(ctx.source(coordinate, Type::s32));
  std::size_t next = route == Route::Load ? 3 : 1;
  if (shape.offsets() > 0) {
    const Operand& offsets = instr.operands[next++];
    const bool is_vector = offsets.kind == Operand::Kind::Vector;
    for (unsigned i = 0; i < shape.offsets(); ++i) {
      slots.push_back(ctx.source(is_vector ? offsets.elements[i] : offsets, Type::u16));
    }
  }
  if (shape.is_multicast) op.c = ctx.source(instr.operands[next], Type::u16);
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  return &step_copy<D>;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkTensorLoad>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_copy(ctx, instr, op, Route::Load);
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkTensorStore>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_copy(ctx, instr, op, Route::Store);
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpReduceAsyncBulkTensor>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_copy(ctx, instr, op, Route::Reduce);
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncBulkPrefetchTensor>::select(DecodeContext& ctx, const ptx::Instr& instr,
                                                                Op<D>& op) {
  return select_copy(ctx, instr, op, Route::Prefetch);
}

PLUMB_INSTANTIATE_MEANING(CpAsyncBulkTensorLoad)
PLUMB_INSTANTIATE_MEANING(CpAsyncBulkTensorStore)
PLUMB_INSTANTIATE_MEANING(CpReduceAsyncBulkTensor)
PLUMB_INSTANTIATE_MEANING(CpAsyncBulkPrefetchTensor)

}  // namespace plumb::machine
