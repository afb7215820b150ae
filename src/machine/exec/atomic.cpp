// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/atomic.h"

#include <algorithm>

#include "machine/exec/memory.h"
#include "machine/reduce.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

constexpr unsigned kMaxElements = 8;

// What Op::aux says. Op::imm is the address offset; the listed slots are the values, then where the old ones go (0: not
// wanted), then the swap value.
struct Shape {
  ReduceOp op = ReduceOp::Add;
  Type type = Type::b32;  // of one element
  Space space = Space::none;
  bool is_cluster = false;  // shared memory of any block of the cluster
  bool is_wide = true;      // 64-bit addresses
  unsigned count = 1;       // elements, each atomic by itself

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(type) << 8 |
           static_cast<std::uint32_t>(space) << 16 | (is_cluster ? 1u << 20 : 0) | (is_wide ? 1u << 21 : 0) |
           count << 24;
  }
  static Shape unpack(std::uint32_t aux) {
    return {static_cast<ReduceOp>(aux & 255),
            static_cast<Type>(aux >> 8 & 255),
            static_cast<Space>(aux >> 16 & 15),
            (aux >> 20 & 1) != 0,
            (aux >> 21 & 1) != 0,
            aux >> 24};
  }
  unsigned size() const { return ptx::byte_size(type); }
  bool is_remote(Space of) const { return of == Space::shared && is_cluster; }
};

template <class D>
bool update(WarpRun<D>& w, const Op<D>& op, const Shape& shape, Space space, std::uint64_t address, unsigned lane,
            unsigned element, domain::Word& old) {
  const unsigned size = shape.size(), width = storage_width(shape.type);
  const domain::Word b = w.word(w.listed(op, element), width, lane);
  const domain::Word c = w.word(w.listed(op, 2 * shape.count), width, lane);
  std::unique_lock<std::mutex> lock;
  if (space == Space::global) {
    auto& locks = w.cta().run_shared().atomics;
    lock = std::unique_lock(locks[(address >> 4) % locks.size()]);
  }
  TaggedBytes bytes;
  if (shape.is_remote(space) ? !w.load_cluster(address, size, lane, bytes)
                             : !w.load(space, address, size, lane, bytes)) {
    return false;
  }
  old = {};
  std::memcpy(&old.bits, bytes.bytes, size);
  std::copy_n(bytes.tags, size, old.tags);
  // add.f32 flushes subnormals in global memory and keeps them in shared memory.
  const Reduction reduction{shape.op, shape.type, shape.type == Type::f32 && space == Space::global};
  ReduceError error;
  const auto value = reduced(w.dom(), reduction, old, b, c, error);
  if (!value) {
    const std::string text = "in the atomic of " + w.thread_name(lane) + ": " + error.text;
    w.stop(error.code == &kUnmodelled ? Stop::Kind::Unmodelled : Stop::Kind::Defect, *error.code, text);
    return false;
  }
  std::memcpy(bytes.bytes, &value->bits, size);
  std::copy_n(value->tags, size, bytes.tags);
  return shape.is_remote(space) ? w.store_cluster(address, size, lane, bytes)
                                : w.store(space, address, size, lane, bytes);
}

template <class D>
void step_atomic(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  const unsigned total = shape.size() * shape.count;
  std::uint64_t address[kLanes];
  if (!w.addresses(op, shape.is_wide ? 8 : 4, address)) return;
  domain::Word old[kMaxElements][kLanes];
  std::uint32_t by_space[8] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    Space space = shape.space;
    if (space == Space::none) {
      space = space_of(address[lane]);
      address[lane] -= window(space);
    }
    if (space != Space::global && space != Space::shared) {
      return w.fault(kBounds,
                     w.thread_name(lane) + " applies an atomic to an address that is neither global nor shared");
    }
    if (address[lane] % total != 0) return w.report_alignment(space, address[lane], total, lane, "updates");
    by_space[static_cast<unsigned>(space)] |= 1u << lane;
    for (unsigned i = 0; i < shape.count; ++i) {
      if (!update(w, op, shape, space, address[lane] + i * shape.size(), lane, i, old[i][lane])) return;
    }
  });
  if (w.is_stopped()) return;
  for (const Space space : {Space::global, Space::shared}) {
    w.observe(AccessKind::Atomic, space, op, by_space[static_cast<unsigned>(space)], total, address);
  }
  for (unsigned i = 0; i < shape.count; ++i) {
    const Slot slot = w.listed(op, shape.count + i);
    if (slot != 0) w.write_words(slot, storage_width(shape.type), old[i]);
  }
}

template <class D>
StepFn<D> select_atomic(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool has_result) {
  const std::size_t first = has_result ? 1 : 0;
  Shape shape;
  shape.op = reduce_op_of(instr);
  shape.type = instr.type();
  shape.space = space_of(instr);
  shape.is_cluster = instr.has(Mod::shared_cluster) || shape.space == Space::none;
  if (shape.size() > 8) {
    ctx.unmodelled("128-bit atomics");
    return nullptr;
  }
  const Operand& value = instr.operands[first + 1];
  const bool is_vector = value.kind == Operand::Kind::Vector;
  std::vector<Slot> slots, results;
  const auto result = [&](const Operand& operand) {
    return operand.kind == Operand::Kind::Sink ? 0 : ctx.dest(operand);
  };
  shape.count = is_vector ? static_cast<unsigned>(value.elements.size()) : 1;
  for (unsigned i = 0; i < shape.count; ++i) {
    slots.push_back(ctx.source(is_vector ? value.elements[i] : value, shape.type));
    const bool is_wanted = has_result && instr.operands[0].kind != Operand::Kind::Sink;
    results.push_back(is_wanted ? result(is_vector ? instr.operands[0].elements[i] : instr.operands[0]) : 0);
  }
  slots.insert(slots.end(), results.begin(), results.end());
  slots.push_back(shape.op == ReduceOp::Cas ? ctx.source(instr.operands[first + 2], shape.type) : slots[0]);
  const DecodeContext::Address at = ctx.address(instr.operands[first], shape.space == Space::none);
  op.a = at.base, op.imm = at.offset, shape.is_wide = at.width == 8;
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  op.order = order_of(instr);
  // Without a scope an atomic is relaxed at gpu scope.
  if (op.order.scope == 0) op.order.scope = static_cast<std::uint8_t>(Scope::Gpu);
  return &step_atomic<D>;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Atom>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_atomic(ctx, instr, op, true);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Red>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_atomic(ctx, instr, op, false);
}

PLUMB_INSTANTIATE_MEANING(Atom)
PLUMB_INSTANTIATE_MEANING(Red)

}  // namespace plumb::machine
