// SPDX-License-Identifier: Apache-2.0
#include "agent/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>

#include "agent/codes.h"
#include "agent/event_types.h"
#include "base/file.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "plumb-run-1";
constexpr unsigned kMostLanes = 64;

// What each kind of event must have, as texts.
constexpr struct {
  std::string_view kind;
  std::array<const char*, 3> texts;
} kKinds[] = {{"message", {"text"}},
              {"call", {"tool"}},
              {"turn", {}},
              {"given", {"from", "file", "text"}},
              {"stage", {"stage"}},
              {"retry", {"reason"}},
              {"share", {"file", "sha256"}},
              {"stop", {"reason"}},
              {"end", {}},
              {"cut", {}},
              {"resume", {}},
              {"cancelled", {"tool"}}};

bool is_text(const Json& event, const char* key) { return event.contains(key) && event[key].is_string(); }

std::optional<Start> read_start(const Json& event) {
  for (const char* key : {"format", "task", "task_sha256", "tools_sha256", "target", "seed"}) {
    if (!is_text(event, key)) return std::nullopt;
  }
  if (event.value("event", Json()) != "start" || event["format"] != kFormat) return std::nullopt;
  Start start{event["task"], event["task_sha256"], event["tools_sha256"], event["target"]};
  for (const auto& [key, field] :
       {std::pair("from", &start.from), std::pair("provider", &start.provider), std::pair("model", &start.model)}) {
    if (is_text(event, key)) *field = event[key];
  }
  if (const Json lanes = event.value("lanes", Json(1u));
      lanes.is_number_unsigned() && lanes > 0 && lanes <= kMostLanes) {
    start.lanes = lanes.get<unsigned>();
  } else {
    return std::nullopt;
  }
  const auto& seed = event["seed"].get_ref<const std::string&>();
  const auto [stop, error] = std::from_chars(seed.data(), seed.data() + seed.size(), start.seed, 16);
  if (error != std::errc() || stop != seed.data() + seed.size()) return std::nullopt;
  return start;
}

// Empty when the event has what its kind needs.
std::string wrong_with(const Json& event) {
  if (!event.is_object() || !is_text(event, "event")) return "an event is an object with `event`";
  const auto& name = event["event"].get_ref<const std::string&>();
  const auto* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& each) { return each.kind == name; });
  if (kind == std::end(kKinds)) return fmt::format("unknown event `{}`", name);
  for (const char* key : kind->texts) {
    if (key != nullptr && !is_text(event, key)) return fmt::format("a {} needs `{}`", name, key);
  }
  if (const Json lane = event.value("lane", Json(0u)); !lane.is_number_unsigned() || lane >= kMostLanes) {
    return "`lane` is no lane";
  }
  if (name == "call" && (!event.contains("input") || !event.contains("output")))
    return "a call needs `tool`, `input` and `output`";
  return wrong_type(event);
}

// Whether a line that does not parse is what a kill left: it is the last and has no end, or a `cut` event follows it.
bool is_cut(const Source& source, std::uint32_t number) {
  const std::string_view text = source.text();
  if (number == source.line_count()) return !text.ends_with('\n');
  const Json next = Json::parse(source.line(number + 1), nullptr, false);
  return next.is_object() && next.value("event", Json()) == "cut";
}

// Whether a text is what a kill leaves of a log's first line.
bool is_piece_of_start(std::string_view text) {
  constexpr std::string_view kOpening = R"({"event":"start")";
  return text.find('\n') == std::string_view::npos && (text.starts_with(kOpening) || kOpening.starts_with(text)) &&
         !Json::accept(text);
}

// Whether a file ends inside of a line. Asked before each event, so it reads no more than the last byte.
bool ends_inside_a_line(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  return file && std::fseek(file.get(), -1, SEEK_END) == 0 && std::fgetc(file.get()) != '\n';
}

