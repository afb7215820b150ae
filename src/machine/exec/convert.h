// SPDX-License-Identifier: Apache-2.0
// Meanings of cvt and cvt.pack: between integers, floats and the packed formats of sm_80 to sm_90. The narrower formats
// of sm_100 are not modelled.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Cvt)
PLUMB_MEANING(CvtPack)

}  // namespace plumb::machine
