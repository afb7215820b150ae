// SPDX-License-Identifier: Apache-2.0
// The hint of a finding of a run.
#pragma once

#include <string>

#include "base/finding.h"

namespace plumb::machine {

// What the code's explanation says behind "Mend: ", without the full stop; empty where it says nothing.
std::string mend_of(const Code& code);

}  // namespace plumb::machine
