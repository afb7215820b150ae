// SPDX-License-Identifier: Apache-2.0
// One function per command, each in a file of its name: declares the command, its arguments and what it does.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/context.h"

namespace plumb::cli {

void add_prove(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_mutate(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_lower(CLI::App& app, Context& context);
void add_mcp(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_tool(CLI::App& app, Context& context);
void add_fmt(CLI::App& app, Context& context);
void add_isa(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_test(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_baseline(CLI::App& app, Context& context);
void add_profile(CLI::App& app, Context& context);
void add_worker(CLI::App& app, Context& context);
void add_scaffold(CLI::App& app, Context& context);
void add_suite(CLI::App& app, Context& context);
void add_new_task(CLI::App& app, Context& context);

// --json, which every command has but `mcp`, whose standard output belongs to the protocol.
inline void add_json(CLI::App& command, Context& context) {
  command.add_flag("--json", context.is_json, "print one JSON object");
}
// --workers, for commands that compute.
inline void add_workers(CLI::App& command, Context& context) {
  command.add_option("-j,--workers", context.workers, "threads; 0: as many as there are cores");
}

// --memory, for commands that hold abstract values.
inline void add_memory(CLI::App& command, std::uint64_t& bytes) {
  command
      .add_option("--memory", bytes, "what abstract values may take, as 8GB; default: three quarters of the machine's")
      ->transform(CLI::AsSizeValue(false));
}

}  // namespace plumb::cli