// What must stand before the next event: nothing, where the log ends with its line; else the end of the line, and the
// mark of one that was cut off.
std::string mend(const std::filesystem::path& path) {
  Findings ignored;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || !ends_inside_a_line(path)) return {};
  const std::optional<std::string> text = read_file(path, ignored);
  if (!text) return {};
  const bool is_whole = Json::accept(text->substr(text->rfind('\n') + 1));
  return is_whole ? "\n" : "\n" + Json{{"event", "cut"}}.dump() + "\n";
}

}  // namespace

std::optional<RunLog> read_log(const std::filesystem::path& path, Findings& findings) {
  const SourcePtr source = read_source(path, findings);
  if (!source) return std::nullopt;
  RunLog log;
  bool has_start = false;
  const auto fail = [&](const Place& place, std::string message) {
    findings.add(kRunLog, std::move(message), place);
    return std::nullopt;
  };
  for (std::uint32_t number = 1; number <= source->line_count(); ++number) {
    const std::string_view line = source->line(number);
    if (line.empty()) continue;
    const std::uint32_t begin = source->offset_of(number, 1);
    const Place place{source, {begin, begin + 1}};
    Json event = Json::parse(line, nullptr, false);
    if (event.is_discarded()) {
      if (!is_cut(*source, number) || (!has_start && !is_piece_of_start(line)))
        return fail(place, "this line is not JSON");
      findings.add(kRunLogCut, "this line was cut off while it was written: it is no event", place, Severity::Note);
      continue;
    }
    if (!has_start && event.is_object() && event.value("event", Json()) == "cut") continue;
    if (!has_start) {
      const std::optional<Start> start = read_start(event);
      if (!start) return fail(place, "the first event must be a `start` of the format " + std::string(kFormat));
      log.start = *start;
      has_start = true;
      continue;
    }
    if (const std::string wrong = wrong_with(event); !wrong.empty()) return fail(place, wrong);
    if (event["event"] == "given" && event["from"] != log.start.from)
      return fail(place,
                  fmt::format("a text is given here, and the run says that it starts from `{}`", log.start.from));
    log.events.push_back({std::move(event), place});
  }
  if (!has_start) return fail({source, {}}, "the run log is empty");
  return log;
}

bool is_begun(const std::filesystem::path& path) {
  Findings ignored;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const std::optional<std::string> text = read_file(path, ignored);
  return !text || !is_piece_of_start(*text);
}

bool append_event(const std::filesystem::path& path, const Json& event, Findings& findings) {
  return append_line(path, mend(path) + event.dump(-1, ' ', false, Json::error_handler_t::replace), findings);
}

bool begin_log(const std::filesystem::path& path, const Start& start, Findings& findings) {
  Json event = {{"event", "start"},
                {"format", kFormat},
                {"task", start.task},
                {"task_sha256", start.task_sha256},
                {"tools_sha256", start.tools_sha256},
                {"target", start.target},
                {"seed", fmt::format("{:016x}", start.seed)},
                {"from", start.from}};
  if (!start.provider.empty()) event["provider"] = start.provider;
  if (!start.model.empty()) event["model"] = start.model;
  if (start.lanes > 1) event["lanes"] = start.lanes;
  return append_event(path, event, findings);
}

bool log_message(const std::filesystem::path& path, std::string_view text, Findings& findings) {
  return append_event(path, {{"event", "message"}, {"role", "model"}, {"text", text}}, findings);
}

Logged call_and_log(const std::filesystem::path& path, const session::Session& session, std::string_view tool,
                    const Json& input, Findings& findings) {
  const auto begin = std::chrono::steady_clock::now();
  Logged out;
  out.reply = session::call(session, tool, input);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  out.event = {{"event", "call"},
               {"tool", tool},
               {"input", input},
               {"output", out.reply.output},
               {"is_answer", out.reply.is_answer},
               {"seconds", seconds.count()}};
  out.is_written = append_event(path, out.event, findings);
  return out;
}

unsigned lane_of(const Json& event) { return event.value("lane", 0u); }

bool is_of_course(const Json& event) {
  const Json& kind = event["event"];
  return kind != "end" && kind != "cut" && kind != "resume" && kind != "cancelled";
}

}  // namespace plumb::agent
