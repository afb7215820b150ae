// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "ptx/codes.h"
#include "ptx/isa/table.h"
#include "ptx/nearest.h"
#include "ptx/parser.h"
#include "ptx/special.h"
#include "ptx/suggest.h"

namespace plumb::ptx {

// -- scopes ----------------------------------------------------------------------------------------------------------
void Parser::open_scope() { scopes_.emplace_back(); }

// Labels that this scope declares are bound; the others may be an outer scope's.
void Parser::close_scope() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const PendingLabel& pending : scope.pending) {
    const auto found = scope.names.find(pending.name);
    const bool is_label = found != scope.names.end() && found->second.kind == Name::Kind::Label;
    if (!is_label) {
      if (!scopes_.empty()) {
        scopes_.back().pending.push_back(pending);
      } else {
        has_failed_ = false;
        if (!forgiven_.insert(pending.name).second) continue;
        std::vector<std::string_view> labels;
        for (const Label& label : function_->labels) labels.push_back(label.name);
        const std::string meant = nearest(pending.name, labels);
        fail(kUndeclared, fmt::format("there is no label `{}` in this function", pending.name), pending.span,
             meant.empty() ? meant : fmt::format("did you mean `{}`?", meant));
      }
      continue;
    }
    has_failed_ = false;
    if (!label_fits(pending, found->second.index)) continue;
    if (pending.instr == kTargets) {
      function_->labels[pending.operand].branch_targets.push_back(found->second.index);
    } else if (!any_error_) {
      // After an error the instruction may never have been added; the module is given up then.
      function_->instrs[pending.instr].operands[pending.operand].label = found->second.index;
    }
  }
}

// `brx.idx` takes the label of a list that stands before; everything else a place in the code.
bool Parser::label_fits(const PendingLabel& pending, LabelId label) {
  const Label& there = function_->labels[label];
  const std::size_t next = there.statement + 1;
  const Statement::Kind kind = next < function_->body.size() ? function_->body[next].kind : Statement::Kind::Label;
  const bool is_list = kind == Statement::Kind::BranchTargets || kind == Statement::Kind::CallPrototype ||
                       kind == Statement::Kind::CallTargets;
  if (pending.wants_list) {
    if (kind == Statement::Kind::BranchTargets && there.span.begin < pending.span.begin) return true;
    return fail(kOperandKind, fmt::format("`{}` names no `.branchtargets` that stands before", pending.name),
                pending.span);
  }
  return !is_list ||
         fail(kOperandKind, fmt::format("`{}` names a list, and no place in the code", pending.name), pending.span);
}

// `WARP_SZ` is a word of the grammar. The other special registers are variables of the module, so that a name inside
// a function may hide one and a name beside them may not.
bool Parser::is_free_name(std::string_view name, Span span, bool is_of_module) {
  if (name == "WARP_SZ" || (is_of_module && find_special(name) != nullptr)) {
    return fail(kRedeclared, fmt::format("`{}` is a special register's name", name), span);
  }
  return true;
}

bool Parser::declare(std::string_view name, Name entry) {
  if (!is_free_name(name, entry.span, scopes_.empty())) return false;
  Names& names = scopes_.empty() ? globals_ : scopes_.back().names;
  RegId index = 0;
  // A function's parameters and the names of its body are one scope.
  const bool is_parameter = scopes_.size() == 2 && scopes_.front().names.contains(name);
  const bool is_known = is_parameter || (!scopes_.empty() && find_range(scopes_.back(), name, index) != nullptr);
  if (!is_known && names.emplace(name, entry).second) return true;
  fail(kRedeclared, fmt::format("`{}` is declared twice", name), entry.span);
  return false;
}

// The range that makes up the name, and the register's place in it. A prefix may itself end in digits.
const Parser::Range* Parser::find_range(const Scope& scope, std::string_view name, RegId& index) {
  if (scope.ranges.empty()) return nullptr;
  constexpr std::size_t kMostDigits = 9;
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (std::size_t at = std::max(digits, name.size() - std::min(name.size(), kMostDigits)); at < name.size(); ++at) {
    if (at == 0) continue;
    index = 0;
    for (std::size_t i = at; i < name.size(); ++i) index = index * 10 + static_cast<RegId>(name[i] - '0');
    const std::string_view prefix = name.substr(0, at);
    for (const Range& range : scope.ranges) {
      const bool may_be = range.prefix.size() == at && range.prefix.back() == prefix.back();
      if (may_be && index < range.count && range.prefix == prefix) return &range;
    }
  }
  return nullptr;
}

