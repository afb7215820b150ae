// SPDX-License-Identifier: Apache-2.0
// Text in pages that plumb writes.
#pragma once

#include <string>
#include <string_view>

namespace plumb::session {

// As text or as an attribute's value.
inline std::string escape_html(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += c;
  }
  return out;
}

}  // namespace plumb::session
