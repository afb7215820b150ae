// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/convert.h"

#include <algorithm>
#include <array>
#include <optional>

#include "machine/exec/real_step.h"

namespace plumb::machine {
namespace {

using domain::FloatMode;
using domain::Format;
using domain::Round;
using domain::Word;
using ptx::Instr;
using ptx::Mod;
using ptx::Type;

std::optional<Format> format_of(Type type) {
  switch (type) {
    case Type::f16:
      return Format::F16;
    case Type::bf16:
      return Format::BF16;
    case Type::tf32:
      return Format::Tf32;
    case Type::f32:
      return Format::F32;
    case Type::f64:
      return Format::F64;
    default:
      return std::nullopt;
  }
}
std::optional<Format> pair_format_of(Type type) {
  switch (type) {
    case Type::f16x2:
      return Format::F16;
    case Type::bf16x2:
      return Format::BF16;
    case Type::e4m3x2:
      return Format::E4M3;
    case Type::e5m2x2:
      return Format::E5M2;
    default:
      return std::nullopt;
  }
}

constexpr bool is_integer(Type type) { return type >= Type::u8 && type <= Type::s64; }
constexpr unsigned bits_of(Type type) { return 8 * ptx::byte_size(type); }

// The low `bits` of a value, extended to 64 bits.
constexpr std::uint64_t extended(std::uint64_t value, unsigned bits, bool is_signed) {
  const unsigned shift = 64 - bits;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift)
                   : value << shift >> shift;
}

// What a conversion needs to know while it runs, in Op::imm and Op::aux: the widths of both registers (bytes a lane)
// and of both types (bits), signs, and the rounding to an integral value.
struct Spec {
  FloatMode mode;
  std::uint8_t d_width = 0, a_width = 0;  // registers
  std::uint8_t d_bits = 0, a_bits = 0;    // types
  bool is_d_signed = false, is_a_signed = false;
  bool is_integral = false;  // rni, rzi, rmi, rpi: to an integral value in mode.round

  template <class D>
  void pack(Op<D>& op) const {
    op.imm = pack_mode(mode);
    op.aux = d_width | a_width << 4 | d_bits << 8 | a_bits << 16 | unsigned{is_d_signed} << 24 |
             unsigned{is_a_signed} << 25 | unsigned{is_integral} << 26;
  }
  template <class D>
  static Spec of(const Op<D>& op) {
    Spec spec;
    spec.mode = unpack_mode(op.imm);
    spec.is_integral = (op.aux >> 26 & 1) != 0;
    spec.d_width = op.aux & 15, spec.a_width = op.aux >> 4 & 15;
    spec.d_bits = op.aux >> 8 & 0xFF, spec.a_bits = op.aux >> 16 & 0xFF;
    spec.is_d_signed = (op.aux >> 24 & 1) != 0, spec.is_a_signed = (op.aux >> 25 & 1) != 0;
    return spec;
  }
};

// -- Integer to integer -------------------------------------------------------------------------------------------
// `.sat` clamps to the range of the destination's type; otherwise the value is cut.
constexpr std::uint64_t convert_int(const Spec& spec, bool is_saturating, std::uint64_t bits) {
  std::uint64_t value = extended(bits, spec.a_bits, spec.is_a_signed);
  if (is_saturating) {
    const bool is_negative = spec.is_a_signed && static_cast<std::int64_t>(value) < 0;
    const std::uint64_t top = ~std::uint64_t{0} >> (64 - spec.d_bits + (spec.is_d_signed ? 1 : 0));
    if (!is_negative) {
      value = std::min(value, top);
    } else if (!spec.is_d_signed) {
      value = 0;
    } else {
      const auto bottom = static_cast<std::int64_t>(~top);
      value = static_cast<std::uint64_t>(std::max(static_cast<std::int64_t>(value), bottom));
    }
  }
  return extended(value, spec.d_bits, spec.is_d_signed);
}

// Lanes with tags. Cutting and extending with zeros move whole bytes; so does extending the sign of a concrete byte.
// Extending another is a bit field's extraction.
template <class D>
bool convert_tagged(Warp<D>& w, const Spec& spec, const Word& in, Word& out) {
  const unsigned a_bytes = spec.a_bits / 8, d_bytes = spec.d_bits / 8, kept = std::min(a_bytes, d_bytes);
  // The byte whose top bit is copied upwards, when one is.
  const bool is_extending =
      kept < spec.d_width && (d_bytes > a_bytes ? spec.is_a_signed : spec.d_width > d_bytes && spec.is_d_signed);
  if (spec.mode.sat) {
    return w.bit_op(
        std::nullopt, spec.a_width, spec.d_width, in, {}, {}, 0,
        [&](std::uint64_t a, std::uint64_t, std::uint64_t) { return convert_int(spec, true, a); }, out);
  }
  if (is_extending && in.tags[kept - 1] != 0) {
    Word low = in, length;
    std::fill(low.tags + kept, low.tags + 8, domain::Tag{0});
    low.bits &= ~std::uint64_t{0} >> (64 - 8 * kept);
    length.bits = 8 * kept;
    return w.bit_op(
        domain::BitOp::BfeS, spec.d_width, spec.d_width, low, {}, length, 0,
        [&](std::uint64_t a, std::uint64_t, std::uint64_t) { return convert_int(spec, false, a); }, out);
  }
  out.bits = convert_int(spec, false, in.bits);
  for (unsigned i = 0; i < kept; ++i) out.tags[i] = in.tags[i];
  return true;
}

template <class D>
void step_int(Warp<D>& w, const Op<D>& op) {
  const Spec spec = Spec::of(op);
  Word words[kLanes];
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const Word in = w.word(op.a, spec.a_width, lane);
    if (D::kHasTags && w.has_tag(in, spec.a_bits / 8)) {
      if (!convert_tagged(w, spec, in, words[lane])) return;
    } else {
      words[lane].bits = convert_int(spec, spec.mode.sat, in.bits);
    }
  }
  w.write_words(op.d, spec.d_width, words);
}