bool Parser::declare_range(const Range& range) {
  if (!is_free_name(range.prefix, range.span, false)) return false;
  Scope& scope = scopes_.back();
  const auto twice = [&](std::string_view name) {
    return fail(kRedeclared, fmt::format("`{}` is declared twice", name), range.span);
  };
  Scope alone;
  alone.ranges.push_back(range);
  RegId index = 0;
  const auto clashes = [&](const Names& names) {
    return std::any_of(names.begin(), names.end(), [&](const auto& entry) {
      return entry.first.starts_with(range.prefix) && find_range(alone, entry.first, index) != nullptr;
    });
  };
  if (clashes(scope.names) || (scopes_.size() == 2 && clashes(scopes_.front().names))) return twice(range.prefix);
  for (const Range& other : scope.ranges) {
    if (!other.prefix.starts_with(range.prefix) && !range.prefix.starts_with(other.prefix)) continue;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const std::string name = std::string(range.prefix) + std::to_string(i);
      if (find_range(scope, name, index) != nullptr) return twice(name);
    }
  }
  scope.ranges.push_back(range);
  return true;
}

std::optional<Parser::Name> Parser::find(std::string_view name) const {
  const bool may_be_numbered = !name.empty() && name.back() >= '0' && name.back() <= '9';
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    RegId index = 0;
    if (may_be_numbered) {
      if (const Range* range = find_range(*scope, name, index)) {
        return Name{Name::Kind::Register, range->first + index * range->lanes, range->span, range->lanes};
      }
    }
    if (scope->names.empty()) continue;
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  const auto found = globals_.find(name);
  if (found == globals_.end()) return std::nullopt;
  return found->second;
}

void Parser::add(Statement::Kind kind, std::uint32_t index, Span span, std::uint32_t count) {
  function_->body.push_back({kind, index, count, span});
}

// -- functions -------------------------------------------------------------------------------------------------------
bool Parser::parameter_list(std::vector<VarId>& out, bool is_result) {
  if (!accept('(')) return true;
  if (accept(')')) return true;
  do {
    if (!parameter(out, is_result)) return false;
  } while (accept(','));
  return expect(')', "at the end of the parameters");
}

// What the parameters must keep to together.
bool Parser::parameters_fit(Span name) {
  const Function& function = *function_;
  const std::vector<VarId>& all = function.parameters;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const Variable& one = module_.variables[all[i]];
    if (one.dimensions.empty() || one.dimensions[0] != 0) continue;
    return fail(kSyntax, fmt::format("`{}` has no size: only the last parameter may be so", one.name), one.span);
  }
  if (function.results.size() > 1) {
    for (const VarId id : function.results) {
      if (module_.variables[id].space == Space::reg) continue;
      return fail(kSyntax, "several results are `.reg`, and not in .param space", module_.variables[id].span);
    }
  }
  if (!function.is_entry) return true;
  std::uint64_t bytes = 0;
  for (const VarId id : all) {
    const Variable& one = module_.variables[id];
    const std::uint64_t align = std::max({one.alignment, byte_size(one.type), 1u});
    bytes = (bytes + align - 1) / align * align + one.size;
  }
  constexpr std::uint64_t kMost = 32764, kMostBefore81 = 4352;
  if (bytes > kMost) return fail(kLimit, fmt::format("{} bytes of parameters; {} are allowed", bytes, kMost), name);
  return bytes <= kMostBefore81 || needs("parameters of more than 4352 bytes", {8, 1}, 0, name);
}

