// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/atomic.h"

#include <algorithm>

#include "machine/cluster.h"
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

// Makes an address one in its own space; false after a finding.
template <class D>
bool resolve(WarpRun<D>& w, Space& space, std::uint64_t& address, unsigned lane) {
  if (space == Space::none) {
    space = space_of(address);
    address -= window(space);
  }
  if (space == Space::global || space == Space::shared) return true;
  w.fault(kBounds, w.thread_name(lane) + " applies an atomic to an address that is neither global nor shared");
  return false;
}

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
  TaggedBytes bytes = {};
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
  w.cta().cluster().looked();
  domain::Word old[kMaxElements][kLanes];
  std::uint32_t by_space[8] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    Space space = shape.space;
    if (w.is_stopped() || !resolve(w, space, address[lane], lane)) return;
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

// -- 128 bits: exchange, and compare and swap. ------------------------------------------------------------------------

constexpr unsigned kWide = 16;

// One lane's 128-bit register: two planes of 64 bits.
template <class D>
TaggedBytes wide_value(WarpRun<D>& w, Slot slot, unsigned lane) {
  TaggedBytes out = {};
  for (unsigned half = 0; half < 2; ++half) {
    const domain::Word word = w.word(slot + half * 8 * kLanes, 8, lane);
    std::memcpy(out.bytes + 8 * half, &word.bits, 8);
    std::copy_n(word.tags, 8, out.tags + 8 * half);
  }
  return out;
}

bool has_tags(const TaggedBytes& value) {
  return std::any_of(value.tags, value.tags + kWide, [](domain::Tag tag) { return tag != 0; });
}

template <class D>
bool update_wide(WarpRun<D>& w, const Op<D>& op, const Shape& shape, Space space, std::uint64_t address, unsigned lane,
                 TaggedBytes& old) {
  std::unique_lock<std::mutex> lock;
  if (space == Space::global) {
    auto& locks = w.cta().run_shared().atomics;
    lock = std::unique_lock(locks[(address >> 4) % locks.size()]);
  }
  const bool is_remote = shape.is_remote(space);
  if (is_remote ? !w.load_cluster(address, kWide, lane, old) : !w.load(space, address, kWide, lane, old)) return false;
  const TaggedBytes b = wide_value(w, w.listed(op, 0), lane);
  TaggedBytes value = b;
  if (shape.op == ReduceOp::Cas) {
    if (has_tags(old) || has_tags(b)) {
      w.unmodelled("a compare-and-swap of 128 bits that are not all concrete");
      return false;
    }
    value = std::memcmp(old.bytes, b.bytes, kWide) == 0 ? wide_value(w, w.listed(op, 2), lane) : old;
  }
  return is_remote ? w.store_cluster(address, kWide, lane, value) : w.store(space, address, kWide, lane, value);
}

template <class D>
void step_wide(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (!w.addresses(op, shape.is_wide ? 8 : 4, address)) return;
  w.cta().cluster().looked();
  domain::Word old[2][kLanes];
  std::uint32_t by_space[8] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    Space space = shape.space;
    TaggedBytes bytes = {};
    if (w.is_stopped() || !resolve(w, space, address[lane], lane)) return;
    by_space[static_cast<unsigned>(space)] |= 1u << lane;
    if (!update_wide(w, op, shape, space, address[lane], lane, bytes)) return;
    for (unsigned half = 0; half < 2; ++half) {
      std::memcpy(&old[half][lane].bits, bytes.bytes + 8 * half, 8);
      std::copy_n(bytes.tags + 8 * half, 8, old[half][lane].tags);
    }
  });
  if (w.is_stopped()) return;
  for (const Space space : {Space::global, Space::shared}) {
    w.observe(AccessKind::Atomic, space, op, by_space[static_cast<unsigned>(space)], kWide, address);
  }
  const Slot slot = w.listed(op, 1);
  for (unsigned half = 0; half < 2 && slot != 0; ++half) w.write_words(slot + half * 8 * kLanes, 8, old[half]);
}

// The listed slots: the value (or what is compared), the old value, the swap value.
template <class D>
StepFn<D> select_wide(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, Shape shape, std::size_t first) {
  const Slot value = ctx.source(instr.operands[first + 1], shape.type);
  const bool is_wanted = first != 0 && instr.operands[0].kind != Operand::Kind::Sink;
  const Slot old = is_wanted ? ctx.dest(instr.operands[0]) : 0;
  const Slot swap = shape.op == ReduceOp::Cas ? ctx.source(instr.operands[first + 2], shape.type) : value;
  const DecodeContext::Address at = ctx.address(instr.operands[first], shape.space == Space::none);
  op.a = at.base, op.imm = at.offset, shape.is_wide = at.width == 8;
  op.list = ctx.list({value, old, swap});
  op.aux = shape.pack();
  op.order = order_of(instr);
  if (op.order.scope == 0) op.order.scope = static_cast<std::uint8_t>(Scope::Gpu);
  return &step_wide<D>;
}

template <class D>
StepFn<D> select_atomic(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool has_result) {
  const std::size_t first = has_result ? 1 : 0;
  Shape shape;
  shape.op = reduce_op_of(instr);
  shape.type = instr.type();
  shape.space = space_of(instr);
  shape.is_cluster = instr.has(Mod::shared_cluster) || shape.space == Space::none;
  if (shape.size() == kWide) return select_wide(ctx, instr, op, shape, first);
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
