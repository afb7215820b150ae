// SPDX-License-Identifier: Apache-2.0
// Functions that are decided while the source is evaluated: Python's built-ins, assertions, hints, predicates on types.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {
namespace {

// Python's min and max: over numbers the deciding one, over run-time values Triton's minimum and maximum.
template <class D>
Value<D> extreme(Context<D>& context, Arguments<D>& arguments, bool is_max) {
  if (arguments.rest.empty()) context.fail(kType, "`min` and `max` need an argument");
  Value<D> best = arguments.rest[0];
  for (std::size_t i = 1; i < arguments.rest.size(); ++i) {
    const Value<D>& each = arguments.rest[i];
    if (best.is_number() && each.is_number()) {
      const Value<D> wins = compare(context, is_max ? CompareOp::Gt : CompareOp::Lt, each, best);
      if (truth(context, wins)) best = each;
      continue;
    }
    Arguments<D> pair;
    pair.values = {best, each, {}};
    best = is_max ? op_maximum(context, pair) : op_minimum(context, pair);
  }
  return best;
}

template <class D>
Type type_argument(Context<D>& context, const Value<D>& value) {
  if (const auto* type = value.template get<TypeValue>()) return type->type;
  context.fail(kType, "this method is of types");
}

// The input itself. The promise is checked for scalars; over a block it is about the first element of each group of
// neighbours, which the layout decides.
template <class D>
Value<D> promised_multiple(Context<D>& context, const Value<D>& input, const Value<D>& values) {
  const Value<D>* factor = &values;
  if (values.tuple() != nullptr && values.tuple()->size() == 1) factor = &values.tuple()->front();
  const Block<D>* block = input.block();
  if (block == nullptr || factor->tuple() != nullptr || block->shape.rank != 0 || block->ints.empty()) return input;
  const Int128 multiple = constexpr_integer(context, *factor, "the multiple");
  if constexpr (D::kHasTags) {
    if (block->is_pointer()) context.domain.note_address();
  }
  if (multiple <= 0 || multiple > largest(DType::Int64) || block->ints[0] % static_cast<std::int64_t>(multiple) == 0)
    return input;
  context.fail(
      kHint, fmt::format("{} is no multiple of {}, as promised", block->ints[0], static_cast<std::int64_t>(multiple)));
}

}  // namespace

template <class D>
Value<D> op_python_min(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, arguments, false);
}
template <class D>
Value<D> op_python_max(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, arguments, true);
}

template <class D>
Value<D> op_python_int(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>& value = arguments[0];
  if (const double* real = value.template get<double>()) {
    if (!std::isfinite(*real) || std::fabs(*real) > 1e30) context.fail(kConstexpr, "this float is no integer");
    return static_cast<Int128>(*real);
  }
  return constexpr_integer(context, value, "the argument of `int`");
}
template <class D>
Value<D> op_python_float(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>& value = arguments[0];
  if (const auto* text = value.template get<std::string>()) {
    const bool is_negative = text->starts_with('-');
    const std::string_view word = std::string_view(*text).substr(is_negative || text->starts_with('+') ? 1 : 0);
    if (word == "inf" || word == "infinity") return is_negative ? -HUGE_VAL : HUGE_VAL;
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    context.unmodelled(kUnsupported, "`float` of this string is not supported");
  }
  if (const double* real = value.template get<double>()) return *real;
  return static_cast<double>(constexpr_integer(context, value, "the argument of `float`"));
}
template <class D>
Value<D> op_python_bool(Context<D>& context, Arguments<D>& arguments) {
  return truth(context, arguments[0]);
}
template <class D>
Value<D> op_python_len(Context<D>& context, Arguments<D>& arguments) {
  if (const auto* tuple = arguments[0].tuple()) return Int128{tuple->size()};
  if (const Block<D>* block = arguments[0].block(); block != nullptr && block->shape.rank != 0) {
    return Int128{block->shape[0]};
  }
  context.fail(kType, "`len` takes a tuple or a block");
}

template <class D>
Value<D> op_python_tuple(Context<D>& context, Arguments<D>& arguments) {
  if (arguments[0].tuple() == nullptr) context.fail(kType, "`tuple` takes a tuple");
  return arguments[0];
}

