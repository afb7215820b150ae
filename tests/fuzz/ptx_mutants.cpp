// SPDX-License-Identifier: Apache-2.0
// The fuzzer's claims on seeded mutants, where there is no libFuzzer:  ptx_mutants COUNT FILE...
// Each file gives rise to a chain of mutants; a text that breaks a claim is printed, and the exit status is 1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "ptx/module.h"
#include "ptx_claims.h"
#include "ptx_mutation.h"

namespace {

constexpr std::uint32_t kLongestChain = 8;  // further on nearly nothing reads

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto count = static_cast<std::uint32_t>(std::atoi(argv[1]));
  std::uint32_t read = 0, tried = 0;
  for (int i = 2; i < argc; ++i) {
    plumb::Findings findings;
    const std::optional<std::string> seed = plumb::read_file(argv[i], findings);
    if (!seed) return 2;
    std::string text = *seed;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n % kLongestChain == 0) text = *seed;
      text = plumb::fuzzing::mutate(text, n);
      if (const char* const claim = plumb::fuzzing::broken_claim(text)) {
        std::printf("%s, mutant %u breaks: %s\n%s\n", argv[i], n, claim, text.c_str());
        return 1;
      }
      plumb::Findings own;
      read += plumb::ptx::parse(std::make_shared<plumb::Source>("mutant.ptx", text), own) ? 1 : 0;
      ++tried;
    }
  }
  std::printf("%u mutants, %u of them read\n", tried, read);
  return read * 20 > tried ? 0 : 1;  // mutants that never read would test nothing
}