// [results] name [parameters] directives, up to the `;` or the body.
bool Parser::head() {
  Function& function = *function_;
  if (!function.is_entry && peek().is_dot("attribute") && !attribute(true)) return false;
  if (!function.is_entry && peek().is('(') && !parameter_list(function.results, true)) return false;
  if (peek().kind != Token::Kind::Word) return unexpected("the function's name");
  if (!is_free_name(peek().text, peek().span, true)) return false;
  const Token name = take();
  function.name = name.text;
  function.span = name.span;
  if (!parameter_list(function.parameters, false) || !directives() || !parameters_fit(name.span)) return false;
  if (!peek().is(';') && !peek().is('{')) return unexpected("the function's body");
  // The body is read even where the name is taken: it has errors of its own.
  if (!goes_with_earlier(name.span, peek().is('{'))) has_failed_ = false;
  return true;
}

void Parser::function(bool is_entry, const Linkage& link) {
  Function function;
  function.is_entry = is_entry;
  function.is_visible = link.is_visible;
  function.is_extern = link.is_extern;
  function.is_weak = link.is_weak;
  function_ = &function;
  open_scope();  // parameters
  const auto finish = [&] {
    close_scope();
    function_ = nullptr;
  };
  if (!head()) {
    // Skip the body, so that its statements are not read as module items.
    while (peek().kind != Token::Kind::End && !peek().is('{') && !peek().is(';')) take();
    unsigned depth = 0;
    while (peek().kind != Token::Kind::End) {
      if (peek().is('{')) ++depth;
      if (peek().is('}') && depth > 0) --depth;
      const bool is_last = depth == 0;
      take();
      if (is_last) break;
    }
    return finish();
  }
  if (accept(';')) {
    function.is_declaration = true;
  } else {
    body(peek().span);
  }
  finish();
  module_.items.push_back({Item::Kind::Function, static_cast<std::uint32_t>(module_.functions.size())});
  module_.functions.push_back(std::move(function));
}

void Parser::body(Span open) {
  take();
  open_scope();
  prototypes_.clear();
  std::vector<Span> opens{open};
  while (true) {
    has_failed_ = false;
    if (findings_.list().size() >= kMostFindings) break;
    if (peek().kind == Token::Kind::End) {
      fail(kTruncated, fmt::format("the file ends in the middle of `{}`: this brace is not closed", function_->name),
           opens.back());
      break;
    }
    if (peek().is('{')) {
      if (opens.size() >= kDeepestScope) {
        fail(kLimit, "scopes are nested too deeply", peek().span);
        break;
      }
      add(Statement::Kind::ScopeBegin, 0, peek().span);
      opens.push_back(take().span);
      open_scope();
    } else if (peek().is('}')) {
      const Span span = take().span;
      opens.pop_back();
      if (opens.empty()) break;
      add(Statement::Kind::ScopeEnd, 0, span);
      close_scope();
    } else {
      const std::uint32_t begin = peek().span.begin;
      const bool is_directive = peek().kind == Token::Kind::Dot;
      statement();
      if (!has_failed_) continue;
      recover(begin);
      if (is_directive) forgive(begin);
    }
  }
  for (std::size_t i = 1; i < opens.size(); ++i) close_scope();
  close_scope();
  if (!any_error_) check_calls();
}

// Calls through a register are held to what their label stands for; calls of a function, by the validator.
void Parser::check_calls() {
  for (const Instr& instr : function_->instrs) {
    const bool is_indirect =
        instr.opcode == "call" && !instr.operands.empty() && instr.operands.back().kind == Operand::Kind::Label;
    if (!is_indirect) continue;
    std::optional<Mismatch> mismatch = match_prototypes(module_, *function_, instr, prototypes_);
    has_failed_ = false;
    if (mismatch) fail(*mismatch->code, std::move(mismatch->message), mismatch->span);
  }
}

// -- statements
// --------------------------------------------------------------------------------------------------------
void Parser::statement() {
  if (peek().is(';')) {
    fail(kSyntax, "a `;` that ends nothing", peek().span);
    return;
  }
  if (peek().kind == Token::Kind::Dot) return body_directive();
  if (peek().is('@')) {
    instruction();
    return;
  }
  if (peek().kind != Token::Kind::Word) {
    unexpected("an instruction");
    return;
  }
  if (lexer_.is_next(':')) {
    const Token name = take();
    advance();
    return label(name);
  }
  instruction();
}

