// SPDX-License-Identifier: Apache-2.0
// What holds of every text: it is read or diagnosed; what is read prints to text that reads to the same tree, and
// formats idempotently.
#pragma once

#include <string>

namespace plumb::fuzzing {

// The claim that this text breaks; null when all hold.
const char* broken_claim(std::string text);

}  // namespace plumb::fuzzing
