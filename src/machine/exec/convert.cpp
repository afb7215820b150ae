// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/convert.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "machine/exec/real_ops.h"

namespace plumb::machine {
namespace {

using domain::Round;
using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

// -- Types
// -------------------------------------------------------------------------------------------------------------
std::optional<Format> format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2:
      return Format::F16;
    case Type::bf16:
    case Type::bf16x2:
      return Format::BF16;
    case Type::tf32:
      return Format::Tf32;
    case Type::f32:
      return Format::F32;
    case Type::f64:
      return Format::F64;
    case Type::e4m3x2:
      return Format::E4M3;
    case Type::e5m2x2:
      return Format::E5M2;
    default:
      return std::nullopt;
  }
}
bool is_int(Type type) {
  switch (type) {
    case Type::u8:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s8:
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return true;
    default:
      return false;
  }
}
bool is_pair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 || type == Type::e5m2x2;
}

// -- Integer to integer. Op::imm holds what the loop needs to know.
// -----------------------------------------------------
struct IntCvt {
  unsigned source_bytes = 0, dest_bytes = 0;  // of the instruction's types
  bool is_source_signed = false, is_dest_signed = false, is_saturating = false;
  std::uint64_t pack() const {
    return source_bytes | dest_bytes << 4 | std::uint64_t{is_source_signed} << 8 | std::uint64_t{is_dest_signed} << 9 |
           std::uint64_t{is_saturating} << 10;
  }
  static IntCvt unpack(std::uint64_t packed) {
    return {static_cast<unsigned>(packed & 15), static_cast<unsigned>(packed >> 4 & 15), (packed >> 8 & 1) != 0,
            (packed >> 9 & 1) != 0, (packed >> 10 & 1) != 0};
  }
};

std::uint64_t extend(std::uint64_t bits, unsigned bytes, bool is_signed) {
  if (bytes == 8) return bits;
  const unsigned shift = 64 - 8 * bytes;
  const std::uint64_t up = bits << shift;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(up) >> shift) : up >> shift;
}

std::uint64_t saturate(std::uint64_t value, const IntCvt& cvt) {
  const unsigned bits = 8 * cvt.dest_bytes;
  if (cvt.is_source_signed) {
    const auto x = static_cast<std::int64_t>(value);
    const std::int64_t low = cvt.is_dest_signed ? (bits == 64 ? INT64_MIN : -(std::int64_t{1} << (bits - 1))) : 0;
    const std::int64_t high = bits == 64 ? INT64_MAX : (std::int64_t{1} << (cvt.is_dest_signed ? bits - 1 : bits)) - 1;
    return static_cast<std::uint64_t>(std::clamp(x, low, high));
  }
  const unsigned usable = cvt.is_dest_signed ? bits - 1 : bits;
  const std::uint64_t high = usable == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << usable) - 1;
  return std::min(value, high);
}

