// SPDX-License-Identifier: Apache-2.0
#include "agent/given.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace plumb::agent {

using Json = nlohmann::json;

Json given_event(const Given& given, const std::string& file) {
  Json event = {
      {"event", "given"}, {"from", given.from}, {"file", file}, {"text", given.text}, {"sha256", sha256(given.text)}};
  if (!given.kind.empty()) event["scaffold"] = given.kind;
  return event;
}

bool begins_with(const std::vector<Event>& events, const Given& given) {
  for (const Event& event : events) {
    if (event.value["event"] == "given") return event.value["text"] == given.text;
  }
  return true;
}

}  // namespace plumb::agent
