// SPDX-License-Identifier: Apache-2.0
#include "machine/mend.h"

namespace plumb::machine {

std::string mend_of(const Code& code) {
  constexpr std::string_view kMend = "Mend: ";
  const std::size_t at = code.explanation.find(kMend);
  if (at == std::string_view::npos) return {};
  const std::string_view mend = code.explanation.substr(at + kMend.size());
  return std::string(mend.substr(0, mend.size() - 1));
}

}  // namespace plumb::machine