// S and R: storage of the source and the destination register.
template <class D, class S, class R>
void step_int(Warp<D>& w, const Op<D>& op) {
  const IntCvt cvt = IntCvt::unpack(op.imm);
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a)) {
      // Whole bytes move; what they cannot say is the sign of an abstract byte, or its range.
      domain::Word out[kLanes];
      bool is_known = true;
      for_lanes(w.mask(), [&](unsigned lane) {
        const domain::Word in = w.word(op.a, sizeof(S), lane);
        if (!w.has_tag(in, cvt.source_bytes)) {
          std::uint64_t value = extend(in.bits, cvt.source_bytes, cvt.is_source_signed);
          if (cvt.is_saturating) value = saturate(value, cvt);
          out[lane].bits = static_cast<R>(extend(value, cvt.dest_bytes, cvt.is_dest_signed));
          return;
        }
        const unsigned kept = std::min(cvt.source_bytes, cvt.dest_bytes);
        const bool is_sign_needed =
            (cvt.dest_bytes > kept && cvt.is_source_signed) || (sizeof(R) > cvt.dest_bytes && cvt.is_dest_signed);
        is_known = is_known && !cvt.is_saturating && !is_sign_needed;
        out[lane].bits = kept == 8 ? in.bits : in.bits & ((std::uint64_t{1} << (8 * kept)) - 1);
        for (unsigned i = 0; i < kept; ++i) out[lane].tags[i] = in.tags[i];
      });
      if (!is_known)
        return w.unmodelled("an integer conversion that needs the sign or range of an abstract float's bytes");
      return w.write_words(op.d, sizeof(R), out);
    }
  }
  const Lane<S>* a = w.template lanes<S>(op.a);
  write_lanes<D, R>(w, op.d, [=](unsigned lane) {
    std::uint64_t value = extend(a[lane], cvt.source_bytes, cvt.is_source_signed);
    if (cvt.is_saturating) value = saturate(value, cvt);
    return static_cast<R>(extend(value, cvt.dest_bytes, cvt.is_dest_signed));
  });
}
// The common cases: types as wide as their registers, no saturation. S is signed where the source is.
template <class D, class S, class R>
void step_int_plain(Warp<D>& w, const Op<D>& op) {
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a)) return step_int<D, std::make_unsigned_t<S>, R>(w, op);
  }
  const Lane<S>* a = w.template lanes<S>(op.a);
  write_lanes<D, R>(w, op.d, [=](unsigned lane) { return static_cast<R>(a[lane]); });
}

template <class D, class S>
StepFn<D> int_step_to(unsigned dest_width) {
  if (dest_width == 2) return &step_int<D, S, std::uint16_t>;
  return dest_width == 4 ? &step_int<D, S, std::uint32_t> : &step_int<D, S, std::uint64_t>;
}
template <class D, class S>
StepFn<D> plain_step_to(unsigned dest_width) {
  if (dest_width == 2) return &step_int_plain<D, S, std::uint16_t>;
  return dest_width == 4 ? &step_int_plain<D, S, std::uint32_t> : &step_int_plain<D, S, std::uint64_t>;
}
template <class D>
StepFn<D> int_step(const IntCvt& cvt, unsigned source_width, unsigned dest_width) {
  if (cvt.source_bytes == source_width && cvt.dest_bytes == dest_width && !cvt.is_saturating) {
    if (cvt.is_source_signed) {
      if (source_width == 2) return plain_step_to<D, std::int16_t>(dest_width);
      return source_width == 4 ? plain_step_to<D, std::int32_t>(dest_width)
                               : plain_step_to<D, std::int64_t>(dest_width);
    }
    if (source_width == 2) return plain_step_to<D, std::uint16_t>(dest_width);
    return source_width == 4 ? plain_step_to<D, std::uint32_t>(dest_width)
                             : plain_step_to<D, std::uint64_t>(dest_width);
  }
  if (source_width == 2) return int_step_to<D, std::uint16_t>(dest_width);
  return source_width == 4 ? int_step_to<D, std::uint32_t>(dest_width) : int_step_to<D, std::uint64_t>(dest_width);
}

// -- Floats. Op::imm: the mode; Op::aux packs the rest.
// -----------------------------------------------------------------
struct RealCvt {
  Format to = Format::F32, from = Format::F32;
  unsigned to_parts = 1, from_parts = 1;  // how many elements the registers could hold
  bool is_rounding_to_int = false;
  unsigned int_bytes = 0;
  bool is_signed = false;
  Round int_round = Round::Rn;
  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(to) | static_cast<std::uint32_t>(from) << 4 | to_parts << 8 | from_parts << 12 |
           std::uint32_t{is_rounding_to_int} << 16 | int_bytes << 17 | std::uint32_t{is_signed} << 21 |
           static_cast<std::uint32_t>(int_round) << 22;
  }
  static RealCvt unpack(std::uint32_t packed) {
    RealCvt out;
    out.to = static_cast<Format>(packed & 15);
    out.from = static_cast<Format>(packed >> 4 & 15);
    out.to_parts = packed >> 8 & 15;
    out.from_parts = packed >> 12 & 15;
    out.is_rounding_to_int = (packed >> 16 & 1) != 0;
    out.int_bytes = packed >> 17 & 15;
    out.is_signed = (packed >> 21 & 1) != 0;
    out.int_round = static_cast<Round>(packed >> 22 & 7);
    return out;
  }
};

