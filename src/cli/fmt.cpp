// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "ptx/format.h"

namespace plumb::cli {
namespace {

struct FmtArguments {
  std::vector<std::string> files;
  bool is_check = false, is_write = false;
};

void run_fmt(Context& context, const FmtArguments& arguments) {
  Findings findings;
  nlohmann::json files = nlohmann::json::array();
  std::string text;
  bool is_even = true;
  for (const std::string& path : arguments.files) {
    const SourcePtr source = read_source(path, findings);
    const auto formatted = source ? ptx::format(source, findings) : std::nullopt;
    if (!formatted) return refuse(context, findings);
    const bool is_same = *formatted == source->text();
    is_even = is_even && is_same;
    files.push_back({{"file", path}, {"formatted", is_same}});
    if (arguments.is_write) {
      if (!is_same && !write_file(path, *formatted, findings)) return refuse(context, findings);
    } else if (!arguments.is_check) {
      files.back()["text"] = *formatted;
      text += *formatted;
    } else if (!is_same) {
      text += fmt::format("{}: not formatted\n", path);
    }
  }
  answer(context, {{"files", std::move(files)}}, text, is_even || !arguments.is_check);
}

}  // namespace

void add_fmt(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("fmt", "format PTX: even indentation and spacing, comments kept");
  const auto arguments = std::make_shared<FmtArguments>();  // shared: the callback outlives this function
  command->add_option("FILE", arguments->files, "PTX files")->required();
  CLI::Option* check =
      command->add_flag("--check", arguments->is_check, "change nothing; exit 1 when a file is not formatted");
  command->add_flag("--write", arguments->is_write, "replace the files")->excludes(check);
  add_json(*command, context);
  command->callback([arguments, &context] { run_fmt(context, *arguments); });
}

}  // namespace plumb::cli
