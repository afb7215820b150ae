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

bool restore(const session::Session& session, const RunLog& log, FinalText& final_text, Findings& findings) {
  for (const Event& event : log.events) {
    if (event.value["event"] != "call") continue;
    const session::Reply then{event.value.value("is_answer", true), event.value["output"]};
    const auto& tool = event.value["tool"].get_ref<const std::string&>();
    if (then.is_answer && leaves_files(tool, event.value["input"])) {
      const session::Reply now = session::call(session, tool, event.value["input"]);
      const std::string difference = first_difference(session::facts_of(tool, now.is_answer, now.output),
                                                      session::facts_of(tool, then.is_answer, then.output));
      if (!difference.empty()) {
        findings.add(kReplayDiffers, fmt::format("`{}` answers differently: {}", tool, difference), event.place);
        return false;
      }
    }
    final_text.remember(session, tool, then);
  }
  return true;
}

}  // namespace plumb::agent
