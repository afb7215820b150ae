// SPDX-License-Identifier: Apache-2.0
// PTX text to tokens, one at a time, without allocation. White space and comments stand between tokens.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/source.h"

namespace plumb::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    End,
    Word,       // identifier: %r1, $L__BB0, foo, %laneid
    Dot,        // dotted word without its dot: `.b32` gives "b32", `.shared::cta` gives "shared::cta"
    Integer,    // 12, 0x1F, 0b10, 017, with or without U
    Float,      // 1.5, 1e10
    HexFloat,   // 0f3F800000
    HexDouble,  // 0d3FF0000000000000
    String,     // "..." with its quotes
    Punct,      // one of , ; : [ ] { } ( ) @ ! | + - < > = ~ * / % & ^ ?
    Bad,        // a byte that no token begins with, or an open string or comment
  };
  Kind kind = Kind::End;
  std::string_view text;
  Span span;

  bool is(char punct) const { return kind == Kind::Punct && text[0] == punct; }
  bool is_dot(std::string_view word) const { return kind == Kind::Dot && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text, std::uint32_t at = 0) : text_(text), at_(at) {}
  Token next();
  bool is_next(char c);  // whether that byte begins the next token; takes white space and comments only
  std::string_view dotted(std::uint32_t begin) const;  // the word that begins there and the dotted words that touch it

 private:
  bool skip_space();  // false in an unclosed comment
  Token make(Token::Kind kind, std::uint32_t begin);
  Token number(std::uint32_t begin);
  std::uint32_t word_end(std::uint32_t at) const;
  std::uint32_t dot_end(std::uint32_t at) const;

  std::string_view text_;
  std::uint32_t at_ = 0;
};

}  // namespace plumb::ptx
