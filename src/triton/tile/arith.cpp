// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/arith.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "triton/frontend/formatted.h"
#include "triton/tile/domains.h"
#include "triton/tile/fold.h"
#include "triton/tile/word_ops.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

namespace {

template <class D>
Number number(const Value<D>& value) {
  if (const bool* boolean = value.template get<bool>()) return *boolean;
  if (const Int128* integer = value.template get<Int128>()) return *integer;
  return *value.template get<double>();
}

template <class D>
Value<D> from_number(const Number& value) {
  return std::visit([](auto each) { return Value<D>(each); }, value);
}

template <class D>
DType type_of(Context<D>& context, const Value<D>& value) {
  if (const Block<D>* block = value.block()) return block->type.element;
  if (value.template get<bool>() != nullptr) return DType::Int1;
  if (const double* real = value.template get<double>()) return type_of_constant(*real);
  const std::optional<DType> type = type_of_constant(*value.template get<Int128>());
  if (!type) context.fail(kType, "this integer fits no type of Triton");
  return *type;
}

// A weak scalar must be representable in an integer type that it joins.
template <class D>
void check_range(Context<D>& context, const Value<D>& value, DType type) {
  if (!value.is_number() || is_float(type) || value.template get<double>() != nullptr) return;
  const Number given = number(value);
  const Int128 integer = std::holds_alternative<bool>(given) ? Int128{std::get<bool>(given)} : std::get<Int128>(given);
  if (integer < 0 && is_unsigned(type)) {
    context.fail(kType, fmt::format("a negative number does not combine with {}", language_name(type)));
  }
  if (integer < smallest(type) || integer > largest(type)) {
    context.fail(kType, fmt::format("the number is out of range of {}", language_name(type)));
  }
}

template <class D>
std::string describe(const Value<D>& value) {
  if (const Block<D>* block = value.block()) {
    return block->shape.rank == 0 ? name(block->type) : name(block->type) + text(block->shape);
  }
  if (value.is_none()) return "None";
  if (value.is_number()) return "a number";
  if (value.tuple() != nullptr) return "a tuple";
  if (value.template get<std::string>() != nullptr) return "a string";
  return "a compile-time object";
}

template <class D>
bool is_tensor_like(const Value<D>& value) {
  return value.is_number() || value.block() != nullptr;
}

template <class D>
Value<D> pointer_sum(Context<D>& context, BinaryOp op, BlockPtr<D> a, BlockPtr<D> b) {
  const bool is_add = op == BinaryOp::Add;
  if (is_add && b->is_pointer() && !a->is_pointer()) std::swap(a, b);
  const bool is_good = (is_add || op == BinaryOp::Sub) && a->is_pointer() && b->is_integer();
  if (is_good && b->is_word()) {
    context.unmodelled(kMetadata,
                       "an address depends on integer data: declare the tensor that it is loaded from metadata");
  }
  if (!is_good || b->is_abstract()) {
    context.fail(kType, fmt::format("`{}` between {} and {}", symbol(op), name(a->type), name(b->type)));
  }
  const Shape shape = common_shape(context, *a, *b);
  auto out = new_block<D>(a->type, shape);
  const auto step = static_cast<std::uint64_t>(byte_size(a->type.element)) * (is_add ? 1 : ~0ULL);
  map2(shape, a->shape, a->ints.data(), b->shape, b->ints.data(), out->ints.data(),
       [step](std::int64_t address, std::int64_t offset) {
         return static_cast<std::int64_t>(static_cast<std::uint64_t>(address) +
                                          static_cast<std::uint64_t>(offset) * step);
       });
  context.count(shape.size());
  spread_undefined(*out, *a, *b);
  return BlockPtr<D>(std::move(out));
}

// and, or, xor where an operand depends on abstract data.
template <class D>
BlockPtr<D> condition_operation(Context<D>& context, IntOp op, const Pair<D>& pair) {
  const bool is_logical = pair.type.element == DType::Int1 && (op == IntOp::And || op == IntOp::Or || op == IntOp::Xor);
  if (!is_logical) context.unmodelled(kData, "arithmetic on a condition that depends on abstract data");
  using Condition = typename Block<D>::Condition;
  const std::vector<Condition> a = conditions(context, *pair.a), b = conditions(context, *pair.b);
  auto out = new_block<D>(pair.type, pair.shape);
  out->ints.clear();
  out->conditions.resize(pair.shape.size());
  map2(pair.shape, pair.a->shape, a.data(), pair.b->shape, b.data(), out->conditions.data(),
       [&](const Condition& x, const Condition& y) -> Condition {
         D& d = context.domain;
         return {op == IntOp::And  ? d.logical_and(x.value, y.value)
                 : op == IntOp::Or ? d.logical_or(x.value, y.value)
                                   : d.logical_xor(x.value, y.value)};
       });
  context.count(pair.shape.size());
  context.check();
  settle(context, *out);
  spread_undefined(*out, *pair.a, *pair.b);
  return out;
}

IntOp int_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::Sub:
      return IntOp::Sub;
    case BinaryOp::Mul:
      return IntOp::Mul;
    case BinaryOp::FloorDiv:
      return IntOp::Div;
    case BinaryOp::Mod:
      return IntOp::Rem;
    case BinaryOp::Shl:
      return IntOp::Shl;
    case BinaryOp::Shr:
      return IntOp::Shr;
    case BinaryOp::And:
      return IntOp::And;
    case BinaryOp::Or:
      return IntOp::Or;
    case BinaryOp::Xor:
      return IntOp::Xor;
    default:
      return IntOp::Add;
  }
}

