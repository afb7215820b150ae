// SPDX-License-Identifier: Apache-2.0
// How a buffer keeps its tags: as their difference from the tag that all its bytes begin with. What is never written is
// zeros then, and pages of zeros take no memory: most of a large input stays as it is.
#pragma once

#include "domain/memory.h"

namespace plumb::domain {

constexpr Tag first_tag(Init init) {
  switch (init) {
    case Init::Abstract:
      return kPristineTag;
    case Init::Undefined:
      return kUndefinedTag;
    case Init::Concrete:
      break;
  }
  return 0;
}

// From a tag to what is stored of it, and back.
constexpr Tag stored_tag(Init init, Tag tag) { return tag ^ first_tag(init); }

}  // namespace plumb::domain
