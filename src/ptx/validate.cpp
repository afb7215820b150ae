// SPDX-License-Identifier: Apache-2.0
// Decides which form each instruction is, by its words and its operands, and reports those that are none.
#include "ptx/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/codes.h"
#include "ptx/isa/table.h"
#include "ptx/match.h"
#include "ptx/module.h"
#include "ptx/register_limit.h"
#include "ptx/suggest.h"

namespace plumb::ptx {
namespace {

constexpr std::size_t kMostFindings = 50;

class Validator {
 public:
  Validator(Module& module, Findings& findings)
      : module_(module), findings_(findings), by_spelling_(module.spellings->size()) {}

  bool run() {
    for (Function& function : module_.functions) {
      function_ = &function, grouped_ = nullptr;
      for (Instr& instr : function.instrs) {
        if (findings_.list().size() >= kMostFindings) return false;
        check(instr);
      }
    }
    return !any_error_;
  }

 private:
  // What the words alone decide.
  struct Candidate {
    const Line* line = nullptr;
    Filling filling;
    const Needs* unmet = nullptr;
  };

  const std::vector<Candidate>& candidates(const Instr& instr) {
    std::optional<std::vector<Candidate>>& out = by_spelling_[instr.spelling];
    if (out) return *out;
    out.emplace();
    const Table& isa = table();
    for (const std::uint32_t index : isa.by_opcode.at(instr.opcode)) {
      Candidate one{&isa.lines[index], {}, nullptr};
      if (!fill(*one.line, instr.mods, one.filling)) continue;
      one.unmet = unmet(*one.line, instr);
      out->push_back(std::move(one));
    }
    return *out;
  }

  void check(Instr& instr) {
    std::optional<Mismatch> best;
    const Candidate* best_one = nullptr;
    const Candidate* wrong_target = nullptr;
    const std::vector<Candidate>& all = candidates(instr);
    for (const Candidate& one : all) {
      std::optional<Mismatch> mismatch = match(module_, *function_, *one.line, one.filling, instr);
      if (mismatch) {
        if (!best || mismatch->matched > best->matched) best = std::move(mismatch), best_one = &one;
        continue;
      }
      if (one.unmet != nullptr) {
        if (wrong_target == nullptr) wrong_target = &one;
        continue;
      }
      instr.form = one.line->form;
      if (function_->is_entry) check_registers(instr);
      return check_group(instr, *one.line);
    }
    any_error_ = true;
    if (wrong_target != nullptr) return report_needs(*wrong_target, instr);
    if (all.empty()) return report_words(instr);
    Finding& finding = findings_.add(*best->code, std::move(best->message), {module_.source, best->span});
    finding.notes.push_back({fmt::format("the form is `{}`", pretty(*best_one->line)), {}});
    finding.notes.push_back(rule_of(*best_one->line));
  }

  // Tensor memory is used by single CTAs or by pairs, not by both in one function.
  void check_group(const Instr& instr, const Line& line) {
    if (!instr.has(Mod::cta_group_1) && !instr.has(Mod::cta_group_2)) return;
    if (!module_.source->slice(instr.opcode_span).starts_with("tcgen05")) return;
    if (grouped_ == nullptr) grouped_ = &instr;
    if (grouped_->has(Mod::cta_group_1) == instr.has(Mod::cta_group_1)) return;
    any_error_ = true;
    Finding& finding =
        findings_.add(kModifier, "a function takes one of `.cta_group::1` and `.cta_group::2` in all its `tcgen05`",
                      {module_.source, instr.opcode_span});
    finding.notes.push_back({"the other one is here", {module_.source, grouped_->opcode_span}});
    finding.notes.push_back(rule_of(line));
    finding.hint = instr.has(Mod::cta_group_1) ? "write `.cta_group::2`" : "write `.cta_group::1`";
  }

