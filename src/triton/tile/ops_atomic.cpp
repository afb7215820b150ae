// SPDX-License-Identifier: Apache-2.0
// Atomics. Programs of a kernel with atomics run one after the other.
#include <algorithm>
#include <type_traits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/memory_args.h"

namespace plumb::triton {
namespace {

template <class D>
void check_order(Context<D>& context, const Value<D>& sem, const Value<D>& scope) {
  const std::string order = constexpr_text(context, sem, "`sem`"), reach = constexpr_text(context, scope, "`scope`");
  const bool is_order =
      order.empty() || order == "acquire" || order == "release" || order == "acq_rel" || order == "relaxed";
  if (!is_order) context.fail(kType, fmt::format("`{}` is no memory order", order));
  const bool is_scope = reach.empty() || reach == "gpu" || reach == "cta" || reach == "sys";
  if (!is_scope) context.fail(kType, fmt::format("`{}` is no scope", reach));
}

// Applies `update(old, value) -> new` to each lane in order and returns the old values. Programs of a kernel with
// atomics run one after the other, so that a lane's read and write are not separated.
// `arguments`: pointer, value, mask, sem, scope.
template <class D, class Update>
Value<D> atomic(Context<D>& context, Arguments<D>& arguments, Update update) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  check_order(context, arguments[3], arguments[4]);
  const Type type{to->type.element, false};
  if (bit_width(type.element) < 16 || type.element == DType::Int16 || type.element == DType::UInt16) {
    context.fail(kType, fmt::format("atomics on {} do not exist", name(type)));
  }
  const BlockPtr<D> values = broadcast_to(context, cast(context, to_block(context, arguments[1]), type), to->shape);
  const BlockPtr<D> mask = mask_of(context, arguments[2], to->shape);
  check_addresses(context, *to, mask);
  auto old = new_block<D>(type, to->shape);
  auto one = new_block<D>(type, {});
  const std::size_t size = to->size();
  context.count(size);
  with_element(type.element, [&]<DType element>() {
    Access<D, element> access(context, to->shape, true);
    for (std::size_t i = 0; i < size; ++i) {
      if (mask && mask->ints[i] == 0) {
        access.mark_undefined(*old, i);
        continue;
      }
      const auto address = static_cast<std::uint64_t>(to->ints[i]);
      access.load(address, *old, i);
      one->undefined.clear();
      one->words.clear();
      const bool is_unknown = (!old->undefined.empty() && old->undefined[i] != 0) ||
                              (!values->undefined.empty() && values->undefined[i] != 0);
      if (is_unknown) one->undefined.assign(1, 1);
      update(*one, *old, *values, i);
      access.store(address, *one, 0, i);
    }
  });
  context.check();
  settle_words(*old);
  return BlockPtr<D>(std::move(old));
}

// Whether element i of a block that is being loaded is data; its known elements are in `ints`.
template <class D>
bool has_data(const Block<D>& block, std::size_t i) {
  return block.is_word() && std::ranges::any_of(block.words[i].tags, [](domain::Tag tag) { return tag != 0; });
}

template <class D>
Value<D> integer_atomic(Context<D>& context, Arguments<D>& arguments, IntOp op) {
  return atomic(context, arguments, [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
    if (out.is_real()) context.fail(kType, "this atomic is of integers");
    const Shape scalar;
    if (has_data(old, i) || values.is_word()) {
      const auto element = [&](const Block<D>& block, bool is_data) {
        auto made = new_block<D>(out.type, scalar);
        made->ints[0] = is_data ? 0 : block.ints[i];
        if (!is_data) return made;
        made->ints.clear();
        made->words.assign(1, block.words[i]);
        return made;
      };
      const BlockPtr<D> result = int_operation(
          context, op, Pair<D>{element(old, has_data(old, i)), element(values, values.is_word()), out.type, scalar});
      if (result->is_word()) {
        out.words = result->words;
      } else {
        out.ints = result->ints;
      }
      return;
    }
    int_binary(op, out.type.element, scalar, {&old.ints[i], scalar}, {&values.ints[i], scalar}, out.ints.data(),
               nullptr);
  });
}

// Floats go through the order of their bits, in which -0 is below +0 and a NaN anywhere.
template <class D>
Value<D> extreme_atomic(Context<D>& context, Arguments<D>& arguments, bool is_max) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  const DType type = to->type.element;
  if (!is_float(type)) return integer_atomic(context, arguments, is_max ? IntOp::Max : IntOp::Min);
  if (type != DType::Fp32 && type != DType::Fp64) {
    context.fail(kType, fmt::format("`atomic_max` and `atomic_min` on {} do not exist", name({type, false})));
  }
  const domain::Format of = format(type);
  return atomic(context, arguments, [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
    D& d = context.domain;
    const auto &a = old.reals[i], &b = values.reals[i];
    if constexpr (std::is_same_v<D, domain::Ieee>) {
      if (d.compare(of, domain::Compare::Nan, a, b, {})) out.undefined.assign(1, 1);
      const std::uint64_t sign = of == domain::Format::F32 ? 0x80000000U : std::uint64_t{1} << 63;
      const auto rank = [sign](std::uint64_t bits) {
        return (bits & sign) != 0 ? ~bits & (sign | (sign - 1)) : bits | sign;
      };
      out.reals[0] = (rank(a) < rank(b)) == is_max ? b : a;
    } else {
      out.reals[0] = is_max ? d.max(of, a, b, {}) : d.min(of, a, b, {});
    }
  });
}

}  // namespace

