// SPDX-License-Identifier: Apache-2.0
#include "triton/frontend/parse.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "triton/codes.h"
#include "triton/frontend/child.h"
#include "triton/frontend/python_script.h"

namespace plumb::triton {
namespace {

constexpr std::size_t kLargestSource = std::size_t{4} << 20;

// The first byte that is not part of well-formed UTF-8 or is NUL; the size when all are.
std::size_t first_bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead == 0) return at;
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (length == 0 || lead > 0xF4 || at + length > text.size()) return at;
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return at;
    }
    at += length;
  }
  return at;
}

std::string first_line(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\n');
  if (last == std::string_view::npos) return "no message";
  text = text.substr(0, last + 1);
  const std::size_t begin = text.rfind('\n');
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1)).substr(0, 200);
}

// The child's answer, or a finding about the child itself.
std::optional<std::string> ask_python(const Source& source, const PythonConfig& python, Findings& findings) {
  const ChildResult child =
      run_child({python.interpreter, "-I", "-S", "-W", "ignore", "-c", std::string(kPythonScript)}, source.text(), {});
  const auto fail = [&](const Code& code, std::string message) {
    findings.add(code, std::move(message));
    return std::nullopt;
  };
  switch (child.end) {
    case ChildResult::End::NotStarted:
      return fail(kPythonMissing, fmt::format("cannot start `{}` to parse `{}`: {}", python.interpreter, source.name(),
                                              std::strerror(child.code)));
    case ChildResult::End::Signalled:
      return fail(kPythonFailed, fmt::format("`{}` was ended by signal {} while parsing `{}`", python.interpreter,
                                             child.code, source.name()));
    case ChildResult::End::TimedOut:
      return fail(kPythonFailed,
                  fmt::format("`{}` did not parse `{}` within its time limit", python.interpreter, source.name()));
    case ChildResult::End::TooMuchOutput:
      return fail(kPythonFailed,
                  fmt::format("`{}` wrote more than its limit for `{}`", python.interpreter, source.name()));
    case ChildResult::End::Exited:
      break;
  }
  if (child.code != 0) {
    return fail(kPythonFailed, fmt::format("`{}` exited with {} while parsing `{}`: {}", python.interpreter, child.code,
                                           source.name(), first_line(child.errors)));
  }
  return child.output;
}

void report_refusal(const nlohmann::json& error, const SourcePtr& source, Findings& findings) {
  const auto line = error.at(1).get<std::uint32_t>(), column = error.at(2).get<std::uint32_t>();
  const auto end_line = error.at(3).get<std::uint32_t>(), end_column = error.at(4).get<std::uint32_t>();
  Place place{source, {}};
  if (line != 0) {
    place.span.begin = source->offset_of(line, column == 0 ? 1 : column);
    place.span.end =
        end_line == line && end_column > column ? source->offset_of(end_line, end_column) : place.span.begin;
  }
  findings.add(kSyntax, fmt::format("Python does not parse: {}", error.at(0).get<std::string>()), place);
}

std::filesystem::path cache_file(const Source& source, const PythonConfig& python) {
  std::string key(source.text());
  key += '\0';
  key += kPythonScript;
  return python.cache / (sha256(key) + ".ast.json");
}

// An entry is the answer's digest, a newline, the answer.
std::optional<nlohmann::json> read_cache(const std::filesystem::path& path) {
  Findings ignored;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::optional<std::string> text = read_file(path, ignored);
  if (!text || text->size() < 65 || (*text)[64] != '\n') return std::nullopt;
  const std::string_view body = std::string_view(*text).substr(65);
  if (sha256(body) != text->substr(0, 64)) return std::nullopt;
  nlohmann::json tree = nlohmann::json::parse(body, nullptr, false);
  if (!tree.is_object() || !tree.contains("tree")) return std::nullopt;
  return tree;
}

void write_cache(const std::filesystem::path& path, const std::string& answer) {
  Findings ignored;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (!error) write_file(path, sha256(answer) + "\n" + answer, ignored);
}

}  // namespace

std::optional<nlohmann::json> parse_python(const SourcePtr& source, const PythonConfig& python, Findings& findings) {
  if (source->text().size() > kLargestSource) {
    findings.add(kNotText, fmt::format("`{}` is larger than 4 MiB", source->name()));
    return std::nullopt;
  }
  if (const std::size_t bad = first_bad_byte(source->text()); bad != source->text().size()) {
    findings.add(kNotText, fmt::format("`{}` is not UTF-8 text: byte {} is {:#04x}", source->name(), bad,
                                       static_cast<unsigned char>(source->text()[bad])));
    return std::nullopt;
  }
  const bool is_cached = !python.cache.empty();
  const std::filesystem::path path = is_cached ? cache_file(*source, python) : std::filesystem::path();
  if (is_cached) {
    if (std::optional<nlohmann::json> tree = read_cache(path)) return std::move(tree->at("tree"));
  }
  const std::optional<std::string> answer = ask_python(*source, python, findings);
  if (!answer) return std::nullopt;
  nlohmann::json tree = nlohmann::json::parse(*answer, nullptr, false);
  if (tree.is_object() && tree.contains("error")) {
    report_refusal(tree["error"], source, findings);
    return std::nullopt;
  }
  if (!tree.is_object() || !tree.contains("tree")) {
    findings.add(kPythonFailed, fmt::format("`{}` answered something that is no tree", python.interpreter));
    return std::nullopt;
  }
  if (is_cached) write_cache(path, *answer);
  return std::move(tree["tree"]);
}

}  // namespace plumb::triton