template <class D>
Value<D> op_python_isinstance(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>&value = arguments[0], &type = arguments[1];
  if (const std::vector<Value<D>>* any = type.tuple()) {
    for (const Value<D>& each : *any) {
      Arguments<D> one;
      one.values = {value, each};
      if (truth(context, op_python_isinstance(context, one))) return true;
    }
    return false;
  }
  if (const auto* word = type.template get<node::EnumName>()) {
    if (word->name == "tensor") return value.block() != nullptr;
    if (word->name == "tuple") return value.tuple() != nullptr;
    if (word->name == "block_type") {
      return value.template get<TypeValue>() != nullptr && value.template get<TypeValue>()->is_block;
    }
  }
  if (const Op* op = type.template get<Op>()) {
    const bool is_compile_time = value.is_number() || value.is_none() || value.template get<std::string>() != nullptr ||
                                 value.template get<TypeValue>() != nullptr;
    switch (*op) {
      case Op::constexpr_:
        return is_compile_time;
      case Op::dtype_of_name:
        return value.template get<TypeValue>() != nullptr;
      case Op::pointer_type:
        return value.template get<TypeValue>() != nullptr && value.template get<TypeValue>()->type.is_pointer;
      case Op::python_tuple:
        return value.tuple() != nullptr;
      default:
        break;
    }
  }
  context.unmodelled(kUnsupported, "`isinstance` with this type is not supported");
}

namespace {

template <class D, class F>
Value<D> of_number(Context<D>& context, const Value<D>& value, F f) {
  const double* real = value.template get<double>();
  const double x = real != nullptr ? *real : static_cast<double>(constexpr_integer(context, value, "the argument"));
  const double result = f(x);
  if (std::isnan(result)) context.fail(kConstexpr, "the argument is outside the function's domain");
  return result;
}

}  // namespace

template <class D>
Value<D> op_python_log(Context<D>& context, Arguments<D>& arguments) {
  return of_number(context, arguments[0], [](double x) { return std::log(x); });
}
template <class D>
Value<D> op_python_log2(Context<D>& context, Arguments<D>& arguments) {
  return of_number(context, arguments[0], [](double x) { return std::log2(x); });
}
template <class D>
Value<D> op_python_sqrt(Context<D>& context, Arguments<D>& arguments) {
  return of_number(context, arguments[0], [](double x) { return std::sqrt(x); });
}
template <class D>
Value<D> op_python_exp(Context<D>& context, Arguments<D>& arguments) {
  return of_number(context, arguments[0], [](double x) { return std::exp(x); });
}

template <class D>
Value<D> op_log2_of(Context<D>& context, Arguments<D>& arguments) {
  Int128 n = constexpr_integer(context, arguments[0], "the argument of `_log2`"), power = 0;
  for (; n > 1; n >>= 1) ++power;
  return power;
}
template <class D>
Value<D> op_is_power_of_two(Context<D>& context, Arguments<D>& arguments) {
  const Int128 n = constexpr_integer(context, arguments[0], "the argument");
  return n != 0 && (n & (n - 1)) == 0;
}
template <class D>
Value<D> op_get_int_dtype(Context<D>& context, Arguments<D>& arguments) {
  const Int128 width = constexpr_integer(context, arguments[0], "the width of an integer type");
  const bool has_sign = constexpr_flag(context, arguments[1], true);
  const std::string word =
      fmt::format("{}int{}", has_sign || width == 1 ? "" : "u", static_cast<int>(std::min<Int128>(width, 128)));
  const std::optional<DType> type = from_language_name(word);
  if (!type) context.fail(kType, fmt::format("there is no type {}", word));
  return TypeValue{{*type, false}, false, {}};
}
template <class D>
Value<D> op_dtype_of_name(Context<D>& context, Arguments<D>& arguments) {
  const std::optional<DType> type = from_signature_name(constexpr_text(context, arguments[0], "the name of a type"));
  if (!type) context.unmodelled(kUnsupported, "this type is not supported");
  return TypeValue{{*type, false}, false, {}};
}

template <class D>
Value<D> op_constexpr_(Context<D>& context, Arguments<D>& arguments) {
  if (arguments[0].block() != nullptr) context.fail(kConstexpr, "a run-time value is no `tl.constexpr`");
  return arguments[0];
}
template <class D>
Value<D> op_next_power_of_2(Context<D>& context, Arguments<D>& arguments) {
  const Int128 n = constexpr_integer(context, arguments[0], "the argument of `next_power_of_2`");
  Int128 power = 1;
  while (power < n && power < (Int128{1} << 62)) power *= 2;
  return power;
}

template <class D>
Value<D> op_static_assert_(Context<D>& context, Arguments<D>& arguments) {
  if (!truth(context, arguments[0])) {
    const auto* message = arguments[1].template get<std::string>();
    context.fail(kAssert,
                 message == nullptr ? "the assertion does not hold" : "the assertion does not hold: " + *message);
  }
  return None{};
}
// Printing has no value and writes no tensor.
template <class D>
Value<D> op_ignored_output(Context<D>&, Arguments<D>&) {
  return None{};
}
// Active in debug builds of a kernel only.
template <class D>
Value<D> op_device_assert(Context<D>&, Arguments<D>&) {
  return None{};
}
// A program's own accesses are in order here with or without it.
template <class D>
Value<D> op_debug_barrier(Context<D>&, Arguments<D>&) {
  return None{};
}

