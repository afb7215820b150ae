// SPDX-License-Identifier: Apache-2.0
#include "ptx_claims.h"

#include <memory>
#include <optional>
#include <utility>

#include "ptx/format.h"
#include "ptx/module.h"

namespace plumb::fuzzing {

const char* broken_claim(std::string text) {
  const auto source = std::make_shared<Source>("fuzz.ptx", std::move(text));
  Findings findings;
  std::optional<ptx::Module> module = ptx::parse(source, findings);
  if (module.has_value() == findings.has_error()) return "a text is read or has an error";
  if (!module) return nullptr;
  const auto printed = std::make_shared<Source>("printed.ptx", ptx::print(*module));
  const std::optional<ptx::Module> again = ptx::parse(printed, findings);
  if (!again) return "printed text reads";
  if (!ptx::equal(*module, *again)) return "printed text reads to the same tree";
  const std::optional<std::string> once = ptx::format(source, findings);
  if (!once) return "what reads can be formatted";
  if (ptx::format(std::make_shared<Source>("once.ptx", *once), findings) != once) return "formatting is idempotent";
  const bool is_legal = ptx::check(std::move(*module), findings).has_value();
  if (is_legal == findings.has_error()) return "a module is legal or has an error";
  return nullptr;
}

}  // namespace plumb::fuzzing
