// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "agent/codes.h"
#include "cli/commands.h"
#include "session/codes.h"

namespace plumb::cli {
namespace {

std::vector<const Code*> known_codes() {
  std::vector<const Code*> out = session::all_codes();
  const auto own = agent::codes();
  out.insert(out.end(), own.begin(), own.end());
  std::sort(out.begin(), out.end(), [](const Code* a, const Code* b) { return a->id < b->id; });
  return out;
}

void run_explain(Context& context, const std::string& id) {
  const std::vector<const Code*> known = known_codes();
  if (id.empty()) {
    nlohmann::json list = nlohmann::json::array();
    std::string text;
    for (const Code* code : known) {
      list.push_back({{"code", code->id}, {"summary", code->summary}});
      text += fmt::format("{:<28} {}\n", code->id, code->summary);
    }
    return answer(context, {{"codes", std::move(list)}}, text, true);
  }
  for (const Code* code : known) {
    if (code->id != id) continue;
    const nlohmann::json object = {{"code", code->id}, {"summary", code->summary}, {"explanation", code->explanation}};
    return answer(context, object, fmt::format("{}: {}\n\n{}\n", code->id, code->summary, code->explanation), true);
  }
  Findings findings;
  findings.add(session::kUnknownCode, fmt::format("there is no code `{}`", id)).hint =
      "`plumb explain` lists all of them";
  refuse(context, findings);
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("explain", "explain the code of a finding; without one, list them");
  const auto id = std::make_shared<std::string>();  // shared: the callback outlives this function
  command->add_option("CODE", *id, "as it stands in brackets behind a message");
  add_json(*command, context);
  command->callback([id, &context] { run_explain(context, *id); });
}

}  // namespace plumb::cli
