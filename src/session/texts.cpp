// SPDX-License-Identifier: Apache-2.0
#include "session/texts.h"

namespace plumb::session {

std::string_view text_of(std::string_view name) {
  for (const Text& text : texts()) {
    if (text.name == name) return text.text;
  }
  return {};
}

}  // namespace plumb::session
