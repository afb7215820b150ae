// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/move.h"

#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Operand;

template <class D, class T>
void step_copy(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a)) {
      domain::Word words[kLanes];
      for_lanes(w.mask(), [&](unsigned lane) { words[lane] = w.word(op.a, sizeof(T), lane); });
      return w.write_words(op.d, sizeof(T), words);
    }
  }
  const Lane<T>* in = w.template lanes<T>(op.a);
  write_lanes<D, T>(w, op.d, [=](unsigned lane) { return in[lane]; });
}

template <class D>
void step_copy_pred(Warp<D>& w, const Op<D>& op) {
  if (w.is_plain(op.r)) return w.write_pred(op.p, w.bits(op.r));
  typename D::Bool values[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) { values[lane] = w.boolean(op.r, lane); });
  if (!w.is_stopped()) w.write_pred(op.p, values);
}

// Elements of a pack or unpack: Op::aux holds their number, Op::imm their bytes and, from bit 8, two bits a register
// for its storage width (0: `_`).
unsigned element_width(std::uint64_t imm, unsigned index) {
  const unsigned code = imm >> (8 + 2 * index) & 3;
  return code == 0 ? 0 : 1u << code;
}

template <class D>
void step_pack(Warp<D>& w, const Op<D>& op) {
  const unsigned size = op.imm & 15, width = size * op.aux;
  domain::Word words[kLanes];
  for (unsigned i = 0; i < op.aux; ++i) {
    const Slot slot = w.listed(op, i);
    const unsigned from = element_width(op.imm, i);
    for_lanes(w.mask(), [&](unsigned lane) {
      const domain::Word part = w.word(slot, from, lane);
      const std::uint64_t bits = size == 8 ? part.bits : part.bits & ((std::uint64_t{1} << (8 * size)) - 1);
      words[lane].bits |= bits << (8 * size * i);
      for (unsigned k = 0; k < size; ++k) words[lane].tags[i * size + k] = part.tags[k];
    });
  }
  w.write_words(op.d, width, words);
}

template <class D>
void step_unpack(Warp<D>& w, const Op<D>& op) {
  const unsigned size = op.imm & 15, width = size * op.aux;
  domain::Word whole[kLanes];
  for_lanes(w.mask(), [&](unsigned lane) { whole[lane] = w.word(op.a, width, lane); });
  for (unsigned i = 0; i < op.aux; ++i) {
    const unsigned to = element_width(op.imm, i);
    if (to == 0) continue;
    domain::Word words[kLanes];
    for_lanes(w.mask(), [&](unsigned lane) {
      words[lane].bits = whole[lane].bits >> (8 * size * i);
      if (size < 8) words[lane].bits &= (std::uint64_t{1} << (8 * size)) - 1;
      for (unsigned k = 0; k < size; ++k) words[lane].tags[k] = whole[lane].tags[i * size + k];
    });
    w.write_words(w.listed(op, i), to, words);
  }
}

// The same on plain registers whose storage is the element's.
template <class D, class Whole, class Part>
void step_pack_plain(Warp<D>& w, const Op<D>& op) {
  constexpr unsigned kCount = sizeof(Whole) / sizeof(Part);
  if constexpr (D::kHasTags) {
    for (unsigned i = 0; i < kCount; ++i) {
      if (!w.is_plain(w.listed(op, i))) return step_pack(w, op);
    }
  }
  const Lane<Part>* in[kCount];
  for (unsigned i = 0; i < kCount; ++i) in[i] = w.template lanes<Part>(w.listed(op, i));
  write_lanes<D, Whole>(w, op.d, [&](unsigned lane) {
    Whole out = 0;
    for (unsigned i = 0; i < kCount; ++i) out |= static_cast<Whole>(Whole{in[i][lane]} << (8 * sizeof(Part) * i));
    return out;
  });
}

