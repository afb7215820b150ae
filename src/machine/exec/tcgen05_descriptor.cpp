// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_descriptor.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace plumb::machine {

namespace {

using Element = Tcgen05Element;
using Kind = Tcgen05Kind;

constexpr std::uint32_t bits_of(std::uint64_t word, unsigned high, unsigned low) {
  return static_cast<std::uint32_t>(word >> low & ((std::uint64_t{1} << (high - low + 1)) - 1));
}

std::nullopt_t misuse(Refusal& refusal, std::string text) {
  refusal = {std::move(text), false};
  return std::nullopt;
}
std::nullopt_t open(Refusal& refusal, std::string text) {
  refusal = {std::move(text), true};
  return std::nullopt;
}

const char* name(Kind kind) {
  constexpr std::array kNames{"kind::f16",      "kind::tf32", "kind::f8f6f4",  "kind::i8",
                              "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<Element> element_of(Kind kind, std::uint32_t code) {
  switch (kind) {
    case Kind::F16:
      if (code <= 1) return code == 0 ? Element::F16 : Element::BF16;
      return std::nullopt;
    case Kind::Tf32:
      return code == 2 ? std::optional(Element::Tf32) : std::nullopt;
    case Kind::I8:
      if (code <= 1) return code == 0 ? Element::U8 : Element::S8;
      return std::nullopt;
    case Kind::F8f6f4:
    case Kind::Mxf8f6f4:
      switch (code) {
        case 0:
          return Element::E4M3;
        case 1:
          return Element::E5M2;
        case 3:
          return Element::E2M3;
        case 4:
          return Element::E3M2;
        case 5:
          return Element::E2M1;
        default:
          return std::nullopt;
      }
    case Kind::Mxf4:
    case Kind::Mxf4nvf4:
      return code == 1 ? std::optional(Element::E2M1) : std::nullopt;
  }
  return std::nullopt;
}

bool is_below_byte(Element element) { return has_six_bits(element) || element == Element::E2M1; }

// Types of A and B, and what both families of descriptors say of them.
bool decode_operands(std::uint32_t bits, Tcgen05Spec& spec, Refusal& refusal) {
  const Tcgen05Form& form = spec.form;
  // Kinds of 4 bits have two bits of B's type, and a zero above.
  const std::uint32_t code_a = bits_of(bits, 9, 7), code_b = bits_of(bits, 12, 10);
  for (const bool is_a : {true, false}) {
    const std::optional<Element> element = element_of(form.kind, is_a ? code_a : code_b);
    if (!element) {
      misuse(refusal, std::string("code ") + std::to_string(is_a ? code_a : code_b) +
                          (is_a ? " in bits 9:7, the type of A," : " in bits 12:10, the type of B,") +
                          " names no type of " + name(form.kind));
      return false;
    }
    (is_a ? spec.a : spec.b) = *element;
  }
  spec.is_a_negated = bits_of(bits, 13, 13) != 0, spec.is_b_negated = bits_of(bits, 14, 14) != 0;
  spec.is_a_transposed = bits_of(bits, 15, 15) != 0, spec.is_b_transposed = bits_of(bits, 16, 16) != 0;
  if (form.kind == Kind::I8 && (spec.is_a_negated || spec.is_b_negated)) {
    misuse(refusal, "bit 13 or 14 negates an operand of integers");
    return false;
  }
  if (is_packed(form.kind) && (spec.is_a_transposed || spec.is_b_transposed)) {
    misuse(refusal, "bit 15 or 16 makes an operand MN-major; two elements a byte are K-major only");
    return false;
  }
  if (form.is_a_in_memory && spec.is_a_transposed) {
    misuse(refusal, "bit 15 makes A MN-major; in tensor memory it is K-major");
    return false;
  }
  if ((spec.is_a_transposed && is_below_byte(spec.a)) || (spec.is_b_transposed && is_below_byte(spec.b))) {
    open(refusal, "an MN-major operand of 4 or 6 bits");
    return false;
  }
  if (bits_of(bits, 2, 2) != (form.is_sparse ? 1U : 0U)) {
    misuse(refusal,
           form.is_sparse ? "bit 2 is clear, in a sparse product" : "bit 2 says that A is sparse, in a dense product");
    return false;
  }
  return true;
}

bool decode_plain(std::uint32_t bits, Tcgen05Spec& spec, Refusal& refusal) {
  const Tcgen05Form& form = spec.form;
  const auto fail = [&](std::string text) { return misuse(refusal, std::move(text)), false; };
  if ((bits & (1U << 6 | 1U << 23 | 1U << 29)) != 0) return fail("a reserved bit (6, 23 or 29) is set");
  const bool has_shift = bits_of(bits, 31, 30) != 0;
  if (has_shift && !form.is_stationary) return fail("bits 31:30, the largest shift, are set without `.ws`");
  spec.selector = static_cast<std::uint8_t>(bits_of(bits, 1, 0));
  const bool has_selector = form.kind == Kind::F16 || form.kind == Kind::Tf32;
  if (spec.selector != 0 && (!form.is_sparse || !has_selector)) {
    return fail("bits 1:0, the sparsity selector, are set where there is none");
  }
  if (spec.selector > 1) return open(refusal, "sparsity selector " + std::to_string(spec.selector)), false;
  spec.is_saturating = bits_of(bits, 3, 3) != 0;
  if (spec.is_saturating && form.kind != Kind::I8) return fail("bit 3, saturation, is set without integers");
  const std::uint32_t sum = bits_of(bits, 5, 4);
  const bool is_good_sum = form.kind == Kind::I8     ? sum == 2
                           : form.kind == Kind::Tf32 ? sum == 1
                           : form.kind == Kind::F16  ? sum == 1 || (sum == 0 && spec.a == Element::F16)
                                                     : sum <= 1;
  if (!is_good_sum) {
    return fail("code " + std::to_string(sum) + " in bits 5:4 names no type of D for these operands");
  }
  spec.sum = static_cast<Tcgen05Sum>(sum);
  if (form.kind == Kind::F16 && spec.a != spec.b) return open(refusal, "a product of f16 with bf16"), false;
  spec.m = static_cast<std::uint16_t>(bits_of(bits, 28, 24) << 4);
  spec.n = static_cast<std::uint16_t>(bits_of(bits, 22, 17) << 3);
  return true;
}

bool decode_scaled(std::uint32_t bits, Tcgen05Spec& spec, Refusal& refusal) {
  const auto fail = [&](std::string text) { return misuse(refusal, std::move(text)), false; };
  if ((bits & (3U | 1U << 3 | 1U << 6 | 7U << 24)) != 0) {
    return fail("a reserved bit (1:0, 3, 6 or 26:24) is set");
  }
  const Kind kind = spec.form.kind;
  if (bits_of(bits, 31, 31) != 0) {
    if (!is_packed(kind) || spec.form.is_sparse) return fail("a reserved bit (31) is set");
    if (spec.form.wide == Tcgen05Wide::No) return fail("bit 31 asks for K = 96, which only sm_103a has");
    if (spec.form.wide == Tcgen05Wide::Unclear) {
      return open(refusal, "K = 96 on this target, or without `.block16` or `.block32`"), false;
    }
    if (spec.form.is_a_in_memory) return open(refusal, "K = 96 with A in tensor memory"), false;
    spec.is_wide = true;
  }
  spec.is_scale_ue4m3 = bits_of(bits, 23, 23) == 0;
  if (spec.is_scale_ue4m3 && kind != Kind::Mxf4nvf4) {
    return fail(std::string("bit 23 is clear: scales of ") + name(kind) + " are UE8M0");
  }
  if (spec.is_scale_ue4m3 && spec.form.scales != 4) {
    return fail("bit 23 is clear: scales for 32 elements are UE8M0");
  }
  spec.scale_a_id = static_cast<std::uint8_t>(bits_of(bits, 30, 29));
  spec.scale_b_id = static_cast<std::uint8_t>(bits_of(bits, 5, 4));
  for (const std::uint8_t id : {spec.scale_a_id, spec.scale_b_id}) {
    // Steps of K whose scales follow each other start at these; with K = 96 a line's may go on in its next cell.
    if (id % std::gcd(spec.line_scales(), 4U) != 0) {
      return fail("scales start at byte " + std::to_string(id) + " of their cell, and each row has " +
                  std::to_string(spec.line_scales()));
    }
  }
  spec.sum = Tcgen05Sum::F32;
  spec.m = static_cast<std::uint16_t>(bits_of(bits, 28, 27) << 7);
  spec.n = static_cast<std::uint16_t>(bits_of(bits, 22, 17) << 3);
  return true;
}

std::string shape_text(const Tcgen05Spec& spec) {
  return "M = " + std::to_string(spec.m) + ", N = " + std::to_string(spec.n);
}

bool check_m(const Tcgen05Spec& spec, Refusal& refusal) {
  const Tcgen05Form& form = spec.form;
  bool is_good = false;
  if (form.is_stationary) {
    is_good = spec.m == 32 || spec.m == 64 || spec.m == 128;
  } else if (form.group == 2) {
    is_good = spec.m == 256 || (spec.m == 128 && !(has_block_scales(form.kind) && form.is_sparse));
  } else {
    is_good = spec.m == 128 || (spec.m == 64 && !has_block_scales(form.kind));
  }
  if (is_good) return true;
  misuse(refusal, shape_text(spec) + ": no such M" +
                      (form.group == 2 ? " for two CTAs, where the descriptor has the M of both" : ""));
  return false;
}

bool check_n(const Tcgen05Spec& spec, Refusal& refusal) {
  const Tcgen05Form& form = spec.form;
  const auto fail = [&](const char* rule) { return misuse(refusal, shape_text(spec) + ": " + rule), false; };
  const auto doubt = [&](const char* what) { return open(refusal, shape_text(spec) + ": " + what), false; };
  const unsigned n = spec.n;
  if (n == 0 || n > 256) return fail("N is 8 to 256");
  if (form.is_stationary) {
    if (n == 64 || n == 128 || (n == 256 && !form.is_sparse)) return true;
    return fail(form.is_sparse ? "with `.ws`, N of a sparse product is 64 or 128" : "with `.ws`, N is 64, 128 or 256");
  }
  const bool is_byte = form.kind == Kind::F8f6f4 || form.kind == Kind::I8 || form.kind == Kind::Mxf8f6f4;
  if (form.group == 2) {
    if (n % 16 != 0) return fail("with two CTAs, N is a multiple of 16");
    if (form.kind == Kind::I8 && n % 32 != 0) return fail("of integers, with two CTAs, N is a multiple of 32");
    if (is_byte && spec.is_b_transposed && n % 32 != 0) return fail("MN-major bytes of two CTAs take N in steps of 32");
    if (form.is_a_in_memory && n % 32 != 0) return doubt("N % 32, with A in the tensor memory of two CTAs");
    if (form.kind == Kind::F8f6f4 && form.is_sparse && n % 32 != 0)
      return doubt("N % 32, in a sparse product of bytes");
    return true;
  }
  if (form.kind == Kind::I8) {
    if (n == 24) return doubt("N = 24, of integers");
    if (n != 8 && n % 16 != 0) return fail("of integers, N is 8 or a multiple of 16");
  }
  if (is_byte && spec.is_b_transposed && n % 16 != 0) return fail("MN-major bytes take N in steps of 16");
  if (spec.m == 128 && n % 16 != 0) return doubt("N % 16, with M = 128");
  return true;
}

}  // namespace

unsigned Tcgen05Spec::element_bits() const {
  if (is_packed(form.kind)) return 4;
  return form.kind == Kind::F16 ? 16 : form.kind == Kind::Tf32 ? 32 : 8;
}
OperandTile Tcgen05Spec::a_tile() const {
  return {a_rows(), is_a_transposed ? stored_k() : stored_k() * element_bits() / 8, is_a_transposed,
          element_bits() / 8};
}
OperandTile Tcgen05Spec::b_tile() const {
  return {b_rows(), is_b_transposed ? k() : k() * element_bits() / 8, is_b_transposed, element_bits() / 8};
}

std::optional<Tcgen05Spec> decode_instruction(std::uint32_t bits, const Tcgen05Form& form, Refusal& refusal) {
  Tcgen05Spec spec;
  spec.form = form;
  if (!decode_operands(bits, spec, refusal)) return std::nullopt;
  if (!(has_block_scales(form.kind) ? decode_scaled(bits, spec, refusal) : decode_plain(bits, spec, refusal))) {
    return std::nullopt;
  }
  if (!check_m(spec, refusal) || !check_n(spec, refusal)) return std::nullopt;
  if (form.is_stationary && form.is_a_in_memory && spec.m != 128) {
    return open(refusal, "A in tensor memory of a `.ws` product with M below 128");
  }
  if (form.is_sparse && form.group == 2 && spec.m == 128) {
    return open(refusal, "the metadata of sparse rows that take half of the lanes");
  }
  if (spec.is_wide && form.group == 2 && spec.m == 128) {
    return open(refusal, "K = 96 with M = 128 over two CTAs: where the scales of B go on");
  }
  if (has_block_scales(form.kind) && form.group == 2 && spec.m == 128 && spec.n % 64 != 0) {
    return open(refusal, shape_text(spec) + ": the scales of B over two CTAs");
  }
  return spec;
}

std::optional<MatrixDescriptor> decode_tcgen05_descriptor(std::uint64_t bits, Refusal& refusal) {
  if (bits_of(bits, 48, 46) != 1) {
    return misuse(refusal, bits_of(bits, 48, 46) == 0
                               ? "bits 48:46 are 0, as in descriptors of wgmma; those of tcgen05 have bit 46 set and "
                                 "their swizzle in bits 63:61"
                               : "bits 48:46 are not 1");
  }
  if (bits_of(bits, 15, 14) != 0 || bits_of(bits, 31, 30) != 0 || bits_of(bits, 60, 53) != 0) {
    return misuse(refusal, "a reserved bit (15:14, 31:30 or 60:53) is set: a sum may have carried out of its field");
  }
  if (bits_of(bits, 51, 49) != 0) return open(refusal, "a base offset (bits 51:49)");
  MatrixDescriptor out;
  out.start = bits_of(bits, 13, 0) << 4;
  out.leading = bits_of(bits, 29, 16) << 4, out.stride = bits_of(bits, 45, 32) << 4;
  out.has_second_chunk = bits_of(bits, 52, 52) != 0;
  switch (bits_of(bits, 63, 61)) {
    case 0:
      break;
    case 1:
      out.swizzle_units = 8, out.has_wide_units = true;
      break;
    case 2:
      out.swizzle_units = 8;
      break;
    case 4:
      out.swizzle_units = 4;
      break;
    case 6:
      out.swizzle_units = 2;
      break;
    default:
      return misuse(refusal, "code " + std::to_string(bits_of(bits, 63, 61)) + " in bits 63:61 names no swizzle");
  }
  return out;
}

bool may_read_tile(const MatrixDescriptor& d, const OperandTile& tile, Refusal& refusal) {
  const auto fail = [&](std::string text) { return misuse(refusal, std::move(text)), false; };
  if (tile.is_transposed && tile.element_bytes == 4 && !d.has_wide_units) {
    return fail("MN-major tf32 takes the 128-byte swizzle with 32-byte atoms only");
  }
  if (tile.is_transposed && tile.element_bytes != 4 && d.has_wide_units) {
    return fail("the 128-byte swizzle with 32-byte atoms is for MN-major tf32");
  }
  if (d.has_wide_units && !tile.is_transposed) {
    return open(refusal, "a K-major tile in the 128-byte swizzle with 32-byte atoms"), false;
  }
  if (d.has_second_chunk && (tile.is_transposed || tile.inner != 48 || d.swizzle_units != 8)) {
    return fail(
        "bit 52, an absolute leading address, is for K-major rows of 48 bytes (K = 96) in the 128-byte swizzle");
  }
  if (d.swizzle_units == 1) return true;
  const std::uint32_t width = 16 * d.swizzle_units;
  if (d.has_second_chunk && d.leading % (8 * width) != 0) {
    return open(refusal,
                "a second chunk at shared address " + std::to_string(d.leading) + ", which begins no swizzle pattern"),
           false;
  }
  const std::uint32_t line = tile.is_transposed ? tile.outer * tile.element_bytes : tile.inner;
  if (!tile.is_transposed && line > width) {
    return open(refusal, "rows of " + std::to_string(line) + " bytes in a swizzle of 32: where the second half lies"),
           false;
  }
  if (!d.has_second_chunk && d.start % width + std::min(line, width) > width) {
    return fail("the tile starts at byte " + std::to_string(d.start % width) + " of a swizzled row of " +
                std::to_string(width) + " bytes and leaves it");
  }
  if (d.start % (8 * width) >= width) {
    return fail("the tile starts at shared address " + std::to_string(d.start) +
                ", which is not in the first row of a swizzle "
                "pattern: patterns of this swizzle start at multiples of " +
                std::to_string(8 * width));
  }
  return true;
}

std::optional<ColumnMask> decode_column_mask(std::uint64_t bits, unsigned m, unsigned n, Refusal& refusal) {
  if (bits_of(bits, 38, 36) != 0 || bits_of(bits, 63, 62) != 0) {
    return misuse(refusal, "a reserved bit (38:36 or 63:62) is set");
  }
  ColumnMask out;
  out.shift = bits_of(bits, 61, 56);
  if (out.shift > (m == 32 ? 16U : 32U)) {
    return misuse(refusal,
                  "a column shift of " + std::to_string(out.shift) + ": it is at most " + (m == 32 ? "16" : "32"));
  }
  if (bits_of(bits, 39, 39) == 0) return out;
  const unsigned parts = m == 128 ? 1 : m == 64 ? 2 : 4, length = n / parts;
  const unsigned skip = bits_of(bits, 47, 40) + 1, use = bits_of(bits, 55, 48) + 1;
  for (unsigned part = 0; part < 4; ++part) {
    const unsigned dropped = bits_of(bits, 8 * part + 7, 8 * part);
    bool is_zeroed = bits_of(bits, 32 + part, 32 + part) != 0;
    if (part >= parts) {
      if (dropped != 0 || is_zeroed) return open(refusal, "fields of a sub-mask that the shape does not have");
      continue;
    }
    unsigned left = is_zeroed ? skip : use;
    if (dropped >= left) return open(refusal, "a start count that drops the first run altogether");
    left -= dropped;
    for (unsigned i = 0; i < length; ++i) {
      out.zeroed[part * length + i] = is_zeroed;
      if (--left != 0) continue;
      is_zeroed = !is_zeroed;
      left = is_zeroed ? skip : use;
    }
  }
  return out;
}

}  // namespace plumb::machine
