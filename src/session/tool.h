// SPDX-License-Identifier: Apache-2.0
// The one table of tools. A model, a run log, the command line and later doors all call these and nothing else; names,
// help and input schemas are described here once. A tool never throws, prints or leaves the run folder.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "session/session.h"

namespace plumb::session {

struct Reply {
  // False: the call itself was wrong (unknown tool, bad input, a file that is not there, PTX that does not read). True
  // says nothing about the candidate: a verdict `different` is a good answer.
  bool is_answer = true;
  nlohmann::json output;
};

struct Tool {
  std::string_view name;
  std::string_view help;    // one line
  std::string_view schema;  // JSON Schema of the input object
  Reply (*handler)(const Session& session, const nlohmann::json& input);
  nlohmann::json (*facts)(const nlohmann::json& output);  // of its answers; session/facts.h
};

std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);

// Checks the input against the schema, calls the handler, and removes the places of the run folder and the task from
// the answer, so that it is the same wherever the folder lies.
Reply call(const Session& session, std::string_view name, const nlohmann::json& input);

// [{"name", "help", "schema"}], and its hash, which a run log names.
nlohmann::json describe_tools();
std::string tools_sha256();

// Whether its answers are a card's: times and numbers that no other run repeats.
bool is_of_card(std::string_view tool);

// What another plumb must answer to the same call to count as having answered the same: an object without wording,
// times and versions. `is_answer` is always in it; of a refusal and of a tool that is not in the table, the findings as
// well.
nlohmann::json facts_of(std::string_view tool, bool is_answer, const nlohmann::json& output);

}  // namespace plumb::session
