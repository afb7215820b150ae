// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string>

#include "ptx/isa/table.h"
#include "ptx/module.h"
#include "ptx/space.h"
#include "ptx/special.h"

namespace plumb::ptx {
namespace {

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string run() {
    out_ +=
        fmt::format(".version {}.{}\n.target {}", module_.version.major, module_.version.minor, module_.target.text);
    for (const std::string& option : module_.target.options) out_ += ", " + option;
    out_ += fmt::format("\n.address_size {}\n\n", module_.address_size);
    for (const Item& item : module_.items) {
      switch (item.kind) {
        case Item::Kind::Variable:
          variable(module_.variables[item.index]);
          break;
        case Item::Kind::Function:
          function(module_.functions[item.index]);
          break;
        default:
          out_ += module_.texts[item.index] + "\n";
          break;
      }
    }
    return std::move(out_);
  }

 private:
  void flags(bool is_visible, bool is_extern, bool is_weak, bool is_common) {
    if (is_visible) out_ += ".visible ";
    if (is_extern) out_ += ".extern ";
    if (is_weak) out_ += ".weak ";
    if (is_common) out_ += ".common ";
  }

  void dimensions(const Variable& variable) {
    for (const std::uint64_t extent : variable.dimensions) out_ += extent == 0 ? "[]" : fmt::format("[{}]", extent);
  }

  void variable(const Variable& variable) {
    flags(variable.is_visible, variable.is_extern, variable.is_weak, variable.is_common);
    out_ += fmt::format(".{}", name(variable.space));
    if (variable.alignment != 0) out_ += fmt::format(" .align {}", variable.alignment);
    out_ += fmt::format(" .{} {}", name(variable.type), variable.name);
    dimensions(variable);
    if (!variable.initial.empty()) initial(variable);
    out_ += ";\n";
  }

  void initial(const Variable& variable) {
    const unsigned size = byte_size(variable.type);
    // Each dimension has its braces: those that begin or end at an element are written there.
    std::vector<std::uint64_t> spans;
    for (std::uint64_t span = size, i = variable.dimensions.size(); i-- > 0;) {
      span *= variable.dimensions[i];
      spans.push_back(span);
    }
    out_ += " = ";
    auto relocation = variable.relocations.begin();
    for (std::uint64_t at = 0; at + size <= variable.initial.size(); at += size) {
      for (const std::uint64_t span : spans) {
        if (at != 0 && at % span == 0) out_ += '}';
      }
      if (at != 0) out_ += ", ";
      for (const std::uint64_t span : spans) {
        if (at % span == 0) out_ += '{';
      }
      if (relocation != variable.relocations.end() && relocation->offset == at) {
        if (relocation->mask != 0) out_ += fmt::format("0x{:X}(", relocation->mask);
        out_ += relocation->is_generic ? fmt::format("generic({})", relocation->symbol) : relocation->symbol;
        offset(relocation->addend);
        if (relocation->mask != 0) out_ += ')';
        ++relocation;
        continue;
      }
      std::uint64_t bits = 0;
      std::memcpy(&bits, variable.initial.data() + at, size < 8 ? size : 8);
      if (variable.type == Type::f32) {
        out_ += fmt::format("0f{:08X}", bits);
      } else if (variable.type == Type::f64) {
        out_ += fmt::format("0d{:016X}", bits);
      } else {
        out_ += fmt::format("{}", bits);
      }
    }
    out_.append(spans.size(), '}');
  }

  void parameters(const std::vector<VarId>& ids) {
    out_ += "(";
    bool is_first = true;
    for (const VarId id : ids) {
      const Variable& parameter = module_.variables[id];
      out_ += fmt::format("{}\n\t.{}", is_first ? "" : ",", name(parameter.space));
      is_first = false;
      if (parameter.alignment != 0) out_ += fmt::format(" .align {}", parameter.alignment);
      const bool is_register = parameter.space == Space::reg;
      if (is_register && !parameter.dimensions.empty()) out_ += fmt::format(" .v{}", parameter.dimensions[0]);
      out_ += fmt::format(" .{}", name(parameter.type));
      if (parameter.pointer) {
        out_ += " .ptr";
        if (parameter.pointer->space != Space::none) out_ += fmt::format(" .{}", name(parameter.pointer->space));
        if (parameter.pointer->alignment != 0) out_ += fmt::format(" .align {}", parameter.pointer->alignment);
      }
      out_ += " " + parameter.name;
      if (!is_register) dimensions(parameter);
    }
    out_ += ids.empty() ? ")" : "\n)";
  }