void Parser::label(const Token& name) {
  const auto id = static_cast<LabelId>(function_->labels.size());
  Label out;
  out.name = name.text;
  out.statement = static_cast<std::uint32_t>(function_->body.size());
  out.span = name.span;
  function_->labels.push_back(std::move(out));
  declare(name.text, {Name::Kind::Label, id, name.span});
  add(Statement::Kind::Label, id, name.span);
  if (accept_dot("branchtargets")) {
    branch_targets(id);
  } else if (peek().is_dot("callprototype")) {
    call_prototype(id);
  } else if (peek().is_dot("calltargets")) {
    call_targets(id);
  }
}

bool Parser::branch_targets(LabelId label) {
  add(Statement::Kind::BranchTargets, label, peek().span);
  do {
    if (peek().kind != Token::Kind::Word) return unexpected("a label");
    const Token name = take();
    scopes_.back().pending.push_back({name.text, name.span, kTargets, label});
  } while (accept(','));
  return expect_end("after the branch targets");
}

void Parser::body_directive() {
  const Span span = peek().span;
  if (accept_dot("reg")) {
    registers();
  } else if (accept_dot("loc")) {
    loc();
  } else if (peek().is_dot("pragma")) {
    pragma_statement();
  } else if (peek().is_dot("attribute")) {
    unexpected("a state space before `.attribute`");
  } else if (const Space space = space_of(peek().text); space == Space::shared || space == Space::local ||
                                                        space == Space::param || space == Space::global ||
                                                        space == Space::constant) {
    take();
    std::vector<VarId> ids;
    variable(space, {}, ids);
    for (const VarId id : ids) add(Statement::Kind::Variable, id, span);
  } else {
    unexpected("a declaration, `.loc` or an instruction");
  }
}

// .reg [.vN] .type name, name<count>, ... ;
bool Parser::registers() {
  const Span span = peek().span;
  const unsigned lanes = vector_word();
  const std::optional<Type> type = type_word();
  if (!type || !goes_in(*type, Space::reg, false, span)) return false;
  if (lanes > 1 && (*type == Type::pred || byte_size(*type) * lanes > 16)) {
    return fail(kSyntax, fmt::format("a vector of {} `.{}`: vectors have 128 bits at most", lanes, name(*type)), span);
  }
  do {
    if (!one_register(*type, lanes, span)) return false;
  } while (accept(','));
  return expect_end("at the end of the declaration");
}

bool Parser::one_register(Type type, unsigned lanes, Span span) {
  if (peek().kind != Token::Kind::Word) return unexpected("a register's name");
  const Token word = take();
  const auto first = static_cast<RegId>(function_->registers.size());
  std::uint64_t count = 1;
  const bool is_range = accept('<');
  if (is_range) {
    const std::optional<std::uint64_t> given = expect_integer("how many registers");
    if (!given || !expect('>', "after the count")) return false;
    count = *given;
  }
  if (count > kMostRegisters || function_->registers.size() + count * lanes > kMostRegisters) {
    return fail(kLimit, fmt::format("more than {} registers", kMostRegisters), word.span);
  }
  const auto width = static_cast<std::uint8_t>(lanes);
  if (is_range) {
    std::string numbered(word.text);
    for (std::uint64_t i = 0; i < count; ++i) {
      char digits[20];
      const auto size = static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, i).ptr - digits);
      numbered.resize(word.text.size());
      add_register(numbered.append(digits, size), type, lanes, word.span);
    }
    if (count != 0 && !declare_range({word.text, first, static_cast<std::uint32_t>(count), word.span, width})) {
      return false;
    }
  } else {
    add_register(std::string(word.text), type, lanes, word.span);
    if (!declare(word.text, {Name::Kind::Register, first, word.span, width})) return false;
  }
  if (count != 0) add(Statement::Kind::Registers, first, span, static_cast<std::uint32_t>(count * lanes));
  return true;
}

// A vector is its elements, named as they are written.
void Parser::add_register(const std::string& name, Type type, unsigned lanes, Span span) {
  if (lanes == 1) {
    function_->registers.push_back({name, type, span});
    return;
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    function_->registers.push_back({name + '.' + "xyzw"[lane], type, span});
  }
}

