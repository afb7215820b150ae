// SPDX-License-Identifier: Apache-2.0
// A run goes on after a kill: what its log says was written is written again, in a run folder that need not be there
// any more. A call that was killed before its event was logged did not happen.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "agent/judge.h"
#include "agent/run_log.h"
#include "base/finding.h"
#include "session/session.h"

namespace plumb::agent {

// Whether a call leaves something in the run folder, so that it must be carried out to its end and again on restoring.
bool leaves_files(std::string_view tool, const nlohmann::json& input);
// Carries out one call of the log again if it leaves something in the run folder. False with a finding where its answer
// comes out otherwise than the log says.
bool make_again(const session::Session& session, const Event& call, Findings& findings);
// Puts the text of a `given` event into the run folder.
bool take_given(const session::Session& session, const nlohmann::json& event, FinalText& final_text,
                Findings& findings);
// Carries out the calls of the log that leave something in the run folder, and tells `final_text` of all calls. False
// with a finding where a text comes out otherwise than the log says. The session has the log's seed.
bool restore(const session::Session& session, const RunLog& log, FinalText& final_text, Findings& findings);

}  // namespace plumb::agent
