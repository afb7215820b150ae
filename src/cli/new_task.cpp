// SPDX-License-Identifier: Apache-2.0
#include "session/new_task.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "session/codes.h"

namespace plumb::cli {
namespace {

void run_new_task(Context& context, session::NewTask wanted, const std::string& kernel) {
  Findings findings;
  const std::size_t colon = kernel.rfind(':');
  if (colon == std::string::npos) {
    findings.add(session::kNewTask, fmt::format("`{}` names no function; write FILE.py:KERNEL", kernel));
    return refuse(context, findings);
  }
  wanted.kernel_file = kernel.substr(0, colon);
  wanted.function = kernel.substr(colon + 1);
  if (wanted.folder.empty()) wanted.folder = wanted.function;
  if (!session::write_new_task(wanted, context.python(), findings)) return refuse(context, findings);
  const std::string folder = wanted.folder.string();
  answer(context, {{"task", folder}, {"findings", to_json(findings)}},
         fmt::format("{}/task.toml is written; try it with `plumb run {}`\n", folder, folder), true);
}

}  // namespace

void add_new_task(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("new-task", "write a task from a Triton kernel and a description of a call");
  const auto kernel = std::make_shared<std::string>();  // shared: the callback outlives this function
  const auto wanted = std::make_shared<session::NewTask>();
  command->add_option("KERNEL", *kernel, "FILE.py:FUNCTION")->required();
  command
      ->add_option("--arg", wanted->arguments,
                   "NAME='*bf16[M, K] out', NAME='i32 n_cols', NAME=1e-6; a constexpr: NAME=1024; repeatable")
      ->expected(1)
      ->take_all();
  command->add_option("--grid", wanted->grid, "an expression over the sizes; up to three")
      ->expected(1)
      ->take_all()
      ->required();
  command->add_option("--shape", wanted->shapes, "sizes as M=3,K=8; repeatable")->expected(1)->take_all()->required();
  command->add_option("--out", wanted->folder, "the task's folder; default: the function's name");
  add_json(*command, context);
  command->callback([kernel, wanted, &context] { run_new_task(context, *wanted, *kernel); });
}

}  // namespace plumb::cli