Round int_round_of(const Instr& instr) {
  if (instr.has(Mod::rzi)) return Round::Rz;
  if (instr.has(Mod::rmi)) return Round::Rm;
  if (instr.has(Mod::rpi)) return Round::Rp;
  return Round::Rn;
}
bool has_int_round(const Instr& instr) {
  return instr.has(Mod::rni) || instr.has(Mod::rzi) || instr.has(Mod::rmi) || instr.has(Mod::rpi);
}

template <class D>
typename D::Real to_integral(D& dom, Format f, typename D::Real x, Round round) {
  switch (round) {
    case Round::Rz:
      return dom.trunc(f, x);
    case Round::Rm:
      return dom.floor(f, x);
    case Round::Rp:
      return dom.ceil(f, x);
    default:
      return dom.rint(f, x);
  }
}

template <class D, Format To, Format From>
void step_plain(Warp<D>& w, const Op<D>& op) {
  real_map<To, From, 1>(
      w, op.d, [](D& dom, auto a) { return dom.convert(To, From, a, FloatMode{}); }, op.a);
}

// One element, whatever the registers' widths; the rest of a wider destination is zero.
template <class D>
void step_real(Warp<D>& w, const Op<D>& op) {
  const RealCvt cvt = RealCvt::unpack(op.aux);
  const FloatMode mode = unpack_mode(op.imm);
  typename D::Real results[kLanes * 4];
  for_lanes(w.mask(), [&](unsigned lane) {
    typename D::Real x = w.real(cvt.from, op.a, lane, 0, cvt.from_parts);
    if (cvt.is_rounding_to_int) {
      FloatMode flush;
      flush.ftz = mode.ftz;
      if (mode.ftz) x = w.dom().convert(cvt.from, cvt.from, x, flush);
      x = to_integral(w.dom(), cvt.from, x, cvt.int_round);
    }
    results[lane * cvt.to_parts] = w.dom().convert(cvt.to, cvt.from, x, mode);
    for (unsigned i = 1; i < cvt.to_parts; ++i) results[lane * cvt.to_parts + i] = w.dom().constant(cvt.to, 0);
  });
  w.write_reals(cvt.to, op.d, cvt.to_parts, results);
}

// Two f32 to a pair: the first source goes to the upper half.
template <class D>
void step_pack(Warp<D>& w, const Op<D>& op) {
  const RealCvt cvt = RealCvt::unpack(op.aux);
  const FloatMode mode = unpack_mode(op.imm);
  typename D::Real results[kLanes * 2];
  for_lanes(w.mask(), [&](unsigned lane) {
    results[2 * lane] = w.dom().convert(cvt.to, Format::F32, w.real(Format::F32, op.b, lane), mode);
    results[2 * lane + 1] = w.dom().convert(cvt.to, Format::F32, w.real(Format::F32, op.a, lane), mode);
  });
  w.write_reals(cvt.to, op.d, 2, results);
}
// A pair to a pair.
template <class D>
void step_pair(Warp<D>& w, const Op<D>& op) {
  const RealCvt cvt = RealCvt::unpack(op.aux);
  const FloatMode mode = unpack_mode(op.imm);
  typename D::Real results[kLanes * 2];
  for_lanes(w.mask(), [&](unsigned lane) {
    for (unsigned part = 0; part < 2; ++part) {
      results[2 * lane + part] = w.dom().convert(cvt.to, cvt.from, w.real(cvt.from, op.a, lane, part, 2), mode);
    }
  });
  w.write_reals(cvt.to, op.d, 2, results);
}

