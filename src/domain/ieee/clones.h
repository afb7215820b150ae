// SPDX-License-Identifier: Apache-2.0
// Marks a function that is compiled for several x86-64 levels, the best of which is chosen when the program is loaded.
// Results do not depend on the choice: contraction is off, so that every version does the same operations.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PLUMB_HAS_CLONES 1
#define PLUMB_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define PLUMB_CLONES
#endif