template <class T>
using Stored = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::make_unsigned_t<T>>;

// The common case: no clamping, registers as wide as the types.
template <class D, class R, class T>
void step_int_plain(Warp<D>& w, const Op<D>& op) {
  if (!w.is_plain(op.a)) return step_int(w, op);
  const Lane<Stored<T>>* a = w.template lanes<Stored<T>>(op.a);
  write_lanes<D, Stored<R>>(
      w, op.d, [=](unsigned lane) { return static_cast<Stored<R>>(static_cast<R>(static_cast<T>(a[lane]))); });
}
template <class D, class R>
StepFn<D> int_step_from(Type from) {
  switch (from) {
    case Type::u8:
      return &step_int_plain<D, R, std::uint8_t>;
    case Type::s8:
      return &step_int_plain<D, R, std::int8_t>;
    case Type::u16:
      return &step_int_plain<D, R, std::uint16_t>;
    case Type::s16:
      return &step_int_plain<D, R, std::int16_t>;
    case Type::u32:
      return &step_int_plain<D, R, std::uint32_t>;
    case Type::s32:
      return &step_int_plain<D, R, std::int32_t>;
    default:
      return &step_int_plain<D, R, std::uint64_t>;
  }
}
template <class D>
StepFn<D> int_step(const Spec& spec, Type to, Type from) {
  if (spec.mode.sat || spec.d_width != storage_width(to) || spec.a_width != storage_width(from)) return &step_int<D>;
  switch (to) {
    case Type::u8:
      return int_step_from<D, std::uint8_t>(from);
    case Type::s8:
      return int_step_from<D, std::int8_t>(from);
    case Type::u16:
    case Type::s16:
      return int_step_from<D, std::uint16_t>(from);
    case Type::u32:
    case Type::s32:
      return int_step_from<D, std::uint32_t>(from);
    default:
      return int_step_from<D, std::uint64_t>(from);
  }
}

// -- Floats that may sit in a wider register ------------------------------------------------------------------------
template <class D>
typename D::Real read(Warp<D>& w, Format format, Slot slot, unsigned width, unsigned lane) {
  return w.real(format, slot, lane, 0, width / domain::byte_size(format));
}
template <class D>
void write(Warp<D>& w, Format format, Slot slot, unsigned width, const typename D::Real* reals) {
  if (width == domain::byte_size(format)) return w.write_reals(format, slot, 1, reals);
  Word words[kLanes];
  for_lanes(w.mask(), [&](unsigned lane) { words[lane] = w.dom().to_word(format, reals[lane]); });
  w.write_words(slot, width, words);
}

template <class D>
typename D::Real round_to_integral(D& dom, Format format, typename D::Real a, FloatMode mode) {
  if (mode.ftz && format == Format::F32) a = dom.convert(format, format, a, {.ftz = true});
  switch (mode.round) {
    case Round::Rm:
      a = dom.floor(format, a);
      break;
    case Round::Rp:
      a = dom.ceil(format, a);
      break;
    case Round::Rz:
      a = dom.trunc(format, a);
      break;
    default:
      a = dom.rint(format, a);
      break;
  }
  return mode.sat ? dom.convert(format, format, a, {.sat = true}) : a;
}

