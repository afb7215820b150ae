// SPDX-License-Identifier: Apache-2.0
#include "mutate/mutate.h"

#include <algorithm>
#include <memory>
#include <random>
#include <unordered_set>
#include <utility>

#include "base/finding.h"
#include "mutate/table.h"

namespace plumb::mutate {
namespace {

std::vector<Row> all_rows() {
  std::vector<Row> rows(order_rows().begin(), order_rows().end());
  rows.insert(rows.end(), value_rows().begin(), value_rows().end());
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kAll = all_rows();
  return kAll;
}

bool is_valid(const std::string& text, const Source& original) {
  Findings findings;
  return ptx::load(std::make_shared<const Source>(original.name(), text), findings).has_value();
}

// By operator, all edits that change the text.
std::vector<Edits> edits_of(const ptx::Module& module, const std::vector<bool>& is_wanted,
                            const std::vector<std::uint32_t>& skipped) {
  const std::unordered_set<std::uint32_t> is_skipped(skipped.begin(), skipped.end());
  std::vector<Edits> out(rows().size());
  for (const ptx::Function& function : module.functions) {
    if (function.is_declaration) continue;
    const ptx::Flow flow(module, function);
    for (std::uint32_t instr = 0; instr < function.instrs.size(); ++instr) {
      if (is_skipped.contains(module.source->locate(function.instrs[instr].opcode_span.begin).line)) continue;
      const Site site(module, function, flow, instr);
      for (std::size_t row = 0; row < rows().size(); ++row) {
        if (is_wanted[row]) rows()[row].edits(site, out[row]);
      }
    }
  }
  for (Edits& edits : out) {
    std::erase_if(edits, [&](const Edit& edit) { return module.source->slice(edit.span) == edit.replacement; });
  }
  return out;
}

}  // namespace

std::span<const Operator> operators() {
  static const std::vector<Operator> kAll = [] {
    std::vector<Operator> all;
    for (const Row& row : rows()) all.push_back(row.op);
    return all;
  }();
  return kAll;
}

const Operator* find_operator(std::string_view name) {
  for (const Operator& op : operators()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

std::string apply(const Mutant& mutant, const Source& source) {
  std::string out(source.text().substr(0, mutant.span.begin));
  out += mutant.replacement;
  out += source.text().substr(mutant.span.end);
  return out;
}

std::vector<Mutant> mutants(const ptx::CheckedModule& module, const Options& options) {
  std::vector<bool> is_wanted(rows().size(), options.operators.empty());
  for (const Operator* op : options.operators) is_wanted[static_cast<std::size_t>(op - operators().data())] = true;
  std::vector<Edits> left = edits_of(*module, is_wanted, options.skipped_lines);
  const Source& source = *module->source;
  std::mt19937_64 random(options.seed);
  for (Edits& edits : left) {
    // Not std::shuffle: its draws differ with the standard library.
    for (std::size_t at = edits.size(); at > 1; --at) std::swap(edits[at - 1], edits[random() % at]);
  }
  std::vector<Mutant> out;
  bool has_more = true;
  while (has_more) {
    has_more = false;
    for (std::size_t row = 0; row < left.size(); ++row) {
      while (!left[row].empty()) {
        Edit edit = std::move(left[row].back());
        left[row].pop_back();
        Mutant mutant{&operators()[row], edit.span, std::move(edit.replacement)};
        if (!is_valid(apply(mutant, source), source)) continue;
        out.push_back(std::move(mutant));
        if (out.size() == options.most) return out;
        has_more = true;
        break;
      }
    }
  }
  return out;
}

}  // namespace plumb::mutate
