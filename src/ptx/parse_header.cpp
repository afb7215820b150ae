// SPDX-License-Identifier: Apache-2.0
// `.version`, `.target` and `.address_size`. Which version came with which target is what ptxas 13.0 takes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ptx/codes.h"
#include "ptx/parser.h"

namespace plumb::ptx {
namespace {

struct KnownTarget {
  std::string_view name;
  Version since;
};
constexpr KnownTarget kKnownTargets[] = {
    {"sm_10", {1, 0}},   {"sm_11", {1, 0}},   {"sm_12", {1, 2}},   {"sm_13", {1, 2}},   {"sm_20", {2, 0}},
    {"sm_21", {2, 0}},   {"sm_30", {3, 0}},   {"sm_32", {4, 0}},   {"sm_35", {3, 1}},   {"sm_37", {4, 1}},
    {"sm_50", {4, 0}},   {"sm_52", {4, 1}},   {"sm_53", {4, 2}},   {"sm_60", {5, 0}},   {"sm_61", {5, 0}},
    {"sm_62", {5, 0}},   {"sm_70", {6, 0}},   {"sm_72", {6, 1}},   {"sm_75", {6, 3}},   {"sm_80", {7, 0}},
    {"sm_82", {6, 2}},   {"sm_86", {7, 1}},   {"sm_87", {7, 4}},   {"sm_88", {7, 3}},   {"sm_89", {7, 8}},
    {"sm_90", {7, 8}},   {"sm_90a", {8, 0}},  {"sm_100", {8, 6}},  {"sm_100a", {8, 6}}, {"sm_100f", {8, 8}},
    {"sm_101", {8, 6}},  {"sm_101a", {8, 6}}, {"sm_101f", {8, 8}}, {"sm_103", {8, 8}},  {"sm_103a", {8, 8}},
    {"sm_103f", {8, 8}}, {"sm_110", {9, 0}},  {"sm_110a", {9, 0}}, {"sm_110f", {9, 0}}, {"sm_120", {8, 7}},
    {"sm_120a", {8, 7}}, {"sm_120f", {8, 8}}, {"sm_121", {8, 8}},  {"sm_121a", {8, 8}}, {"sm_121f", {8, 8}},
};

// The last minor version of each major one, from 1 on.
constexpr int kLastMinor[] = {5, 3, 2, 3, 1, 5, 8, 8, 0};
constexpr int kLastMajor = static_cast<int>(std::size(kLastMinor));

std::optional<int> decimal(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

bool Parser::version_directive() {
  if (!accept_dot("version")) {
    return fail(
        kHeader,
        fmt::format("{} where `.version` was expected: it is the first directive of a module", describe(token_)),
        token_.span, "begin with `.version 8.7`, `.target sm_89`, `.address_size 64`");
  }
  const Token version = take();
  const std::size_t point = std::min(version.text.find('.'), version.text.size());
  const auto major = decimal(version.text.substr(0, point));
  const auto minor = decimal(version.text.substr(std::min(point + 1, version.text.size())));
  if (version.kind != Token::Kind::Float || !major || !minor) {
    return fail(kHeader, fmt::format("{} where a version such as `8.7` was expected", describe(version)), version.span);
  }
  if (*major < 1 || *major > kLastMajor || *minor > kLastMinor[*major - 1]) {
    return fail(kHeader,
                fmt::format("plumb knows no PTX {}.{}: the versions end with {}.{}", *major, *minor, kLastMajor,
                            kLastMinor[kLastMajor - 1]),
                version.span);
  }
  module_.version = {*major, *minor};
  return true;
}

bool Parser::target_name(const Token& word) {
  const auto known = std::find_if(std::begin(kKnownTargets), std::end(kKnownTargets),
                                  [&](const KnownTarget& one) { return one.name == word.text; });
  if (known == std::end(kKnownTargets)) {
    return fail(kHeader, fmt::format("`{}` is no target that plumb knows", word.text), word.span);
  }
  if (module_.version < known->since) {
    return fail(kVersion,
                fmt::format("`{}` needs PTX {}.{}, and the version is {}.{}", word.text, known->since.major,
                            known->since.minor, module_.version.major, module_.version.minor),
                word.span);
  }
  std::string_view digits = word.text.substr(3);
  module_.target.suffix = digits.back() == 'a' || digits.back() == 'f' ? digits.back() : '\0';
  if (module_.target.suffix != 0) digits.remove_suffix(1);
  module_.target.sm = *decimal(digits);
  module_.target.text = word.text;
  return true;
}

bool Parser::target_option(const Token& word) {
  std::vector<std::string>& options = module_.target.options;
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  const bool is_textures = word.text == "texmode_unified" || word.text == "texmode_independent";
  if (word.text == "map_f64_to_f32" && module_.target.sm >= 20) {
    return fail(kHeader, "`map_f64_to_f32` is for targets below sm_20", word.span);
  }
  if (!is_textures && word.text != "debug" && word.text != "map_f64_to_f32") {
    return fail(kHeader, fmt::format("`{}` is no option of `.target`", word.text), word.span);
  }
  if (is_textures && has(word.text == "texmode_unified" ? "texmode_independent" : "texmode_unified")) {
    return fail(kHeader, "`.target` has one mode of textures", word.span);
  }
  options.emplace_back(word.text);
  return true;
}

// .target sm_NN [, option]...
bool Parser::target_directive() {
  if (!accept_dot("target")) {
    return fail(kHeader, fmt::format("{} where `.target` was expected: it follows `.version`", describe(token_)),
                token_.span);
  }
  do {
    const Token word = take();
    const bool is_target = word.text.starts_with("sm_");
    if (word.kind != Token::Kind::Word || (module_.target.sm == 0 && !is_target)) {
      return fail(kHeader, fmt::format("{} where a target such as `sm_89` was expected", describe(word)), word.span);
    }
    if (!(is_target ? target_name(word) : target_option(word))) return false;
  } while (accept(','));
  return true;
}

void Parser::header() {
  if (!version_directive() || !target_directive() || !accept_dot("address_size")) return;
  const Span span = token_.span;
  const std::optional<std::uint64_t> size = expect_integer("32 or 64");
  if (!size || *size == 64) return;
  fail(kHeader,
       *size == 32 ? "`.address_size 32`: no target from sm_75 on has 32-bit addresses"
                   : fmt::format("`.address_size {}` where 64 was expected", *size),
       span);
}

}  // namespace plumb::ptx
