// SPDX-License-Identifier: Apache-2.0
#include "ptx/isa.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
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

}  // namespace

void add_isa(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("isa", "look up PTX instructions");
  const auto words = std::make_shared<std::vector<std::string>>();  // shared: the callback outlives this function
  command->add_option("QUERY", *words, "an opcode, and some of its modifiers")->required();
  add_json(*command, context);
  command->callback([words, &context] { run_isa(context, fmt::format("{}", fmt::join(*words, " "))); });
}

}  // namespace plumb::cli
