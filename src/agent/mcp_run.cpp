// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "agent/codes.h"
#include "agent/restore.h"
#include "base/file.h"
#include "base/hash.h"
#include "session/codes.h"
#include "session/next_step.h"
#include "session/schema.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMostWaiting = 64;

struct RunTool {
  std::string_view name, help, schema;
};
constexpr RunTool kRunTools[] = {
    {"note", "keep what you try and why in the run log; it changes nothing",
     R"({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}})"},
    {"finish",
     "judge the last proved candidate from scratch with a fresh seed, and write it out as a lowering if that holds; "
     "call it before you leave",
     R"({"type": "object", "properties": {}})"}};

const RunTool* find_run_tool(std::string_view name) {
  for (const RunTool& tool : kRunTools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

}  // namespace

McpRun::McpRun(McpRunOptions options, int lock)
    : options_(std::move(options)), lock_(lock), log_(options_.out / "run.jsonl") {}

std::unique_ptr<McpRun> McpRun::open(McpRunOptions options, Findings& findings) {
  std::error_code error;
  fs::create_directories(options.out, error);
  const int lock = ::open(options.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0) {
    findings.add(file_codes::kUnwritable, fmt::format("cannot make the folder `{}`", options.out.string()));
    return nullptr;
  }
  std::unique_ptr<McpRun> run(new McpRun(std::move(options), lock));  // the constructor is private
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    findings.add(kRunInUse, fmt::format("another plumb is at work in `{}`", run->options_.out.string()));
    return nullptr;
  }
  if (!run->begin_or_resume(findings)) return nullptr;
  run->publish();
  run->thread_ = std::thread([self = run.get()] { self->work(); });
  return run;
}

