// SPDX-License-Identifier: Apache-2.0
#include "agent/lower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent/codes.h"
#include "agent/course.h"
#include "agent/judge.h"
#include "agent/lane.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "base/hash.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kRunFolder = ".plumb-run";

// The run folder of a process: no other one may write there at the same time. It goes with its owner, and one that a
// kill has left behind goes when the next one begins, since the log alone is the state of a run.
class RunFolder {
 public:
  explicit RunFolder(const fs::path& out) : path_(out / kRunFolder) {
    std::error_code error;
    descriptor_ = ::open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    is_ours_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (!is_ours_) return;
    fs::create_directories(path_, error);
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) fs::remove_all(entry.path(), error);
  }
  ~RunFolder() {
    std::error_code error;
    if (is_ours_) fs::remove_all(path_, error);
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  RunFolder(const RunFolder&) = delete;  // owns a folder
  RunFolder& operator=(const RunFolder&) = delete;

  bool is_there() const { return descriptor_ >= 0; }
  bool is_ours() const { return is_ours_; }
  // A folder in it; empty when it cannot be made.
  fs::path lane(unsigned number) const {
    fs::path path = path_ / fmt::format("lane{}", number);
    std::error_code error;
    return fs::create_directory(path, error) ? path : fs::path();
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
  bool is_ours_ = false;
};

class Loop {
 public:
  Loop(std::span<Provider* const> providers, const LowerOptions& options)
      : providers_(providers), options_(options), log_(options.out / "run.jsonl") {
    out_.from = options.from;
    out_.knows_price = options.price.has_value();
  }

  LowerOutcome run() {
    std::error_code error;
    fs::create_directories(options_.out, error);
    const RunFolder folder(options_.out);
    if (!folder.is_ours()) {
      const char* why =
          folder.is_there() ? "another plumb is writing the run in `{}`" : "cannot make a run folder in `{}`";
      refuse(folder.is_there() ? kRunInUse : file_codes::kUnwritable,
             fmt::format(fmt::runtime(why), options_.out.string()));
      return std::move(out_);
    }
    if (begin(folder)) {
      const bool is_whole = is_live() ? run_lanes() : replay();
      if (is_whole) judge();
      out_.spent = course_->spent();
      out_.files.push_back(log_);
    }
    return std::move(out_);
  }

 private:
  const task::Task& task() const { return *options_.session.task; }
  bool is_live() const { return providers_.front()->is_live(); }

  void refuse(const Code& code, std::string message) {
    out_.findings.add(code, std::move(message));
    out_.is_bad_input = true;
  }

  // Makes the course, on a new log or on the one that is resumed.
  bool begin(const RunFolder& folder) {
    Start start{task().name,
                session::task_sha256(task(), out_.findings),
                session::tools_sha256(),
                options_.session.target,
                providers_.front()->seed().value_or(random_seed()),
                options_.from,
                options_.provider,
                options_.model,
                options_.lanes};
    const bool is_resumed = options_.is_resume && is_begun(log_);
    std::optional<RunLog> log;
    if (is_resumed) {
      log = read_log(log_, out_.findings);
      if (!log || !suits(*log, start)) {
        out_.is_bad_input = true;
        return false;
      }
      start.seed = log->start.seed;
    } else if (!out_.findings.has_error()) {
      keep_earlier_log();
      begin_log(log_, start, out_.findings);
    }
    if (out_.findings.has_error() || !make_course(folder, start.seed)) {
      out_.is_bad_input = true;
      return false;
    }
    if (!is_resumed) return true;
    out_.from = log->start.from;
    if (!course_->take_over(*log, out_.findings)) return false;
    for (const Event& event : log->events) before_.push_back(event.value);
    return course_->record({{"event", "resume"}}, 0, out_.findings);
  }

  // A resumed run must be the same one, or its log would tell of two.
  bool suits(const RunLog& log, const Start& now) {
    const Start& old = log.start;
    const bool has_same_text = !options_.given || begins_with(log.events, *options_.given);
    const std::pair<const char*, bool> same[] = {{"task", old.task == now.task},
                                                 {"state of the task", old.task_sha256 == now.task_sha256},
                                                 {"target", old.target == now.target},
                                                 {"provider", old.provider == now.provider},
                                                 {"model", old.model == now.model},
                                                 {"number of lanes", old.lanes == now.lanes},
                                                 {"beginning", old.from == now.from && has_same_text}};
    for (const auto& [what, is_same] : same) {
      if (is_same) continue;
      out_.findings.add(kRunOther, fmt::format("the run in `{}` has another {}", options_.out.string(), what));
      return false;
    }
    return true;
  }

  // Nothing that was written is lost: the log of an earlier run gets a number.
  void keep_earlier_log() {
    std::error_code error;
    if (!is_begun(log_)) return;
    for (unsigned number = 1;; ++number) {
      const fs::path kept = options_.out / fmt::format("run-{}.jsonl", number);
      if (fs::exists(kept, error)) continue;
      fs::rename(log_, kept, error);
      return;
    }
  }

  bool make_course(const RunFolder& folder, std::uint64_t seed) {
    std::vector<std::unique_ptr<session::Session>> sessions;
    for (unsigned lane = 0; lane < options_.lanes; ++lane) {
      session::Config config = options_.session;
      config.folder = folder.lane(lane);
      config.seed = seed;
      if (options_.lanes > 1 && is_live()) {
        const unsigned all = config.workers != 0 ? config.workers : std::max(1u, std::thread::hardware_concurrency());
        config.workers = std::max(1u, all / options_.lanes);
      }
      if (config.folder.empty()) {
        out_.findings.add(file_codes::kUnwritable, fmt::format("cannot write in `{}`", options_.out.string()));
        return false;
      }
      sessions.push_back(std::make_unique<session::Session>(std::move(config)));
    }
    course_ = std::make_unique<Course>(log_, std::move(sessions), options_.price, options_.watch);
    return true;
  }

  // Everything that the log has, in its order.
  bool replay() {
    Provider& provider = *providers_.front();
    if (!before_.empty()) provider.restore(before_);
    while (const std::optional<Turn> turn = provider.next(out_.findings)) {
      if (turn->lane >= course_->lanes()) {
        out_.findings.add(kRunLog, fmt::format("a turn of lane {}, the run has {}", turn->lane, course_->lanes()));
        return false;
      }
      for (const Json& event : turn->events) {
        if (!course_->record(event, turn->lane, out_.findings)) return false;
      }
      for (const std::string& text : turn->messages) {
        const Json event = {{"event", "message"}, {"role", "model"}, {"text", text}};
        if (!course_->record(event, turn->lane, out_.findings)) return false;
      }
      for (const Call& call : turn->calls) {
        const std::optional<session::Reply> reply = course_->call(call, turn->lane, out_.findings);
        if (!reply) return false;
        provider.answered(call, *reply, out_.findings);
        if (out_.findings.has_error()) return false;
      }
    }
    return !out_.findings.has_error();
  }

  // Why a lane has nothing more to do. One that ran out of its budget or of its provider may have both again.
  static std::string ended(const std::vector<Json>& events) {
    if (events.empty() || events.back()["event"] != "stop") return {};
    const std::string reason = events.back()["reason"];
    if (reason == "budget" || reason == "provider") return {};
    return fmt::format("{}: {}", reason, events.back().value("text", ""));
  }

  // False when nothing can be judged. A provider that failed is no reason not to judge what there is.
  bool run_lanes() {
    std::atomic<bool> is_enough = false;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<std::thread> threads;
    std::deque<std::exception_ptr> faults;
    for (unsigned number = 0; number < options_.lanes; ++number) {
      std::vector<Json> own;
      for (const Json& event : before_) {
        if (lane_of(event) == number && is_of_course(event)) own.push_back(event);
      }
      if (const std::string why = ended(own); !why.empty()) {
        out_.stops.push_back(why);
        continue;
      }
      lanes.push_back(std::make_unique<Lane>(*course_, *providers_[number], options_, number, is_enough));
      threads.emplace_back([&fault = faults.emplace_back(), lane = lanes.back().get(), events = std::move(own)] {
        try {
          lane->run(events);
        } catch (...) {
          fault = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& fault : faults) {
      if (fault) std::rethrow_exception(fault);  // a fault of plumb, for whoever reports those
    }
    const bool has_accepted = course_->best().has_value();
    bool is_written = true;
    for (const auto& lane : lanes) {
      out_.stops.push_back(lane->stop());
      for (Finding finding : lane->findings().list()) {
        is_written = is_written && finding.code != &file_codes::kUnwritable;
        // What is accepted is none the worse for a provider that failed later.
        if (has_accepted && finding.code != &file_codes::kUnwritable) finding.severity = Severity::Warning;
        out_.findings.add(std::move(finding));
      }
    }
    return is_written;
  }

  void judge() {
    FinalText text;
    if (const std::optional<Candidate> last = course_->last()) {
      out_.candidate = last->file;
      out_.nanoseconds = last->nanoseconds;
      text = FinalText(std::make_shared<Source>(last->file, last->text), last->file, course_->best().has_value());
    }
    Judged judged = agent::judge(course_->session(0), text, options_.out, log_, options_.watch, out_.findings);
    out_.judgement = std::move(judged.judgement);
    out_.files = std::move(judged.files);
  }

  std::span<Provider* const> providers_;
  const LowerOptions& options_;
  LowerOutcome out_;
  fs::path log_;
  std::unique_ptr<Course> course_;
  std::vector<Json> before_;  // the events of the run that is resumed
};

}  // namespace

LowerOutcome lower(std::span<Provider* const> providers, const LowerOptions& options) {
  return Loop(providers, options).run();
}

LowerOutcome lower(Provider& provider, const LowerOptions& options) {
  Provider* const providers[] = {&provider};
  return lower(providers, options);
}

}  // namespace plumb::agent
