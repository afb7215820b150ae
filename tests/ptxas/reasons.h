// SPDX-License-Identifier: Apache-2.0
// Why plumb and ptxas stay apart on an instruction: each difference of a full run is of a known kind, or has no reason.
#pragma once

#include <string_view>

namespace plumb::agreement {

// Of an instruction and what each side said (empty: accepts). Empty where no kind fits.
std::string_view reason_of(std::string_view text, std::string_view plumb, std::string_view ptxas);

}  // namespace plumb::agreement
