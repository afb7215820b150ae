// SPDX-License-Identifier: Apache-2.0
// Directives for debuggers: `.file`, `.loc`, `.section`. They mean nothing to a machine; they are read as strictly as
// the assembler reads them, and kept.
#include <fmt/format.h>

#include "ptx/codes.h"
#include "ptx/parser.h"

namespace plumb::ptx {

// Tokens of the text with one blank between them, but for those that belong together.
std::string Parser::normalised(std::uint32_t begin) const {
  std::string out;
  Lexer again(module_.source->text().substr(0, last_end_), begin);
  for (Token token = again.next(); token.kind != Token::Kind::End; token = again.next()) {
    if (!out.empty() && !token.is(',')) out += ' ';
    if (token.kind == Token::Kind::Dot) out += '.';
    out += token.text;
  }
  return out;
}

bool Parser::expect_word32(std::uint32_t& out, std::string_view what) {
  const Span span = peek().span;
  const std::optional<std::uint64_t> value = expect_integer(what);
  if (!value) return false;
  if (*value > 0xffffffffu) return fail(kLimit, fmt::format("{} does not fit in 32 bits", *value), span);
  out = static_cast<std::uint32_t>(*value);
  return true;
}

// .file index "name" [, timestamp, size]
bool Parser::file_item() {
  const std::uint32_t begin = take().span.begin;
  const Token number = peek();
  std::uint32_t index = 0;
  if (!expect_word32(index, "the index of a file")) return false;
  if (peek().kind != Token::Kind::String) return unexpected("the name of a file in quotes");
  take();
  if (accept(',')) {
    if (!expect_integer("a time")) return false;
    if (accept(',') && !expect_integer("a size")) return false;
  }
  if (!files_.insert(index).second) {
    return fail(kRedeclared, fmt::format("the file {} is declared twice", index), number.span);
  }
  raw_item(Item::Kind::File, normalised(begin));
  return true;
}

// The name of a section, without its dot.
bool Parser::section_word() {
  if (peek().kind != Token::Kind::Dot) return unexpected("a section's name, such as `.debug_info`");
  take();
  return true;
}

// Of .b32 and .b64: `label`, `label+n`, `label-label`, and the same of a section.
bool Parser::section_address(bool is_wide) {
  const Token first = peek();
  if (first.kind == Token::Kind::Dot) take();
  else if (first.kind == Token::Kind::Word) take();
  else return unexpected("a number or a label");
  if (!is_wide) return fail(kOperandType, "a label stands in `.b32` and `.b64` only", first.span);
  if (accept('+')) return expect_integer("an offset").has_value();
  if (!peek().is('-') || first.kind == Token::Kind::Dot) return true;
  if (module_.version < Version{7, 5}) return fail(kVersion, "the difference of labels needs PTX 7.5", peek().span);
  take();
  if (peek().kind != Token::Kind::Word) return unexpected("a label");
  take();
  return true;
}

bool Parser::section_number(unsigned bits) {
  const Span span = peek().span;
  const bool is_minus = accept('-');
  if (is_minus && module_.version < Version{7, 5}) {
    return fail(kVersion, "a negative number in a section needs PTX 7.5", span);
  }
  const std::optional<std::uint64_t> value = expect_integer("a number");
  if (!value) return false;
  const std::uint64_t lowest = bits == 64 ? ~0ull >> 1 : 1ull << (bits - 1);
  const std::uint64_t most = is_minus ? lowest : ~0ull >> (64 - bits);
  if (*value <= most) return true;
  return fail(kOperandRange, fmt::format("{}{} does not fit in {} bits", is_minus ? "-" : "", *value, bits), span);
}

// .bN value, value, ...
bool Parser::section_data() {
  unsigned bits = 0;
  for (const unsigned width : {8u, 16u, 32u, 64u}) {
    if (accept_dot(fmt::format("b{}", width))) bits = width;
  }
  if (bits == 0) return unexpected("`.b8`, `.b16`, `.b32`, `.b64` or a label");
  if (!peek().is('-') && peek().kind != Token::Kind::Integer) return section_address(bits >= 32);
  do {
    if (!section_number(bits)) return false;
  } while (accept(','));
  return true;
}

// .section .name { data and labels }
bool Parser::section_item() {
  const Span begin = take().span;
  std::string text = ".section ";
  const std::uint32_t name = peek().span.begin;
  if (!section_word()) return false;
  text += normalised(name);
  if (!expect('{', "after the section's name")) return false;
  text += " {";
  std::unordered_set<std::string_view, TextHash> labels;
  while (!accept('}')) {
    const std::uint32_t line = peek().span.begin;
    if (peek().kind == Token::Kind::End) return fail(kTruncated, "the file ends in the middle of a section", begin);
    if (peek().kind == Token::Kind::Word && lexer_.is_next(':')) {
      const Token label = take();
      take();
      if (module_.version < Version{7, 0}) return fail(kVersion, "a label in a section needs PTX 7.0", label.span);
      if (!labels.insert(label.text).second) {
        return fail(kRedeclared, fmt::format("`{}` is declared twice", label.text), label.span);
      }
      text += fmt::format("\n{}:", label.text);
      continue;
    }
    if (!section_data()) return false;
    text += "\n" + normalised(line);
  }
  raw_item(Item::Kind::Section, text + "\n}");
  return true;
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
bool Parser::loc() {
  const Span span = peek().span;
  Loc out;
  for (std::uint32_t* field : {&out.file, &out.line, &out.column}) {
    if (!expect_word32(*field, "file, line and column")) return false;
  }
  if (peek().is(',') && !inlined(out)) return false;
  add(Statement::Kind::Loc, static_cast<std::uint32_t>(function_->locs.size()), span);
  places_.insert({out.file, out.line, out.column});
  function_->locs.push_back(std::move(out));
  return true;
}

bool Parser::inlined(Loc& out) {
  const std::uint32_t begin = take().span.begin;
  const auto word = [&](std::string_view wanted) {
    if (peek().kind != Token::Kind::Word || peek().text != wanted) return unexpected(fmt::format("`{}`", wanted));
    take();
    return true;
  };
  if (!word("function_name")) return false;
  if (peek().kind != Token::Kind::Word) return unexpected("the label of a name");
  take();
  if (accept('+') && !expect_integer("an offset")) return false;
  if (!expect(',', "before `inlined_at`") || !word("inlined_at")) return false;
  const Span span = peek().span;
  std::array<std::uint32_t, 3> at{};
  for (std::uint32_t& field : at) {
    if (!expect_word32(field, "file, line and column")) return false;
  }
  if (module_.version < Version{7, 2}) return fail(kVersion, "`inlined_at` needs PTX 7.2", span);
  if (!places_.contains(at)) {
    return fail(kOperandRange, fmt::format("no `.loc {} {} {}` stands before", at[0], at[1], at[2]), span,
                "`inlined_at` names the place of an earlier `.loc`");
  }
  out.rest = normalised(begin);
  return true;
}

}  // namespace plumb::ptx
