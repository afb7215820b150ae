// SPDX-License-Identifier: Apache-2.0
#include "session/ptxas.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "session/codes.h"

namespace plumb::session {
namespace {

constexpr double kPtxasSeconds = 120;

// The number that ends right before `unit`: 32 in "Used 32 registers" for " registers".
unsigned number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  unsigned out = 0;
  std::from_chars(line.data() + begin, line.data() + end, out);
  return out;
}

// Where the line is one of an error or a warning of a line of the file: "ptxas FILE, line N; error   : TEXT".
Place place_of(std::string_view head, const SourcePtr& source) {
  const std::size_t at = head.rfind(", line ");
  if (at == std::string_view::npos || !source) return {};
  std::uint32_t number = 0;
  std::from_chars(head.data() + at + 7, head.data() + head.size(), number);
  const std::string_view text = source->line(number);
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  const auto begin = source->offset_of(number, static_cast<std::uint32_t>(first) + 1);
  return {source, {begin, begin + static_cast<std::uint32_t>(text.size() - first)}};
}

class Reader {
 public:
  Reader(const SourcePtr& source, PtxasReport& out) : source_(source), out_(out) {}

  void line(std::string_view text) {
    if (!text.starts_with("ptxas ")) {
      if (PtxasFunction* now = current(); now != nullptr && text.find(" bytes stack frame") != std::string_view::npos) {
        now->stack_bytes = number_before(text, " bytes stack frame");
        now->spill_stores = number_before(text, " bytes spill stores");
        now->spill_loads = number_before(text, " bytes spill loads");
      }
      return;
    }
    const std::size_t colon = text.find(": ");
    if (colon == std::string_view::npos) return;
    const std::string_view head = text.substr(0, colon), message = text.substr(colon + 2);
    const auto is = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
    if (is("error")) {
      say(kPtxasError, Severity::Error, head, message);
    } else if (is("fatal")) {
      // "aborted due to errors" follows errors that have been told.
      if (!out_.findings.has_error()) say(kPtxasError, Severity::Error, head, message);
    } else if (is("warning") || message.find("Potential Performance Loss") != std::string_view::npos) {
      say(kPtxasWarning, Severity::Warning, head, message);
    } else {
      info(message);
    }
  }

  void end() {
    for (const PtxasFunction& one : out_.functions) {
      if (one.spill_stores + one.spill_loads == 0) continue;
      out_.findings.add(kSpills,
                        fmt::format("`{}` spills: {} bytes of stores and {} of loads in a thread, with {} registers",
                                    one.name, one.spill_stores, one.spill_loads, one.registers),
                        {source_, {}}, Severity::Warning);
    }
  }

 private:
  void say(const Code& code, Severity severity, std::string_view head, std::string_view message) {
    out_.findings.add(code, fmt::format("ptxas: {}", message), place_of(head, source_), severity);
  }

  PtxasFunction* current() { return out_.functions.empty() ? nullptr : &out_.functions.back(); }

  void info(std::string_view message) {
    constexpr std::string_view kProperties = "Function properties for ";
    if (message.starts_with(kProperties)) {
      out_.functions.emplace_back().name = message.substr(kProperties.size());
    } else if (PtxasFunction* now = current(); now != nullptr && message.starts_with("Used ")) {
      now->registers = number_before(message, " registers");
      now->barriers = number_before(message, " barriers");
      now->shared_bytes = number_before(message, " bytes smem");
    }
  }

  SourcePtr source_;
  PtxasReport& out_;
};

}  // namespace

ProcessResult run_ptxas(const std::filesystem::path& ptxas, const std::filesystem::path& file,
                        const std::string& target, std::vector<std::string> options) {
  std::vector<std::string> command = {ptxas.string(), "-arch=" + target, "-o", "/dev/null", file.string()};
  command.insert(command.begin() + 1, options.begin(), options.end());
  return run_process(command, kPtxasSeconds);
}

PtxasReport read_ptxas(std::string_view output, bool accepts, const SourcePtr& source) {
  PtxasReport out;
  out.has_run = true;
  out.accepts = accepts;
  Reader reader(source, out);
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    reader.line(output.substr(0, end));
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  reader.end();
  return out;
}

PtxasReport ask_ptxas(const std::filesystem::path& ptxas, const std::filesystem::path& file, const std::string& target,
                      const SourcePtr& source) {
  const ProcessResult result = run_ptxas(ptxas, file, target, {"-v"});
  if (!result.has_started || result.is_timeout) {
    PtxasReport out;
    out.findings.add(kPtxasWarning,
                     result.is_timeout ? fmt::format("ptxas did not end within {} seconds", kPtxasSeconds)
                                       : std::string("ptxas did not start"),
                     {source, {}}, Severity::Warning);
    return out;
  }
  PtxasReport out = read_ptxas(result.output, result.exit_code == 0, source);
  if (!out.accepts && !out.findings.has_error()) {
    out.findings.add(kPtxasError, fmt::format("ptxas failed with exit status {} and no message", result.exit_code),
                     {source, {}});
  }
  return out;
}

}  // namespace plumb::session