template <class D, Format To, Format From>
void step_real(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  const Spec spec = Spec::of(op);
  Real results[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    const Real a = read(w, From, op.a, spec.a_width, lane);
    if constexpr (To == From) {
      if (spec.is_integral) {
        results[lane] = round_to_integral(w.dom(), To, a, spec.mode);
        return;
      }
    }
    results[lane] = w.dom().convert(To, From, a, spec.mode);
  });
  write(w, To, op.d, spec.d_width, results);
}
template <class D, Format To, Format From>
void step_real_plain(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  real_map<To, From, 1>(
      w, op.d, [](D& dom, Real a) { return dom.convert(To, From, a, {}); }, op.a);
}
template <class D, Format To, Format From>
StepFn<D> real_step(const Spec& spec) {
  const bool is_natural = spec.d_width == domain::byte_size(To) && spec.a_width == domain::byte_size(From);
  if (!D::kHasTags && is_natural && !spec.is_integral && mode_kind(spec.mode) == ModeKind::Plain) {
    return &step_real_plain<D, To, From>;
  }
  return &step_real<D, To, From>;
}
template <class D, Format To>
StepFn<D> real_step_from(const Spec& spec, Format from) {
  switch (from) {
    case Format::F16:
      return real_step<D, To, Format::F16>(spec);
    case Format::BF16:
      return real_step<D, To, Format::BF16>(spec);
    case Format::F32:
      return real_step<D, To, Format::F32>(spec);
    default:
      return real_step<D, To, Format::F64>(spec);
  }
}
template <class D>
StepFn<D> real_step_to(const Spec& spec, Format to, Format from) {
  switch (to) {
    case Format::F16:
      return real_step_from<D, Format::F16>(spec, from);
    case Format::BF16:
      return real_step_from<D, Format::BF16>(spec, from);
    case Format::F32:
      return real_step_from<D, Format::F32>(spec, from);
    case Format::Tf32:
      return real_step<D, Format::Tf32, Format::F32>(spec);
    default:
      return real_step_from<D, Format::F64>(spec, from);
  }
}

// -- Between integers and floats ------------------------------------------------------------------------------------
template <class D, Format From>
void step_to_int(Warp<D>& w, const Op<D>& op) {
  const Spec spec = Spec::of(op);
  Word words[kLanes];
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    typename D::Real a = read(w, From, op.a, spec.a_width, lane);
    if (spec.mode.ftz && From == Format::F32) a = w.dom().convert(From, From, a, {.ftz = true});
    const std::optional<std::uint64_t> value = w.dom().to_int(From, a, spec.d_bits, spec.is_d_signed, spec.mode.round);
    if (!value) return;  // the domain's fault says why
    words[lane].bits = *value;
  }
  w.write_words(op.d, spec.d_width, words);
}

template <class D, Format To>
void step_from_int(Warp<D>& w, const Op<D>& op) {
  const Spec spec = Spec::of(op);
  typename D::Real results[kLanes]{};
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const Word in = w.word(op.a, spec.a_width, lane);
    if constexpr (D::kHasTags) {
      if (w.has_tag(in, spec.a_bits / 8)) {
        results[lane] = w.dom().from_integer(To, w.dom().integer(in, spec.a_bits, spec.is_a_signed), spec.mode);
        continue;
      }
    }
    const std::uint64_t value = extended(in.bits, spec.a_bits, spec.is_a_signed);
    results[lane] = spec.is_a_signed ? w.dom().from_int(To, static_cast<std::int64_t>(value), spec.mode)
                                     : w.dom().from_uint(To, value, spec.mode);
  }
  write(w, To, op.d, spec.d_width, results);
}
// 32-bit integers to f32, to nearest: a plain loop.
template <class D, class T>
void step_single_from_int(Warp<D>& w, const Op<D>& op) {
  if (!w.is_plain(op.a)) return step_from_int<D, Format::F32>(w, op);
  const Lane<T>* a = w.template lanes<T>(op.a);
  write_lanes<D, std::uint32_t>(
      w, op.d, [=](unsigned lane) { return std::bit_cast<std::uint32_t>(static_cast<float>(a[lane])); });
}