// C's fmod, which is exact.
template <class D>
Value<D> real_remainder(Context<D>& context, const Pair<D>& pair) {
  if constexpr (D::kHasTags) {
    context.unmodelled(kData, "`%` of abstract floats");
  } else {
    auto out = new_block<D>(pair.type, pair.shape);
    const Format of = format(pair.type.element);
    D& d = context.domain;
    const auto value = [&](std::uint64_t bits) { return std::bit_cast<double>(d.convert(Format::F64, of, bits, {})); };
    map2(pair.shape, pair.a->shape, pair.a->reals.data(), pair.b->shape, pair.b->reals.data(), out->reals.data(),
         [&](std::uint64_t x, std::uint64_t y) {
           const double remainder = std::fmod(value(x), value(y));
           return d.convert(of, Format::F64, std::bit_cast<std::uint64_t>(remainder), {});
         });
    context.count(pair.shape.size());
    spread_undefined(*out, *pair.a, *pair.b);
    return BlockPtr<D>(std::move(out));
  }
}

// The shift of a signed block by an unsigned one as wide or wider: arithmetic, on the bits of the unsigned type.
template <class D>
Value<D> shifted_with_sign(Context<D>& context, Pair<D> pair) {
  const Type type = pair.type;
  const DType with_sign = static_cast<DType>(static_cast<unsigned>(type.element) - 4U);
  static_assert(static_cast<unsigned>(DType::UInt8) - 4U == static_cast<unsigned>(DType::Int8));
  static_assert(static_cast<unsigned>(DType::UInt64) - 4U == static_cast<unsigned>(DType::Int64));
  pair.type = {with_sign, false};
  pair.a = bitcast(context, pair.a, pair.type);
  pair.b = bitcast(context, pair.b, pair.type);
  return bitcast(context, int_operation(context, IntOp::Shr, pair), type);
}

template <class D>
Value<D> real_binary(Context<D>& context, BinaryOp op, const Pair<D>& pair) {
  if (is_fp8(pair.type.element)) {
    context.unmodelled(kUnsupported, fmt::format("`{}` on {} is not supported", symbol(op), name(pair.type)));
  }
  switch (op) {
    case BinaryOp::Add:
      return real_operation(context, RealOp::Add, pair);
    case BinaryOp::Sub:
      return real_operation(context, RealOp::Sub, pair);
    case BinaryOp::Mul:
      return real_operation(context, RealOp::Mul, pair);
    case BinaryOp::Div:
      return real_operation(context, RealOp::Div, pair, approximate<D>());
    case BinaryOp::Mod:
      return real_remainder(context, pair);
    default:
      context.fail(kType, fmt::format("`{}` needs integers, not {}", symbol(op), name(pair.type)));
  }
}

