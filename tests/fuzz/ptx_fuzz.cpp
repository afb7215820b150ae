// SPDX-License-Identifier: Apache-2.0
// Half of the inputs come from libFuzzer's own mutations, half from those that know the grammar.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "ptx_claims.h"
#include "ptx_mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string out = plumb::fuzzing::mutate({reinterpret_cast<const char*>(data), size}, seed);
  const std::size_t count = std::min(out.size(), most);
  std::memcpy(data, out.data(), count);
  return count;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (plumb::fuzzing::broken_claim(text) != nullptr) __builtin_trap();  // so that the fuzzer keeps the input
  return 0;
}
