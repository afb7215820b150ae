// SPDX-License-Identifier: Apache-2.0
#include "ptx/space.h"

#include <iterator>

namespace plumb::ptx {
namespace {

struct Row {
  Space space;
  std::string_view name, described;
};

constexpr Row kRows[] = {
    {Space::none, "", "generic"},         {Space::reg, "reg", ".reg"},       {Space::constant, "const", ".const"},
    {Space::global, "global", ".global"}, {Space::local, "local", ".local"}, {Space::param, "param", ".param"},
    {Space::shared, "shared", ".shared"},
};
constexpr bool kIsIndexed = [] {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].space) != i) return false;
  }
  return true;
}();
static_assert(kIsIndexed, "rows stand in the order of Space");

}  // namespace

std::string_view name(Space space) { return kRows[static_cast<std::size_t>(space)].name; }
std::string_view described(Space space) { return kRows[static_cast<std::size_t>(space)].described; }

Space space_from_word(std::string_view word) {
  const std::string_view family = word.substr(0, word.find("::"));
  for (const Row& row : kRows) {
    if (row.space != Space::none && row.space != Space::reg && row.name == family) return row.space;
  }
  return Space::none;
}

}  // namespace plumb::ptx
