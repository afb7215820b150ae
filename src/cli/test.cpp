// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/gpu_answer.h"
#include "session/gpu_testing.h"

namespace plumb::cli {
namespace {

struct TestArguments {
  std::string task, ptx, driver, out;
  std::vector<std::string> shapes;
  session::TestOptions options;
};

void run_test(Context& context, TestArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  const auto shapes = parse_shapes(arguments.shapes, findings);
  if (!task || !shapes) return refuse(context, findings);
  const auto candidate = load_candidate(arguments.ptx, findings);
  if (!candidate) return refuse(context, findings);
  arguments.options.shapes = *shapes;
  arguments.options.workers = context.workers;
  arguments.options.python = context.python();
  gpu::WorkerProcess worker(gpu::own_worker_command(arguments.driver));
  session::TestOutcome outcome;
  {
    ProgressLine progress(context);
    arguments.options.progress = progress.callback();
    outcome = session::test_on_gpu(*task, *candidate, worker, arguments.options);
  }
  answer_from_gpu(context, outcome, arguments.out);
}

}  // namespace

void add_test(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("test", "run a candidate on the GPU against the Triton source");
  const auto arguments = std::make_shared<TestArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("FILE", arguments->ptx, "the PTX")->required();
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: all, and hidden ones")
      ->expected(1)
      ->take_all();
  command->add_option("--hidden", arguments->options.hidden, "shapes drawn within the task's ranges");
  command->add_option("--seed", arguments->options.seed, "of inputs and hidden shapes; default: drawn");
  command->add_option("--repeats", arguments->options.repeats, "launches of equal inputs per shape");
  command->add_option("--launch-seconds", arguments->options.launch_seconds, "a longer launch does not end");
  command->add_option("--reference-seconds", arguments->options.reference_seconds,
                      "of evaluating the source, per shape; then a part of its programs is compared");
  command->add_option("--out", arguments->out, "write the JSON object to this file as well");
  command->add_option("--driver", arguments->driver, "the CUDA driver library; default: the system's");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_test(context, *arguments); });
}

}  // namespace plumb::cli
