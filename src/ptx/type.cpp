// SPDX-License-Identifier: Apache-2.0
#include "ptx/type.h"

namespace plumb::ptx {
namespace {

constexpr std::string_view kNames[] = {"none",
#define X(name, size) #name,
                                       PLUMB_PTX_TYPES(X)
#undef X
};

}  // namespace

std::string_view name(Type type) { return kNames[static_cast<unsigned>(type)]; }

std::optional<Type> type_from_name(std::string_view text) {
  for (unsigned i = 1; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return static_cast<Type>(i);
  }
  return std::nullopt;
}

}  // namespace plumb::ptx
