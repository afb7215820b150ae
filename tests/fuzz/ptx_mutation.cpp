// SPDX-License-Identifier: Apache-2.0
#include "ptx_mutation.h"

#include <algorithm>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "ptx/form.h"
#include "ptx/lexer.h"

namespace plumb::fuzzing {
namespace {

using ptx::Token;

// What may stand among the statements of a body.
constexpr std::string_view kStatements[] = {"{",
                                            "}",
                                            "L9:",
                                            "T9: .branchtargets L9;",
                                            "P9: .callprototype (.param .b32 _) _ (.reg .b32 _);",
                                            ".reg .v2 .b32 vec<3>;",
                                            ".reg .pred q9;",
                                            ".reg .b32 r9<0>;",
                                            ".shared .align 16 .b8 s9[64];",
                                            ".local .v4 .f32 l9[2];",
                                            ".param .align 8 .b8 a9[8];",
                                            ".pragma \"nounroll\";",
                                            ".loc 1 2 3, function_name L9+4;",
                                            "mov.v2.b32 vec0, vec1;",
                                            "mov.b32 vec1.x, vec2.y;",
                                            "mov.v4.u32 {vec0.x, vec0.y, vec1.x, vec1.y}, %tid;",
                                            "call (vec0.x), f9, (vec0.y, 1+2*3);",
                                            "call g9, ();",
                                            "ret;",
                                            "bra L9;",
                                            "@!q9 bra.uni L9;"};

// What may stand among the items of a module.
constexpr std::string_view kItems[] = {
    ".func (.reg .b32 r) f9(.reg .b32 a, .param .b32 b) { mov.b32 r, a; ret; }",
    ".extern .func g9(.reg .v2 .f32 a, .param .align 4 .b8 b[]);",
    ".global .u32 rows9[][2] = {{1}, {2, 1+2}};",
    ".global .u8 bytes9[2] = {0xFF(rows9), 0xFF00(generic(rows9)+4)};",
    ".const .f64 c9 = 1.5/0.25;",
    ".file 9 \"nine.py\"",
    ".visible .entry k9(.param .u64 .ptr .global .align 16 p) .maxntid 1, 2, 3 { ret; }",
    ".section .debug_str { .b8 1, 2, 3 }"};

constexpr std::string_view kConstants[] = {"0",
                                           "-1",
                                           "0xFFFFFFFFFFFFFFFFU",
                                           "18446744073709551616",
                                           "0f7FC00000",
                                           "0d7FF0000000000000",
                                           "1e400",
                                           "1.5",
                                           "(1<<63)/-1",
                                           "~(0)",
                                           "1 ? 2 : 3",
                                           "WARP_SZ*2",
                                           "((((1))))",
                                           "010",
                                           "0b101",
                                           "- - 1",
                                           "!0"};

class Mutation {
 public:
  Mutation(std::string_view text, std::uint32_t seed) : text_(text), random_(seed) {
    ptx::Lexer lexer(text);
    for (Token token = lexer.next(); token.kind != Token::Kind::End; token = lexer.next()) tokens_.push_back(token);
    std::uint32_t begin = 0;
    for (const Token& token : tokens_) {
      if (!token.is(';') && !token.is('{') && !token.is('}')) continue;
      statements_.push_back({begin, token.span.end});
      begin = token.span.end;
    }
  }

  std::string run() {
    switch (pick(8)) {
      case 0:
        return word();
      case 1:
        return with_statement(pick_of(kStatements));
      case 2:
        return item();
      case 3:
        return constant();
      case 4:
        return exchange();
      case 5:
        return operand();
      case 6:
        return with_statement(instruction());
      default:
        return statement();
    }
  }

