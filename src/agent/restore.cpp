// SPDX-License-Identifier: Apache-2.0
#include "agent/restore.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/codes.h"
#include "agent/replay.h"

namespace plumb::agent {

using Json = nlohmann::json;

bool leaves_files(std::string_view tool, const Json& input) {
  return tool == "write_candidate" || tool == "patch_candidate" ||
         (tool == "run" && input.is_object() && input.value("save", Json()) == true);
}

bool make_again(const session::Session& session, const Event& call, Findings& findings) {
  const Json& input = call.value["input"];
  const Json& then = call.value["output"];
  const auto& tool = call.value["tool"].get_ref<const std::string&>();
  if (!call.value.value("is_answer", true) || !leaves_files(tool, input)) return true;
  const session::Reply now = session::call(session, tool, input);
  const std::string difference =
      first_difference(session::facts_of(tool, now.is_answer, now.output), session::facts_of(tool, true, then));
  if (difference.empty()) return true;
  findings.add(kReplayDiffers, fmt::format("`{}` answers differently: {}", tool, difference), call.place);
  return false;
}

bool take_given(const session::Session& session, const Json& event, FinalText& final_text, Findings& findings) {
  if (!session.write(event["file"].get_ref<const std::string&>(), event["text"].get_ref<const std::string&>(),
                     findings))
    return false;
  final_text.remember(session, {"write_candidate", Json::object()}, {true, event});
  return true;
}

bool restore(const session::Session& session, const RunLog& log, FinalText& final_text, Findings& findings) {
  for (const Event& event : log.events) {
    if (event.value["event"] == "given" && !take_given(session, event.value, final_text, findings)) return false;
    if (event.value["event"] != "call") continue;
    if (!make_again(session, event, findings)) return false;
    const session::Reply then{event.value.value("is_answer", true), event.value["output"]};
    final_text.remember(session, {event.value["tool"], event.value["input"]}, then);
  }
  return true;
}

}  // namespace plumb::agent
