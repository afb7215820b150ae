// SPDX-License-Identifier: Apache-2.0
// Meanings of tensor copies: cp.async.bulk.tensor, its reductions and prefetches.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(CpAsyncBulkTensorLoad)
PLUMB_MEANING(CpAsyncBulkTensorStore)
PLUMB_MEANING(CpReduceAsyncBulkTensor)
PLUMB_MEANING(CpAsyncBulkPrefetchTensor)

}  // namespace plumb::machine
