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

void Parser::header() {
  if (!accept_dot("version")) {
    fail(kHeader,
         fmt::format("{} where `.version` was expected: it is the first directive of a module", describe(token_)),
         token_.span, "begin with `.version 8.7`, `.target sm_89`, `.address_size 64`");
    return;
  }
  const Token version = take();
  const std::size_t point = version.text.find('.');
  const auto major = point == std::string_view::npos ? std::nullopt : read_integer(version.text.substr(0, point));
  const auto minor = point == std::string_view::npos ? std::nullopt : read_integer(version.text.substr(point + 1));
  if (version.kind != Token::Kind::Float || !major || !minor || *major > 99 || *minor > 99) {
    fail(kHeader, fmt::format("{} where a version such as `8.7` was expected", describe(version)), version.span);
    return;
  }
  module_.version = {static_cast<int>(*major), static_cast<int>(*minor)};
  if (!accept_dot("target")) {
    fail(kHeader, fmt::format("{} where `.target` was expected: it follows `.version`", describe(token_)), token_.span);
    return;
  }
  while (true) {
    const Token word = take();
    if (word.kind != Token::Kind::Word) {
      fail(kHeader, fmt::format("{} where a target such as `sm_89` was expected", describe(word)), word.span);
      return;
    }
    if (!word.text.starts_with("sm_")) {
      module_.target.options.emplace_back(word.text);
    } else {
      std::string_view digits = word.text.substr(3);
      if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
        module_.target.suffix = digits.back();
        digits.remove_suffix(1);
      }
      const std::optional<std::uint64_t> sm = read_integer(digits);
      if (!sm || *sm < 10 || *sm > 999) {
        fail(kHeader, fmt::format("`{}` is no target that plumb knows", word.text), word.span);
        return;
      }
      module_.target.sm = static_cast<int>(*sm);
      module_.target.text = word.text;
    }
    if (!accept(',')) break;
  }
  if (module_.target.sm == 0) {
    fail(kHeader, "`.target` names no `sm_NN`", token_.span);
    return;
  }
  if (accept_dot("address_size")) {
    const Span span = token_.span;
    const std::optional<std::uint64_t> size = expect_integer("32 or 64");
    if (!size) return;
    if (*size != 64) {
      fail(kHeader,
           *size == 32 ? "`.address_size 32`: no target from sm_75 on has 32-bit addresses"
                       : fmt::format("`.address_size {}` where 64 was expected", *size),
           span);
      return;
    }
  }
}

bool Parser::linkage(bool& is_visible, bool& is_extern, bool& is_weak, bool& is_common) {
  bool any = false;
  while (true) {
    if (accept_dot("visible")) {
      is_visible = true;
    } else if (accept_dot("extern")) {
      is_extern = true;
    } else if (accept_dot("weak")) {
      is_weak = true;
    } else if (accept_dot("common")) {
      is_common = true;
    } else {
      return any;
    }
    any = true;
  }
}

void Parser::item() {
  has_failed_ = false;
  bool is_visible = false, is_extern = false, is_weak = false, is_common = false;
  linkage(is_visible, is_extern, is_weak, is_common);
  if (accept_dot("entry")) return function(true, is_visible, is_extern, is_weak);
  if (accept_dot("func")) return function(false, is_visible, is_extern, is_weak);
  if (peek().is_dot("file")) return file_item();
  if (peek().is_dot("section")) return section_item();
  if (peek().is_dot("pragma") || peek().is_dot("alias")) {
    const Item::Kind kind = peek().is_dot("pragma") ? Item::Kind::Pragma : Item::Kind::Alias;
    std::string text;
    while (peek().kind != Token::Kind::End && peek().kind != Token::Kind::Bad && !peek().is(';') && !peek().is('}')) {
      if (!text.empty()) text += ' ';
      if (peek().kind == Token::Kind::Dot) text += '.';
      text += take().text;
    }
    if (expect(';', "at the end of the directive")) raw_item(kind, text + ";");
    return;
  }
  if (peek().kind == Token::Kind::Dot) {
    const Space space = space_of(peek().text);
    if (space == Space::global || space == Space::constant || space == Space::shared) {
      const std::uint32_t begin = take().span.begin;
      std::vector<VarId> ids;
      if (!variable(space, is_visible, is_extern, is_weak, is_common, ids)) {
        recover(begin);
        return forgive(begin);
      }
      for (const VarId id : ids) module_.items.push_back({Item::Kind::Variable, id});
      return;
    }
  }
  unexpected("a variable, a function, or a module directive");
  recover(peek().span.begin);
  if (peek().is('}')) take();
}

void Parser::raw_item(Item::Kind kind, std::string text) {
  module_.items.push_back({kind, static_cast<std::uint32_t>(module_.texts.size())});
  module_.texts.push_back(std::move(text));
}

void Parser::file_item() {
  take();
  const Token number = take(), name = take();
  if (number.kind != Token::Kind::Integer || name.kind != Token::Kind::String) {
    fail(kSyntax, "`.file` takes an index and a name in quotes", number.span);
    return;
  }
  std::string text = fmt::format(".file {} {}", number.text, name.text);
  for (unsigned i = 0; i < 2 && accept(','); ++i) {
    if (peek().kind != Token::Kind::Integer) {
      unexpected("an integer");
      return;
    }
    text += fmt::format(", {}", take().text);
  }
  raw_item(Item::Kind::File, std::move(text));
}

void Parser::section_item() {
  const Span begin = take().span;
  std::string text = ".section";
  while (peek().kind != Token::Kind::End && !peek().is('{')) {
    if (peek().kind == Token::Kind::Bad) {
      unexpected("a section's name");
      return;
    }
    text += peek().kind == Token::Kind::Dot ? " ." : " ";
    text += take().text;
  }
  if (!expect('{', "after the section's name")) return;
  text += " {";
  while (!peek().is('}')) {
    if (peek().kind == Token::Kind::End) {
      fail(kTruncated, "the file ends in the middle of a section", begin);
      return;
    }
    if (peek().kind == Token::Kind::Bad) {
      unexpected("data of the section");
      return;
    }
    if (peek().kind == Token::Kind::Dot) {
      text += "\n.";
    } else {
      text += ' ';
    }
    text += take().text;
  }
  take();
  raw_item(Item::Kind::Section, text + "\n}");
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
  if (any_error_) {
    settle_forms(module_, findings_);  // what could be read may be wrong in other ways
    return std::nullopt;
  }
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
