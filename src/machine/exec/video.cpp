// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/video.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

namespace plumb::machine {
namespace {

using ptx::Mod;
using ptx::Operand;
using ptx::Type;

enum class Operation : std::uint8_t { Add, Sub, Average, AbsDiff, Min, Max, Shl, Shr, Mad, Compare };
enum class Second : std::uint8_t { None, Add, Min, Max };
enum class Comparison : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

// A source: its lowest bit, its bits, and its sign.
struct Part {
  std::uint8_t at : 5 = 0;
  std::uint8_t is_byte : 1 = 0;
  std::uint8_t is_half : 1 = 0;
  std::uint8_t is_signed : 1 = 0;
  unsigned bits() const { return is_byte != 0 ? 8 : is_half != 0 ? 16 : 32; }
};

// What an instruction does, in Op::imm.
struct Spec {
  Operation operation{};
  Second second{};
  Comparison comparison{};
  Part a, b;
  bool is_signed = false, is_saturating = false, is_wrapping = false;
};
static_assert(sizeof(Spec) == sizeof(std::uint64_t));

std::int64_t extend(std::uint32_t value, unsigned at, unsigned bits, bool is_signed) {
  const std::uint64_t part = static_cast<std::uint64_t>(value) >> at & ((std::uint64_t{1} << bits) - 1);
  const bool is_negative = is_signed && (part >> (bits - 1) & 1) != 0;
  return static_cast<std::int64_t>(part) - (is_negative ? std::int64_t{1} << bits : 0);
}

std::int64_t saturate(std::int64_t value, unsigned bits, bool is_signed) {
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t high = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, low, high);
}

std::int64_t operate(const Spec& spec, std::int64_t a, std::int64_t b) {
  switch (spec.operation) {
    case Operation::Add:
      return a + b;
    case Operation::Sub:
      return a - b;
    case Operation::Average:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Operation::AbsDiff:
      return a > b ? a - b : b - a;
    case Operation::Min:
      return std::min(a, b);
    case Operation::Max:
      return std::max(a, b);
    case Operation::Shl:
    case Operation::Shr: {
      const auto by = static_cast<int>(spec.is_wrapping ? b & 31 : std::min<std::int64_t>(b, 32));
      return spec.operation == Operation::Shl ? static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << by)
                                              : a >> by;
    }
    default:
      break;
  }
  switch (spec.comparison) {
    case Comparison::Eq:
      return a == b ? 1 : 0;
    case Comparison::Ne:
      return a != b ? 1 : 0;
    case Comparison::Lt:
      return a < b ? 1 : 0;
    case Comparison::Le:
      return a <= b ? 1 : 0;
    case Comparison::Gt:
      return a > b ? 1 : 0;
    default:
      return a >= b ? 1 : 0;
  }
}

std::uint32_t scalar(const Spec& spec, std::uint32_t x, std::uint32_t y, std::uint32_t c) {
  const std::int64_t a = extend(x, spec.a.at, spec.a.bits(), spec.a.is_signed != 0);
  const std::int64_t b = extend(y, spec.b.at, spec.b.bits(), spec.b.is_signed != 0);
  // The low half of a product is the same for all signs.
  if (spec.operation == Operation::Mad) return static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) + c;
  std::int64_t value = operate(spec, a, b);
  if (spec.is_saturating) value = saturate(value, 32, spec.is_signed);
  const auto word = static_cast<std::uint32_t>(value);
  return spec.second == Second::Add ? word + c : word;
}

// Of two or four elements; three bits an element say which of {a, b} it is: `a_from`, and 12 bits on `b_from`, in
// Op::aux, then a bit an element for those that are written.
std::uint32_t simd(const Spec& spec, unsigned count, std::uint32_t from, std::uint32_t x, std::uint32_t y,
                   std::uint32_t c) {
  const unsigned bits = 32 / count;
  const std::uint32_t mask = count == 2 ? 0xffff : 0xff;
  const auto element = [&](unsigned index, bool is_signed) {
    return extend(index < count ? x : y, bits * (index % count), bits, is_signed);
  };
  std::uint32_t out = spec.second == Second::Add ? c : 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::int64_t a = element(from >> (3 * i) & 7, spec.a.is_signed != 0);
    const std::int64_t b = element(from >> (12 + 3 * i) & 7, spec.b.is_signed != 0);
    std::int64_t value = operate(spec, a, b);
    if (spec.is_saturating) value = saturate(value, bits, spec.is_signed);
    const auto word = static_cast<std::uint32_t>(value);
    const bool is_written = (from >> (24 + i) & 1) != 0;
    if (spec.second == Second::Add) {
      if (is_written) out += word;
    } else {
      out |= (is_written ? word & mask : c >> (bits * i) & mask) << (bits * i);
    }
  }
  return out;
}

template <class D>
void step_scalar(Warp<D>& w, const Op<D>& op) {
  const auto spec = std::bit_cast<Spec>(op.imm);
  map3<std::uint32_t, std::uint32_t>(
      w, std::nullopt, op.d, op.a, op.b, op.c,
      [=](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return scalar(spec, a, b, c); });
}

