// SPDX-License-Identifier: Apache-2.0
#include "ptx/isa.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/coverage.h"
#include "session/codes.h"

namespace plumb::cli {
namespace {

void run_isa(Context& context, const std::string& query) {
  nlohmann::json forms = nlohmann::json::array();
  std::string text;
  for (const ptx::IsaEntry& entry : ptx::look_up(query)) {
    forms.push_back({{"name", entry.name},
                     {"syntax", entry.syntax},
                     {"since", entry.since},
                     {"targets", entry.targets},
                     {"manual", entry.manual}});
    for (const std::string& line : entry.syntax) text += line + "\n";
    text +=
        fmt::format("    {}{}{}  ({})\n", entry.since, entry.targets.empty() ? "" : ", ", entry.targets, entry.manual);
  }
  if (!forms.empty()) return answer(context, {{"forms", std::move(forms)}}, text, true);
  Findings findings;
  findings.add(session::kUnknownForm, fmt::format("no instruction matches `{}`", query)).hint =
      "write an opcode and some of its modifiers, as in `cp.async` or `mma bf16`";
  refuse(context, findings);
}

void run_coverage(Context& context, const std::string& vectors, const std::string& proofs) {
  const std::vector<CoverageRow> rows = coverage(vectors, proofs);
  nlohmann::json forms = nlohmann::json::array();
  for (const CoverageRow& row : rows) {
    forms.push_back({{"form", row.form},
                     {"instructions", row.opcodes},
                     {"lines", row.lines},
                     {"since", row.since},
                     {"executed", row.unmodelled.empty()},
                     {"proved", row.is_proved},
                     {"vectors", row.vectors}});
    if (!row.unmodelled.empty()) forms.back()["missing"] = row.unmodelled;
  }
  answer(context, {{"forms", std::move(forms)}}, coverage_page(rows), true);
}

struct IsaArguments {
  std::vector<std::string> words;
  bool is_coverage = false;
  std::string vectors, proofs;
};

}  // namespace

void add_isa(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("isa", "look up PTX instructions");
  const auto arguments = std::make_shared<IsaArguments>();  // shared: the callback outlives this function
  CLI::Option* query = command->add_option("QUERY", arguments->words, "an opcode, and some of its modifiers");
  command->add_flag("--coverage", arguments->is_coverage, "every form, and what plumb does with it")->excludes(query);
  command->add_option("--vectors", arguments->vectors, "with --coverage: the folder of hardware vectors to count");
  command->add_option("--proofs", arguments->proofs, "with --coverage: the folder whose certificates count");
  add_json(*command, context);
  command->callback([arguments, &context] {
    if (arguments->is_coverage) return run_coverage(context, arguments->vectors, arguments->proofs);
    if (arguments->words.empty()) throw CLI::RequiredError("QUERY");
    run_isa(context, fmt::format("{}", fmt::join(arguments->words, " ")));
  });
}

}  // namespace plumb::cli
