// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/atomic.h"

#include <algorithm>

#include "machine/exec/memory.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using domain::Format;
using ptx::Mod;
using ptx::Space;
using ptx::Type;

enum class AtomOp : std::uint8_t { And, Or, Xor, Exch, Cas, Add, Inc, Dec, Min, Max };

// Op::imm is the address offset, Op::list the values [b, c], Op::d the old value (0: not wanted).
struct Shape {
  AtomOp op = AtomOp::Add;
  Type type = Type::b32;
  Space space = Space::none;
  unsigned address_width = 8;

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(type) << 8 |
           static_cast<std::uint32_t>(space) << 16 | address_width << 24;
  }
  static Shape unpack(std::uint32_t aux) {
    return {static_cast<AtomOp>(aux & 255), static_cast<Type>(aux >> 8 & 255), static_cast<Space>(aux >> 16 & 255),
            aux >> 24};
  }
};

std::optional<Format> float_format(Type type) {
  switch (type) {
    case Type::f32:
      return Format::F32;
    case Type::f64:
      return Format::F64;
    case Type::f16:
    case Type::f16x2:
      return Format::F16;
    case Type::bf16:
    case Type::bf16x2:
      return Format::BF16;
    default:
      return std::nullopt;
  }
}

std::uint64_t integer_result(AtomOp op, Type type, std::uint64_t old, std::uint64_t b, std::uint64_t c) {
  const unsigned shift = 64 - 8 * ptx::byte_size(type);
  const auto as_signed = [&](std::uint64_t x) { return static_cast<std::int64_t>(x << shift) >> shift; };
  const bool is_less = ptx::is_signed(type) ? as_signed(b) < as_signed(old) : b < old;
  switch (op) {
    case AtomOp::And:
      return old & b;
    case AtomOp::Or:
      return old | b;
    case AtomOp::Xor:
      return old ^ b;
    case AtomOp::Exch:
      return b;
    case AtomOp::Cas:
      return old == b ? c : old;
    case AtomOp::Add:
      return (old + b) << shift >> shift;
    case AtomOp::Inc:
      return old >= b ? 0 : old + 1;
    case AtomOp::Dec:
      return old == 0 || old > b ? b : old - 1;
    case AtomOp::Min:
      return is_less ? b : old;
    case AtomOp::Max:
      return is_less ? old : b;
  }
  return old;
}

domain::Word part_of(const domain::Word& word, unsigned begin, unsigned size) {
  domain::Word out;
  out.bits = word.bits >> (8 * begin);
  if (size < 8) out.bits &= (std::uint64_t{1} << (8 * size)) - 1;
  std::copy_n(word.tags + begin, size, out.tags);
  return out;
}

template <class D>
domain::Word float_sum(D& dom, Format format, Type type, bool flushes, const domain::Word& a, const domain::Word& b) {
  const unsigned size = domain::byte_size(format);
  domain::FloatMode mode;
  mode.ftz = flushes;
  domain::Word out;
  for (unsigned begin = 0; begin < ptx::byte_size(type); begin += size) {
    const auto x = dom.from_word(format, part_of(a, begin, size)), y = dom.from_word(format, part_of(b, begin, size));
    const domain::Word sum = dom.to_word(format, dom.add(format, x, y, mode));
    out.bits |= sum.bits << (8 * begin);
    std::copy_n(sum.tags, size, out.tags + begin);
  }
  return out;
}

// The new value; empty after a fault.
template <class D>
std::optional<domain::Word> updated(WarpRun<D>& w, const Shape& shape, Space space, unsigned lane,
                                    const domain::Word& old, const domain::Word& b, const domain::Word& c) {
  if (shape.op == AtomOp::Exch) return b;
  const unsigned size = ptx::byte_size(shape.type);
  if (const auto format = float_format(shape.type)) {
    // add.f32 flushes subnormals in global memory and keeps them in shared memory.
    const bool flushes = shape.type == Type::f32 && space == Space::global;
    return float_sum(w.dom(), *format, shape.type, flushes, old, b);
  }
  for (const domain::Word* word : {&old, &b, &c}) {
    for (unsigned i = 0; i < size; ++i) {
      if (word->tags[i] == 0) continue;
      if (domain::tag_value(word->tags[i]) == domain::kUndefined) {
        w.fault(kUndefined, "an operand of the atomic of " + w.thread_name(lane) + " was never written");
      } else {
        w.unmodelled("an integer atomic on the bits of an abstract float");
      }
      return std::nullopt;
    }
  }
  return domain::Word{.bits = integer_result(shape.op, shape.type, old.bits, b.bits, c.bits)};
}

