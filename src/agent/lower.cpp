// SPDX-License-Identifier: Apache-2.0
#include "agent/lower.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/codes.h"
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
        remember(session, call, logged.reply);
        provider_.answered(call, logged.reply, out_.findings);
        if (out_.findings.has_error()) return false;
      }
    }
    return !out_.findings.has_error();
  }

  // The text to judge at the end: the last that `prove` accepted, or else the last written.
  void remember(const session::Session& session, const Call& call, const session::Reply& reply) {
    if (!reply.is_answer) return;
    const bool is_write = call.tool == "write_candidate" || call.tool == "patch_candidate";
    const bool is_accepted =
        call.tool == "prove" && reply.output.value("verdict", "") == "proved" && reply.output["contract"] == "kept";
    if (!is_accepted && (!is_write || has_accepted_)) return;
    has_accepted_ = has_accepted_ || is_accepted;
    out_.candidate = reply.output.value("file", "");
    Findings ignored;
    final_ = session.read(out_.candidate, ignored);
  }

  void judge(const session::Session& session) {
    if (!final_) {
      out_.findings.add(kNoCandidate, "the run ended without a candidate");
      return;
    }
    const fs::path ptx = options_.out / (task().name + ".ptx");
    const auto named = std::make_shared<Source>(ptx.filename().string(), std::string(final_->text()));
    const auto candidate = prove::make_candidate(named, session.config().folder / ptx.filename(), out_.findings);
    if (!candidate || !session::holds_entry(*candidate, out_.findings) ||
        !session::holds_target(*candidate, session.config().target, out_.findings)) {
      return;
    }
    prove::Options options;
    options.workers = session.config().workers;
    options.python = session.config().python;
    options.progress = session.config().progress;
    out_.judgement = prove::prove(task(), *candidate, options);
    const prove::Outcome& judgement = *out_.judgement;
    const Json end = {{"event", "end"},
                      {"file", ptx.filename().string()},
                      {"sha256", sha256(final_->text())},
                      {"verdict", prove::name(judgement.verdict)},
                      {"contract", prove::name(judgement.contract)},
                      {"seconds", judgement.seconds}};
    if (!append_event(log_, end, out_.findings)) return;
    watch(end);
    if (!judgement.holds()) {
      out_.findings.add(kNotProved, fmt::format("the final candidate is {}, contract {}: no lowering is written",
                                                prove::name(judgement.verdict), prove::name(judgement.contract)));
      return;
    }
    const fs::path proof = options_.out / (task().name + ".proof.json");
    keep(ptx, final_->text());
    keep(proof, prove::certificate(task(), *candidate, judgement, options).dump(2) + "\n");
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
  SourcePtr final_;
  bool has_accepted_ = false;
};

}  // namespace

LowerOutcome lower(Provider& provider, const LowerOptions& options) { return Loop(provider, options).run(); }

}  // namespace plumb::agent