template <class D, class R>
void step_real_to_int(Warp<D>& w, const Op<D>& op) {
  const RealCvt cvt = RealCvt::unpack(op.aux);
  const FloatMode mode = unpack_mode(op.imm);
  R results[kLanes]{};
  bool is_known = true;
  for_lanes(w.mask(), [&](unsigned lane) {
    typename D::Real x = w.real(cvt.from, op.a, lane, 0, cvt.from_parts);
    if (mode.ftz) {
      FloatMode flush;
      flush.ftz = true;
      x = w.dom().convert(cvt.from, cvt.from, x, flush);
    }
    const std::optional<std::uint64_t> value =
        w.dom().to_int(cvt.from, x, 8 * cvt.int_bytes, cvt.is_signed, cvt.int_round);
    is_known = is_known && value.has_value();
    results[lane] = static_cast<R>(extend(value.value_or(0), cvt.int_bytes, cvt.is_signed));
  });
  if (!is_known) return w.unmodelled("an abstract float converted to an integer");
  write_lanes<D, R>(w, op.d, [&](unsigned lane) { return results[lane]; });
}

template <class D, class S>
void step_int_to_real(Warp<D>& w, const Op<D>& op) {
  const RealCvt cvt = RealCvt::unpack(op.aux);
  const FloatMode mode = unpack_mode(op.imm);
  if constexpr (D::kHasTags) {
    if (!w.is_plain(op.a))
      return w.unmodelled("bytes that are abstract or were never written converted from an integer");
  }
  const Lane<S>* a = w.template lanes<S>(op.a);
  typename D::Real results[kLanes * 4];
  for_lanes(w.mask(), [&](unsigned lane) {
    const std::uint64_t value = extend(a[lane], cvt.int_bytes, cvt.is_signed);
    results[lane * cvt.to_parts] = cvt.is_signed ? w.dom().from_int(cvt.to, static_cast<std::int64_t>(value), mode)
                                                 : w.dom().from_uint(cvt.to, value, mode);
    for (unsigned i = 1; i < cvt.to_parts; ++i) results[lane * cvt.to_parts + i] = w.dom().constant(cvt.to, 0);
  });
  w.write_reals(cvt.to, op.d, cvt.to_parts, results);
}

// -- cvt.pack: Op::imm holds the element's bits, Op::aux whether it is signed.
// -------------------------------------------
std::uint32_t clamp_to(std::int32_t x, unsigned bits, bool is_signed) {
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t high = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(x, low, high)) & ((1u << bits) - 1);
}
template <class D>
void step_pack_ints(Warp<D>& w, const Op<D>& op) {
  const auto bits = static_cast<unsigned>(op.imm);
  const bool is_signed = op.aux != 0;
  map3<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>(
      w, std::nullopt, op.d, op.a, op.b, op.c, [=](std::int32_t a, std::int32_t b, std::uint32_t c) {
        const std::uint32_t pair = clamp_to(a, bits, is_signed) << bits | clamp_to(b, bits, is_signed);
        return bits == 16 ? pair : c << (2 * bits) | pair;
      });
}

unsigned width_or(DecodeContext& ctx, const Operand& operand, unsigned size) {
  const unsigned width = ctx.width(operand);
  return width != 0 ? width : std::max(2u, size);
}

