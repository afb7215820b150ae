// SPDX-License-Identifier: Apache-2.0
// The handlers behind the tool table.
#pragma once

#include <nlohmann/json.hpp>

#include "session/tool.h"

namespace plumb::session {

// candidate_tools.cpp: the text of candidates.
Reply write_candidate(const Session& session, const nlohmann::json& input);
Reply patch_candidate(const Session& session, const nlohmann::json& input);
Reply read_candidate(const Session& session, const nlohmann::json& input);

// judge_tools.cpp: what a candidate is worth.
Reply assemble(const Session& session, const nlohmann::json& input);
Reply check_candidate(const Session& session, const nlohmann::json& input);
Reply prove_candidate(const Session& session, const nlohmann::json& input);
Reply run_candidate(const Session& session, const nlohmann::json& input);

// gpu_tools.cpp: what a candidate does on the GPU.
Reply test_candidate(const Session& session, const nlohmann::json& input);
Reply bench_candidate(const Session& session, const nlohmann::json& input);
Reply profile_candidate(const Session& session, const nlohmann::json& input);

// lookup_tools.cpp: what there is to know.
Reply show_task(const Session& session, const nlohmann::json& input);
Reply look_up_form(const Session& session, const nlohmann::json& input);
Reply explain_code(const Session& session, const nlohmann::json& input);
Reply look_up_knowledge(const Session& session, const nlohmann::json& input);
Reply propose_entry(const Session& session, const nlohmann::json& input);

// {"findings": [...]}, and the call was wrong.
Reply refuse(const Findings& findings);

}  // namespace plumb::session
