// SPDX-License-Identifier: Apache-2.0
#include "triton/assembly.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace plumb::triton {
namespace {

constexpr std::array<Assembly, 32> kRows = {{
    {"mov.f32", Instruction::Mov, 1},
    {"mov.b32", Instruction::Mov, 1},
    {"abs.f32", Instruction::Abs, 1},
    {"neg.f32", Instruction::Neg, 1},
    {"add.f32", Instruction::Add, 2},
    {"add.rn.f32", Instruction::Add, 2},
    {"sub.f32", Instruction::Sub, 2},
    {"sub.rn.f32", Instruction::Sub, 2},
    {"mul.f32", Instruction::Mul, 2},
    {"mul.rn.f32", Instruction::Mul, 2},
    {"div.rn.f32", Instruction::Div, 2},
    {"div.full.f32", Instruction::Div, 2, false, true},
    {"div.approx.f32", Instruction::Div, 2, false, true},
    {"fma.rn.f32", Instruction::Fma, 3},
    {"rcp.rn.f32", Instruction::Rcp, 1},
    {"rcp.approx.f32", Instruction::Rcp, 1, false, true},
    {"rcp.approx.ftz.f32", Instruction::Rcp, 1, true, true},
    {"sqrt.rn.f32", Instruction::Sqrt, 1},
    {"sqrt.approx.f32", Instruction::Sqrt, 1, false, true},
    {"sqrt.approx.ftz.f32", Instruction::Sqrt, 1, true, true},
    {"rsqrt.approx.f32", Instruction::Rsqrt, 1, false, true},
    {"rsqrt.approx.ftz.f32", Instruction::Rsqrt, 1, true, true},
    {"ex2.approx.f32", Instruction::Ex2, 1, false, true},
    {"ex2.approx.ftz.f32", Instruction::Ex2, 1, true, true},
    {"lg2.approx.f32", Instruction::Lg2, 1, false, true},
    {"lg2.approx.ftz.f32", Instruction::Lg2, 1, true, true},
    {"sin.approx.f32", Instruction::Sin, 1, false, true},
    {"sin.approx.ftz.f32", Instruction::Sin, 1, true, true},
    {"cos.approx.f32", Instruction::Cos, 1, false, true},
    {"cos.approx.ftz.f32", Instruction::Cos, 1, true, true},
    {"tanh.approx.f32", Instruction::Tanh, 1, false, true},
    {"add.rn.ftz.f32", Instruction::Add, 2, true},
}};

}  // namespace

const Assembly* find_assembly(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!is_blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  for (const Assembly& row : kRows) {
    std::string expected = std::string(row.opcode) + " $0";
    for (unsigned i = 1; i <= row.operands; ++i) expected += fmt::format(", ${}", i);
    for (const std::string_view end : {";", "; ", ""}) {
      if (line == expected + std::string(end)) return &row;
    }
  }
  return nullptr;
}

}  // namespace plumb::triton
