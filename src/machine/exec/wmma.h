// SPDX-License-Identifier: Apache-2.0
// Meanings of wmma. PTX leaves the order of elements in a fragment open; here it is the order that sm_90 was seen to
// use, so that programs that look into their fragments find the same elements.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(WmmaLoadA)
PLUMB_MEANING(WmmaLoadB)
PLUMB_MEANING(WmmaLoadC)
PLUMB_MEANING(WmmaStoreD)
PLUMB_MEANING(WmmaMma)

}  // namespace plumb::machine