  void three(std::string_view word, const std::array<std::uint32_t, 3>& counts) {
    if (counts[0] != 0) out_ += fmt::format("\n{} {}, {}, {}", word, counts[0], counts[1], counts[2]);
  }
  void one(std::string_view word, std::uint32_t count) {
    if (count != 0) out_ += fmt::format("\n{} {}", word, count);
  }

  // Other directives stand before the strings, as they are: ".abi_preserve 8".
  void pragmas(const Function& function) {
    std::string strings;
    for (const std::string& one : function.pragmas) {
      if (one.starts_with('.')) {
        out_ += "\n" + one;
      } else {
        strings += (strings.empty() ? "\n.pragma " : ", ") + one;
      }
    }
    out_ += strings;
    if (!strings.empty() && function.is_entry) out_ += ';';
  }

  void function(const Function& function) {
    function_ = &function;
    flags(function.is_visible, function.is_extern, function.is_weak, false);
    out_ += function.is_entry ? ".entry " : ".func ";
    if (!function.results.empty()) {
      parameters(function.results);
      out_ += " ";
    }
    out_ += function.name;
    parameters(function.parameters);
    three(".reqntid", function.reqntid);
    three(".maxntid", function.maxntid);
    three(".reqnctapercluster", function.reqnctapercluster);
    one(".minnctapersm", function.minnctapersm);
    one(".maxnreg", function.maxnreg);
    one(".maxclusterrank", function.maxclusterrank);
    if (function.explicit_cluster) out_ += "\n.explicitcluster";
    if (function.noreturn) out_ += "\n.noreturn";
    pragmas(function);
    if (function.is_declaration) {
      out_ += ";\n\n";
      return;
    }
    out_ += "\n{\n";
    for (const Statement& at : function.body) statement(at);
    out_ += "}\n\n";
  }

  void statement(const Statement& at) {
    switch (at.kind) {
      case Statement::Kind::Instr:
        out_ += '\t';
        instr(function_->instrs[at.index]);
        break;
      case Statement::Kind::Label:
        out_ += function_->labels[at.index].name + ":\n";
        break;
      case Statement::Kind::ScopeBegin:
        out_ += "\t{\n";
        break;
      case Statement::Kind::ScopeEnd:
        out_ += "\t}\n";
        break;
      case Statement::Kind::Registers:
        registers(at);
        break;
      case Statement::Kind::Variable:
        out_ += '\t';
        variable(module_.variables[at.index]);
        break;
      case Statement::Kind::Loc: {
        const Loc& loc = function_->locs[at.index];
        out_ += fmt::format("\t.loc {} {} {}{}\n", loc.file, loc.line, loc.column, loc.rest);
        break;
      }
      case Statement::Kind::BranchTargets: {
        out_ += "\t.branchtargets";
        bool is_first = true;
        for (const LabelId id : function_->labels[at.index].branch_targets) {
          out_ += (is_first ? " " : ", ") + function_->labels[id].name;
          is_first = false;
        }
        out_ += ";\n";
        break;
      }
      default:
        out_ += "\t" + function_->texts[at.index] + ";\n";
        break;
    }
  }

  void registers(const Statement& at) {
    const Register& first = function_->registers[at.index];
    const std::string_view name_of_first = std::string_view(first.name).substr(0, first.name.find('.'));
    std::uint32_t lanes = 1;
    if (name_of_first.size() != first.name.size()) {
      const std::string_view prefix = std::string_view(first.name).substr(0, name_of_first.size() + 1);
      while (lanes < at.count && function_->registers[at.index + lanes].name.starts_with(prefix)) ++lanes;
    }
    const std::uint32_t count = at.count / lanes;
    // `name<count>` declares name0, name1, ...: a count of one is told from a plain name by its last digit.
    const bool is_numbered = count != 1 || name_of_first.back() == '0';
    out_ += "\t.reg ";
    if (lanes != 1) out_ += fmt::format(".v{} ", lanes);
    out_ += fmt::format(".{} ", name(first.type));
    if (is_numbered) {
      out_ += fmt::format("{}<{}>;\n", name_of_first.substr(0, name_of_first.size() - 1), count);
    } else {
      out_ += fmt::format("{};\n", name_of_first);
    }
  }

