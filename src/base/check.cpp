// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace plumb {

void check_failed(const char* file, int line, const char* claim) {
  std::fprintf(stderr, "plumb: inner fault: %s:%d: `%s` does not hold; please report this with the input\n", file, line,
               claim);
#ifdef PLUMB_FUZZ
  std::abort();  // a fuzzer keeps the input of a process that a signal ends
#else
  std::_Exit(3);
#endif
}

}  // namespace plumb
