// SPDX-License-Identifier: Apache-2.0
#include "ptx/lexer.h"

#include <array>

namespace plumb::ptx {
namespace {

enum Class : std::uint8_t { kOther = 0, kSpace = 1, kLetter = 2, kDigit = 4, kPunct = 8 };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> out{};
  for (const char c : std::string_view(" \t\n\r\f\v")) out[static_cast<unsigned char>(c)] = kSpace;
  for (int c = 'a'; c <= 'z'; ++c) out[static_cast<std::size_t>(c)] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) out[static_cast<std::size_t>(c)] = kLetter;
  for (const char c : std::string_view("_$")) out[static_cast<unsigned char>(c)] = kLetter;
  for (int c = '0'; c <= '9'; ++c) out[static_cast<std::size_t>(c)] = kDigit;
  for (const char c : std::string_view(",;:[]{}()@!|+-<>=~*/&^?%")) out[static_cast<unsigned char>(c)] = kPunct;
  return out;
}();

std::uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }
bool is_word(char c) { return (class_of(c) & (kLetter | kDigit)) != 0; }
bool is_hex(char c) { return (class_of(c) & kDigit) != 0 || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

bool Lexer::skip_space() {
  const std::size_t size = text_.size();
  while (at_ < size) {
    const char c = text_[at_];
    if (class_of(c) == kSpace) {
      ++at_;
    } else if (c == '/' && at_ + 1 < size && text_[at_ + 1] == '/') {
      const std::size_t end = text_.find('\n', at_);
      at_ = static_cast<std::uint32_t>(end == std::string_view::npos ? size : end);
    } else if (c == '/' && at_ + 1 < size && text_[at_ + 1] == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      at_ = static_cast<std::uint32_t>(end + 2);
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::make(Token::Kind kind, std::uint32_t begin) {
  return {kind, text_.substr(begin, at_ - begin), {begin, at_}};
}

Token Lexer::number(std::uint32_t begin) {
  const std::size_t size = text_.size();
  const auto digits = [&](auto&& accepts) {
    while (at_ < size && accepts(text_[at_])) ++at_;
  };
  if (text_[at_] == '0' && at_ + 1 < size) {
    const char mark = text_[at_ + 1];
    const bool is_single = mark == 'f' || mark == 'F';
    if (is_single || mark == 'd' || mark == 'D') {
      at_ += 2;
      digits(is_hex);
      const bool is_whole = at_ - begin == (is_single ? 10u : 18u) && (at_ >= size || !is_word(text_[at_]));
      if (!is_whole) {
        digits(is_word);
        return make(Token::Kind::Bad, begin);
      }
      return make(is_single ? Token::Kind::HexFloat : Token::Kind::HexDouble, begin);
    }
  }
  digits(is_word);
  const bool is_prefixed =
      at_ - begin > 1 && text_[begin] == '0' && (text_[begin + 1] == 'x' || text_[begin + 1] == 'X');
  bool is_real = false;
  if (!is_prefixed && at_ < size && text_[at_] == '.' &&
      (at_ + 1 >= size || (class_of(text_[at_ + 1]) & kLetter) == 0)) {
    is_real = true;
    ++at_;
    digits(is_word);
  }
  const char exponent = text_[at_ - 1];
  if (!is_prefixed && (exponent == 'e' || exponent == 'E') && at_ < size && (text_[at_] == '+' || text_[at_] == '-')) {
    is_real = true;
    ++at_;
    digits(is_word);
  } else if (!is_prefixed && !is_real &&
             text_.substr(begin, at_ - begin).find_first_of("eE") != std::string_view::npos) {
    is_real = true;
  }
  return make(is_real ? Token::Kind::Float : Token::Kind::Integer, begin);
}

Token Lexer::next() {
  if (!skip_space()) {
    const std::uint32_t begin = at_;
    at_ = static_cast<std::uint32_t>(text_.size());
    return {Token::Kind::Bad, text_.substr(begin, 2), {begin, begin + 2}};
  }
  const std::size_t size = text_.size();
  const std::uint32_t begin = at_;
  if (at_ >= size) return {Token::Kind::End, {}, {begin, begin}};
  const char c = text_[at_];
  const std::uint8_t kind = class_of(c);
  if (kind == kLetter || (c == '%' && at_ + 1 < size && (class_of(text_[at_ + 1]) & (kLetter | kDigit)) != 0)) {
    ++at_;
    while (at_ < size && is_word(text_[at_])) ++at_;
    return make(Token::Kind::Word, begin);
  }
  if (c == '.') {
    ++at_;
    while (at_ < size && (is_word(text_[at_]) ||
                          (text_[at_] == ':' && at_ + 2 < size && text_[at_ + 1] == ':' && is_word(text_[at_ + 2])))) {
      at_ += text_[at_] == ':' ? 2 : 1;
    }
    if (at_ - begin == 1) return make(Token::Kind::Bad, begin);
    return {Token::Kind::Dot, text_.substr(begin + 1, at_ - begin - 1), {begin, at_}};
  }
  if (kind == kDigit) return number(begin);
  if (c == '"') {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') {
      at_ = static_cast<std::uint32_t>(end == std::string_view::npos ? size : end);
      return make(Token::Kind::Bad, begin);
    }
    at_ = static_cast<std::uint32_t>(end + 1);
    return make(Token::Kind::String, begin);
  }
  ++at_;
  return make(kind == kPunct ? Token::Kind::Punct : Token::Kind::Bad, begin);
}

}  // namespace plumb::ptx
