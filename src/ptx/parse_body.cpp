// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "ptx/codes.h"
#include "ptx/isa/table.h"
#include "ptx/nearest.h"
#include "ptx/parser.h"
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
    if (pending.instr == kTargets) {
      function_->labels[pending.operand].branch_targets.push_back(found->second.index);
    } else if (!any_error_) {
      // After an error the instruction may never have been added; the module is given up then.
      function_->instrs[pending.instr].operands[pending.operand].label = found->second.index;
    }
  }
}

bool Parser::declare(std::string_view name, Name entry) {
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
bool Parser::parameter_list(std::vector<VarId>& out) {
  if (!accept('(')) return true;
  if (accept(')')) return true;
  do {
    if (!parameter(out)) return false;
  } while (accept(','));
  return expect(')', "at the end of the parameters");
}

bool Parser::directives() {
  Function& function = *function_;
  const auto three = [&](std::array<std::uint32_t, 3>& out) {
    out = {1, 1, 1};
    for (unsigned i = 0; i < 3; ++i) {
      const std::optional<std::uint64_t> value = expect_integer("a count");
      if (!value) return false;
      if (*value > 0x7fffffff) return fail(kLimit, "the count is too large", peek().span);
      out[i] = static_cast<std::uint32_t>(*value);
      if (!accept(',')) return true;
    }
    return true;
  };
  const auto one = [&](std::uint32_t& out) {
    const std::optional<std::uint64_t> value = expect_integer("a count");
    if (!value) return false;
    out = static_cast<std::uint32_t>(*value);
    return true;
  };
  while (peek().kind == Token::Kind::Dot) {
    bool is_good = true;
    if (accept_dot("reqntid")) {
      is_good = three(function.reqntid);
    } else if (accept_dot("maxntid")) {
      is_good = three(function.maxntid);
    } else if (accept_dot("reqnctapercluster")) {
      is_good = three(function.reqnctapercluster);
    } else if (accept_dot("minnctapersm")) {
      is_good = one(function.minnctapersm);
    } else if (accept_dot("maxnreg")) {
      is_good = one(function.maxnreg);
    } else if (accept_dot("maxclusterrank")) {
      is_good = one(function.maxclusterrank);
    } else if (accept_dot("explicitcluster")) {
      function.explicit_cluster = true;
    } else if (accept_dot("noreturn")) {
      function.noreturn = true;
    } else if (accept_dot("pragma")) {
      if (peek().kind != Token::Kind::String) return unexpected("a string");
      function.pragmas.emplace_back(take().text);
      is_good = expect(';', "after the pragma");
    } else {
      return unexpected("a performance directive or a body");
    }
    if (!is_good) return false;
  }
  return true;
}

void Parser::function(bool is_entry, bool is_visible, bool is_extern, bool is_weak) {
  Function function;
  function.is_entry = is_entry;
  function.is_visible = is_visible;
  function.is_extern = is_extern;
  function.is_weak = is_weak;
  function_ = &function;
  open_scope();  // parameters
  const auto finish = [&] {
    close_scope();
    function_ = nullptr;
  };
  const auto give_up = [&] {
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
    finish();
  };
  if (!is_entry && peek().is('(') && !parameter_list(function.results)) return give_up();
  if (peek().kind != Token::Kind::Word) {
    unexpected("the function's name");
    return give_up();
  }
  const Token name = take();
  function.name = name.text;
  function.span = name.span;
  if (!parameter_list(function.parameters) || !directives()) return give_up();
  for (const Function& other : module_.functions) {
    if (other.name == function.name && !other.is_declaration && peek().is('{')) {
      fail(kRedeclared, fmt::format("the function `{}` is defined twice", name.text), name.span);
      has_failed_ = false;
    }
  }
  if (accept(';')) {
    function.is_declaration = true;
  } else if (peek().is('{')) {
    body(peek().span);
  } else {
    unexpected("the function's body");
    return give_up();
  }
  finish();
  module_.items.push_back({Item::Kind::Function, static_cast<std::uint32_t>(module_.functions.size())});
  module_.functions.push_back(std::move(function));
}

void Parser::body(Span open) {
  take();
  open_scope();
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
}

// -- statements
// --------------------------------------------------------------------------------------------------------
void Parser::statement() {
  if (accept(';')) return;
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
    text_statement(Statement::Kind::CallPrototype);
  } else if (peek().is_dot("calltargets")) {
    text_statement(Statement::Kind::CallTargets);
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

void Parser::text_statement(Statement::Kind kind) {
  const Span span = peek().span;
  std::string text;
  while (peek().kind != Token::Kind::End && peek().kind != Token::Kind::Bad && !peek().is(';') && !peek().is('}')) {
    if (!text.empty()) text += ' ';
    if (peek().kind == Token::Kind::Dot) text += '.';
    text += take().text;
  }
  if (!expect(';', "at the end of the directive")) return;
  add(kind, static_cast<std::uint32_t>(function_->texts.size()), span);
  function_->texts.push_back(std::move(text));
}

void Parser::body_directive() {
  const Span span = peek().span;
  if (accept_dot("reg")) {
    registers();
  } else if (accept_dot("loc")) {
    loc();
  } else if (peek().is_dot("pragma")) {
    text_statement(Statement::Kind::Pragma);
  } else if (const Space space = space_of(peek().text); space == Space::shared || space == Space::local ||
                                                        space == Space::param || space == Space::global ||
                                                        space == Space::constant) {
    take();
    std::vector<VarId> ids;
    variable(space, false, false, false, false, ids);
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
  if (!type) return false;
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

// .loc file line column [, function_name label [+ n], inlined_at file line column]
bool Parser::loc() {
  const Span span = peek().span;
  Loc out;
  for (std::uint32_t* field : {&out.file, &out.line, &out.column}) {
    const std::optional<std::uint64_t> value = expect_integer("file, line and column");
    if (!value) return false;
    *field = static_cast<std::uint32_t>(*value);
  }
  while (accept(',')) {
    if (peek().kind != Token::Kind::Word) return unexpected("`function_name` or `inlined_at`");
    out.rest += ", ";
    out.rest += take().text;
    if (peek().kind == Token::Kind::Word) {
      out.rest += " ";
      out.rest += take().text;
      if (accept('+')) {
        if (peek().kind != Token::Kind::Integer) return unexpected("an integer");
        out.rest += "+";
        out.rest += take().text;
      }
    }
    while (peek().kind == Token::Kind::Integer) {
      out.rest += " ";
      out.rest += take().text;
    }
  }
  add(Statement::Kind::Loc, static_cast<std::uint32_t>(function_->locs.size()), span);
  function_->locs.push_back(std::move(out));
  return true;
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
