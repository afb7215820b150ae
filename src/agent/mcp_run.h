// SPDX-License-Identifier: Apache-2.0
// The run that MCP clients work on: one folder, one log, one thread that carries out their calls in the order in which
// they came. The log is that of any run: it replays, and a run that was killed goes on from it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "agent/given.h"
#include "agent/judge.h"
#include "agent/run_log.h"
#include "base/finding.h"
#include "session/session.h"
#include "session/tool.h"

namespace plumb::agent {

struct McpRunOptions {
  std::filesystem::path out;     // gets run.jsonl, work/ (the run folder) and, judged, NAME.ptx and NAME.proof.json
  session::Config session;       // with the task and the target; folder, seed and progress are set here
  std::optional<Given> given{};  // what a new run starts from beside the source; one that goes on must have begun so
  std::function<void(const nlohmann::json& event)> watch;  // told of each event, from the run's thread
};

// Shared by the run's thread, which carries it out, and the connection, which may take it back.
struct McpCall {
  std::string tool;
  nlohmann::json input;
  std::function<void(const prove::Progress&)> progress;   // from the threads of a proof
  std::function<void(const session::Reply& reply)> done;  // from the run's thread; not after a cancellation
  std::function<void()> cancelled;                        // the same, instead of `done`
  std::atomic<bool> is_cancelled = false;
};

class McpRun {
 public:
  // Begins a run, or goes on with the one whose log is in the folder. Null with findings.
  static std::unique_ptr<McpRun> open(McpRunOptions options, Findings& findings);
  ~McpRun();
  McpRun(const McpRun&) = delete;  // its thread points here
  McpRun& operator=(const McpRun&) = delete;

  // The tool table, and `note` and `finish`, which belong to a run rather than to a candidate: [{name, help, schema}].
  static nlohmann::json describe_tools();
  static bool has_tool(std::string_view name);

  // False where too many calls wait already.
  bool submit(std::shared_ptr<McpCall> call);
  // What a tool says that depends on nothing in the run folder; not a call of the run, and not logged.
  session::Reply look_up(std::string_view tool, const nlohmann::json& input) const;
  struct Best {
    std::string file;
    SourcePtr text;  // null before the first candidate
    bool is_accepted = false;
  };
  Best best() const;
  nlohmann::json report() const;  // how far the run is
  // "source", "scaffold" or "seed", as the log says; of the last two the text is in the candidate's file at first.
  const std::string& from() const { return from_; }
  std::string default_file() const { return session_->default_file(); }

  // Lets go of calls that were taken back before their turn, telling them so.
  void drop_cancelled();
  // Takes back all that waits or runs.
  void cancel_all();
  // Carries out what waits, and judges the final text from scratch, unless that was done since it was written.
  struct End {
    Findings findings;
    std::optional<prove::Outcome> judgement;
    std::vector<std::filesystem::path> files;
    bool holds() const { return judgement && judgement->holds() && !findings.has_error(); }
  };
  End end();

 private:
  McpRun(McpRunOptions options, int lock);
  bool begin_or_resume(Findings& findings);
  bool begin_with_given(Findings& findings);
  bool record(nlohmann::json event, Findings& findings);
  void work();
  void carry_out(McpCall& call);
  session::Reply note(const nlohmann::json& input);
  session::Reply finish();
  void publish();

  McpRunOptions options_;
  int lock_;
  std::filesystem::path log_;
  std::unique_ptr<session::Session> session_;
  std::string from_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double before_ = 0;  // seconds that the run took before this process
  std::thread thread_;

  // Of the run's thread alone.
  FinalText final_text_;
  End end_;
  std::string judged_sha256_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<McpCall>> queue_;
  std::shared_ptr<McpCall> current_;
  bool is_closing_ = false;
  Best best_;
  std::uint64_t calls_ = 0;
  nlohmann::json last_judgement_;
};

}  // namespace plumb::agent
