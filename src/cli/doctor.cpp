// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <thread>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/version.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

constexpr double kSeconds = 10;

struct Row {
  std::string name, what, use;
  bool is_here = false;
};

// The line of a program's version answer that has a number in it.
std::string version_line(const std::string& output, std::string_view wanted) {
  std::size_t at = 0;
  while (at < output.size()) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    std::string line = output.substr(at, end - at);
    if (line.find(wanted) != std::string::npos) return line;
    at = end + 1;
  }
  return output.substr(0, output.find('\n'));
}

Row program(const Context& context, std::string_view name, std::string_view wanted, std::string use) {
  Row row{std::string(name), "not on PATH", std::move(use), false};
  const std::filesystem::path path = session::find_program(name, context.search_path);
  if (path.empty()) return row;
  const session::ProcessResult result = session::run_process({path.string(), "--version"}, kSeconds);
  row.is_here = result.exit_code == 0;
  row.what = row.is_here ? fmt::format("{} ({})", path.string(), version_line(result.output, wanted))
                         : fmt::format("{} does not run", path.string());
  return row;
}

Row driver() {
  Row row{"GPU driver", "none", "not needed: proofs and runs use the CPU", false};
  Findings ignored;
  std::error_code error;
  const std::filesystem::path path = "/proc/driver/nvidia/version";
  if (!std::filesystem::exists(path, error)) return row;
  if (const auto text = read_file(path, ignored)) {
    row.is_here = true;
    row.what = text->substr(0, text->find('\n'));
  }
  return row;
}

void run_doctor(Context& context) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::vector<Row> rows = {
      {"plumb", std::string(kVersion), "", true},
      {"cores", fmt::format("{}", cores), "", true},
      program(context, "python3", "Python", "needed to prove: reads the syntax of Triton sources"),
      program(context, "ptxas", "release", "optional: a second opinion on what assembles"),
      program(context, "nvdisasm", "release", "optional: shows machine code"),
      driver(),
      {"cache", context.cache.empty() ? "none" : context.cache.string(), "parsed Python sources",
       !context.cache.empty()},
  };
  nlohmann::json object = nlohmann::json::object();
  std::string text;
  for (const Row& row : rows) {
    object[row.name] = {{"here", row.is_here}, {"what", row.what}};
    const std::string_view mark = row.is_here ? "ok" : "--";
    text += fmt::format("{}  {:<11} {}{}\n", mark, row.name, row.what,
                        row.is_here || row.use.empty() ? "" : "; " + row.use);
  }
  const bool can_prove = rows[2].is_here;
  object["can_prove"] = can_prove;
  text += can_prove ? "plumb can prove, run and check here\n" : "plumb can check PTX here; to prove, install python3\n";
  answer(context, object, text, can_prove);
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("doctor", "say what this machine has of what plumb can use");
  add_json(*command, context);
  command->callback([&context] { run_doctor(context); });
}

}  // namespace plumb::cli
