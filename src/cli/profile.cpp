// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "session/codes.h"
#include "session/gpu_profile.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

struct ProfileArguments {
  std::string task, ptx, shape, driver;
};

void run_profile(Context& context, const ProfileArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  const auto candidate = task ? load_candidate(arguments.ptx, findings) : std::nullopt;
  if (!candidate) return refuse(context, findings);
  session::ProfileOptions options;
  if (!arguments.shape.empty()) {
    const auto shape = task::parse_shape(arguments.shape, findings);
    if (!shape) return refuse(context, findings);
    options.shape = *shape;
  } else if (!task->bench_shapes.empty()) {
    options.shape = task->bench_shapes.front();
  } else {
    options.shape = task->prove_shapes.front();
  }
  options.ptxas = session::find_program("ptxas", context.search_path);
  options.cuobjdump = session::find_program("cuobjdump", context.search_path);
  options.ncu = session::find_program("ncu", context.search_path);
  const std::vector<std::string> own = gpu::own_worker_command({});
  options.bench_command = {own.front(),         "bench",     arguments.task, arguments.ptx,         "--shape",
                           options.shape.label, "--seconds", "0.01",         "--reference-seconds", "0.01"};
  gpu::WorkerProcess worker(gpu::own_worker_command(arguments.driver));
  const session::ProfileOutcome outcome = session::profile_on_gpu(*task, *candidate, worker, options);
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  answer(context, session::to_json(outcome), session::to_text(outcome, context.has_colour_out), outcome.holds());
  if (!outcome.has_gpu) context.exit_code = kNoGpu;
}

}  // namespace

void add_profile(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("profile", "say what limits a candidate on the GPU");
  const auto arguments = std::make_shared<ProfileArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("FILE", arguments->ptx, "the PTX")->required();
  command->add_option("--shape", arguments->shape, "sizes as k=v,...; default: the task's first bench shape");
  command->add_option("--driver", arguments->driver, "the CUDA driver library; default: the system's");
  add_json(*command, context);
  command->callback([arguments, &context] { run_profile(context, *arguments); });
}

}  // namespace plumb::cli
