// SPDX-License-Identifier: Apache-2.0
#include "ptx/module.h"

#include <algorithm>
#include <tuple>

#include "ptx/isa/table.h"

namespace plumb::ptx {

bool Instr::has(Mod mod) const {
  for (const Mod own : mods) {
    if (own == mod) return true;
  }
  return false;
}

Type Instr::type(unsigned n) const {
  for (const Mod mod : mods) {
    const Type type = table().mod_types[static_cast<std::size_t>(mod)];
    if (type != Type::none && n-- == 0) return type;
  }
  return Type::none;
}

const Function* Module::find_entry(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.is_entry && function.name == name && !function.is_declaration) return &function;
  }
  return nullptr;
}

namespace {

bool equal(const Operand& a, const Operand& b) {
  if (a.kind != b.kind || a.is_negated != b.is_negated || a.integer != b.integer || a.symbol != b.symbol ||
      a.elements.size() != b.elements.size() || a.base != b.base) {
    return false;
  }
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (!equal(a.elements[i], b.elements[i])) return false;
  }
  return std::tie(a.float_kind, a.reg, a.variable, a.label, a.special, a.axis) ==
         std::tie(b.float_kind, b.reg, b.variable, b.label, b.special, b.axis);
}

bool equal(const Instr& a, const Instr& b) {
  if (a.form != b.form || a.opcode != b.opcode || !std::ranges::equal(a.mods, b.mods) ||
      a.operands.size() != b.operands.size() || a.guard.has_value() != b.guard.has_value()) {
    return false;
  }
  if (a.guard && (a.guard->reg != b.guard->reg || a.guard->is_negated != b.guard->is_negated)) return false;
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    if (!equal(a.operands[i], b.operands[i])) return false;
  }
  return true;
}

bool equal(const Variable& a, const Variable& b) {
  if (a.relocations.size() != b.relocations.size() || a.pointer.has_value() != b.pointer.has_value()) return false;
  for (std::size_t i = 0; i < a.relocations.size(); ++i) {
    const Variable::Relocation &x = a.relocations[i], &y = b.relocations[i];
    if (std::tie(x.offset, x.symbol, x.addend, x.is_generic, x.mask) !=
        std::tie(y.offset, y.symbol, y.addend, y.is_generic, y.mask)) {
      return false;
    }
  }
  if (a.pointer && (a.pointer->space != b.pointer->space || a.pointer->alignment != b.pointer->alignment)) return false;
  return std::tie(a.name, a.space, a.type, a.alignment, a.size, a.dimensions, a.is_extern, a.is_visible, a.is_weak,
                  a.is_common, a.reg, a.initial) == std::tie(b.name, b.space, b.type, b.alignment, b.size, b.dimensions,
                                                             b.is_extern, b.is_visible, b.is_weak, b.is_common, b.reg,
                                                             b.initial);
}

template <class T, class Same>
bool all_equal(const std::vector<T>& a, const std::vector<T>& b, Same&& same) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

bool equal(const Function& a, const Function& b) {
  if (std::tie(a.name, a.is_entry, a.is_visible, a.is_extern, a.is_weak, a.is_declaration, a.parameters, a.results,
               a.reqntid, a.maxntid, a.reqnctapercluster, a.minnctapersm, a.maxnreg, a.maxclusterrank) !=
      std::tie(b.name, b.is_entry, b.is_visible, b.is_extern, b.is_weak, b.is_declaration, b.parameters, b.results,
               b.reqntid, b.maxntid, b.reqnctapercluster, b.minnctapersm, b.maxnreg, b.maxclusterrank)) {
    return false;
  }
  if (a.explicit_cluster != b.explicit_cluster || a.noreturn != b.noreturn || a.pragmas != b.pragmas ||
      a.texts != b.texts) {
    return false;
  }
  return all_equal(a.registers, b.registers,
                   [](const Register& x, const Register& y) { return x.name == y.name && x.type == y.type; }) &&
         all_equal(a.instrs, b.instrs, [](const Instr& x, const Instr& y) { return equal(x, y); }) &&
         all_equal(a.labels, b.labels,
                   [](const Label& x, const Label& y) {
                     return x.name == y.name && x.statement == y.statement && x.branch_targets == y.branch_targets;
                   }) &&
         all_equal(a.locs, b.locs,
                   [](const Loc& x, const Loc& y) {
                     return std::tie(x.file, x.line, x.column, x.rest) == std::tie(y.file, y.line, y.column, y.rest);
                   }) &&
         all_equal(a.body, b.body, [](const Statement& x, const Statement& y) {
           return x.kind == y.kind && x.index == y.index && x.count == y.count;
         });
}

}  // namespace

bool equal(const Module& a, const Module& b) {
  return a.version == b.version && a.target.text == b.target.text && a.target.options == b.target.options &&
         a.address_size == b.address_size && a.texts == b.texts &&
         all_equal(a.variables, b.variables, [](const Variable& x, const Variable& y) { return equal(x, y); }) &&
         all_equal(a.functions, b.functions, [](const Function& x, const Function& y) { return equal(x, y); }) &&
         all_equal(a.items, b.items,
                   [](const Item& x, const Item& y) { return x.kind == y.kind && x.index == y.index; });
}

}  // namespace plumb::ptx