template <class D, unsigned Count>
void step_simd(Warp<D>& w, const Op<D>& op) {
  const auto spec = std::bit_cast<Spec>(op.imm);
  const std::uint32_t from = op.aux;
  map3<std::uint32_t, std::uint32_t>(
      w, std::nullopt, op.d, op.a, op.b, op.c,
      [=](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return simd(spec, Count, from, a, b, c); });
}

Part part_of(const Operand& operand, Type type) {
  Part part;
  part.is_signed = type == Type::s32;
  if (operand.symbol.size() != 2) return part;
  const auto index = static_cast<unsigned>(operand.symbol[1] - '0');
  part.is_byte = operand.symbol[0] == 'b', part.is_half = operand.symbol[0] == 'h';
  part.at = static_cast<std::uint8_t>(index * part.bits() % 32);
  return part;
}

Spec read_spec(const ptx::Instr& instr) {
  static constexpr std::pair<std::string_view, Operation> kOperations[] = {
      {"vadd", Operation::Add},         {"vsub", Operation::Sub}, {"vavrg", Operation::Average},
      {"vabsdiff", Operation::AbsDiff}, {"vmin", Operation::Min}, {"vmax", Operation::Max},
      {"vshl", Operation::Shl},         {"vshr", Operation::Shr}, {"vmad", Operation::Mad},
      {"vset", Operation::Compare}};
  static constexpr std::pair<Mod, Comparison> kComparisons[] = {{Mod::eq, Comparison::Eq}, {Mod::ne, Comparison::Ne},
                                                                {Mod::lt, Comparison::Lt}, {Mod::le, Comparison::Le},
                                                                {Mod::gt, Comparison::Gt}, {Mod::ge, Comparison::Ge}};
  Spec spec;
  std::string_view name = instr.opcode;
  if (name.back() == '2' || name.back() == '4') name.remove_suffix(1);
  for (const auto& [word, operation] : kOperations) {
    if (name == word) spec.operation = operation;
  }
  for (const auto& [word, comparison] : kComparisons) {
    if (instr.has(word)) spec.comparison = comparison;
  }
  const bool is_set = spec.operation == Operation::Compare;
  spec.is_signed = !is_set && instr.type(0) == Type::s32;
  spec.a = part_of(instr.operands[1], instr.type(is_set ? 0 : 1));
  spec.b = part_of(instr.operands[2], instr.type(is_set ? 1 : 2));
  spec.is_saturating = instr.has(Mod::sat);
  spec.is_wrapping = instr.has(Mod::wrap);
  spec.second = instr.has(Mod::add)   ? Second::Add
                : instr.has(Mod::min) ? Second::Min
                : instr.has(Mod::max) ? Second::Max
                                      : Second::None;
  return spec;
}

template <class D>
bool take_operands(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  for (const Operand& operand : instr.operands) {
    if (operand.is_negated) return ctx.unmodelled("a negated operand of a video instruction"), false;
  }
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], Type::b32);
  op.b = ctx.source(instr.operands[2], Type::b32);
  op.c = instr.operands.size() > 3 ? ctx.source(instr.operands[3], Type::b32) : op.a;
  return true;
}

// Which elements of {a, b} a selector names, the highest first: `.b7301`; without one `first` and those after it.
std::uint32_t elements(const Operand& operand, unsigned count, unsigned first) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i) {
    const bool is_named = operand.symbol.size() == count + 1;
    const unsigned element = is_named ? static_cast<unsigned>(operand.symbol[count - i] - '0') : first + i;
    out |= (element & 7) << (3 * i);
  }
  return out;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::VideoScalar>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (!take_operands(ctx, instr, op)) return nullptr;
  const Spec spec = read_spec(instr);
  const bool is_min_or_max = spec.second == Second::Min || spec.second == Second::Max;
  const bool is_plain_mad =
      !spec.is_saturating && !instr.has(Mod::po) && !instr.has(Mod::shr7) && !instr.has(Mod::shr15);
  if (!instr.operands[0].symbol.empty() || is_min_or_max || (spec.operation == Operation::Mad && !is_plain_mad) ||
      (spec.operation == Operation::Shl && spec.is_saturating)) {
    return ctx.unmodelled("a form of a video instruction of which the card makes something else than its text says"),
           nullptr;
  }
  op.imm = std::bit_cast<std::uint64_t>(spec);
  return &step_scalar<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::VideoSimd>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (!take_operands(ctx, instr, op)) return nullptr;
  const unsigned count = instr.opcode.back() == '2' ? 2 : 4;
  std::uint32_t written = 0;
  const std::string_view mask = instr.operands[0].symbol;
  for (std::size_t i = 1; i < mask.size(); ++i) written |= 1u << (mask[i] - '0');
  if (mask.empty()) written = (1u << count) - 1;
  op.imm = std::bit_cast<std::uint64_t>(read_spec(instr));
  op.aux = elements(instr.operands[1], count, 0) | elements(instr.operands[2], count, count) << 12 | written << 24;
  return count == 2 ? &step_simd<D, 2> : &step_simd<D, 4>;
}

PLUMB_INSTANTIATE_MEANING(VideoScalar)
PLUMB_INSTANTIATE_MEANING(VideoSimd)

}  // namespace plumb::machine
