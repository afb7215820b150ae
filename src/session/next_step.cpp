// SPDX-License-Identifier: Apache-2.0
#include "session/next_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace plumb::session {
namespace {

constexpr NextStep kSteps[] = {
    {"session.file-name", "write a candidate with `write_candidate`, under a plain name that ends in .ptx"},
    {"session.input", "call it again with what its schema asks for"},
    {"session.patch", "read the candidate with `read_candidate` and make the patch anew from that text and its sha256"},
    {"session.target", "name the target of the run in `.target`"},
    {"session.ptxas-error", "mend the line that ptxas names, then `assemble`"},
    {"ptx.target", "look with `isa` for what the target of the run has instead"},
    {"ptx.", "mend that line, then `assemble`; `isa` shows the forms of an instruction"},
    {"toml.", "mend the launch header at that place, then `assemble`"},
    {"launch.", "mend the launch header at that place, then `assemble`"},
    {"race.", "order the two places: what the later one waits for must stand between them; then `check`"},
    {"async.", "put the wait for that copy before the place, then `check`"},
    {"tensor.", "put the wait or the fence that is missing before the place, then `check`"},
    {"proxy.", "put the proxy fence behind the writes and before what orders them and the copy, then `check`"},
    {"mbarrier.", "count the arrivals, the bytes and the phases of that barrier along one slot, then `check`"},
    {"machine.deadlock", "follow what each waiting thread waits for, and who should have arrived; then `check`"},
    {"machine.out-of-bounds", "guard that access at the shape named, then `check` this shape"},
    {"machine.misaligned",
     "take that access only where the address allows it: proofs try pointers off by an element, too"},
    {"machine.unmodelled",
     "say it with instructions that plumb executes, or split the kernel so that it is not needed"},
    {"machine.", "mend that place, then `check` the shape named"},
    {"prove.element-missing",
     "look which part of the grid or which mask should have written that element, then `prove` the shape"},
    {"prove.undefined-output",
     "follow that element back to the operand that no instruction has written yet, then `prove` the shape"},
    {"prove.element-extra", "narrow the mask of the store that wrote that element, then `prove` the shape"},
    {"prove.element-differs",
     "follow that element through the candidate, with `run` at that shape beside it; then `prove` the shape"},
    {"prove.no-witness",
     "the two differ by little everywhere: look for a constant or a count that is off, then `prove` a small shape"},
    {"prove.budget", "`prove` at fewer or smaller shapes"},
    {"contract.", "keep the precision of the source at that place: accumulate and cast where it does; then `prove`"},
    {"gpu.none", "go on without a card: `check`, `prove` and `run` need none"},
    {"gpu.wrong", "`prove` the candidate, and `run` it at the shape where it went wrong"},
};

bool fits(std::string_view row, std::string_view code) {
  return row.ends_with('.') ? code.starts_with(row) : code == row;
}

}  // namespace

std::span<const NextStep> next_steps() { return kSteps; }

std::string next_step(const nlohmann::json& output) {
  const auto findings = output.is_object() ? output.find("findings") : output.end();
  if (!output.is_object() || findings == output.end() || !findings->is_array()) return {};
  for (const nlohmann::json& finding : *findings) {
    if (!finding.is_object() || finding.value("severity", "") != "error") continue;
    if (const std::string hint = finding.value("hint", ""); !hint.empty()) return hint;
    const std::string code = finding.value("code", "");
    const auto row =
        std::find_if(std::begin(kSteps), std::end(kSteps), [&](const NextStep& each) { return fits(each.code, code); });
    if (row != std::end(kSteps)) return std::string(row->step);
    return fmt::format("`explain` {} says what it means and what mends it", code);
  }
  return {};
}

}  // namespace plumb::session