template <class D>
Value<D> op_atomic_add(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  if (!is_float(to->type.element)) return integer_atomic(context, arguments, IntOp::Add);
  const domain::Format of = format(to->type.element);
  return atomic(context, arguments, [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
    out.reals[0] = context.domain.add(of, old.reals[i], values.reals[i], domain::FloatMode{});
  });
}
template <class D>
Value<D> op_atomic_max(Context<D>& context, Arguments<D>& arguments) {
  return extreme_atomic(context, arguments, true);
}
template <class D>
Value<D> op_atomic_min(Context<D>& context, Arguments<D>& arguments) {
  return extreme_atomic(context, arguments, false);
}
template <class D>
Value<D> op_atomic_and(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::And);
}
template <class D>
Value<D> op_atomic_or(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Or);
}
template <class D>
Value<D> op_atomic_xor(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Xor);
}

template <class D>
Value<D> op_atomic_xchg(Context<D>& context, Arguments<D>& arguments) {
  return atomic(context, arguments, [&](Block<D>& out, const Block<D>&, const Block<D>& values, std::size_t i) {
    // What was there does not matter to what is there afterwards.
    out.undefined.assign(values.undefined.empty() ? 0 : 1, values.undefined.empty() ? 0 : values.undefined[i]);
    if (out.is_real()) {
      out.reals[0] = values.reals[i];
    } else if (values.is_word()) {
      out.words.assign(1, values.words[i]);
    } else {
      out.ints[0] = values.ints[i];
    }
  });
}

template <class D>
Value<D> op_atomic_cas(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  if (is_float(to->type.element) && D::kHasTags) {
    context.unmodelled(kData, "`atomic_cas` compares the bits of abstract data");
  }
  const BlockPtr<D> expected =
      broadcast_to(context, cast(context, to_block(context, arguments[1]), {to->type.element, false}), to->shape);
  Arguments<D> exchange;
  exchange.values = {arguments[0], arguments[2], {}, arguments[3], arguments[4]};
  return atomic(context, exchange, [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
    if (has_data(old, i)) context.unmodelled(kData, "`atomic_cas` compares integers that depend on data");
    if (!expected->undefined.empty() && expected->undefined[i] != 0) out.undefined.assign(1, 1);
    if (!out.is_real()) {
      out.ints[0] = old.ints[i] == expected->ints[i] ? values.ints[i] : old.ints[i];
    } else if constexpr (!D::kHasTags) {
      out.reals[0] = old.reals[i] == expected->reals[i] ? values.reals[i] : old.reals[i];
    }
  });
}

#define PLUMB_TRITON_CHAPTER 7
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