template <class D>
StepFn<D> to_int_step(Format from) {
  switch (from) {
    case Format::F16:
      return &step_to_int<D, Format::F16>;
    case Format::BF16:
      return &step_to_int<D, Format::BF16>;
    case Format::F32:
      return &step_to_int<D, Format::F32>;
    default:
      return &step_to_int<D, Format::F64>;
  }
}
template <class D>
StepFn<D> from_int_step(const Spec& spec, Format to) {
  switch (to) {
    case Format::F16:
      return &step_from_int<D, Format::F16>;
    case Format::BF16:
      return &step_from_int<D, Format::BF16>;
    case Format::F32:
      if (spec.a_bits == 32 && spec.a_width == 4 && spec.d_width == 4 && mode_kind(spec.mode) == ModeKind::Plain) {
        return spec.is_a_signed ? &step_single_from_int<D, std::int32_t> : &step_single_from_int<D, std::uint32_t>;
      }
      return &step_from_int<D, Format::F32>;
    default:
      return &step_from_int<D, Format::F64>;
  }
}

// -- Pairs: the first source is the upper half ----------------------------------------------------------------------
template <class D, Format To>
void step_pack(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  const FloatMode mode = unpack_mode(op.imm);
  Real results[2 * kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    results[2 * lane] = w.dom().convert(To, Format::F32, w.real(Format::F32, op.b, lane), mode);
    results[2 * lane + 1] = w.dom().convert(To, Format::F32, w.real(Format::F32, op.a, lane), mode);
  });
  w.write_reals(To, op.d, 2, results);
}
template <class D, Format To>
void step_pack_plain(Warp<D>& w, const Op<D>& op) {
  const Lane<std::uint32_t>* high = w.template lanes<std::uint32_t>(op.a);
  const Lane<std::uint32_t>* low = w.template lanes<std::uint32_t>(op.b);
  if constexpr (!D::kHasTags) {
    D& dom = w.dom();
    write_lanes<D, std::uint32_t>(w, op.d, [=, &dom](unsigned lane) {
      return dom.convert(To, Format::F32, low[lane], {}) | dom.convert(To, Format::F32, high[lane], {}) << 16;
    });
  }
}
template <class D, Format To, Format From>
void step_pair(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  const FloatMode mode = unpack_mode(op.imm);
  Real results[2 * kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    for (unsigned part = 0; part < 2; ++part) {
      results[2 * lane + part] = w.dom().convert(To, From, w.real(From, op.a, lane, part, 2), mode);
    }
  });
  w.write_reals(To, op.d, 2, results);
}

template <class D>
StepFn<D> pack_step(Format to, FloatMode mode) {
  const bool is_plain = !D::kHasTags && mode_kind(mode) == ModeKind::Plain;
  switch (to) {
    case Format::F16:
      return is_plain ? &step_pack_plain<D, Format::F16> : &step_pack<D, Format::F16>;
    case Format::BF16:
      return is_plain ? &step_pack_plain<D, Format::BF16> : &step_pack<D, Format::BF16>;
    case Format::E4M3:
      return &step_pack<D, Format::E4M3>;
    default:
      return &step_pack<D, Format::E5M2>;
  }
}
template <class D>
StepFn<D> pair_step(Format to, Format from) {
  if (to == Format::E4M3 && from == Format::F16) return &step_pair<D, Format::E4M3, Format::F16>;
  if (to == Format::E5M2 && from == Format::F16) return &step_pair<D, Format::E5M2, Format::F16>;
  if (to == Format::F16 && from == Format::E4M3) return &step_pair<D, Format::F16, Format::E4M3>;
  if (to == Format::F16 && from == Format::E5M2) return &step_pair<D, Format::F16, Format::E5M2>;
  return nullptr;
}

template <class D>
StepFn<D> select_pairs(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const Type to = instr.type(0), from = instr.type(1);
  const std::optional<Format> to_format = pair_format_of(to);
  if (instr.has(Mod::rs) || !to_format || (from != Type::f32 && !pair_format_of(from))) {
    ctx.unmodelled("this conversion of sm_100 has no meaning in the machine");
    return nullptr;
  }
  const FloatMode mode = float_mode(instr);
  op.imm = pack_mode(mode);
  op.d = ctx.dest(instr.operands[0]);
  if (from == Type::f32) {
    op.a = ctx.source(instr.operands[1], Type::f32);
    op.b = ctx.source(instr.operands[2], Type::f32);
    return pack_step<D>(*to_format, mode);
  }
  op.a = ctx.source(instr.operands[1], ptx::byte_size(from) == 2 ? Type::b16 : Type::b32);
  StepFn<D> step = pair_step<D>(*to_format, *pair_format_of(from));
  if (step == nullptr) ctx.unmodelled("this conversion of sm_100 has no meaning in the machine");
  return step;
}

