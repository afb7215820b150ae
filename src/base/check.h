// SPDX-License-Identifier: Apache-2.0
// PLUMB_CHECK states what must hold if plumb itself is right. It stays on in every build; a failure is a bug in plumb,
// never an answer to bad input.
#pragma once

namespace plumb {

[[noreturn]] void check_failed(const char* file, int line, const char* claim);

}  // namespace plumb

#define PLUMB_CHECK(claim) ((claim) ? static_cast<void>(0) : ::plumb::check_failed(__FILE__, __LINE__, #claim))
