// SPDX-License-Identifier: Apache-2.0
#include "session/run.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "gpu/process.h"
#include "session/codes.h"

namespace plumb::cli {
namespace {

struct RunArguments {
  std::string task, shape, out;
  std::optional<std::string> ptx;  // absent: the Triton source
  std::vector<std::string> inputs;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> schedule;
  bool has_spec = false, keeps_inputs = false, has_card = false, has_profile = false, has_lines = false;
  std::string driver;
};

bool read_inputs(const RunArguments& arguments, session::RunOptions& options, Findings& findings) {
  for (const std::string& text : arguments.inputs) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      findings.add(session::kInput, fmt::format("`{}` is no input; write argument=file.npy", text));
      return false;
    }
    const std::string path = text.substr(equals + 1);
    const auto bytes = read_file(path, findings);
    const auto array = bytes ? session::parse_npy(*bytes, path, findings) : std::nullopt;
    if (!array) return false;
    options.inputs[text.substr(0, equals)] = *array;
  }
  return true;
}

bool save(const RunArguments& arguments, const session::RunOutcome& outcome, Findings& findings) {
  std::error_code error;
  const std::filesystem::path folder = arguments.out;
  std::filesystem::create_directories(folder, error);
  for (const session::RunOutput& output : outcome.outputs) {
    if (!write_file(folder / (output.name + ".npy"), session::format_npy(output.array), findings)) return false;
  }
  for (const session::RunOutput& input : outcome.inputs) {
    if (!write_file(folder / (input.name + ".in.npy"), session::format_npy(input.array), findings)) return false;
  }
  return true;
}

// The shape that was run: the one asked for, or that of the task which the candidate claims first.
task::Shape shape_of(const task::Task& task, const session::RunOptions& options, const session::RunOutcome& outcome) {
  if (options.shape) return *options.shape;
  for (const task::Shape& shape : task.prove_shapes) {
    if (shape.label == outcome.shape) return shape;
  }
  return {};
}

void run_run(Context& context, const RunArguments& arguments) {
  Findings findings;
  session::RunOptions options;
  const auto task = task::load_task(arguments.task, findings);
  if (!arguments.shape.empty()) options.shape = task::parse_shape(arguments.shape, findings);
  if (findings.has_error() || !read_inputs(arguments, options, findings)) return refuse(context, findings);
  if (arguments.has_card && !arguments.ptx) {
    findings.add(session::kInput, "`--gpu` launches a PTX file, and none is named");
    return refuse(context, findings);
  }
  if (arguments.has_profile && !arguments.ptx) {
    findings.add(session::kInput, "`--profile` counts what a PTX file does, and none is named");
    return refuse(context, findings);
  }
  const auto candidate = arguments.ptx ? load_candidate(*arguments.ptx, findings) : std::nullopt;
  if (findings.has_error()) return refuse(context, findings);
  options.seed = arguments.seed;
  options.schedule = arguments.schedule;
  options.workers = context.workers;
  options.has_spec = arguments.has_spec;
  options.keeps_inputs = arguments.keeps_inputs || arguments.has_card;
  options.has_profile = arguments.has_profile;
  options.has_lines = arguments.has_lines;
  options.python = context.python();
  session::RunOutcome outcome;
  {
    ProgressLine progress(context);
    options.progress = progress.callback();
    outcome = candidate ? session::run(*task, *candidate, options) : session::evaluate(*task, options);
  }
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  if (arguments.has_card && !outcome.findings.has_error()) {
    gpu::WorkerProcess worker(gpu::own_worker_command(arguments.driver));
    session::compare_with_card(*task, *candidate, shape_of(*task, options, outcome), worker, outcome);
    if (!arguments.keeps_inputs) outcome.inputs.clear();
  }
  if (!arguments.out.empty() && !save(arguments, outcome, findings)) return refuse(context, findings);
  answer(context, session::to_json(outcome), session::to_text(outcome, context.has_colour_out), outcome.holds());
  if (!outcome.has_gpu) context.exit_code = kNoGpu;
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "run", "run a PTX file on the CPU, bit for bit, or the Triton source, on given or drawn inputs");
  const auto arguments = std::make_shared<RunArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("FILE", arguments->ptx, "the PTX; without it, the task's Triton source is evaluated");
  command->add_option("--shape", arguments->shape, "sizes as k=v,...; default: the task's first prove shape");
  command
      ->add_option("--input", arguments->inputs, "argument=file.npy; repeatable; the others are drawn (bf16 as uint16)")
      ->expected(1)
      ->take_all();
  CLI::Option* out = command->add_option("--out", arguments->out, "a folder: write each output as NAME.npy");
  command->add_flag("--save-inputs", arguments->keeps_inputs, "also write what inputs held, as NAME.in.npy")
      ->needs(out);
  command->add_option("--seed", arguments->seed, "of the drawn inputs");
  command->add_option("--schedule", arguments->schedule,
                      "seed of the order of warps and of asynchronous effects; default: in turn, and as late as legal");
  CLI::Option* card = command->add_flag("--gpu", arguments->has_card,
                                        "launch it on the GPU as well, with the same inputs, and compare bit by bit");
  command->add_option("--driver", arguments->driver, "the CUDA driver library; default: the system's")->needs(card);
  command->add_flag("--compare", arguments->has_spec, "also evaluate the Triton source, and compare");
  CLI::Option* profile = command->add_flag("--profile", arguments->has_profile,
                                           "count instructions, bytes, sectors, bank conflicts, tensor-core work");
  command->add_flag("--lines", arguments->has_lines, "the profile also by line of the PTX")->needs(profile);
  add_json(*command, context);
  add_workers(*command, context);
  command->callback([arguments, &context] { run_run(context, *arguments); });
}

}  // namespace plumb::cli