template <class D>
Value<D> tensor_binary(Context<D>& context, BinaryOp op, const Value<D>& a, const Value<D>& b) {
  if (op == BinaryOp::Pow) context.fail(kType, "`**` needs compile-time numbers; blocks have no power");
  const bool is_division = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  const Block<D>*left = a.block(), *right = b.block();
  if ((left != nullptr && left->is_pointer()) || (right != nullptr && right->is_pointer())) {
    return pointer_sum(context, op, to_block(context, a), to_block(context, b));
  }
  Pair<D> pair = combine(context, a, b, true, is_division);
  if (op == BinaryOp::Div && !is_float(pair.type.element)) {
    pair.type = {DType::Fp32, false};
    pair.a = cast(context, pair.a, pair.type);
    pair.b = cast(context, pair.b, pair.type);
  }
  if (is_float(pair.type.element)) return real_binary(context, op, pair);
  if (op != BinaryOp::Shr || left == nullptr || !is_signed(left->type.element) || is_signed(pair.type.element)) {
    return int_operation(context, int_op(op), pair);
  }
  return shifted_with_sign(context, std::move(pair));
}

template <class D>
Value<D> concatenated(const std::vector<Value<D>>& a, const std::vector<Value<D>>& b) {
  auto out = std::make_shared<std::vector<Value<D>>>(a);
  out->insert(out->end(), b.begin(), b.end());
  return TuplePtr<D>(std::move(out));
}

// `[2] * n`; empty when the operands are no tuple and count.
template <class D>
std::optional<Value<D>> repeated(const Value<D>& tuple, const Value<D>& count) {
  const Int128* times = count.template get<Int128>();
  if (tuple.tuple() == nullptr || times == nullptr || *times > 64) return std::nullopt;
  auto out = std::make_shared<std::vector<Value<D>>>();
  for (Int128 i = 0; i < *times; ++i) out->insert(out->end(), tuple.tuple()->begin(), tuple.tuple()->end());
  return Value<D>(TuplePtr<D>(std::move(out)));
}

template <class D>
BlockPtr<D> real_compare(Context<D>& context, CompareOp op, const Pair<D>& pair) {
  using domain::Compare;
  const Compare how = op == CompareOp::Lt   ? Compare::Lt
                      : op == CompareOp::Le ? Compare::Le
                      : op == CompareOp::Gt ? Compare::Gt
                      : op == CompareOp::Ge ? Compare::Ge
                      : op == CompareOp::Eq ? Compare::Eq
                                            : Compare::Neu;
  const Format of = format(pair.type.element);
  auto out = new_block<D>({DType::Int1, false}, pair.shape);
  if constexpr (!D::kHasTags) {
    if (of == Format::F32) {
      for_rows(pair.shape, pair.a->shape, pair.b->shape,
               [&](std::size_t o, std::size_t i, std::size_t j, std::size_t n, std::size_t a_step, std::size_t b_step) {
                 f32_compare_row(how, n, pair.a->reals.data() + i, a_step, pair.b->reals.data() + j, b_step,
                                 out->ints.data() + o);
               });
    } else {
      map2(pair.shape, pair.a->shape, pair.a->reals.data(), pair.b->shape, pair.b->reals.data(), out->ints.data(),
           [&](const auto& x, const auto& y) -> std::int64_t { return context.domain.compare(of, how, x, y, {}); });
    }
    return out;
  }
  out->ints.clear();
  out->conditions.resize(pair.shape.size());
  map2(pair.shape, pair.a->shape, pair.a->reals.data(), pair.b->shape, pair.b->reals.data(), out->conditions.data(),
       [&](const auto& x, const auto& y) ->
       typename Block<D>::Condition { return {context.domain.compare(of, how, x, y, FloatMode{})}; });
  context.check();
  settle(context, *out);
  return out;
}

