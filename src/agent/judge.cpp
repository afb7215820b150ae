// SPDX-License-Identifier: Apache-2.0
#include "agent/judge.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/codes.h"
#include "agent/proposals.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "base/hash.h"

namespace plumb::agent {

using Json = nlohmann::json;

bool is_about_all_shapes(const Json& input) {
  return input.is_object() && !input.contains("shapes") && !input.contains("shape");
}

bool FinalText::remember(const session::Session& session, const Call& call, const session::Reply& reply) {
  if (!reply.is_answer) return false;
  const bool is_write = call.tool == "write_candidate" || call.tool == "patch_candidate";
  const bool is_accepted = call.tool == "prove" && is_about_all_shapes(call.input) &&
                           reply.output.value("verdict", "") == "proved" && reply.output["contract"] == "kept";
  if (!is_accepted && (!is_write || is_accepted_)) return false;
  is_accepted_ = is_accepted_ || is_accepted;
  file_ = reply.output.value("file", "");
  Findings ignored;
  text_ = session.read(file_, ignored);
  return true;
}

Judged judge(const session::Session& session, const FinalText& final_text, const std::filesystem::path& out,
             const std::filesystem::path& log, const std::function<void(const Json&)>& watch, Findings& findings) {
  Judged judged;
  if (!final_text.text()) {
    findings.add(kNoCandidate, "the run ended without a candidate");
    return judged;
  }
  const task::Task& task = *session.config().task;
  const std::string_view text = final_text.text()->text();
  const std::filesystem::path ptx = out / (task.name + ".ptx");
  const auto named = std::make_shared<Source>(ptx.filename().string(), std::string(text));
  const auto candidate = prove::make_candidate(named, session.config().folder / ptx.filename(), findings);
  if (!candidate || !session::holds_entry(*candidate, findings) ||
      !session::holds_target(*candidate, session.config().target, findings)) {
    return judged;
  }
  prove::Options options;
  options.workers = session.config().workers;
  options.python = session.config().python;
  options.progress = session.config().progress;
  judged.judgement = prove::prove(task, *candidate, options);
  const prove::Outcome& judgement = *judged.judgement;
  const Json end = {{"event", "end"},
                    {"file", ptx.filename().string()},
                    {"sha256", sha256(text)},
                    {"verdict", prove::name(judgement.verdict)},
                    {"contract", prove::name(judgement.contract)},
                    {"seconds", judgement.seconds}};
  if (!append_event(log, end, findings)) return judged;
  if (watch) watch(end);
  if (!judgement.holds()) {
    findings.add(kNotProved, fmt::format("the final candidate is {}, contract {}: no lowering is written",
                                         prove::name(judgement.verdict), prove::name(judgement.contract)));
    return judged;
  }
  const auto keep = [&](const std::filesystem::path& path, std::string_view content) {
    if (write_file(path, content, findings)) judged.files.push_back(path);
  };
  keep(ptx, text);
  keep(out / (task.name + ".proof.json"), prove::certificate(task, *candidate, judgement, options).dump(2) + "\n");
  for (auto& path : write_proposals(log, task, session.config().target, text, out, findings)) {
    judged.files.push_back(std::move(path));
  }
  return judged;
}

}  // namespace plumb::agent
