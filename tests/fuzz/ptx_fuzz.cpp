// SPDX-License-Identifier: Apache-2.0
// Any bytes are read or diagnosed; what is read prints to text that reads to the same tree, and formats idempotently.
#include <cstdint>
#include <memory>
#include <string>

#include "ptx/format.h"
#include "ptx/module.h"

// Aborts, so that the fuzzer keeps the input.
static void require(bool claim) {
  if (!claim) __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using plumb::Findings;
  using plumb::Source;
  const auto source = std::make_shared<Source>("fuzz.ptx", std::string(reinterpret_cast<const char*>(data), size));
  Findings findings;
  std::optional<plumb::ptx::Module> module = plumb::ptx::parse(source, findings);
  require(module.has_value() == !findings.has_error());
  if (!module) return 0;
  const auto printed = std::make_shared<Source>("printed.ptx", plumb::ptx::print(*module));
  const std::optional<plumb::ptx::Module> again = plumb::ptx::parse(printed, findings);
  require(again && plumb::ptx::equal(*module, *again));
  const std::optional<std::string> once = plumb::ptx::format(source, findings);
  require(once && plumb::ptx::format(std::make_shared<Source>("once.ptx", *once), findings) == once);
  const bool is_legal = plumb::ptx::check(std::move(*module), findings).has_value();
  require(is_legal == !findings.has_error());
  return 0;
}
