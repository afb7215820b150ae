// SPDX-License-Identifier: Apache-2.0
// Inline assembly: single f32 instructions whose meaning is a function of the domain. Everything else is refused by
// name.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "triton/assembly.h"
#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

namespace {

template <class D>
typename D::Real apply(D& d, const Assembly& row, const std::array<typename D::Real, 3>& x) {
  constexpr Format f = Format::F32;
  const FloatMode mode{.ftz = row.ftz, .approximate = row.approximate};
  switch (row.instruction) {
    case Instruction::Mov:
      return x[0];
    case Instruction::Abs:
      return d.abs(f, x[0], mode);
    case Instruction::Neg:
      return d.neg(f, x[0], mode);
    case Instruction::Add:
      return d.add(f, x[0], x[1], mode);
    case Instruction::Sub:
      return d.sub(f, x[0], x[1], mode);
    case Instruction::Mul:
      return d.mul(f, x[0], x[1], mode);
    case Instruction::Div:
      return d.div(f, x[0], x[1], mode);
    case Instruction::Fma:
      return d.fma(f, x[0], x[1], x[2], mode);
    case Instruction::Rcp:
      return d.rcp(f, x[0], mode);
    case Instruction::Sqrt:
      return d.sqrt(f, x[0], mode);
    case Instruction::Rsqrt:
      return d.rsqrt(f, x[0], mode);
    case Instruction::Ex2:
      return d.ex2(f, x[0], mode);
    case Instruction::Lg2:
      return d.lg2(f, x[0], mode);
    case Instruction::Sin:
      return d.sin(f, x[0], mode);
    case Instruction::Cos:
      return d.cos(f, x[0], mode);
    case Instruction::Tanh:
      return d.tanh(f, x[0], mode);
  }
  return x[0];
}

}  // namespace

// arguments: asm, constraints, args, dtype, is_pure, pack
template <class D>
Value<D> op_inline_asm_elementwise(Context<D>& context, Arguments<D>& arguments) {
  const std::string text = constexpr_text(context, arguments[0], "the assembly");
  const Assembly* row = find_assembly(text);
  std::vector<Value<D>> given{arguments[2]};
  if (arguments[2].tuple() != nullptr) given = *arguments[2].tuple();
  const auto* type = arguments[3].template get<TypeValue>();
  const bool is_single = type != nullptr && type->type == Type{DType::Fp32, false};
  if (row == nullptr || !is_single || given.size() != row->operands ||
      constexpr_integer(context, arguments[5], "`pack`") != 1) {
    context.unmodelled(kUnsupported, fmt::format("the inline assembly `{}` is not supported", text.substr(0, 80)));
  }
  std::vector<BlockPtr<D>> in;
  Shape shape;
  for (const Value<D>& each : given) {
    in.push_back(to_block(context, each));
    if (!(in.back()->type == Type{DType::Fp32, false})) {
      context.unmodelled(kUnsupported, fmt::format("inline assembly on {} is not supported", name(in.back()->type)));
    }
    Block<D> so_far;
    so_far.shape = shape;
    shape = common_shape(context, so_far, *in.back());
  }
  auto out = new_block<D>({DType::Fp32, false}, shape);
  for (BlockPtr<D>& each : in) {
    each = broadcast_to(context, each, shape);
    spread_undefined(*out, *each);
  }
  context.count(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::array<typename D::Real, 3> x{};
    for (std::size_t k = 0; k < in.size(); ++k) x[k] = in[k]->reals[i];
    out->reals[i] = apply(context.domain, *row, x);
  }
  context.check();
  return BlockPtr<D>(std::move(out));
}

#define PLUMB_TRITON_CHAPTER 12
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
