// SPDX-License-Identifier: Apache-2.0
#include "ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ptx/codes.h"
#include "ptx/validate.h"

namespace plumb::ptx {

std::optional<std::uint64_t> read_integer(std::string_view text) {
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    if (mark == 'x' || mark == 'X') {
      base = 16;
    } else if (mark == 'b' || mark == 'B') {
      base = 2;
    } else {
      base = 8;
    }
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

namespace {

// White space is \t \n \v \f \r and the blank.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && (byte < 9 || byte > 13)) || byte == 0x7f;
}

// The text's size when there is none. A whole block is looked at without a branch, which the compiler turns into
// operations on vectors.
std::size_t first_control(std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::size_t at = 0;
  for (; at + kBlock <= text.size(); at += kBlock) {
    unsigned char any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      const auto below_space = static_cast<unsigned char>(byte < 0x20),
                 is_space_like = static_cast<unsigned char>(static_cast<unsigned char>(byte - 9) < 5);
      any = static_cast<unsigned char>(any | (below_space & (is_space_like ^ 1)) |
                                       static_cast<unsigned char>(byte == 0x7f));
    }
    if (any != 0) break;
  }
  while (at < text.size() && !is_control(text[at])) ++at;
  return at;
}

}  // namespace

Parser::Parser(SourcePtr source, Findings& findings) : findings_(findings), lexer_(source->text()) {
  module_.source = std::move(source);
  module_.spellings = spellings_;
  token_ = lexer_.next();
}

void Parser::advance() {
  last_end_ = token_.span.end;
  token_ = lexer_.next();
}
Token Parser::take() {
  const Token out = token_;
  advance();
  return out;
}
bool Parser::accept(char punct) {
  if (!token_.is(punct)) return false;
  advance();
  return true;
}
bool Parser::accept_dot(std::string_view word) {
  if (!token_.is_dot(word)) return false;
  advance();
  return true;
}
bool Parser::expect(char punct, std::string_view where) {
  if (accept(punct)) return true;
  return unexpected(fmt::format("`{}` {}", punct, where));
}
std::optional<std::uint64_t> Parser::expect_integer(std::string_view what) {
  if (token_.kind == Token::Kind::Word && token_.text == "WARP_SZ") {
    take();
    return 32;
  }
  if (token_.kind != Token::Kind::Integer) {
    unexpected(what);
    return std::nullopt;
  }
  const std::optional<std::uint64_t> value = read_integer(token_.text);
  if (!value) {
    fail(kSyntax, fmt::format("`{}` is no integer of 64 bits", token_.text), token_.span);
    return std::nullopt;
  }
  take();
  return value;
}

bool Parser::fail(const Code& code, std::string message, Span span, std::string hint) {
  any_error_ = true;
  if (!std::exchange(has_failed_, true) && findings_.list().size() < kMostFindings) {
    findings_.add(code, std::move(message), place(span)).hint = std::move(hint);
  }
  return false;
}
std::string Parser::describe(const Token& token) const {
  if (token.kind == Token::Kind::End) return "the end of the file";
  if (token.kind == Token::Kind::Dot) return fmt::format("`.{}`", token.text);
  if (token.kind == Token::Kind::Bad) {
    if (token.text.starts_with("/*")) return "a comment that is not closed";
    if (token.text.starts_with("\"")) return "a string that is not closed";
    const auto byte = static_cast<unsigned char>(token.text[0]);
    if (byte < 0x20 || byte > 0x7e) return fmt::format("the byte 0x{:02x}", byte);
  }
  return fmt::format("`{}`", token.text.substr(0, 60));
}
bool Parser::unexpected(std::string_view wanted) {
  const bool is_end = token_.kind == Token::Kind::End;
  return fail(is_end ? kTruncated : kSyntax, fmt::format("{} where {} was expected", describe(token_), wanted),
              token_.span);
}
// Braces that the statement itself has opened do not end it.
void Parser::recover(std::uint32_t begin) {
  int depth = 0;
  Lexer again(module_.source->text().substr(0, token_.span.begin), begin);
  for (Token token = again.next(); token.kind != Token::Kind::End; token = again.next()) {
    depth += token.is('{') ? 1 : token.is('}') ? -1 : 0;
  }
  while (token_.kind != Token::Kind::End && !(token_.is('}') && depth <= 0)) {
    depth += token_.is('{') ? 1 : token_.is('}') ? -1 : 0;
    if (accept(';')) return;
    take();
  }
}

// What a statement that failed may have declared: its uses are no errors of their own.
void Parser::forgive(std::uint32_t begin) {
  Lexer again(module_.source->text().substr(0, last_end_), begin);
  for (Token token = again.next(); token.kind != Token::Kind::End; token = again.next()) {
    if (token.kind == Token::Kind::Word) forgiven_.insert(token.text);
  }
}