 private:
  std::size_t pick(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  template <class T, std::size_t n>
  T pick_of(const T (&all)[n]) {
    return all[pick(n)];
  }

  std::string replaced(Span span, std::string_view by) const {
    std::string out(text_.substr(0, span.begin));
    out += by;
    out += text_.substr(span.end);
    return out;
  }

  const Token* any(Token::Kind kind) {
    std::vector<const Token*> found;
    for (const Token& token : tokens_) {
      if (token.kind == kind) found.push_back(&token);
    }
    return found.empty() ? nullptr : found[pick(found.size())];
  }

  std::string any_word() {
    static constexpr std::string_view kMods[] = {
#define PLUMB_MOD(name, text) text,
#include "ptx/isa/mods.def"
#undef PLUMB_MOD
    };
    return "." + std::string(pick_of(kMods));
  }

  // A dotted word left out, exchanged, or joined by another.
  std::string word() {
    const Token* const token = any(Token::Kind::Dot);
    if (token == nullptr) return item();
    switch (pick(3)) {
      case 0:
        return replaced(token->span, "");
      case 1:
        return replaced(token->span, any_word());
      default:
        return replaced({token->span.end, token->span.end}, any_word());
    }
  }

  // An opcode of the table with words and operands that may or may not be its own.
  std::string instruction() {
    const std::span<const ptx::FormSpec> forms = ptx::forms();
    std::string out(forms[pick(forms.size())].opcode);
    for (std::size_t i = pick(4); i > 0; --i) out += any_word();
    for (std::size_t i = 0, count = pick(5); i < count; ++i) {
      const Token* const token = any(Token::Kind::Word);
      const std::string name = token == nullptr ? "_" : std::string(token->text);
      const std::string operands[] = {
          name,      "[" + name + "+8]", "{" + name + ", _}", name + "|" + name, std::string(pick_of(kConstants)),
          "!" + name};
      out += (i == 0 ? " " : ", ") + operands[pick(std::size(operands))];
    }
    return out + ";";
  }

  std::string with_statement(std::string_view statement) {
    if (statements_.empty()) return item();
    const std::uint32_t at = statements_[pick(statements_.size())].end;
    return replaced({at, at}, "\n" + std::string(statement) + "\n");
  }

  std::string item() {
    std::vector<std::uint32_t> ends{static_cast<std::uint32_t>(text_.size())};
    for (const Token& token : tokens_) {
      if (token.is('}')) ends.push_back(token.span.end);
    }
    const std::uint32_t at = ends[pick(ends.size())];
    return replaced({at, at}, "\n" + std::string(pick_of(kItems)) + "\n");
  }

  std::string constant() {
    const Token* const token = any(Token::Kind::Integer);
    return token == nullptr ? item() : replaced(token->span, pick_of(kConstants));
  }

  // Two tokens of one kind change places.
  std::string exchange() {
    if (tokens_.empty()) return item();
    const Token* first = &tokens_[pick(tokens_.size())];
    const Token* second = any(first->kind);
    if (second->span.begin < first->span.begin) std::swap(first, second);
    if (first->span.end > second->span.begin) return std::string(text_);
    const auto slice = [&](Span span) { return std::string(text_.substr(span.begin, span.end - span.begin)); };
    return std::string(text_.substr(0, first->span.begin)) + slice(second->span) +
           slice({first->span.end, second->span.begin}) + slice(first->span) +
           std::string(text_.substr(second->span.end));
  }

  // What stands between two commas, left out or doubled.
  std::string operand() {
    std::vector<Span> found;
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is(',')) continue;
      std::size_t end = i + 1;
      while (end < tokens_.size() && !tokens_[end].is(',') && !tokens_[end].is(';') && !tokens_[end].is('}')) ++end;
      found.push_back({tokens_[i].span.begin, tokens_[end - 1].span.end});
    }
    if (found.empty()) return item();
    const Span span = found[pick(found.size())];
    const std::string_view slice = text_.substr(span.begin, span.end - span.begin);
    return pick(2) == 0 ? replaced(span, "") : replaced({span.end, span.end}, slice);
  }

  // A statement left out, doubled, moved, or put in a scope of its own.
  std::string statement() {
    if (statements_.empty()) return item();
    const Span span = statements_[pick(statements_.size())];
    const std::string slice(text_.substr(span.begin, span.end - span.begin));
    switch (pick(4)) {
      case 0:
        return replaced(span, "");
      case 1:
        return replaced(span, slice + slice);
      case 2:
        return with_statement(slice);
      default:
        return replaced(span, "\n{" + slice + "\n}\n");
    }
  }

  std::string_view text_;
  std::mt19937 random_;
  std::vector<Token> tokens_;
  std::vector<Span> statements_;
};

}  // namespace

std::string mutate(std::string_view text, std::uint32_t seed) { return Mutation(text, seed).run(); }

}  // namespace plumb::fuzzing