// Programmatic dependent launch: when a kernel starts, not what it computes.
template <class D>
Value<D> op_launch_control(Context<D>&, Arguments<D>&) {
  return None{};
}
template <class D>
Value<D> op_is_cuda(Context<D>&, Arguments<D>&) {
  return true;
}
template <class D>
Value<D> op_is_hip(Context<D>&, Arguments<D>&) {
  return false;
}

template <class D>
Value<D> op_assume(Context<D>& context, Arguments<D>& arguments) {
  const Block<D>* block = arguments[0].block();
  const bool holds =
      block != nullptr ? known_integer(context, *block, "what is assumed") != 0 : truth(context, arguments[0]);
  if (!holds) context.fail(kHint, "what the source assumes does not hold");
  return None{};
}
template <class D>
Value<D> op_multiple_of(Context<D>& context, Arguments<D>& arguments) {
  return promised_multiple(context, arguments[0], arguments[1]);
}
// Facts for the compiler's layout choices: without effect on values.
template <class D>
Value<D> op_max_contiguous(Context<D>&, Arguments<D>& arguments) {
  return arguments[0];
}
template <class D>
Value<D> op_max_constancy(Context<D>&, Arguments<D>& arguments) {
  return arguments[0];
}

// Only the front end's `for` knows ranges.
template <class D>
Value<D> op_range(Context<D>& context, Arguments<D>&) {
  context.unmodelled(kUnsupported, "`range` outside a `for` is not supported");
}

template <class D>
Value<D> op_pointer_type(Context<D>& context, Arguments<D>& arguments) {
  const Type element = constexpr_type(context, arguments[0]);
  if (element.is_pointer) context.unmodelled(kUnsupported, "a pointer to pointers is not supported");
  return TypeValue{{element.element, true}, false, {}};
}

#define PLUMB_TRITON_PREDICATE(id, claim)                          \
  template <class D>                                               \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) { \
    const Type type = type_argument(context, arguments[0]);        \
    const DType of = type.element;                                 \
    return !type.is_pointer && (claim);                            \
  }
PLUMB_TRITON_PREDICATE(is_floating, is_float(of))
PLUMB_TRITON_PREDICATE(is_int, !is_float(of))
PLUMB_TRITON_PREDICATE(is_int_signed, is_signed(of))
PLUMB_TRITON_PREDICATE(is_int_unsigned, is_unsigned(of))
PLUMB_TRITON_PREDICATE(is_bool, of == DType::Int1)
PLUMB_TRITON_PREDICATE(is_fp8, plumb::triton::is_fp8(of))
PLUMB_TRITON_PREDICATE(is_int8, of == DType::Int8)
PLUMB_TRITON_PREDICATE(is_int16, of == DType::Int16)
PLUMB_TRITON_PREDICATE(is_int32, of == DType::Int32)
PLUMB_TRITON_PREDICATE(is_int64, of == DType::Int64)
PLUMB_TRITON_PREDICATE(is_uint8, of == DType::UInt8)
PLUMB_TRITON_PREDICATE(is_uint16, of == DType::UInt16)
PLUMB_TRITON_PREDICATE(is_uint32, of == DType::UInt32)
PLUMB_TRITON_PREDICATE(is_uint64, of == DType::UInt64)
PLUMB_TRITON_PREDICATE(is_fp8e4nv, of == DType::Fp8E4Nv)
PLUMB_TRITON_PREDICATE(is_fp8e5, of == DType::Fp8E5)
PLUMB_TRITON_PREDICATE(is_fp16, of == DType::Fp16)
PLUMB_TRITON_PREDICATE(is_bf16, of == DType::BF16)
PLUMB_TRITON_PREDICATE(is_fp32, of == DType::Fp32)
PLUMB_TRITON_PREDICATE(is_fp64, of == DType::Fp64)
#undef PLUMB_TRITON_PREDICATE
// No value here has one of these types; a name of one may be asked.
template <class D>
Value<D> op_is_other_fp8(Context<D>& context, Arguments<D>& arguments) {
  type_argument(context, arguments[0]);
  return false;
}

template <class D>
Value<D> op_is_block(Context<D>& context, Arguments<D>& arguments) {
  const auto* type = arguments[0].template get<TypeValue>();
  if (type == nullptr) context.fail(kType, "this method is of types");
  return type->is_block;
}
template <class D>
Value<D> op_get_block_shapes(Context<D>& context, Arguments<D>& arguments) {
  const auto* type = arguments[0].template get<TypeValue>();
  if (type == nullptr) context.fail(kType, "this method is of types");
  std::vector<Value<D>> extents;
  for (unsigned axis = 0; axis < type->shape.rank; ++axis) extents.push_back(Int128{type->shape[axis]});
  return tuple_of(std::move(extents));
}

template <class D>
Value<D> op_is_ptr(Context<D>& context, Arguments<D>& arguments) {
  return type_argument(context, arguments[0]).is_pointer;
}

#define PLUMB_TRITON_CHAPTER 5
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