// Equality of compile-time values that are not both numbers.
template <class D>
bool same(Context<D>& context, const Value<D>& a, const Value<D>& b) {
  if (a.is_number() && b.is_number()) return fold(CompareOp::Eq, number(a), number(b));
  for (const Value<D>* each : {&a, &b}) {
    const auto* word = each->template get<node::EnumName>();
    if (word != nullptr && word->name == kFormattedText) {
      context.unmodelled(kUnsupported, "a comparison of a formatted text is not supported");
    }
  }
  if (const std::vector<Value<D>>* x = a.tuple()) {
    const std::vector<Value<D>>* y = b.tuple();
    if (y == nullptr || x->size() != y->size()) return false;
    for (std::size_t i = 0; i < x->size(); ++i) {
      if (!same(context, (*x)[i], (*y)[i])) return false;
    }
    return true;
  }
  if (a.data.index() != b.data.index()) return false;
  if (a.is_none()) return true;
  if (const auto* x = a.template get<std::string>()) return *x == *b.template get<std::string>();
  if (const auto* x = a.template get<TypeValue>()) return *x == *b.template get<TypeValue>();
  if (const auto* x = a.template get<const Function*>()) return *x == *b.template get<const Function*>();
  if (const auto* x = a.template get<node::EnumName>()) return x->name == b.template get<node::EnumName>()->name;
  context.fail(kType, fmt::format("{} and {} do not compare", describe(a), describe(b)));
}

template <class D>
bool is_same_object(const Value<D>& a, const Value<D>& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.template get<bool>() != nullptr && b.template get<bool>() != nullptr) {
    return *a.template get<bool>() == *b.template get<bool>();
  }
  return false;
}

}  // namespace

template <class D>
Pair<D> combine(Context<D>& context, const Value<D>& a, const Value<D>& b, bool is_weak, bool is_division) {
  if (!is_tensor_like(a) || !is_tensor_like(b)) {
    context.fail(kType, fmt::format("{} and {} do not combine", describe(a), describe(b)));
  }
  const Promotion found = promote(type_of(context, a), is_weak && a.is_number(), type_of(context, b),
                                  is_weak && b.is_number(), is_division);
  if (!found.error.empty()) context.fail(kType, found.error);
  const Type type{found.type, false};
  const auto convert = [&](const Value<D>& value) {
    if (!value.is_number() || !is_weak) return cast(context, to_block(context, value), type);
    check_range(context, value, type.element);
    return constant(context, value, type.element);
  };
  Pair<D> pair{convert(a), convert(b), type, {}};
  pair.shape = common_shape(context, *pair.a, *pair.b);
  return pair;
}

template <class D>
BlockPtr<D> real_operation(Context<D>& context, RealOp op, const Pair<D>& pair, FloatMode mode) {
  auto out = new_block<D>(pair.type, pair.shape);
  const Format of = format(pair.type.element);
  const auto *a = pair.a->reals.data(), *b = pair.b->reals.data();
  auto* to = out->reals.data();
  D& d = context.domain;
  const auto map = [&](auto f) { map2(pair.shape, pair.a->shape, a, pair.b->shape, b, to, f); };
  if constexpr (std::is_same_v<D, domain::Ieee>) {
    if (of == Format::F32 && !mode.nan) {
      for_rows(pair.shape, pair.a->shape, pair.b->shape,
               [&](std::size_t o, std::size_t i, std::size_t j, std::size_t n, std::size_t a_step, std::size_t b_step) {
                 f32_row(op, n, a + i, a_step, b + j, b_step, to + o);
               });
      context.count(pair.shape.size());
      spread_undefined(*out, *pair.a, *pair.b);
      return out;
    }
  }
  switch (op) {
    case RealOp::Add:
      map([&](const auto& x, const auto& y) { return d.add(of, x, y, mode); });
      break;
    case RealOp::Sub:
      map([&](const auto& x, const auto& y) { return d.sub(of, x, y, mode); });
      break;
    case RealOp::Mul:
      map([&](const auto& x, const auto& y) { return d.mul(of, x, y, mode); });
      break;
    case RealOp::Div:
      map([&](const auto& x, const auto& y) { return d.div(of, x, y, mode); });
      break;
    case RealOp::Min:
      map([&](const auto& x, const auto& y) { return d.min(of, x, y, mode); });
      break;
    case RealOp::Max:
      map([&](const auto& x, const auto& y) { return d.max(of, x, y, mode); });
      break;
  }
  context.count(pair.shape.size());
  context.check();
  spread_undefined(*out, *pair.a, *pair.b);
  return out;
}