template <class D>
StepFn<D> select_int(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const Type to = instr.type(0), from = instr.type(1);
  IntCvt cvt{ptx::byte_size(from), ptx::byte_size(to), ptx::is_signed(from), ptx::is_signed(to), instr.has(Mod::sat)};
  op.imm = cvt.pack();
  return int_step<D>(cvt, width_or(ctx, instr.operands[1], cvt.source_bytes),
                     width_or(ctx, instr.operands[0], cvt.dest_bytes));
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Cvt>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const Type to = instr.type(0), from = instr.type(1);
  const std::optional<Format> to_format = format_of(to), from_format = format_of(from);
  if ((!to_format && !is_int(to)) || (!from_format && !is_int(from))) {
    return ctx.unmodelled("this conversion has no meaning in the machine"), nullptr;
  }
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], from);
  if (!to_format && !from_format) return select_int<D>(ctx, instr, op);

  RealCvt cvt;
  const FloatMode mode = mode_of(instr);
  op.imm = pack_mode(mode);
  cvt.to = to_format.value_or(Format::F32);
  cvt.from = from_format.value_or(Format::F32);
  cvt.int_round = int_round_of(instr);
  if (to_format && !is_pair(to)) {
    cvt.to_parts = width_or(ctx, instr.operands[0], ptx::byte_size(to)) / domain::byte_size(cvt.to);
  }
  if (from_format && !is_pair(from)) {
    cvt.from_parts = width_or(ctx, instr.operands[1], ptx::byte_size(from)) / domain::byte_size(cvt.from);
  }
  if (!to_format) {
    cvt.int_bytes = ptx::byte_size(to);
    cvt.is_signed = ptx::is_signed(to);
    op.aux = cvt.pack();
    const unsigned width = width_or(ctx, instr.operands[0], cvt.int_bytes);
    if (width == 2) return &step_real_to_int<D, std::uint16_t>;
    return width == 4 ? &step_real_to_int<D, std::uint32_t> : &step_real_to_int<D, std::uint64_t>;
  }
  if (!from_format) {
    cvt.int_bytes = ptx::byte_size(from);
    cvt.is_signed = ptx::is_signed(from);
    op.aux = cvt.pack();
    const unsigned width = width_or(ctx, instr.operands[1], cvt.int_bytes);
    if (width == 2) return &step_int_to_real<D, std::uint16_t>;
    return width == 4 ? &step_int_to_real<D, std::uint32_t> : &step_int_to_real<D, std::uint64_t>;
  }
  cvt.is_rounding_to_int = has_int_round(instr);
  op.aux = cvt.pack();
  if (is_pair(to) && is_pair(from)) return &step_pair<D>;
  if (is_pair(to)) {
    op.b = ctx.source(instr.operands[2], from);
    return &step_pack<D>;
  }
  const bool is_plain =
      op.imm == pack_mode(FloatMode{}) && !cvt.is_rounding_to_int && cvt.to_parts == 1 && cvt.from_parts == 1;
  if (is_plain && cvt.to == Format::F32 && cvt.from == Format::BF16) return &step_plain<D, Format::F32, Format::BF16>;
  if (is_plain && cvt.to == Format::F32 && cvt.from == Format::F16) return &step_plain<D, Format::F32, Format::F16>;
  if (is_plain && cvt.to == Format::BF16 && cvt.from == Format::F32) return &step_plain<D, Format::BF16, Format::F32>;
  if (is_plain && cvt.to == Format::F16 && cvt.from == Format::F32) return &step_plain<D, Format::F16, Format::F32>;
  return &step_real<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::CvtPack>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  ctx.three(instr, op, Type::s32);
  switch (instr.type(0)) {
    case Type::u16:
      op.imm = 16;
      break;
    case Type::s16:
      op.imm = 16, op.aux = 1;
      break;
    case Type::u8:
      op.imm = 8;
      break;
    case Type::s8:
      op.imm = 8, op.aux = 1;
      break;
    case Type::u4:
      op.imm = 4;
      break;
    case Type::s4:
      op.imm = 4, op.aux = 1;
      break;
    case Type::u2:
      op.imm = 2;
      break;
    default:
      op.imm = 2, op.aux = 1;
      break;
  }
  op.c = instr.operands.size() > 3 ? ctx.source(instr.operands[3], Type::b32) : op.a;
  return &step_pack_ints<D>;
}

PLUMB_INSTANTIATE_MEANING(Cvt)
PLUMB_INSTANTIATE_MEANING(CvtPack)

}  // namespace plumb::machine
