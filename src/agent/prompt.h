// SPDX-License-Identifier: Apache-2.0
// What the loop says to a model. The system text and the first prompt never change within a run, so that a provider's
// cache of the conversation's beginning holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/course.h"
#include "session/session.h"

namespace plumb::agent {

// How candidates are written and judged, and what the knowledge base holds.
std::string system_text();

struct Setting {
  std::string from = "source";  // "source", "scaffold" or "seed"
  std::string file;             // given at the start; empty for "source"
  bool has_gpu = false;
  unsigned lane = 0, lanes = 1;
};
std::string first_prompt(const session::Session& session, const Setting& setting);
std::string stage_text(std::string_view stage, bool has_gpu);

// What a model must know to go on in a fresh conversation: the attempts so far, in a line each, and the candidate that
// it should go on from.
std::string restart_text(const std::vector<std::string>& attempts, const std::optional<Candidate>& candidate);
// One attempt in a line; empty for a call that judges nothing.
std::string attempt_line(const nlohmann::json& event);

// An answer as the model sees it: cut where it is too long, with what to do about it.
std::string shown_answer(const session::Reply& reply);

}  // namespace plumb::agent
