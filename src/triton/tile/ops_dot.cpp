// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"
#include "triton/tile/ieee_rows.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

namespace {

struct Extents {
  std::uint32_t batch = 1, m = 0, n = 0, k = 0;
};

template <class D>
Extents dot_extents(Context<D>& context, const Shape& a, const Shape& b) {
  const bool is_good = a.rank == b.rank && (a.rank == 2 || a.rank == 3);
  if (!is_good) context.fail(kType, fmt::format("`tl.dot` of shapes {} and {}", text(a), text(b)));
  const unsigned last = a.rank - 1u;
  const bool fits = a[last] == b[last - 1] && (a.rank == 2 || a[0] == b[0]);
  if (!fits) context.fail(kType, fmt::format("`tl.dot` of shapes {} and {}: they do not match", text(a), text(b)));
  return {a.rank == 3 ? a[0] : 1, a[last - 1], b[last], a[last]};
}

template <class D>
DType dot_result(Context<D>& context, DType a, DType b, const Value<D>& out_dtype) {
  const bool is_fp8_pair = is_fp8(a) && is_fp8(b);
  if (a != b && !is_fp8_pair) {
    context.fail(kType, fmt::format("`tl.dot` of {} and {}: the types differ", language_name(a), language_name(b)));
  }
  const DType asked =
      out_dtype.is_unset() || out_dtype.is_none() ? DType::Fp32 : constexpr_type(context, out_dtype).element;
  switch (a) {
    case DType::Int8:
      return DType::Int32;
    case DType::Fp64:
      return DType::Fp64;
    case DType::Fp32:
    case DType::BF16:
      return DType::Fp32;
    case DType::Fp16:
    case DType::Fp8E4Nv:
    case DType::Fp8E5:
      if (asked == DType::Fp32 || asked == DType::Fp16) return asked;
      context.fail(kType, fmt::format("`tl.dot` with `out_dtype` {}", language_name(asked)));
    default:
      context.fail(kType, fmt::format("`tl.dot` of {}", language_name(a)));
  }
}

// How f32 operands are read: tf32 unless the source asks for ieee.
template <class D>
Format operand_format(Context<D>& context, DType type, Arguments<D>& arguments) {
  if (type != DType::Fp32) return format(type);
  const std::string precision = constexpr_text(context, arguments[3], "`input_precision`");
  if (precision.empty()) return constexpr_flag(context, arguments[4], true) ? Format::Tf32 : Format::F32;
  if (precision == "tf32") return Format::Tf32;
  // The emulations split operands so that what they drop is below f32's own rounding.
  if (precision == "ieee" || precision == "tf32x3" || precision == "bf16x6") return Format::F32;
  if (precision == "bf16x3") {
    context.unmodelled(kUnsupported,
                       "the input precision `bf16x3`, coarser than f32 by an amount left open, is not supported");
  }
  context.unmodelled(kUnsupported, fmt::format("the input precision `{}` is not supported", precision));
}

// What `max_num_imprecise_acc` allows the accumulator of fp8: so much of K before a partial sum goes to f32.
template <class D>
std::uint32_t imprecise_k(Context<D>& context, const Value<D>& value, std::uint32_t k) {
  const Int128 given = constexpr_integer(context, value, "`max_num_imprecise_acc`");
  if (given < 0 || given > k) {
    context.fail(kType, fmt::format("`max_num_imprecise_acc` is at least 0 and at most K, which is {}", k));
  }
  return std::max(1U, static_cast<std::uint32_t>(given));
}

// Operands as a product reads them. Which way tf32 rounds is not the source's to say: cutting bits off is the coarsest
// that it allows. `cut` keeps the rounded ones.
template <class D>
const typename D::Real* operands(Context<D>& context, const Block<D>& block, Format format,
                                 std::vector<typename D::Real>& cut) {
  if (format != Format::Tf32) return block.reals.data();
  cut.reserve(block.reals.size());
  for (const typename D::Real& real : block.reals) {
    cut.push_back(context.domain.convert(Format::Tf32, Format::F32, real, {.round = domain::Round::Rz}));
  }
  if constexpr (std::is_same_v<D, domain::Ieee>) {
    if (context.run.options.flips_roundings) {
      flip_row(Format::Tf32, Format::F32, cut.size(), block.reals.data(), cut.data());
    }
  }
  return cut.data();
}

// An undefined element of a reaches its row of the product, one of b its column.
template <class D>
void spread_dot_undefined(Block<D>& out, const Block<D>& a, const Block<D>& b, const Block<D>* acc, const Extents& e) {
  if (acc != nullptr) out.undefined = acc->undefined;
  if (a.undefined.empty() && b.undefined.empty()) return;
  out.undefined.resize(out.size());
  for (std::size_t batch = 0; batch < e.batch; ++batch) {
    for (std::size_t i = 0; i < std::size_t{e.m} * e.n; ++i) {
      bool any = false;
      for (std::size_t k = 0; k < e.k && !any; ++k) {
        any = (!a.undefined.empty() && a.undefined[(batch * e.m + i / e.n) * e.k + k] != 0) ||
              (!b.undefined.empty() && b.undefined[(batch * e.k + k) * e.n + i % e.n] != 0);
      }
      out.undefined[batch * e.m * e.n + i] |= any;
    }
  }
}

// Added to `out`: a product of integers of which some are data.
template <class D>
void data_dot(Context<D>& context, const Block<D>& a, const Block<D>& b, const Extents& e, Block<D>& out) {
  if constexpr (D::kHasTags) {
    using Real = typename D::Real;
    D& d = context.domain;
    const auto numbers = [&](const Block<D>& block) {
      std::vector<Real> made;
      made.reserve(block.size());
      for (const domain::Word& word : words(block)) {
        made.push_back(d.integer(word, bit_width(block.type.element), is_signed(block.type.element), &block == &out));
      }
      return made;
    };
    const std::vector<Real> left = numbers(a), right = numbers(b);
    std::vector<Real> sums = numbers(out);
    context.check();
    for (std::size_t batch = 0; batch < e.batch; ++batch) {
      Real* const c = sums.data() + batch * e.m * e.n;
      d.int_dot(e.m, e.n, e.k, left.data() + batch * e.m * e.k, right.data() + batch * e.k * e.n, c, c, false);
    }
    out.ints.clear();
    out.words.clear();
    for (const Real& sum : sums) out.words.push_back(d.integer_word(sum, byte_size(out.type.element)));
    context.check();
  } else {
    (void)context, (void)a, (void)b, (void)e, (void)out;
  }
}

}  // namespace