template <class D, class Whole, class Part>
void step_unpack_plain(Warp<D>& w, const Op<D>& op) {
  constexpr unsigned kCount = sizeof(Whole) / sizeof(Part);
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a)) return step_unpack(w, op);
  }
  const Lane<Whole>* in = w.template lanes<Whole>(op.a);
  for (unsigned i = 0; i < kCount; ++i) {
    if (element_width(op.imm, i) == 0) continue;
    write_lanes<D, Part>(w, w.listed(op, i),
                         [=](unsigned lane) { return static_cast<Part>(in[lane] >> (8 * sizeof(Part) * i)); });
  }
}

// 128 bits are two planes of 64.
template <class D>
void step_copy_planes(Warp<D>& w, const Op<D>& op) {
  for (unsigned i = 0; i < 2; ++i) {
    Op<D> plane;
    plane.d = w.listed(op, i), plane.a = w.listed(op, 2 + i);
    if (plane.d != 0) step_copy<D, std::uint64_t>(w, plane);
  }
}

// A vector: all elements are read before one is written. Op::aux: how many, Op::imm: their storage bytes.
template <class D>
void step_copy_vector(Warp<D>& w, const Op<D>& op) {
  const auto width = static_cast<unsigned>(op.imm);
  domain::Word words[4][kLanes];
  for (unsigned i = 0; i < op.aux; ++i) {
    const Slot from = w.listed(op, op.aux + i);
    for_lanes(w.mask(), [&](unsigned lane) { words[i][lane] = w.word(from, width, lane); });
  }
  for (unsigned i = 0; i < op.aux; ++i) w.write_words(w.listed(op, i), width, words[i]);
}

// The special registers that count time.
bool is_time(ptx::Special special) {
  switch (special) {
    case ptx::Special::clock:
    case ptx::Special::clock_hi:
    case ptx::Special::clock64:
    case ptx::Special::globaltimer:
    case ptx::Special::globaltimer_lo:
    case ptx::Special::globaltimer_hi:
      return true;
    default:
      return false;
  }
}

// Time differs from run to run: here it only goes on, and what depends on it is no function of the inputs. Op::aux:
// whether it is the upper half.
template <class D, class T>
void step_time(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  if constexpr (D::kHasTags) {
    w.unmodelled("a clock, whose value differs from run to run");
  } else {
    const std::uint64_t time = w.cta().next_time() >> (op.aux != 0 ? 32 : 0);
    write_lanes<D, T>(w, op.d, [=](unsigned) { return static_cast<T>(time); });
  }
}

template <class D>
StepFn<D> select_vector(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const Operand& to = instr.operands[0];
  const Operand& from = instr.operands[1];
  const ptx::Type type = instr.type();
  const std::size_t count = instr.has(ptx::Mod::v2) ? 2 : 4;
  const bool is_special = from.kind == Operand::Kind::Special && from.axis == ptx::kAllAxes && type == ptx::Type::u32;
  const bool is_vector = from.kind == Operand::Kind::Vector && from.elements.size() == count;
  if (to.elements.size() != count || !(is_special || is_vector)) return ctx.unmodelled("`mov` of this vector"), nullptr;
  std::vector<Slot> slots;
  for (const Operand& element : to.elements) slots.push_back(ctx.dest(element));
  for (std::uint8_t i = 0; i < count; ++i) {
    Operand element = from;
    if (is_special) element.axis = i;
    slots.push_back(ctx.source(is_special ? element : from.elements[i], type));
  }
  op.list = ctx.list(slots);
  op.aux = static_cast<std::uint32_t>(count), op.imm = storage_width(type);
  return &step_copy_vector<D>;
}

template <class D>
StepFn<D> pack_step(unsigned whole, unsigned size, bool is_exact, bool is_pack) {
  if (is_exact && whole == 4 && size == 2) {
    return is_pack ? &step_pack_plain<D, std::uint32_t, std::uint16_t>
                   : &step_unpack_plain<D, std::uint32_t, std::uint16_t>;
  }
  if (is_exact && whole == 8 && size == 2) {
    return is_pack ? &step_pack_plain<D, std::uint64_t, std::uint16_t>
                   : &step_unpack_plain<D, std::uint64_t, std::uint16_t>;
  }
  if (is_exact && whole == 8 && size == 4) {
    return is_pack ? &step_pack_plain<D, std::uint64_t, std::uint32_t>
                   : &step_unpack_plain<D, std::uint64_t, std::uint32_t>;
  }
  return is_pack ? &step_pack<D> : &step_unpack<D>;
}