template <class D>
BlockPtr<D> int_operation(Context<D>& context, IntOp op, const Pair<D>& pair) {
  if (pair.a->is_word() || pair.b->is_word()) return word_operation(context, op, pair);
  if (pair.a->is_abstract() || pair.b->is_abstract()) return condition_operation(context, op, pair);
  auto out = new_block<D>(pair.type, pair.shape);
  std::vector<std::uint8_t> undefined(may_be_undefined(op) ? pair.shape.size() : 0);
  const bool any = int_binary(op, pair.type.element, pair.shape, {pair.a->ints.data(), pair.a->shape},
                              {pair.b->ints.data(), pair.b->shape}, out->ints.data(), undefined.data());
  context.count(pair.shape.size());
  if (any && pair.shape.rank == 0) {
    context.fail(kArithmetic, fmt::format("{} and {} have no defined result here", pair.a->ints[0], pair.b->ints[0]));
  }
  if (any) out->undefined = std::move(undefined);
  spread_undefined(*out, *pair.a, *pair.b);
  return out;
}

template <class D>
Value<D> binary(Context<D>& context, BinaryOp op, const Value<D>& a, const Value<D>& b) {
  if (a.is_number() && b.is_number()) {
    const Folded folded = fold(op, number(a), number(b));
    if (!folded.error.empty()) context.fail(kConstexpr, folded.error);
    return from_number<D>(folded.value);
  }
  if (op == BinaryOp::Add && a.tuple() != nullptr && b.tuple() != nullptr) return concatenated(*a.tuple(), *b.tuple());
  if (op == BinaryOp::Mul) {
    if (std::optional<Value<D>> tuple = repeated(a, b)) return *tuple;
    if (std::optional<Value<D>> tuple = repeated(b, a)) return *tuple;
  }
  const auto *x = a.template get<std::string>(), *y = b.template get<std::string>();
  if (op == BinaryOp::Add && x != nullptr && y != nullptr) return *x + *y;
  if (!is_tensor_like(a) || !is_tensor_like(b)) {
    context.fail(kType, fmt::format("`{}` between {} and {}", symbol(op), describe(a), describe(b)));
  }
  return tensor_binary(context, op, a, b);
}

