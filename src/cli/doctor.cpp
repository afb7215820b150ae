// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <thread>

#include "cli/commands.h"
#include "cli/version.h"
#include "gpu/process.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

constexpr double kSeconds = 10, kCardSeconds = 60;

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

// A worker's own word: it loads the driver and opens the card, or says why not.
Row card() {
  Row row{"GPU", "none", "needed to test, bench and profile; proofs and runs use the CPU", false};
  gpu::WorkerProcess worker(gpu::own_worker_command({}));
  const nlohmann::json answer = worker.ask({{"op", "facts"}}, kCardSeconds);
  row.is_here = answer.value("status", "") == "done";
  row.what = answer.value("message", "no answer");
  if (!row.is_here) return row;
  const nlohmann::json& facts = answer["card"];
  row.what = fmt::format("{}, compute capability {}, {} GiB; driver {}, CUDA {}; guards: {}", facts.value("name", ""),
                         facts.value("compute", ""), facts.value("memory_bytes", std::uint64_t{0}) >> 30,
                         facts.value("driver", ""), facts.value("cuda", ""), facts.value("guard", ""));
  return row;
}

// What `plumb baseline` needs of Python.
Row triton(const Context& context) {
  Row row{"Triton", "python3 does not import it", "needed for baselines", false};
  const std::filesystem::path python = session::find_program("python3", context.search_path);
  if (python.empty()) return row;
  const session::ProcessResult result =
      session::run_process({python.string(), "-c",
                            "import torch, triton; print(f'Triton {triton.__version__}, PyTorch {torch.__version__}')"},
                           kCardSeconds);
  row.is_here = result.exit_code == 0;
  if (row.is_here) row.what = version_line(result.output, "Triton");
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
      program(context, "cuobjdump", "release", "optional: shows machine code"),
      program(context, "ncu", "Version", "optional: reads hardware counters"),
      card(),
      triton(context),
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
