// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "cli/gpu_answer.h"
#include "session/gpu_bench.h"

namespace plumb::cli {
namespace {

struct BenchArguments {
  std::string task, ptx, baseline, driver, out;
  std::vector<std::string> shapes;
  session::BenchOptions options;
};

void run_bench(Context& context, BenchArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  const auto shapes = parse_shapes(arguments.shapes, findings);
  if (!task || !shapes) return refuse(context, findings);
  const auto candidate = load_candidate(arguments.ptx, findings);
  std::optional<prove::Candidate> baseline;
  if (candidate && !arguments.baseline.empty()) baseline = load_candidate(arguments.baseline, findings);
  if (!candidate || (!arguments.baseline.empty() && !baseline)) return refuse(context, findings);
  arguments.options.shapes = *shapes;
  arguments.options.workers = context.workers;
  arguments.options.python = context.python();
  gpu::WorkerProcess worker(gpu::own_worker_command(arguments.driver));
  session::BenchOutcome outcome;
  {
    ProgressLine progress(context);
    arguments.options.progress = progress.callback();
    outcome = session::bench_on_gpu(*task, *candidate, baseline ? &*baseline : nullptr, worker, arguments.options);
  }
  answer_from_gpu(context, outcome, arguments.out);
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("bench", "time a candidate on the GPU beside a baseline");
  const auto arguments = std::make_shared<BenchArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("FILE", arguments->ptx, "the PTX")->required();
  command->add_option("--baseline", arguments->baseline, "PTX to compare with, as `plumb baseline` keeps it");
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's bench shapes")
      ->expected(1)
      ->take_all();
  command->add_option("--seconds", arguments->options.seconds, "of measuring, per shape and cache state");
  command->add_option("--reference-seconds", arguments->options.reference_seconds,
                      "of evaluating the source per shape");
  command->add_option("--seed", arguments->options.seed, "of inputs and orders; default: drawn");
  command->add_option("--out", arguments->out, "write the JSON object to this file as well");
  command->add_option("--driver", arguments->driver, "the CUDA driver library; default: the system's");
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_bench(context, *arguments); });
}

}  // namespace plumb::cli