template <class D>
StepFn<D> select_planes(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const auto planes = [&](const Operand& operand, bool is_dest) {
    std::vector<Slot> slots;
    if (operand.kind == Operand::Kind::Vector && operand.elements.size() == 2) {
      for (const Operand& element : operand.elements) {
        slots.push_back(is_dest ? ctx.dest(element) : ctx.source(element, ptx::Type::b64));
      }
      return slots;
    }
    const Slot slot = is_dest ? ctx.dest(operand) : ctx.source(operand, ptx::Type::b128);
    slots = {slot, slot + 8 * kLanes};
    return slots;
  };
  std::vector<Slot> slots = planes(instr.operands[0], true);
  for (const Slot slot : planes(instr.operands[1], false)) slots.push_back(slot);
  op.list = ctx.list(slots);
  return &step_copy_planes<D>;
}

template <class D>
StepFn<D> select_pack(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool is_pack) {
  const Operand& vector = instr.operands[is_pack ? 1 : 0];
  const auto count = static_cast<unsigned>(vector.elements.size());
  const unsigned whole = ptx::byte_size(instr.type()), size = count == 0 ? 0 : whole / count;
  if (size == 0 || size * count != whole || count > 8) {
    ctx.unmodelled("a vector of " + std::to_string(count) + " elements in " + std::to_string(whole) + " bytes");
    return nullptr;
  }
  const ptx::Type type = size == 1   ? ptx::Type::b8
                         : size == 2 ? ptx::Type::b16
                         : size == 4 ? ptx::Type::b32
                                     : ptx::Type::b64;
  std::vector<Slot> slots;
  op.aux = count, op.imm = size;
  bool is_exact = true;
  for (unsigned i = 0; i < count; ++i) {
    const Operand& element = vector.elements[i];
    unsigned width = ctx.width(element);
    if (width == 0 && element.kind != Operand::Kind::Sink) width = storage_width(type);
    if (width != 0) op.imm |= static_cast<std::uint64_t>(std::countr_zero(width)) << (8 + 2 * i);
    is_exact = is_exact && (width == size || width == 0);
    slots.push_back(is_pack ? ctx.source(element, type) : ctx.dest(element));
  }
  op.list = ctx.list(slots);
  if (is_pack) op.d = ctx.dest(instr.operands[0]);
  else op.a = ctx.source(instr.operands[1], instr.type());
  return pack_step<D>(whole, size, is_exact, is_pack);
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Mov>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const Operand& to = instr.operands[0];
  const Operand& from = instr.operands[1];
  if (instr.type() == ptx::Type::pred) {
    op.p = ctx.pred_dest(to);
    op.r = ctx.pred_source(from);
    return &step_copy_pred<D>;
  }
  if (instr.has(ptx::Mod::v2) || instr.has(ptx::Mod::v4)) {
    return select_vector(ctx, instr, op);
  }
  if (from.kind == Operand::Kind::Special && is_time(from.special)) {
    op.d = ctx.dest(to);
    op.aux = from.special == ptx::Special::clock_hi || from.special == ptx::Special::globaltimer_hi ? 1 : 0;
    return storage_width(instr.type()) == 4 ? &step_time<D, std::uint32_t> : &step_time<D, std::uint64_t>;
  }
  if (instr.type() == ptx::Type::b128) return select_planes(ctx, instr, op);
  if (from.kind == Operand::Kind::Vector) return select_pack(ctx, instr, op, true);
  if (to.kind == Operand::Kind::Vector) return select_pack(ctx, instr, op, false);
  ctx.two(instr, op);
  switch (storage_width(instr.type())) {
    case 2:
      return &step_copy<D, std::uint16_t>;
    case 4:
      return &step_copy<D, std::uint32_t>;
    default:
      return &step_copy<D, std::uint64_t>;
  }
}

PLUMB_INSTANTIATE_MEANING(Mov)

}  // namespace plumb::machine
