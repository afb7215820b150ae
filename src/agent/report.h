// SPDX-License-Identifier: Apache-2.0
// A run told to people: on a terminal, or as one page of HTML that needs nothing but itself.
#pragma once

#include <string>

#include "agent/story.h"

namespace plumb::agent {

std::string report_text(const Story& story, bool colour);
std::string report_html(const Story& story);
nlohmann::json report_json(const Story& story);

}  // namespace plumb::agent
