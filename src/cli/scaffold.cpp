// SPDX-License-Identifier: Apache-2.0
#include "session/scaffold.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "session/knowledge.h"

namespace plumb::cli {
namespace {

struct ScaffoldArguments {
  std::string kind, target, out;
};

void list_scaffolds(Context& context, const std::string& target) {
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  for (const session::Scaffold& each : session::scaffolds()) {
    if (!session::holds_for(each.targets, target)) continue;
    rows.push_back({{"kind", each.kind}, {"targets", each.targets}, {"about", each.about}});
    text += fmt::format("{:<18} {:<16} {}\n", each.kind, each.targets, each.about);
  }
  answer(context, {{"scaffolds", std::move(rows)}}, text, true);
}

void run_scaffold(Context& context, const ScaffoldArguments& arguments) {
  if (arguments.kind.empty()) return list_scaffolds(context, arguments.target);
  Findings findings;
  const session::Scaffold* scaffold = session::find_scaffold(arguments.kind, arguments.target, findings);
  if (scaffold == nullptr) return refuse(context, findings);
  nlohmann::json object = {{"kind", scaffold->kind}, {"targets", scaffold->targets}, {"about", scaffold->about}};
  if (arguments.out.empty()) {
    object["ptx"] = scaffold->ptx();
    return answer(context, object, std::string(scaffold->ptx()), true);
  }
  const auto files = session::write_scaffold(*scaffold, arguments.out, findings);
  if (files.empty()) return refuse(context, findings);
  std::string text;
  for (const auto& file : files) {
    object["files"].push_back(file.string());
    text += fmt::format("wrote {}\n", file.string());
  }
  answer(context, object,
         text + fmt::format("prove it with `plumb prove {} {}`\n", arguments.out, files.back().string()), true);
}

}  // namespace

void add_scaffold(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("scaffold", "give a proved skeleton to start from; without a kind, list them");
  const auto arguments = std::make_shared<ScaffoldArguments>();  // shared: the callback outlives this function
  CLI::Option* kind = command->add_option("KIND", arguments->kind, "which");
  CLI::Option* target = command->add_option("--target", arguments->target, "as in sm_89");
  kind->needs(target);
  command->add_option("--out", arguments->out, "write it with its task into this folder; default: print the PTX")
      ->needs(kind);
  add_json(*command, context);
  command->callback([arguments, &context] { run_scaffold(context, *arguments); });
}

}  // namespace plumb::cli