template <class D>
Value<D> op_dot(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> a = to_block(context, arguments[0]), b = to_block(context, arguments[1]);
  if (a->is_pointer() || b->is_pointer()) context.fail(kType, "`tl.dot` of pointers");
  const Extents extents = dot_extents(context, a->shape, b->shape);
  const Type type{dot_result(context, a->type.element, b->type.element, arguments[6]), false};
  auto out = new_block<D>(type, a->shape);
  out->shape.dims[a->shape.rank - 1u] = extents.n;
  BlockPtr<D> acc;
  if (arguments.has(2)) {
    acc = to_block(context, arguments[2]);
    if (!(acc->type == type) || !(acc->shape == out->shape)) {
      context.fail(kType, fmt::format("the accumulator is {}{}, the product {}{}", name(acc->type), text(acc->shape),
                                      name(type), text(out->shape)));
    }
    out->ints = acc->ints;
    out->reals = acc->reals;
    out->words = acc->words;
  } else if (out->is_real()) {
    out->reals.assign(out->size(), context.domain.constant(format(type.element), 0));
  } else {
    out->ints.assign(out->size(), 0);
  }
  const std::size_t a_size = std::size_t{extents.m} * extents.k, b_size = std::size_t{extents.k} * extents.n;
  const std::size_t c_size = std::size_t{extents.m} * extents.n;
  context.count(extents.batch * c_size * extents.k);
  domain::DotShape shape{.m = extents.m, .n = extents.n, .k = extents.k, .kind = domain::DotKind::TritonDot};
  if (out->is_real()) {
    shape.a = operand_format(context, a->type.element, arguments);
    shape.b = operand_format(context, b->type.element, arguments);
    shape.acc = format(type.element);
    if (is_fp8(a->type.element) && arguments.has(5)) shape.promoted_k = imprecise_k(context, arguments[5], extents.k);
  }
  std::vector<typename D::Real> cut_a, cut_b;
  const auto* a_reals = operands(context, *a, shape.a, cut_a);
  const auto* b_reals = operands(context, *b, shape.b, cut_b);
  if (a->is_word() || b->is_word() || out->is_word()) {
    data_dot(context, *a, *b, extents, *out);
    spread_dot_undefined(*out, *a, *b, acc.get(), extents);
    return BlockPtr<D>(std::move(out));
  }
  for (std::size_t batch = 0; batch < extents.batch; ++batch) {
    if (out->is_real()) {
      auto* c = out->reals.data() + batch * c_size;
      context.domain.dot(shape, a_reals + batch * a_size, b_reals + batch * b_size, c, c);
    } else {
      int_dot(extents.m, extents.n, extents.k, a->ints.data() + batch * a_size, b->ints.data() + batch * b_size,
              out->ints.data() + batch * c_size);
    }
  }
  context.check();
  spread_dot_undefined(*out, *a, *b, acc.get(), extents);
  return BlockPtr<D>(std::move(out));
}