template <class D>
bool update(WarpRun<D>& w, const Op<D>& op, const Shape& shape, Space space, std::uint64_t address, unsigned lane,
            domain::Word& old) {
  const unsigned size = ptx::byte_size(shape.type), width = storage_width(shape.type);
  const domain::Word b = w.word(w.listed(op, 0), width, lane), c = w.word(w.listed(op, 1), width, lane);
  std::unique_lock<std::mutex> lock;
  if (space == Space::global) {
    auto& locks = w.cta().run_shared().atomics;
    lock = std::unique_lock(locks[(address >> 4) % locks.size()]);
  }
  TaggedBytes bytes;
  if (!w.load(space, address, size, lane, bytes)) return false;
  old = {};
  std::memcpy(&old.bits, bytes.bytes, size);
  std::copy_n(bytes.tags, size, old.tags);
  const auto value = updated(w, shape, space, lane, old, b, c);
  if (!value) return false;
  std::memcpy(bytes.bytes, &value->bits, size);
  std::copy_n(value->tags, size, bytes.tags);
  return w.store(space, address, size, lane, bytes);
}

template <class D>
void step_atomic(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (!w.addresses(op, shape.address_width, address)) return;
  domain::Word old[kLanes];
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
    by_space[static_cast<unsigned>(space)] |= 1u << lane;
    update(w, op, shape, space, address[lane], lane, old[lane]);
  });
  if (w.is_stopped()) return;
  for (const Space space : {Space::global, Space::shared}) {
    w.observe(AccessKind::Atomic, space, op, by_space[static_cast<unsigned>(space)], ptx::byte_size(shape.type),
              address);
  }
  if (op.d != 0) w.write_words(op.d, storage_width(shape.type), old);
}

AtomOp op_of(const ptx::Instr& instr) {
  constexpr std::pair<Mod, AtomOp> kOps[] = {
      {Mod::and_, AtomOp::And},  {Mod::or_, AtomOp::Or},  {Mod::xor_, AtomOp::Xor},
      {Mod::exch, AtomOp::Exch}, {Mod::cas, AtomOp::Cas}, {Mod::inc, AtomOp::Inc},
      {Mod::dec, AtomOp::Dec},   {Mod::min, AtomOp::Min}, {Mod::max, AtomOp::Max}};
  for (const auto& [mod, op] : kOps) {
    if (instr.has(mod)) return op;
  }
  return AtomOp::Add;
}

template <class D>
StepFn<D> select_atomic(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool has_result) {
  const std::size_t first = has_result ? 1 : 0;
  Shape shape;
  shape.op = op_of(instr);
  shape.type = instr.type();
  shape.space = space_of(instr);
  const ptx::Operand& value = instr.operands[first + 1];
  if (value.kind == ptx::Operand::Kind::Vector || ptx::byte_size(shape.type) > 8 || instr.has(Mod::shared_cluster)) {
    ctx.unmodelled("vector, 128-bit and cluster atomics");
    return nullptr;
  }
  if (float_format(shape.type) && shape.op != AtomOp::Add && shape.op != AtomOp::Exch) {
    ctx.unmodelled("minimum and maximum of floats as an atomic");
    return nullptr;
  }
  if (has_result && instr.operands[0].kind != ptx::Operand::Kind::Sink) op.d = ctx.dest(instr.operands[0]);
  const DecodeContext::Address at = ctx.address(instr.operands[first], shape.space == Space::none);
  op.a = at.base, op.imm = at.offset, shape.address_width = at.width;
  const Slot b = ctx.source(value, shape.type);
  const Slot c = shape.op == AtomOp::Cas ? ctx.source(instr.operands[first + 2], shape.type) : b;
  op.list = ctx.list({b, c});
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
