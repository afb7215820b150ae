// SPDX-License-Identifier: Apache-2.0
#include "task/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "task/codes.h"

namespace plumb::task {
namespace {

using Value = std::optional<std::int64_t>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Recursive descent; the first error is reported and everything above it gives up.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Sizes& sizes, const Place& place, Findings& findings)
      : text_(text), sizes_(sizes), place_(place), findings_(findings) {}

  Value run() {
    const Value value = comparison();
    if (!value) return std::nullopt;
    skip();
    if (at_ < text_.size()) return fail(kExpression, at_, fmt::format("unexpected `{}`", text_.substr(at_)));
    return value;
  }

 private:
  static constexpr int kDeepest = 64;

  Value fail(const Code& code, std::size_t at, std::string_view what) {
    Place place = place_;
    // A quoted TOML string that stands in the source as it was read: point into it.
    if (place.source) {
      const std::size_t found = place.source->slice(place.span).find(text_);
      if (found != std::string_view::npos) {
        place.span.begin += static_cast<std::uint32_t>(found + at);
        place.span.end = place.span.begin + 1;
      }
    }
    findings_.add(code, fmt::format("{} in `{}`", what, text_), place);
    return std::nullopt;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Value comparison() {
    const Value left = sum();
    if (!left) return std::nullopt;
    static constexpr std::string_view kOps[] = {"<=", ">=", "==", "!=", "<", ">"};
    for (std::size_t op = 0; op < std::size(kOps); ++op) {
      if (!take(kOps[op])) continue;
      const Value right = sum();
      if (!right) return std::nullopt;
      const bool holds[] = {*left <= *right, *left >= *right, *left == *right, *left != *right,
                            *left<*right, *left> * right};
      return holds[op] ? 1 : 0;
    }
    return left;
  }

  Value sum() {
    Value left = product();
    while (left) {
      skip();
      const std::size_t at = at_;
      const bool is_add = take("+");
      if (!is_add && !take("-")) break;
      const Value right = product();
      if (!right) return std::nullopt;
      std::int64_t out = 0;
      const bool is_over =
          is_add ? __builtin_add_overflow(*left, *right, &out) : __builtin_sub_overflow(*left, *right, &out);
      if (is_over) return fail(kArithmetic, at, "overflow of 64 bits");
      left = out;
    }
    return left;
  }

  Value product() {
    Value left = unary();
    while (left) {
      skip();
      const std::size_t at = at_;
      const bool is_floor = take("//");
      const bool is_modulo = !is_floor && take("%");
      if (!is_floor && !is_modulo && !take("*")) break;
      const Value right = unary();
      if (!right) return std::nullopt;
      left = is_floor    ? floor_divide(*left, *right, at)
             : is_modulo ? modulo(*left, *right, at)
                         : multiply(*left, *right, at);
    }
    return left;
  }

  Value multiply(std::int64_t a, std::int64_t b, std::size_t at) {
    std::int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out)) return fail(kArithmetic, at, "overflow of 64 bits");
    return out;
  }

  Value floor_divide(std::int64_t a, std::int64_t b, std::size_t at) {
    if (b == 0) return fail(kArithmetic, at, "division by zero");
    if (b == -1) return multiply(a, -1, at);
    const std::int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }

  Value modulo(std::int64_t a, std::int64_t b, std::size_t at) {
    if (b == 0) return fail(kArithmetic, at, "division by zero");
    if (b == -1) return 0;
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }

  Value unary() {
    if (++depth_ > kDeepest) return fail(kExpression, at_, "too deep nesting");
    Value value;
    if (take("-")) {
      const std::size_t at = at_ - 1;
      value = unary();
      if (value) value = multiply(*value, -1, at);
    } else {
      value = primary();
    }
    --depth_;
    return value;
  }

  Value primary() {
    skip();
    const std::size_t begin = at_;
    if (take("(")) {
      const Value value = comparison();
      if (value && !take(")")) return fail(kExpression, at_, "missing `)`");
      return value;
    }
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) {
      if (begin == text_.size()) return fail(kExpression, begin, "a value is missing at the end");
      return fail(kExpression, begin, fmt::format("unexpected `{}`", text_.substr(begin, 1)));
    }
    if (is_digit(word[0])) return number(word, begin);
    if (take("(")) return call(word, begin);
    const auto found = sizes_.find(word);
    if (found == sizes_.end()) return fail(kUnknownName, begin, fmt::format("unknown name `{}`", word));
    return found->second;
  }

  Value number(std::string_view word, std::size_t begin) {
    std::int64_t value = 0;
    for (const char c : word) {
      if (!is_digit(c)) return fail(kExpression, begin, fmt::format("`{}` is not an integer", word));
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) {
        return fail(kArithmetic, begin, "overflow of 64 bits");
      }
    }
    return value;
  }

  Value call(std::string_view name, std::size_t begin) {
    std::vector<std::int64_t> values;
    do {
      const Value value = comparison();
      if (!value) return std::nullopt;
      values.push_back(*value);
    } while (take(","));
    if (!take(")")) return fail(kExpression, at_, "missing `)`");
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (name == "cdiv" && values.size() == 2) {
      const Value negated = multiply(values[0], -1, begin);
      const Value quotient = negated ? floor_divide(*negated, values[1], begin) : std::nullopt;
      return quotient ? multiply(*quotient, -1, begin) : std::nullopt;
    }
    if (name == "next_power_of_2" && values.size() == 1) {
      if (values[0] > std::int64_t{1} << 62) return fail(kArithmetic, begin, "overflow of 64 bits");
      return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(values[0], 1))));
    }
    const bool is_known = name == "cdiv" || name == "next_power_of_2";
    return fail(
        kExpression, begin,
        is_known ? fmt::format("wrong number of operands of `{}`", name) : fmt::format("unknown function `{}`", name));
  }

  std::string_view text_;
  const Sizes& sizes_;
  const Place& place_;
  Findings& findings_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes, const Place& place,
                                     Findings& findings) {
  return Evaluator(expression, sizes, place, findings).run();
}

}  // namespace plumb::task