  // -- version and target --
  const Needs* unmet(const Line& line, const Instr& instr) const {
    const auto is_met = [&](const Needs& needs) {
      return module_.version >= needs.version && allows(needs, module_.target);
    };
    if (!is_met(line.needs)) return &line.needs;
    for (const WordNeeds& row : line.word_needs) {
      for (const Mod word : row.words) {
        if (instr.has(word) && !is_met(row.needs)) return &row.needs;
      }
    }
    for (const Mod mod : instr.mods) {
      const bool is_named = std::any_of(line.word_needs.begin(), line.word_needs.end(), [&](const WordNeeds& row) {
        return std::find(row.words.begin(), row.words.end(), mod) != row.words.end();
      });
      if (is_named) continue;
      for (const Needs& needs : table().mod_needs[static_cast<std::size_t>(mod)]) {
        if (!is_met(needs)) return &needs;
      }
    }
    return nullptr;
  }

  void report_needs(const Candidate& one, const Instr& instr) {
    const Needs& needs = *one.unmet;
    const Place place{module_.source, instr.opcode_span};
    const std::string_view text = module_.source->slice(instr.opcode_span);
    const bool is_target = !allows(needs, module_.target);
    const bool is_version = module_.version < needs.version;
    std::string message =
        is_target && is_version ? fmt::format("`{}` needs PTX {}.{} and {}, and the module has {}.{} and {}", text,
                                              needs.version.major, needs.version.minor, describe_targets(needs),
                                              module_.version.major, module_.version.minor, module_.target.text)
        : is_target
            ? fmt::format("`{}` needs {}, and the target is {}", text, describe_targets(needs), module_.target.text)
            : fmt::format("`{}` needs PTX {}.{}, and the version is {}.{}", text, needs.version.major,
                          needs.version.minor, module_.version.major, module_.version.minor);
    findings_.add(is_target ? kTarget : kVersion, std::move(message), place).notes.push_back(rule_of(*one.line));
  }

  void check_registers(const Instr& instr) {
    const unsigned least = least_registers(instr);
    if (least == 0) return;
    const RegisterLimit limit = register_limit(*function_);
    if (least <= limit.count) return;
    any_error_ = true;
    findings_
        .add(kTooFewRegisters,
             fmt::format("`{}` takes {} registers of a thread, and {}", module_.source->slice(instr.opcode_span), least,
                         limit.reason),
             {module_.source, instr.opcode_span})
        .notes.push_back({"PTX ISA, \"performance-tuning-directives-maxnreg\"; the number is ptxas 13.0's", {}});
  }

  void report_words(const Instr& instr) {
    const std::string_view whole = module_.source->slice(instr.opcode_span);
    const WordAdvice advice = advise(instr.opcode, instr.mods, table().by_opcode.at(instr.opcode));
    Finding& finding =
        findings_.add(kModifier, fmt::format("`{}` is no form of `{}`: {}", whole, instr.opcode, advice.reason),
                      {module_.source, instr.opcode_span});
    for (const Line* line : advice.nearest) finding.notes.push_back({fmt::format("legal: `{}`", pretty(*line)), {}});
    finding.notes.push_back(rule_of(*advice.nearest.front()));
    if (!advice.spelling.empty()) finding.hint = fmt::format("did you mean `{}`?", advice.spelling);
  }

  static Note rule_of(const Line& line) { return {fmt::format("PTX ISA, \"{}\"", spec(line.form).manual), {}}; }

  Module& module_;
  Findings& findings_;
  Function* function_ = nullptr;
  const Instr* grouped_ = nullptr;  // the function's first `tcgen05` with a group
  bool any_error_ = false;
  std::vector<std::optional<std::vector<Candidate>>> by_spelling_;
};

}  // namespace

bool settle_forms(Module& module, Findings& findings) { return Validator(module, findings).run(); }

std::optional<CheckedModule> check(Module module, Findings& findings) {
  if (!settle_forms(module, findings)) return std::nullopt;
  return CheckedModule(std::make_shared<const Module>(std::move(module)));
}

}  // namespace plumb::ptx