// A statement that lacks its `;` ends with its line, and the next begins a new one.
bool Parser::expect_end(std::string_view where) {
  if (accept(';')) return true;
  const std::string_view between =
      module_.source->text().substr(last_end_, token_.span.begin - std::min(last_end_, token_.span.begin));
  if (token_.kind == Token::Kind::End || between.find('\n') == std::string_view::npos) {
    return unexpected(fmt::format("`;` {}", where));
  }
  fail(kSyntax, fmt::format("`;` is missing {}", where), {last_end_ - 1, last_end_});
  has_failed_ = false;
  return true;
}

// -- module ----------------------------------------------------------------------------------------------------------
bool Parser::looks_like_text() {
  std::string_view text = module_.source->text();
  if (text.ends_with('\0')) text.remove_suffix(1);
  if (const std::size_t i = first_control(text); i != text.size()) {
    const auto at = static_cast<std::uint32_t>(i);
    const auto byte = static_cast<unsigned char>(text[i]);
    findings_.add(kNotText, fmt::format("this is no PTX text: byte {} is 0x{:02x}", i, byte), place({at, at}));
    return false;
  }
  if (token_.kind == Token::Kind::End) {
    findings_.add(kEmpty, "the file holds no PTX", place({0, 0}));
    return false;
  }
  return true;
}

// Items that take no linkage; false where none of them begins here.
bool Parser::plain_item() {
  const std::uint32_t begin = peek().span.begin;
  const Token word = peek();
  bool is_good = true;
  if (word.is_dot("file")) {
    is_good = file_item();
  } else if (word.is_dot("section")) {
    is_good = section_item();
  } else if (word.is_dot("pragma")) {
    is_good = pragma_item();
  } else if (word.is_dot("alias")) {
    is_good = alias_item();
  } else {
    return false;
  }
  if (is_good) return true;
  if (word.is_dot("section")) {
    while (peek().kind != Token::Kind::End && !accept('}')) take();
  } else if (!word.is_dot("file")) {
    recover(begin);
  }
  return true;
}

bool Parser::variable_item(const Linkage& link) {
  const bool is_attributed = peek().is_dot("attribute");
  if (peek().kind != Token::Kind::Dot) return false;
  const Space space = space_of(peek().text);
  if (!is_attributed && space != Space::global && space != Space::constant && space != Space::shared) return false;
  const std::uint32_t begin = peek().span.begin;
  std::vector<VarId> ids;
  if (!is_attributed) take();
  if (!variable(is_attributed ? Space::none : space, link, ids)) {
    recover(begin);
    forgive(begin);
    return true;
  }
  for (const VarId id : ids) module_.items.push_back({Item::Kind::Variable, id});
  return true;
}

void Parser::item() {
  has_failed_ = false;
  Linkage link;
  linkage(link);  // what follows is read even where this is wrong
  const bool is_common = link.is_common && (peek().is_dot("entry") || peek().is_dot("func"));
  if (is_common) fail(kSyntax, "`.common` is for variables", link.span);
  if (accept_dot("entry")) return function(true, link);
  if (accept_dot("func")) return function(false, link);
  if (!link.any() && plain_item()) return;
  if (variable_item(link)) return;
  unexpected("a variable, a function, or a module directive");
  recover(peek().span.begin);
  if (peek().is('}')) take();
}

void Parser::raw_item(Item::Kind kind, std::string text) {
  module_.items.push_back({kind, static_cast<std::uint32_t>(module_.texts.size())});
  module_.texts.push_back(std::move(text));
}

bool Parser::has_debug_information() const {
  const bool has_section = std::any_of(module_.items.begin(), module_.items.end(),
                                       [](const Item& item) { return item.kind == Item::Kind::Section; });
  return has_section || module_.source->text().find("@@DWARF") != std::string_view::npos;
}

// What stood before a definition means that, and not the declaration that it was read as.
void Parser::resolve_all() {
  for (Function& function : module_.functions) {
    for (Instr& instr : function.instrs) {
      for (Operand& operand : instr.operands) resolve(operand);
    }
  }
}

std::optional<Module> Parser::run() {
  if (!looks_like_text()) return std::nullopt;
  header();
  if (has_failed_) return std::nullopt;
  while (peek().kind != Token::Kind::End) {
    if (findings_.list().size() >= kMostFindings) break;
    const std::uint32_t before = peek().span.begin;
    item();
    if (peek().span.begin == before && peek().kind != Token::Kind::End) take();
  }
  const std::vector<std::string>& options = module_.target.options;
  if (std::find(options.begin(), options.end(), "debug") != options.end() && !has_debug_information()) {
    has_failed_ = false;
    fail(kHeader, "the option `debug` of `.target` is for a module with `.section`s for a debugger", {0, 0});
  }
  if (any_error_) {
    settle_forms(module_, findings_);  // what could be read may be wrong in other ways
    return std::nullopt;
  }
  if (!resolved_.empty()) resolve_all();
  return std::move(module_);
}

std::optional<Module> parse(SourcePtr source, Findings& findings) {
  Findings own;
  std::optional<Module> out = Parser(std::move(source), own).run();
  std::vector<Finding> sorted = own.list();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Finding& a, const Finding& b) { return a.place.span.begin < b.place.span.begin; });
  for (Finding& finding : sorted) findings.add(std::move(finding));
  return out;
}

}  // namespace plumb::ptx