McpRun::~McpRun() {
  cancel_all();
  {
    const std::lock_guard hold(mutex_);
    is_closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  ::close(lock_);
}

bool McpRun::begin_or_resume(Findings& findings) {
  session::Config config = options_.session;
  const std::string task_sha256 = session::task_sha256(*config.task, findings);
  if (findings.has_error()) return false;
  std::optional<RunLog> log;
  const bool is_resumed = is_begun(log_);
  if (is_resumed && !(log = read_log(log_, findings))) return false;
  Start start{config.task->name, task_sha256, session::tools_sha256(), config.target, random_seed()};
  start.provider = "mcp";
  if (options_.given) start.from = options_.given->from;
  if (log && options_.given && (log->start.from != start.from || !begins_with(log->events, *options_.given))) {
    findings.add(kRunOther, fmt::format("the run in `{}` has another beginning", options_.out.string()));
    return false;
  }
  if (log) start = log->start;
  if (start.task != config.task->name || start.target != config.target || start.task_sha256 != task_sha256) {
    findings.add(kReplayTask, fmt::format("`{}` is the log of `{}` for {}, or of another state of the task",
                                          log_.string(), start.task, start.target));
    return false;
  }
  config.folder = options_.out / "work";
  config.seed = start.seed;
  config.progress = [this](const prove::Progress& progress) {
    std::shared_ptr<McpCall> call;
    {
      const std::lock_guard hold(mutex_);
      call = current_;
    }
    if (!call) return true;
    if (call->progress && !call->is_cancelled) call->progress(progress);
    return !call->is_cancelled || leaves_files(call->tool, call->input);
  };
  std::error_code error;
  fs::remove_all(config.folder, error);
  if (!fs::create_directory(config.folder, error)) {
    findings.add(file_codes::kUnwritable, fmt::format("cannot make the folder `{}`", config.folder.string()));
    return false;
  }
  session_ = std::make_unique<session::Session>(std::move(config));
  from_ = start.from;
  if (!log && !begin_log(log_, start, findings)) return false;
  bool has_given = false;
  if (log) {
    for (const Event& event : log->events) {
      calls_ += event.value["event"] == "call" ? 1 : 0;
      has_given = has_given || event.value["event"] == "given";
      before_ = std::max(before_, event.value.value("at", 0.0));
    }
    if (!restore(*session_, *log, final_text_, findings)) return false;
  }
  return has_given || begin_with_given(findings);
}

// A run that was killed before it had taken down what it starts from does so when it goes on.
bool McpRun::begin_with_given(Findings& findings) {
  if (!options_.given) {
    if (from_ == "source") return true;
    findings.add(kRunOther,
                 fmt::format("the run in `{}` began with a {} and was killed before it had the text: give it",
                             options_.out.string(), from_));
    return false;
  }
  const Json event = given_event(*options_.given, session_->default_file());
  return record(event, findings) && take_given(*session_, event, final_text_, findings);
}

// As `plumb lower` does: every event with the seconds of the run so far.
bool McpRun::record(Json event, Findings& findings) {
  const double seconds = before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  event["at"] = std::round(seconds * 1e3) / 1e3;
  if (!append_event(log_, event, findings)) return false;
  if (options_.watch) options_.watch(event);
  return true;
}

Json McpRun::describe_tools() {
  Json out = session::describe_tools();
  for (const RunTool& tool : kRunTools) {
    out.push_back({{"name", tool.name}, {"help", tool.help}, {"schema", Json::parse(tool.schema)}});
  }
  return out;
}

bool McpRun::has_tool(std::string_view name) {
  return session::find_tool(name) != nullptr || find_run_tool(name) != nullptr;
}

bool McpRun::submit(std::shared_ptr<McpCall> call) {
  {
    const std::lock_guard hold(mutex_);
    if (queue_.size() >= kMostWaiting || is_closing_) return false;
    queue_.push_back(std::move(call));
  }
  wake_.notify_all();
  return true;
}

void McpRun::drop_cancelled() {
  std::vector<std::shared_ptr<McpCall>> dropped;
  {
    const std::lock_guard hold(mutex_);
    std::erase_if(queue_, [&](const std::shared_ptr<McpCall>& call) {
      if (call->is_cancelled) dropped.push_back(call);
      return call->is_cancelled.load();
    });
  }
  for (const auto& call : dropped) call->cancelled();
}

void McpRun::cancel_all() {
  const std::lock_guard hold(mutex_);
  for (const auto& call : queue_) call->is_cancelled = true;
  if (current_) current_->is_cancelled = true;
}

session::Reply McpRun::look_up(std::string_view tool, const Json& input) const {
  return session::call(*session_, tool, input);
}

McpRun::Best McpRun::best() const {
  const std::lock_guard hold(mutex_);
  return best_;
}

Json McpRun::report() const {
  const std::lock_guard hold(mutex_);
  Json out = {{"task", session_->config().task->name},
              {"from", from_},
              {"target", session_->config().target},
              {"calls", calls_},
              {"waiting", queue_.size()},
              {"running", current_ ? Json(current_->tool) : Json()},
              {"last_judgement", last_judgement_}};
  if (best_.text) {
    out["candidate"] = {{"file", best_.file}, {"sha256", sha256(best_.text->text())}, {"is_proved", best_.is_accepted}};
  }
  return out;
}

void McpRun::publish() {
  const std::lock_guard hold(mutex_);
  best_ = {final_text_.file(), final_text_.text(), final_text_.is_accepted()};
}

void McpRun::work() {
  std::unique_lock hold(mutex_);
  while (true) {
    wake_.wait(hold, [&] { return is_closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    current_ = std::move(queue_.front());
    queue_.pop_front();
    const std::shared_ptr<McpCall> call = current_;
    hold.unlock();
    carry_out(*call);
    hold.lock();
  }
}

void McpRun::carry_out(McpCall& call) {
  using Clock = std::chrono::steady_clock;
  const auto leave = [&](const std::function<void()>& tell) {
    {
      const std::lock_guard hold(mutex_);
      current_.reset();
    }
    tell();  // last: who hears it may ask how far the run is
  };
  if (call.is_cancelled) return leave(call.cancelled);
  const auto begin = Clock::now();
  Findings findings;
  session::Reply reply;
  if (call.tool == "note") reply = note(call.input);
  else if (call.tool == "finish") reply = finish();
  else reply = session::call(*session_, call.tool, call.input);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool is_own = find_run_tool(call.tool) != nullptr;
  // A proof that was told to stop answers `unknown`; a log with that answer would not replay.
  const bool is_cancelled = call.is_cancelled && !leaves_files(call.tool, call.input);
  if (!is_own || is_cancelled) {
    Json event = {{"event", is_cancelled ? "cancelled" : "call"},
                  {"tool", call.tool},
                  {"input", call.input},
                  {"seconds", seconds}};
    if (!is_cancelled) {
      event["output"] = reply.output;
      event["is_answer"] = reply.is_answer;
    }
    if (!record(std::move(event), findings)) reply = session::Reply{false, {{"findings", to_json(findings)}}};
  }
  if (is_cancelled) {
    judged_sha256_.clear();
    return leave(call.cancelled);
  }
  final_text_.remember(*session_, {call.tool, call.input}, reply);
  publish();
  {
    const std::lock_guard hold(mutex_);
    ++calls_;
  }
  leave([&] { call.done(reply); });
}

session::Reply McpRun::note(const Json& input) {
  Findings findings;
  const RunTool* tool = find_run_tool("note");
  if (!session::conforms(input, Json::parse(tool->schema), findings) ||
      !record({{"event", "message"}, {"role", "model"}, {"text", input["text"]}}, findings)) {
    return {false, {{"findings", to_json(findings)}}};
  }
  return {true, {{"is_noted", true}}};
}

session::Reply McpRun::finish() {
  end_ = End{};
  judged_sha256_.clear();
  Judged judged = judge(*session_, final_text_, options_.out, log_, options_.watch, end_.findings);
  end_.judgement = std::move(judged.judgement);
  end_.files = std::move(judged.files);
  Json output = end_.judgement ? prove::to_json(*end_.judgement) : Json{{"verdict", "unknown"}};
  // As after every proof, nothing is shown that code could be made for.
  output.erase("seed");
  output.erase("primes");
  if (!output.contains("findings")) output["findings"] = Json::array();
  for (const Json& finding : to_json(end_.findings)) output["findings"].push_back(finding);
  output["holds"] = end_.holds();
  Json files = Json::array();
  for (const fs::path& file : end_.files) files.push_back(file.filename().string());
  output["files"] = std::move(files);
  if (std::string next = session::next_step(output); !next.empty()) output["next"] = std::move(next);
  if (end_.judgement) judged_sha256_ = sha256(final_text_.text()->text());
  const std::lock_guard hold(mutex_);
  last_judgement_ = {{"verdict", output["verdict"]}, {"holds", end_.holds()}};
  return {true, std::move(output)};
}

McpRun::End McpRun::end() {
  {
    const std::lock_guard hold(mutex_);
    is_closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  const bool is_judged = final_text_.text() && sha256(final_text_.text()->text()) == judged_sha256_;
  if (!is_judged) finish();
  return std::move(end_);
}

}  // namespace plumb::agent