// --- the scaled matrix product ---------------------------------------------------------------------------------------

namespace {

double e2m1_value(unsigned nibble) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (nibble & 8) != 0 ? -kMagnitudes[nibble & 7] : kMagnitudes[nibble & 7];
}

// An operand as f32, rank 2, before its scale. `k_axis` is where the packed axis is.
template <class D>
BlockPtr<D> scaled_operand(Context<D>& context, BlockPtr<D> block, const std::string& form, unsigned k_axis) {
  if (block->shape.rank != 2) context.unmodelled(kUnsupported, "`dot_scaled` of this rank is not supported");
  const Type single{DType::Fp32, false};
  if (form == "e2m1") {
    const bool is_bytes = block->type.element == DType::UInt8 || block->type.element == DType::Int8;
    if (!is_bytes) context.fail(kType, "`e2m1` operands are packed in bytes");
    Shape shape = block->shape;
    shape.dims[k_axis] *= 2;
    auto out = new_block<D>(single, shape);
    const std::uint32_t columns = shape[1], packed = block->shape[1];
    if (!block->undefined.empty()) out->undefined.assign(out->size(), 0);
    for (std::size_t i = 0; i < out->size(); ++i) {
      const std::size_t row = i / columns, column = i % columns, k = k_axis == 1 ? column : row;
      const std::size_t from = (k_axis == 0 ? row / 2 : row) * packed + (k_axis == 1 ? column / 2 : column);
      const auto byte = static_cast<unsigned>(block->ints[from]) & 255U;
      const double value = e2m1_value(k % 2 == 0 ? byte & 15U : byte >> 4);
      out->reals[i] = context.domain.constant(Format::F32, literal_bits(DType::Fp32, value));
      if (!block->undefined.empty()) out->undefined[i] = block->undefined[from];
    }
    return out;
  }
  const DType type = form == "e4m3"   ? DType::Fp8E4Nv
                     : form == "e5m2" ? DType::Fp8E5
                     : form == "bf16" ? DType::BF16
                     : form == "fp16" ? DType::Fp16
                                      : DType::Int1;
  if (type == DType::Int1) context.fail(kType, fmt::format("`{}` is no format of `dot_scaled`", form));
  if (is_fp8(type) && block->is_integer()) block = bitcast(context, block, {type, false});
  if (!(block->type == Type{type, false})) {
    context.fail(kType, fmt::format("an operand of {} is called `{}`", name(block->type), form));
  }
  return cast(context, block, single);
}

