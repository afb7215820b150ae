// SPDX-License-Identifier: Apache-2.0
#include "session/instr_class.h"

#include <algorithm>
#include <iterator>

namespace plumb::session {
namespace {

using ptx::Mod;
using ptx::Type;

struct Row {
  std::string_view opcode;
  InstrClass which;
};

// Of opcodes whose other words do not matter; arithmetic goes by its type.
constexpr Row kRows[] = {
    {"activemask", InstrClass::Exchange},
    {"alloca", InstrClass::Move},
    {"and", InstrClass::Logic},
    {"applypriority", InstrClass::AsyncCopy},
    {"atom", InstrClass::Atomic},
    {"bar", InstrClass::Synchronise},
    {"barrier", InstrClass::Synchronise},
    {"bfe", InstrClass::Logic},
    {"bfi", InstrClass::Logic},
    {"bfind", InstrClass::Logic},
    {"bmsk", InstrClass::Logic},
    {"bra", InstrClass::Control},
    {"brev", InstrClass::Logic},
    {"brkpt", InstrClass::Control},
    {"brx", InstrClass::Control},
    {"call", InstrClass::Control},
    {"clusterlaunchcontrol", InstrClass::Synchronise},
    {"clz", InstrClass::Logic},
    {"cnot", InstrClass::Logic},
    {"cos", InstrClass::Special},
    {"createpolicy", InstrClass::Move},
    {"cvt", InstrClass::Convert},
    {"cvta", InstrClass::Move},
    {"discard", InstrClass::AsyncCopy},
    {"elect", InstrClass::Exchange},
    {"ex2", InstrClass::Special},
    {"exit", InstrClass::Control},
    {"fence", InstrClass::Synchronise},
    {"fns", InstrClass::Logic},
    {"getctarank", InstrClass::Move},
    {"griddepcontrol", InstrClass::Synchronise},
    {"isspacep", InstrClass::Compare},
    {"ld", InstrClass::Load},
    {"ldmatrix", InstrClass::MatrixMove},
    {"ldu", InstrClass::Load},
    {"lg2", InstrClass::Special},
    {"lop3", InstrClass::Logic},
    {"mapa", InstrClass::Move},
    {"match", InstrClass::Exchange},
    {"mbarrier", InstrClass::Synchronise},
    {"membar", InstrClass::Synchronise},
    {"mma", InstrClass::TensorCore},
    {"mov", InstrClass::Move},
    {"movmatrix", InstrClass::MatrixMove},
    {"nanosleep", InstrClass::Control},
    {"not", InstrClass::Logic},
    {"or", InstrClass::Logic},
    {"pmevent", InstrClass::Control},
    {"popc", InstrClass::Logic},
    {"prefetch", InstrClass::AsyncCopy},
    {"prefetchu", InstrClass::AsyncCopy},
    {"prmt", InstrClass::Logic},
    {"rcp", InstrClass::Special},
    {"red", InstrClass::Atomic},
    {"redux", InstrClass::Exchange},
    {"ret", InstrClass::Control},
    {"rsqrt", InstrClass::Special},
    {"selp", InstrClass::Compare},
    {"set", InstrClass::Compare},
    {"setmaxnreg", InstrClass::Control},
    {"setp", InstrClass::Compare},
    {"shf", InstrClass::Logic},
    {"shfl", InstrClass::Exchange},
    {"shl", InstrClass::Logic},
    {"shr", InstrClass::Logic},
    {"sin", InstrClass::Special},
    {"slct", InstrClass::Compare},
    {"sqrt", InstrClass::Special},
    {"st", InstrClass::Store},
    {"stackrestore", InstrClass::Move},
    {"stacksave", InstrClass::Move},
    {"stmatrix", InstrClass::MatrixMove},
    {"szext", InstrClass::Logic},
    {"tanh", InstrClass::Special},
    {"tensormap", InstrClass::AsyncCopy},
    {"testp", InstrClass::Compare},
    {"trap", InstrClass::Control},
    {"vote", InstrClass::Exchange},
    {"xor", InstrClass::Logic},
};

InstrClass class_of_copy(const ptx::Instr& instr) {
  const bool waits = instr.has(Mod::wait_group) || instr.has(Mod::wait_all) || instr.has(Mod::commit_group) ||
                     instr.has(Mod::mbarrier);
  return waits ? InstrClass::Synchronise : InstrClass::AsyncCopy;
}

// The word after the opcode.
std::string_view second_word(const ptx::Instr& instr) {
  return instr.mods.empty() ? std::string_view() : ptx::text(instr.mods.front());
}

InstrClass class_of_tcgen05(const ptx::Instr& instr) {
  const std::string_view word = second_word(instr);
  if (word == "mma") return InstrClass::TensorCore;
  const bool orders = word == "commit" || word.starts_with("wait") || word.starts_with("fence");
  return orders ? InstrClass::Synchronise : InstrClass::TensorMemory;
}

InstrClass class_of_multimem(const ptx::Instr& instr) {
  const std::string_view word = second_word(instr);
  return word == "ld_reduce" ? InstrClass::Load : word == "st" ? InstrClass::Store : InstrClass::Atomic;
}

InstrClass class_of_arithmetic(Type type) {
  switch (type) {
    case Type::f32:
    case Type::f32x2:
      return InstrClass::Float32;
    case Type::f64:
      return InstrClass::Float64;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return InstrClass::Half;
    default:
      return InstrClass::Integer;
  }
}

bool is_arithmetic(std::string_view opcode) {
  static constexpr std::string_view kOpcodes[] = {"abs",   "add", "addc",  "copysign", "div", "dp2a", "dp4a",
                                                  "fma",   "mad", "mad24", "madc",     "max", "min",  "mul",
                                                  "mul24", "neg", "rem",   "sad",      "sub", "subc"};
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

}  // namespace

InstrClass class_of(const ptx::Instr& instr) {
  if (is_arithmetic(instr.opcode)) return class_of_arithmetic(instr.type());
  if (instr.opcode == "cp") return class_of_copy(instr);
  if (instr.opcode == "tcgen05") return class_of_tcgen05(instr);
  if (instr.opcode == "wgmma") return instr.has(Mod::mma_async) ? InstrClass::TensorCore : InstrClass::Synchronise;
  if (instr.opcode == "wmma") return instr.has(Mod::mma) ? InstrClass::TensorCore : InstrClass::MatrixMove;
  if (instr.opcode == "multimem") return class_of_multimem(instr);
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) { return each.opcode == instr.opcode; });
  return row == std::end(kRows) ? InstrClass::Other : row->which;
}

std::string_view text(InstrClass which) {
  switch (which) {
    case InstrClass::Float32:
      return "float";
    case InstrClass::Half:
      return "half";
    case InstrClass::Float64:
      return "double";
    case InstrClass::Integer:
      return "integer";
    case InstrClass::Logic:
      return "logic and shift";
    case InstrClass::Convert:
      return "convert";
    case InstrClass::Compare:
      return "compare and select";
    case InstrClass::Special:
      return "special function";
    case InstrClass::Move:
      return "move";
    case InstrClass::Exchange:
      return "exchange in the warp";
    case InstrClass::Load:
      return "load";
    case InstrClass::Store:
      return "store";
    case InstrClass::Atomic:
      return "atomic";
    case InstrClass::MatrixMove:
      return "matrix load and store";
    case InstrClass::AsyncCopy:
      return "asynchronous copy";
    case InstrClass::TensorCore:
      return "tensor core";
    case InstrClass::TensorMemory:
      return "tensor memory";
    case InstrClass::Synchronise:
      return "synchronise";
    case InstrClass::Control:
      return "control";
    case InstrClass::Other:
      break;
  }
  return "other";
}

}  // namespace plumb::session