bool Parser::guard(Instr& instr) {
  if (!accept('@')) return true;
  Guard out;
  out.is_negated = accept('!');
  if (peek().kind != Token::Kind::Word) return unexpected("a predicate");
  const Token word = take();
  const std::optional<Name> known = find(word.text);
  if (!known) return undeclared(word);
  if (known->kind != Name::Kind::Register || function_->registers[known->index].type != Type::pred) {
    return fail(kGuard, fmt::format("`{}` guards an instruction and is no `.pred` register", word.text), word.span);
  }
  out.reg = known->index;
  instr.guard = out;
  return true;
}

// The opcode and its dotted words, which are taken; null when there was an error.
const Spelling* Parser::spelling() {
  const std::uint32_t begin = peek().span.begin;
  const std::string_view text = lexer_.dotted(begin);
  if (const auto known = spelling_of_.find(text); known != spelling_of_.end()) {
    const std::uint32_t end = begin + static_cast<std::uint32_t>(text.size());
    Lexer after(module_.source->text(), end);
    if (!after.is_next('.')) {  // white space may stand before a word
      token_.span.end = end;
      lexer_ = after;
      advance();
      return known->second;
    }
  }
  const Token opcode = take();
  const Table& isa = table();
  const auto lines = isa.by_opcode.find(opcode.text);
  if (lines == isa.by_opcode.end()) {
    fail(kUnknownInstr, fmt::format("there is no instruction `{}`", opcode.text), opcode.span,
         nearest_opcode(opcode.text));
    return nullptr;
  }
  const auto index = static_cast<std::uint32_t>(spellings_->size());
  Spelling out{lines->first, isa.lines[lines->second.front()].form, {}, index};
  while (peek().kind == Token::Kind::Dot) {
    const Token word = take();
    const auto mod = isa.mods.find(word.text);
    if (mod == isa.mods.end()) {
      fail(kModifier, fmt::format("there is no modifier `.{}`", word.text), word.span, nearest_modifier(word.text));
      return nullptr;
    }
    out.mods.push_back(mod->second);
  }
  // White space between the words is legal, and makes another text of the same spelling.
  spellings_->push_back(std::move(out));
  return spelling_of_[module_.source->text().substr(begin, last_end_ - begin)] = &spellings_->back();
}

bool Parser::instruction() {
  Instr instr;
  instr.span.begin = peek().span.begin;
  if (!guard(instr)) return false;
  if (peek().kind != Token::Kind::Word) return unexpected("an instruction");
  instr.opcode_span.begin = peek().span.begin;
  const Spelling* const words = spelling();
  if (words == nullptr) return false;
  instr.opcode_span.end = last_end_;
  // The form is settled by the validator, which looks at the operands, too.
  instr.form = words->form;
  instr.spelling = words->index;
  instr.opcode = words->opcode;
  instr.mods = words->mods;
  opcode_ = words->opcode;
  reads_whole_special_ = opcode_ == "mov" && instr.has(Mod::v4);
  operand_index_ = 0;
  if (!peek().is(';')) {
    instr.operands.reserve(4);
    do {
      if (!operand(instr.operands.emplace_back())) return false;
      ++operand_index_;
    } while (accept(','));
  }
  instr.span.end = peek().span.end;
  if (!expect_end("at the end of the instruction")) return false;
  add(Statement::Kind::Instr, static_cast<std::uint32_t>(function_->instrs.size()), instr.span);
  function_->instrs.push_back(std::move(instr));
  return true;
}

std::string nearest_modifier(std::string_view word) {
  if (word.size() == 2 && word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
    return "vectors are `.v2`, `.v4` and `.v8`";
  }
  std::vector<std::string_view> mods;
  for (const auto& [mod, value] : table().mods) mods.push_back(mod);
  const std::string best = nearest(word, mods);
  return best.empty() ? best : fmt::format("did you mean `.{}`?", best);
}

std::string nearest_opcode(std::string_view word) {
  if (const std::string_view meant = other_opcode(word); !meant.empty()) return fmt::format("that is {}", meant);
  std::vector<std::string_view> opcodes;
  for (const auto& [opcode, lines] : table().by_opcode) opcodes.push_back(opcode);
  const std::string best = nearest(word, opcodes);
  return best.empty() ? best : fmt::format("did you mean `{}`?", best);
}

}  // namespace plumb::ptx
