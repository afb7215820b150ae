// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/commands.h"
#include "session/codes.h"
#include "session/gpu_baseline.h"
#include "session/process.h"

namespace plumb::cli {
namespace {

struct BaselineArguments {
  std::string task, out = "baselines";
  std::vector<std::string> shapes, space;
  session::BaselineOptions options;
};

// "BM=64,128"
bool read_space(const BaselineArguments& arguments, session::BaselineOptions& options, Findings& findings) {
  for (const std::string& text : arguments.space) {
    const std::size_t equals = text.find('=');
    std::vector<std::int64_t> values;
    std::size_t at = equals == std::string::npos ? text.size() + 1 : equals + 1;
    while (at < text.size()) {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (error != std::errc()) break;
      values.push_back(value);
      at = static_cast<std::size_t>(end - text.data());
      if (at < text.size() && text[at] != ',') break;
      ++at;
    }
    if (values.empty() || at < text.size()) {
      findings.add(session::kInput, fmt::format("`{}` is no space; write NAME=VALUE,VALUE", text));
      return false;
    }
    options.space[text.substr(0, equals)] = std::move(values);
  }
  return true;
}

std::string line_of(const task::Shape& shape, const session::KeptBaseline& kept, bool is_quickest) {
  const std::string name = kept.form.empty() ? "the task's source" : kept.form;
  if (!kept.record.contains("ms")) {
    return fmt::format("{}: {}: {}\n", shape.label, name, kept.record.value("message", "not timed"));
  }
  return fmt::format("{}: {}: {:.2f} us, {} ({} configurations{}{})\n", shape.label, name, kept.ms() * 1e3,
                     kept.ptx.string(), kept.record["tried"].size(), kept.is_cached ? ", kept from before" : "",
                     is_quickest ? ", the quickest" : "");
}

void run_baseline(Context& context, BaselineArguments& arguments) {
  Findings findings;
  const auto task = task::load_task(arguments.task, findings);
  auto shapes = parse_shapes(arguments.shapes, findings);
  if (!task || !shapes || !read_space(arguments, arguments.options, findings)) return refuse(context, findings);
  if (shapes->empty()) shapes = task->bench_shapes;
  arguments.options.out = arguments.out;
  arguments.options.python = session::find_program("python3", context.search_path);
  nlohmann::json object = {{"baselines", nlohmann::json::array()}};
  std::string text;
  bool holds = !shapes->empty(), has_gpu = true;
  for (const task::Shape& shape : *shapes) {
    const session::BaselineOutcome outcome = session::make_baseline(*task, shape, arguments.options);
    if (outcome.is_bad_input) return refuse(context, outcome.findings);
    has_gpu = outcome.has_gpu;
    for (const session::KeptBaseline& kept : outcome.kept) {
      nlohmann::json row = kept.record.is_object() ? kept.record : nlohmann::json::object();
      row["ptx"] = kept.ptx.string();
      row["is_quickest"] = &kept == outcome.quickest();
      text += line_of(shape, kept, &kept == outcome.quickest());
      object["baselines"].push_back(std::move(row));
    }
    object["findings"] = to_json(outcome.findings);
    if (!outcome.findings.has_error()) continue;
    holds = false;
    text += render(outcome.findings, context.has_colour_out);
    break;
  }
  if (shapes->empty()) text = "the task has no bench shapes; name one with --shape\n";
  answer(context, object, text, holds);
  if (!has_gpu) context.exit_code = kNoGpu;
}

}  // namespace

void add_baseline(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("baseline", "autotune the task's Triton source here, and keep what wins");
  const auto arguments = std::make_shared<BaselineArguments>();  // shared: the callback outlives this function
  command->add_option("TASK", arguments->task, "a task's folder or task.toml")->required();
  command->add_option("--shape", arguments->shapes, "sizes as k=v,...; repeatable; default: the task's bench shapes")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--space", arguments->space,
                   "NAME=VALUE,VALUE of num_warps, num_stages or a constexpr; repeatable; default: the usual ones")
      ->expected(1)
      ->take_all();
  command->add_option("--most", arguments->options.most_configs, "configurations tried");
  command->add_option("--seconds", arguments->options.seconds, "of Triton's compiling and timing, per shape");
  command->add_option("--out", arguments->out, "the folder that keeps baselines; default: baselines");
  add_json(*command, context);
  command->callback([arguments, &context] { run_baseline(context, *arguments); });
}

}  // namespace plumb::cli
