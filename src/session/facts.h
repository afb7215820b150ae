// SPDX-License-Identifier: Apache-2.0
// What of a tool's answer is a fact, and what is wording. Facts are what an answer rests on: verdicts, codes, places,
// counts, hashes, the shapes that were judged. A replay holds the facts of two answers against each other; wording,
// times, versions and what ptxas says may change from one plumb to the next (docs/run-log.md has the list).
#pragma once

#include <nlohmann/json.hpp>

namespace plumb::session {

// Of any answer, a refusal included: its findings. Code, severity, file, line and column, and the places of the notes.
nlohmann::json finding_facts(const nlohmann::json& output);

// One for each kind of answer; the tool table names them.
nlohmann::json task_facts(const nlohmann::json& output);
nlohmann::json text_facts(const nlohmann::json& output);
nlohmann::json assembly_facts(const nlohmann::json& output);
nlohmann::json judgement_facts(const nlohmann::json& output);
nlohmann::json run_facts(const nlohmann::json& output);
// What a card says is not repeated where there is none: such an answer has no facts.
nlohmann::json card_facts(const nlohmann::json& output);
nlohmann::json explanation_facts(const nlohmann::json& output);
// Knowledge grows from one plumb to the next, and nothing rests on what an entry says.
nlohmann::json knowledge_facts(const nlohmann::json& output);
nlohmann::json proposal_facts(const nlohmann::json& output);

}  // namespace plumb::session
