// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_collector.h"

namespace plumb::machine {

std::optional<CollectorHint> collector_hint(std::string_view word) {
  constexpr std::string_view kPrefix = "collector::";
  if (!word.starts_with(kPrefix)) return std::nullopt;
  word.remove_prefix(kPrefix.size());
  CollectorHint out;
  if (word[0] == 'b') out.buffer = static_cast<std::uint8_t>(word[1] - '0');
  word.remove_prefix(word.find("::") + 2);
  out.collecting = word == "fill"      ? Collecting::Fill
                   : word == "use"     ? Collecting::Use
                   : word == "lastuse" ? Collecting::LastUse
                                       : Collecting::Discard;
  return out;
}

}  // namespace plumb::machine