// Multiplied by its scales: one for each group of elements along K. `scales` is [rows or columns, K / group].
template <class D>
BlockPtr<D> scaled(Context<D>& context, const BlockPtr<D>& block, const Value<D>& scales_value, unsigned k_axis) {
  if (scales_value.is_unset() || scales_value.is_none()) return block;
  const BlockPtr<D> scales = to_block(context, scales_value);
  const std::uint32_t other = block->shape[1 - k_axis], depth = block->shape[k_axis];
  const bool fits =
      scales->shape.rank == 2 && scales->shape[0] == other && scales->shape[1] != 0 && depth % scales->shape[1] == 0;
  const std::uint32_t group = fits ? depth / scales->shape[1] : 0;
  const bool is_exponent = scales->type.element == DType::UInt8 || scales->type.element == DType::Int8;
  const bool is_good = fits && ((is_exponent && group == 32) ||
                                (scales->type == Type{DType::Fp8E4Nv, false} && (group == 16 || group == 32)));
  if (!is_good) {
    context.fail(kType, fmt::format("scales {}{} do not fit an operand of shape {}", name(scales->type),
                                    text(scales->shape), text(block->shape)));
  }
  auto factors = new_block<D>({DType::Fp32, false}, block->shape);
  const BlockPtr<D> as_single = is_exponent ? nullptr : cast(context, scales, {DType::Fp32, false});
  if (!scales->undefined.empty()) factors->undefined.assign(factors->size(), 0);
  for (std::size_t i = 0; i < factors->size(); ++i) {
    const std::size_t row = i / block->shape[1], column = i % block->shape[1];
    const std::size_t k = k_axis == 1 ? column : row, line = k_axis == 1 ? row : column;
    const std::size_t from = line * scales->shape[1] + k / group;
    if (!scales->undefined.empty()) factors->undefined[i] = scales->undefined[from];
    if (!is_exponent) {
      factors->reals[i] = as_single->reals[from];
      continue;
    }
    const auto exponent = static_cast<int>(scales->ints[from] & 255);
    const double value = exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127);
    factors->reals[i] = context.domain.constant(Format::F32, literal_bits(DType::Fp32, value));
  }
  return *binary(context, BinaryOp::Mul, Value<D>(block), Value<D>(BlockPtr<D>(std::move(factors))))
              .template get<BlockPtr<D>>();
}

}  // namespace

// Each operand times its scales, in f32, then the product with f32 operands.
template <class D>
Value<D> op_dot_scaled(Context<D>& context, Arguments<D>& arguments) {
  if (!constexpr_flag(context, arguments[8], true) || !constexpr_flag(context, arguments[9], true)) {
    context.unmodelled(kUnsupported, "`dot_scaled` of operands that are not packed along K is not supported");
  }
  const auto operand = [&](std::size_t at, unsigned k_axis) {
    const std::string form = constexpr_text(context, arguments[at + 2], "the format of an operand");
    const BlockPtr<D> block = scaled_operand(context, to_block(context, arguments[at]), form, k_axis);
    return Value<D>(scaled(context, block, arguments[at + 1], k_axis));
  };
  const Value<D> left = operand(0, 1), right = operand(3, 0);
  Arguments<D> product;
  product.values = {left, right, arguments[6], std::string("ieee"), {}, {}, {}};
  const Value<D> out = op_dot(context, product);
  if (!arguments.has(10)) return out;
  return cast(context, to_block(context, out), constexpr_type(context, arguments[10]));
}

#define PLUMB_TRITON_CHAPTER 11
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
