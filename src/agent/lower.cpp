// SPDX-License-Identifier: Apache-2.0
#include "agent/lower.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/judge.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "base/hash.h"
#include "session/scratch.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Loop {
 public:
  Loop(Provider& provider, const LowerOptions& options) : provider_(provider), options_(options) {}

  LowerOutcome run() {
    std::error_code error;
    fs::create_directories(options_.out, error);
    const session::Scratch scratch(options_.out);
    if (scratch.path().empty()) {
      out_.findings.add(file_codes::kUnwritable,
                        fmt::format("cannot make a run folder in `{}`", options_.out.string()));
      out_.is_bad_input = true;
      return std::move(out_);
    }
    session::Config config = options_.session;
    config.folder = scratch.path();
    config.seed = provider_.seed().value_or(random_seed());
    const session::Session session(std::move(config));
    log_ = scratch.path() / "run.jsonl";
    if (begin(session) && turns(session)) judge(session);
    keep_log();
    return std::move(out_);
  }

 private:
  const task::Task& task() const { return *options_.session.task; }

  bool begin(const session::Session& session) {
    const Start start{task().name, session::task_sha256(task(), out_.findings), session::tools_sha256(),
                      session.config().target, session.config().seed};
    return !out_.findings.has_error() && begin_log(log_, start, out_.findings);
  }

  void watch(const Json& event) const {
    if (options_.watch) options_.watch(event);
  }

  bool turns(const session::Session& session) {
    while (const std::optional<Turn> turn = provider_.next(out_.findings)) {
      for (const std::string& text : turn->messages) {
        if (!log_message(log_, text, out_.findings)) return false;
        watch({{"event", "message"}, {"role", "model"}, {"text", text}});
      }
      for (const Call& call : turn->calls) {
        const Logged logged = call_and_log(log_, session, call.tool, call.input, out_.findings);
        watch(logged.event);
        if (!logged.is_written) return false;
        final_.remember(session, call.tool, logged.reply);
        provider_.answered(call, logged.reply, out_.findings);
        if (out_.findings.has_error()) return false;
      }
    }
    return !out_.findings.has_error();
  }

  void judge(const session::Session& session) {
    out_.candidate = final_.file();
    Judged judged = agent::judge(session, final_, options_.out, log_, options_.watch, out_.findings);
    out_.judgement = std::move(judged.judgement);
    out_.files = std::move(judged.files);
  }

  void keep(const fs::path& path, std::string_view text) {
    if (write_file(path, text, out_.findings)) out_.files.push_back(path);
  }

  void keep_log() {
    Findings ignored;
    if (const auto text = read_file(log_, ignored)) keep(options_.out / "run.jsonl", *text);
  }

  Provider& provider_;
  const LowerOptions& options_;
  LowerOutcome out_;
  fs::path log_;
  FinalText final_;
};

}  // namespace

LowerOutcome lower(Provider& provider, const LowerOptions& options) { return Loop(provider, options).run(); }

}  // namespace plumb::agent
