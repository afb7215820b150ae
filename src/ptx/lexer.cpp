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
bool is_digit(char c) { return (class_of(c) & kDigit) != 0; }
bool is_hex(char c) { return (class_of(c) & kDigit) != 0 || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

// The position is a local in every loop: a member would be stored at each step, as text may alias anything.
bool Lexer::skip_space() {
  const std::size_t size = text_.size();
  const char* const text = text_.data();
  std::size_t at = at_;
  while (at < size) {
    const char c = text[at];
    if (class_of(c) == kSpace) {
      ++at;
      continue;
    }
    if (c != '/' || at + 1 >= size || (text[at + 1] != '/' && text[at + 1] != '*')) break;
    const bool is_line = text[at + 1] == '/';
    const std::size_t end = is_line ? text_.find('\n', at) : text_.find("*/", at + 2);
    if (end == std::string_view::npos && !is_line) {
      at_ = static_cast<std::uint32_t>(at);
      return false;
    }
    at = end == std::string_view::npos ? size : is_line ? end : end + 2;
  }
  at_ = static_cast<std::uint32_t>(at);
  return true;
}

bool Lexer::is_next(char c) { return skip_space() && at_ < text_.size() && text_[at_] == c; }

std::string_view Lexer::dotted(std::uint32_t begin) const {
  std::uint32_t end = word_end(begin);
  while (end < text_.size() && text_[end] == '.') end = dot_end(end);
  return text_.substr(begin, end - begin);
}

Token Lexer::make(Token::Kind kind, std::uint32_t begin) {
  return {kind, text_.substr(begin, at_ - begin), {begin, at_}};
}

// To the first byte from `at` on that no word has.
std::uint32_t Lexer::word_end(std::uint32_t at) const {
  const std::size_t size = text_.size();
  const char* const text = text_.data();
  while (at < size && is_word(text[at])) ++at;
  return at;
}

// From the dot at `at` to behind its word, which may have parts: `.shared::cta`.
std::uint32_t Lexer::dot_end(std::uint32_t at) const {
  const std::size_t size = text_.size();
  std::uint32_t end = word_end(at + 1);
  while (end + 2 < size && text_[end] == ':' && text_[end + 1] == ':' && is_word(text_[end + 2])) {
    end = word_end(end + 2);
  }
  return end;
}

Token Lexer::number(std::uint32_t begin) {
  const std::size_t size = text_.size();
  const auto digits = [&](auto&& accepts) {
    std::uint32_t at = at_;
    while (at < size && accepts(text_[at])) ++at;
    at_ = at;
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
  digits(is_digit);
  const bool is_plain = at_ >= size || (!is_word(text_[at_]) && text_[at_] != '.');
  if (is_plain) return make(Token::Kind::Integer, begin);
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
  if (begin >= size) return {Token::Kind::End, {}, {begin, begin}};
  const char c = text_[begin];
  const std::uint8_t kind = class_of(c);
  if (kind == kLetter || (c == '%' && begin + 1 < size && is_word(text_[begin + 1]))) {
    at_ = word_end(begin + 1);
    return make(Token::Kind::Word, begin);
  }
  if (c == '.') {
    at_ = dot_end(begin);
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