template <class D>
Value<D> compare(Context<D>& context, CompareOp op, const Value<D>& a, const Value<D>& b) {
  if (op == CompareOp::Is) return is_same_object(a, b);
  if (op == CompareOp::IsNot) return !is_same_object(a, b);
  if (a.is_number() && b.is_number()) return fold(op, number(a), number(b));
  if (a.block() == nullptr && b.block() == nullptr) {
    if (op == CompareOp::Eq) return same(context, a, b);
    if (op == CompareOp::Ne) return !same(context, a, b);
  }
  if (!is_tensor_like(a) || !is_tensor_like(b)) {
    context.fail(kType, fmt::format("`{}` between {} and {}", symbol(op), describe(a), describe(b)));
  }
  for (const Value<D>* each : {&a, &b}) {
    if (each->block() != nullptr && each->block()->is_pointer()) context.fail(kType, "pointers do not compare");
  }
  const Pair<D> pair = combine(context, a, b, false, false);
  context.count(pair.shape.size());
  BlockPtr<D> out;
  if (is_float(pair.type.element)) {
    out = real_compare(context, op, pair);
  } else if (pair.a->is_word() || pair.b->is_word()) {
    out = word_compare(context, op, pair);
  } else {
    if (pair.a->is_abstract() || pair.b->is_abstract()) {
      const bool is_equality = pair.type.element == DType::Int1 && (op == CompareOp::Eq || op == CompareOp::Ne);
      if (!is_equality) context.unmodelled(kData, "a comparison of conditions that depend on abstract data");
      const Value<D> differ = int_operation(context, IntOp::Xor, pair);
      return op == CompareOp::Ne ? differ : unary(context, UnaryOp::Not, differ);
    }
    auto ints = new_block<D>({DType::Int1, false}, pair.shape);
    int_compare(op, pair.type.element, pair.shape, {pair.a->ints.data(), pair.a->shape},
                {pair.b->ints.data(), pair.b->shape}, ints->ints.data());
    out = std::move(ints);
  }
  if (pair.a->undefined.empty() && pair.b->undefined.empty()) return out;
  auto marked = std::make_shared<Block<D>>(*out);
  spread_undefined(*marked, *pair.a, *pair.b);
  return BlockPtr<D>(std::move(marked));
}

template <class D>
Value<D> unary(Context<D>& context, UnaryOp op, const Value<D>& a) {
  const Block<D>* block = a.block();
  if (op == UnaryOp::Not) {
    if (block == nullptr) return !truth(context, a);
    if (!(block->type == Type{DType::Int1, false})) context.fail(kType, fmt::format("`not` of {}", describe(a)));
    return binary(context, BinaryOp::Xor, a, Value<D>(true));
  }
  if (a.is_number()) {
    const Folded folded = fold(op, number(a));
    if (!folded.error.empty()) context.fail(kConstexpr, folded.error);
    return from_number<D>(folded.value);
  }
  const bool is_bad = block == nullptr || block->is_pointer() || (op == UnaryOp::Invert && block->is_real());
  if (is_bad) {
    const char* sign = op == UnaryOp::Neg ? "-" : op == UnaryOp::Plus ? "+" : "~";
    context.fail(kType, fmt::format("`{}` of {}", sign, describe(a)));
  }
  if (op == UnaryOp::Plus) return a;
  // Triton's `-x` is 0 - x (so that -0.0 is +0), its `~x` is x ^ -1.
  const DType type = block->type.element;
  const std::int64_t pattern = op == UnaryOp::Neg ? 0 : -1;
  auto other = new_block<D>(block->type, {});
  if (is_float(type)) {
    other->reals[0] = context.domain.constant(format(type), 0);
  } else {
    other->ints[0] = wrap(type, pattern);
  }
  return binary(context, op == UnaryOp::Neg ? BinaryOp::Sub : BinaryOp::Xor, Value<D>(BlockPtr<D>(std::move(other))),
                a);
}

template <class D>
Value<D> logical(Context<D>& context, BoolOp op, const Value<D>& a, const Value<D>& b) {
  for (const Value<D>* each : {&a, &b}) {
    if (each->block() == nullptr || !(each->block()->type == Type{DType::Int1, false})) {
      context.fail(kType, fmt::format("`{}` needs int1, not {}", op == BoolOp::And ? "and" : "or", describe(*each)));
    }
  }
  return binary(context, op == BoolOp::And ? BinaryOp::And : BinaryOp::Or, a, b);
}

