// SPDX-License-Identifier: Apache-2.0
// Which form each instruction of a module is. The reader asks as well, for a text that it could read in part only, so
// that one answer holds all that is wrong with it.
#pragma once

#include "base/finding.h"
#include "ptx/module.h"

namespace plumb::ptx {

bool settle_forms(Module& module, Findings& findings);  // false when an instruction is no form

}  // namespace plumb::ptx