Spec spec_of(DecodeContext& ctx, const Instr& instr) {
  const Type to = instr.type(0), from = instr.type(1);
  Spec spec;
  spec.mode = float_mode(instr);
  constexpr std::pair<Mod, Round> kIntegral[] = {
      {Mod::rni, Round::Rn}, {Mod::rzi, Round::Rz}, {Mod::rmi, Round::Rm}, {Mod::rpi, Round::Rp}};
  for (const auto& [mod, round] : kIntegral) {
    if (instr.has(mod)) spec.is_integral = true, spec.mode.round = round;
  }
  const auto width = [&](const ptx::Operand& operand, Type type) {
    const unsigned register_width = ctx.width(operand);
    return static_cast<std::uint8_t>(register_width == 0 ? storage_width(type) : register_width);
  };
  spec.d_width = width(instr.operands[0], to);
  spec.a_width = width(instr.operands[1], from);
  spec.d_bits = static_cast<std::uint8_t>(bits_of(to));
  spec.a_bits = static_cast<std::uint8_t>(bits_of(from));
  spec.is_d_signed = ptx::is_signed(to);
  spec.is_a_signed = ptx::is_signed(from);
  return spec;
}

// -- cvt.pack -----------------------------------------------------------------------------------------------------
// Op::imm: bits of an element; Op::aux: signed.
template <class D>
void step_cvt_pack(Warp<D>& w, const Op<D>& op) {
  const auto bits = static_cast<unsigned>(op.imm);
  const std::int32_t top = static_cast<std::int32_t>((1u << (bits - (op.aux != 0 ? 1 : 0))) - 1);
  const std::int32_t bottom = op.aux != 0 ? -top - 1 : 0;
  const std::uint32_t mask = (1u << bits) - 1;
  const auto packed = [=](std::int32_t a, std::int32_t b) {
    const auto high = static_cast<std::uint32_t>(std::clamp(a, bottom, top)) & mask;
    const auto low = static_cast<std::uint32_t>(std::clamp(b, bottom, top)) & mask;
    return high << bits | low;
  };
  if (bits == 16) {
    return map2<std::uint32_t, std::int32_t>(w, std::nullopt, op.d, op.a, op.b, packed);
  }
  map3<std::uint32_t, std::int32_t>(w, std::nullopt, op.d, op.a, op.b, op.c,
                                    [=](std::int32_t a, std::int32_t b, std::int32_t c) {
                                      return static_cast<std::uint32_t>(c) << (2 * bits) | packed(a, b);
                                    });
}

constexpr unsigned pack_bits(Type type) {
  switch (type) {
    case Type::u16:
    case Type::s16:
      return 16;
    case Type::u8:
    case Type::s8:
      return 8;
    case Type::u4:
    case Type::s4:
      return 4;
    default:
      return 2;
  }
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Cvt>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const Type to = instr.type(0), from = instr.type(1);
  const std::optional<Format> to_format = format_of(to), from_format = format_of(from);
  if ((!to_format && !is_integer(to)) || (!from_format && !is_integer(from))) return select_pairs<D>(ctx, instr, op);
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], from);
  const Spec spec = spec_of(ctx, instr);
  spec.pack(op);
  if (to_format && from_format) return real_step_to<D>(spec, *to_format, *from_format);
  if (to_format) return from_int_step<D>(spec, *to_format);
  if (from_format) return to_int_step<D>(*from_format);
  return int_step<D>(spec, to, from);
}

template <class D>
StepFn<D> Meaning<ptx::Form::CvtPack>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], Type::s32);
  op.b = ctx.source(instr.operands[2], Type::s32);
  op.imm = pack_bits(instr.type(0));
  op.aux =
      instr.type(0) == Type::s16 || instr.type(0) == Type::s8 || instr.type(0) == Type::s4 || instr.type(0) == Type::s2
          ? 1
          : 0;
  if (op.imm != 16) op.c = ctx.source(instr.operands[3], Type::b32);
  return &step_cvt_pack<D>;
}

PLUMB_INSTANTIATE_MEANING(Cvt)
PLUMB_INSTANTIATE_MEANING(CvtPack)

}  // namespace plumb::machine