template <class D>
BlockPtr<D> select(Context<D>& context, const Value<D>& condition, const Value<D>& x, const Value<D>& y) {
  BlockPtr<D> test = cast(context, to_block(context, condition), {DType::Int1, false});
  Pair<D> pair;
  const Block<D>*left = x.block(), *right = y.block();
  if (left != nullptr && right != nullptr && left->is_pointer() && left->type == right->type) {
    pair = {to_block(context, x), to_block(context, y), left->type, common_shape(context, *left, *right)};
  } else {
    pair = combine(context, x, y, true, false);
  }
  auto out = new_block<D>(pair.type, pair.shape);
  out->shape = common_shape(context, *test, *out);
  const BlockPtr<D> a = broadcast_to(context, pair.a, out->shape), b = broadcast_to(context, pair.b, out->shape);
  test = broadcast_to(context, test, out->shape);
  const std::size_t size = out->size();
  context.count(size);
  const auto pick = [&](const auto& from_a, const auto& from_b, auto& to) {
    to.resize(size);
    for (std::size_t i = 0; i < size; ++i) to[i] = test->ints[i] != 0 ? from_a[i] : from_b[i];
  };
  if (!out->is_real() && !out->is_pointer() && pair.type.element != DType::Int1 &&
      (test->is_abstract() || a->is_word() || b->is_word())) {
    if constexpr (D::kHasTags) {
      const std::vector<domain::Word> x_words = words(*a), y_words = words(*b);
      const auto choices = conditions(context, *test);
      out->ints.clear();
      out->words.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        out->words[i] = context.domain.select(bit_width(pair.type.element), choices[i].value, x_words[i], y_words[i]);
      }
      context.check();
      settle_words(*out);
      if (test->is_abstract()) spread_undefined(*out, *a, *b);
    }
  } else if (test->is_abstract()) {
    if (!out->is_real())
      context.unmodelled(kData, "an address or a condition is selected by a condition on abstract data");
    out->reals.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      out->reals[i] =
          context.domain.select(format(pair.type.element), test->conditions[i].value, a->reals[i], b->reals[i]);
    }
    context.check();
    spread_undefined(*out, *a, *b);
  } else if (a->is_abstract() || b->is_abstract()) {
    out->ints.clear();
    pick(conditions(context, *a), conditions(context, *b), out->conditions);
    settle(context, *out);
  } else if (out->is_real()) {
    pick(a->reals, b->reals, out->reals);
  } else {
    pick(a->ints, b->ints, out->ints);
  }
  if (!test->is_abstract() && !(a->undefined.empty() && b->undefined.empty())) {
    const std::vector<std::uint8_t> none(size);
    pick(a->undefined.empty() ? none : a->undefined, b->undefined.empty() ? none : b->undefined, out->undefined);
  }
  if (!test->undefined.empty()) spread_undefined(*out, *test);
  return out;
}

template <class D>
bool truth(Context<D>& context, const Value<D>& value) {
  if (value.is_none()) return false;
  if (value.is_number()) return fold(CompareOp::Ne, number(value), Number(Int128{0}));
  if (const auto* string = value.template get<std::string>()) return !string->empty();
  if (value.tuple() != nullptr) return !value.tuple()->empty();
  if (value.block() != nullptr) context.fail(kConstexpr, "a compile-time condition is needed here");
  return true;
}

#define PLUMB_INSTANTIATE(D)                                                                   \
  template Value<D> binary(Context<D>&, BinaryOp, const Value<D>&, const Value<D>&);           \
  template Value<D> compare(Context<D>&, CompareOp, const Value<D>&, const Value<D>&);         \
  template Value<D> unary(Context<D>&, UnaryOp, const Value<D>&);                              \
  template Value<D> logical(Context<D>&, BoolOp, const Value<D>&, const Value<D>&);            \
  template BlockPtr<D> select(Context<D>&, const Value<D>&, const Value<D>&, const Value<D>&); \
  template bool truth(Context<D>&, const Value<D>&);                                           \
  template Pair<D> combine(Context<D>&, const Value<D>&, const Value<D>&, bool, bool);         \
  template BlockPtr<D> real_operation(Context<D>&, RealOp, const Pair<D>&, domain::FloatMode); \
  template BlockPtr<D> int_operation(Context<D>&, IntOp, const Pair<D>&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
