// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "ptx/codes.h"
#include "session/session.h"

namespace plumb::cli {
namespace {

constexpr std::size_t kMostFindings = 20;

std::filesystem::path cache_folder() {
  std::filesystem::path base = environment_value("XDG_CACHE_HOME");
  if (base.empty() && !environment_value("HOME").empty())
    base = std::filesystem::path(environment_value("HOME")) / ".cache";
  if (base.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(base / "plumb", error);
  return error ? std::filesystem::path() : base / "plumb";
}

// In a file that ends too early, whatever is wrong with its torn last line is a consequence of that: one message says
// it.
Findings without_consequences(const Findings& findings) {
  const auto& list = findings.list();
  const auto is_cut = [](const Finding& finding) { return finding.code == &ptx::kTruncated; };
  const auto cut = std::find_if(list.begin(), list.end(), is_cut);
  if (cut == list.end() || !cut->place.source) return findings;
  const std::string_view text = cut->place.source->text();
  const std::size_t end = std::min(text.find_last_not_of(" \t\r\n"), text.size());
  const std::size_t torn = text.substr(0, end).rfind('\n') + 1;  // 0 where the file is one line
  Findings out;
  for (auto finding = list.begin(); finding != list.end(); ++finding) {
    const bool is_torn = finding->place.source == cut->place.source && finding->place.span.begin >= torn;
    if (finding == cut || (!is_cut(*finding) && !is_torn)) out.add(*finding);
  }
  return out;
}

void write(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

}  // namespace

Context Context::from_environment() {
  Context context;
  const bool is_plain = !environment_value("NO_COLOR").empty() || environment_value("TERM") == "dumb";
  context.is_err_terminal = ::isatty(STDERR_FILENO) == 1;
  context.has_colour_out = !is_plain && ::isatty(STDOUT_FILENO) == 1;
  context.has_colour_err = !is_plain && context.is_err_terminal;
  context.search_path = environment_value("PATH");
  context.mcp_token = environment_value("PLUMB_MCP_TOKEN");
  context.cache = cache_folder();
  return context;
}

triton::PythonConfig Context::python() const {
  triton::PythonConfig config;
  config.cache = cache;
  return config;
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void print(std::string_view text) { write(stdout, text); }
void print_error(std::string_view text) { write(stderr, text); }

void print_json(const nlohmann::json& value) {
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void refuse(Context& context, const Findings& all) {
  context.exit_code = kWrongUse;
  const Findings findings = without_consequences(all);
  if (context.is_json) return print_json({{"findings", to_json(findings)}});
  std::string text;
  std::size_t shown = 0;
  for (const Finding& finding : findings.list()) {
    if (shown++ < kMostFindings) text += render(finding, context.has_colour_err);
  }
  if (shown > kMostFindings) text += fmt::format("plumb: {} more findings\n", shown - kMostFindings);
  print_error(text);
}

void answer(Context& context, const nlohmann::json& object, std::string_view text, bool holds) {
  context.exit_code = holds ? kHolds : kDoesNotHold;
  if (context.is_json) print_json(object);
  else print(text);
}

std::optional<std::vector<task::Shape>> parse_shapes(const std::vector<std::string>& texts, Findings& findings) {
  std::vector<task::Shape> shapes;
  for (const std::string& text : texts) {
    std::optional<task::Shape> shape = task::parse_shape(text, findings);
    if (!shape) return std::nullopt;
    shapes.push_back(std::move(*shape));
  }
  return shapes;
}

std::optional<prove::Candidate> load_candidate(const std::string& path, Findings& findings) {
  std::optional<prove::Candidate> candidate = prove::load_candidate(path, findings);
  if (!candidate || !session::holds_entry(*candidate, findings)) return std::nullopt;
  return candidate;
}

struct ProgressLine::Inner {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kQuiet{2000}, kPause{200};

  std::mutex mutex;
  bool is_on = false, is_shown = false;
  Clock::time_point begin = Clock::now(), phase_begin = begin, last{};
  std::string phase;

  void tell(const prove::Progress& progress) {
    if (!is_on) return;
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return;  // another worker is telling
    const Clock::time_point now = Clock::now();
    const std::string name = fmt::format("{}: {}", progress.shape, progress.phase);
    if (name != phase) {
      phase = name;
      phase_begin = now;
    }
    if (now - begin < kQuiet || now - last < kPause || progress.all == 0) return;
    last = now;
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.all);
    std::string line = fmt::format("\r\x1b[K{} {}/{}", name, progress.done, progress.all);
    if (part > 0.02) {
      const double spent = std::chrono::duration<double>(now - phase_begin).count();
      line += fmt::format(", about {:.0f} s left", spent / part - spent);
    }
    is_shown = true;
    print_error(line);
  }
};

ProgressLine::ProgressLine(const Context& context) : inner_(std::make_unique<Inner>()) {
  inner_->is_on = context.is_err_terminal;
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  const std::lock_guard lock(inner_->mutex);
  if (inner_->is_shown) print_error("\r\x1b[K");
  inner_->is_shown = false;
}

std::function<bool(const prove::Progress&)> ProgressLine::callback() {
  if (!inner_->is_on) return {};
  return [inner = inner_.get()](const prove::Progress& progress) {
    inner->tell(progress);
    return true;
  };
}

}  // namespace plumb::cli