  void instr(const Instr& instr) {
    if (instr.guard) {
      out_ += instr.guard->is_negated ? "@!" : "@";
      out_ += function_->registers[instr.guard->reg].name + " ";
    }
    out_ += instr.opcode;
    for (const Mod mod : instr.mods) {
      out_ += '.';
      out_ += text(mod);
    }
    for (std::size_t i = 0; i < instr.operands.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      operand(instr.operands[i]);
    }
    out_ += ";\n";
  }

  void number(std::int64_t value) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out_.append(digits, end);
  }

  void offset(std::int64_t value) {
    if (value == 0) return;
    out_ += '+';
    number(value);
  }

  void elements(const Operand& operand_list, char open, char close) {
    out_ += open;
    for (std::size_t i = 0; i < operand_list.elements.size(); ++i) {
      if (i != 0) out_ += ", ";
      operand(operand_list.elements[i]);
    }
    out_ += close;
  }

  void address(const Operand& operand_address) {
    out_ += '[';
    switch (operand_address.base) {
      case Operand::Base::None:
        number(operand_address.integer);
        break;
      case Operand::Base::Reg:
        out_ += function_->registers[operand_address.reg].name;
        offset(operand_address.integer);
        break;
      case Operand::Base::Variable:
        out_ += module_.variables[operand_address.variable].name;
        offset(operand_address.integer);
        break;
    }
    for (const Operand& element : operand_address.elements) {
      out_ += ", ";
      operand(element);
    }
    out_ += ']';
  }

  void operand(const Operand& operand_value) {
    const Operand& value = operand_value;
    if (value.is_negated) out_ += '!';
    switch (value.kind) {
      case Operand::Kind::Reg:
        out_ += function_->registers[value.reg].name;
        if (!value.symbol.empty()) out_.append(".").append(value.symbol);
        break;
      case Operand::Kind::Int:
        if (value.is_unsigned_literal) {
          out_ += fmt::format("{}U", static_cast<std::uint64_t>(value.integer));
        } else {
          number(value.integer);
        }
        break;
      case Operand::Kind::Float:
        real(value);
        break;
      case Operand::Kind::Special:
        out_ += special_text(value.special, value.axis);
        break;
      case Operand::Kind::Variable:
        out_ += module_.variables[value.variable].name;
        offset(value.integer);
        break;
      case Operand::Kind::Function:
        out_ += value.symbol;
        break;
      case Operand::Kind::Label:
        out_ += function_->labels[value.label].name;
        break;
      case Operand::Kind::Address:
        address(value);
        break;
      case Operand::Kind::Vector:
        elements(value, '{', '}');
        break;
      case Operand::Kind::List:
        elements(value, '(', ')');
        break;
      case Operand::Kind::Pair:
        operand(value.elements[0]);
        out_ += '|';
        operand(value.elements[1]);
        break;
      case Operand::Kind::Sink:
        out_ += '_';
        break;
    }
  }

  void real(const Operand& value) {
    const auto bits = static_cast<std::uint64_t>(value.integer);
    switch (value.float_kind) {
      case Operand::FloatKind::F32Bits:
        out_ += fmt::format("0f{:08X}", bits);
        break;
      case Operand::FloatKind::F64Bits:
        out_ += fmt::format("0d{:016X}", bits);
        break;
      case Operand::FloatKind::Decimal: {
        double number = 0;
        std::memcpy(&number, &bits, 8);
        std::string text = fmt::format("{}", number);  // the shortest text that reads back to the same number
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
        out_ += text;
        break;
      }
    }
  }

  const Module& module_;
  const Function* function_ = nullptr;
  std::string out_;
};

}  // namespace

std::string print(const Module& module) { return Printer(module).run(); }

}  // namespace plumb::ptx
