// SPDX-License-Identifier: Apache-2.0
// The last word on a run: the text that it comes down to, proved again from scratch with a fresh seed. Nothing that was
// said in the run counts, and only `proved` with the contract kept is written out as a lowering.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/provider.h"
#include "base/finding.h"
#include "prove/prove.h"
#include "session/session.h"
#include "session/tool.h"

namespace plumb::agent {

// The text to judge at the end: the last that `prove` accepted at all the task's shapes, or else the last written. Told
// of every call.
class FinalText {
 public:
  FinalText() = default;
  // Of a run that knows better which one it is.
  FinalText(SourcePtr text, std::string file, bool is_accepted)
      : text_(std::move(text)), file_(std::move(file)), is_accepted_(is_accepted) {}

  // True when this answer makes another text the final one.
  bool remember(const session::Session& session, const Call& call, const session::Reply& reply);

  const SourcePtr& text() const { return text_; }  // null before the first candidate
  const std::string& file() const { return file_; }
  bool is_accepted() const { return is_accepted_; }

 private:
  SourcePtr text_;
  std::string file_;
  bool is_accepted_ = false;
};

struct Judged {
  std::optional<prove::Outcome> judgement;  // empty: nothing to prove
  // Written to `out`, of a lowering alone: NAME.ptx, NAME.proof.json, proposals.
  std::vector<std::filesystem::path> files;
};
// Whether a call is about the shapes that the task names, and no others.
bool is_about_all_shapes(const nlohmann::json& input);

// Appends an `end` event to the log and tells `watch` of it. Why there is no lowering is among the findings.
Judged judge(const session::Session& session, const FinalText& final_text, const std::filesystem::path& out,
             const std::filesystem::path& log, const std::function<void(const nlohmann::json&)>& watch,
             Findings& findings);

}  // namespace plumb::agent
