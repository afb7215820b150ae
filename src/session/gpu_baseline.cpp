// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "gpu/codes.h"
#include "gpu/statistics.h"
#include "session/baseline_script.h"
#include "session/process.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

using Space = std::map<std::string, std::vector<std::int64_t>>;

// Tile sizes by the names that Triton kernels give them; a constexpr that is computed from the sizes stays as it is.
Space full_space(const task::Task& task, const Space& given) {
  Space out = {{"num_warps", {4, 8}}, {"num_stages", {2, 3, 4}}};
  const bool is_product = task.constexprs.contains("BK");
  for (const auto& [name, row] : task.constexprs) {
    const auto* value = row.constant ? std::get_if<std::int64_t>(&*row.constant) : nullptr;
    if (value == nullptr) continue;
    if (name == "BM" || name == "BN") out[name] = {64, 128, 256};
    else if (name == "BK") out[name] = {32, 64, 128};
    else if (!is_product && name == "BLOCK" && task.grid.size() == 1 && task.grid[0].find("BLOCK") != std::string::npos)
      out[name] = {256, 512, 1024, 2048, 4096};
  }
  if (!is_product) {
    out["num_warps"] = {2, 4, 8, 16};
    out["num_stages"] = {2, 3};
  }
  const nlohmann::json declared =
      task.toml.value.value("baseline", Json::object());  // items() does not keep what it goes over
  for (const auto& [name, values] : declared.items()) {
    out[name] = values.get<std::vector<std::int64_t>>();
  }
  for (const auto& [name, values] : given) out[name] = values;
  return out;
}

// The product, thinned evenly where it is larger than `most`; the task's own values come first.
std::vector<std::map<std::string, std::int64_t>> product(const Space& space, unsigned most, std::uint64_t seed) {
  std::vector<std::map<std::string, std::int64_t>> all = {{}};
  for (const auto& [name, values] : space) {
    std::vector<std::map<std::string, std::int64_t>> longer;
    for (const auto& each : all) {
      for (const std::int64_t value : values) {
        longer.push_back(each);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  if (all.size() <= most) return all;
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const auto& config) {
      std::uint64_t out = seed;
      for (const auto& [name, value] : config) out = mix64(out ^ static_cast<std::uint64_t>(value));
      return out;
    };
    return key(a) < key(b);
  });
  all.resize(most);
  return all;
}

Json args_json(const task::Bound& bound) {
  Json out = Json::array();
  for (const task::BoundArg& arg : bound.args) {
    Json row = {{"name", arg.name}, {"type", arg.type}};
    if (arg.is_tensor) {
      row["elements"] = arg.elements;
      row["shape"] = arg.shape;
      row["is_written"] = arg.role != task::Role::In;
      row["init"] = arg.init;
      if (arg.init.starts_with("randint(") && arg.init.ends_with(')')) {
        const std::string inside = arg.init.substr(8, arg.init.size() - 9);
        const std::size_t comma = inside.find(',');
        Findings ignored;
        const auto low = task::evaluate(inside.substr(0, comma), bound.sizes, {}, ignored);
        const auto high =
            comma == std::string::npos ? low : task::evaluate(inside.substr(comma + 1), bound.sizes, {}, ignored);
        if (low && high) {
          row["low"] = *low;
          row["high"] = *high;
        }
      }
    } else if (arg.is_float) {
      row["value"] = arg.real;
    } else {
      row["value"] = arg.integer;
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json plan_of(const task::Task& task, const task::Shape& shape, const BaselineOptions& options, Findings& findings) {
  Json configs = Json::array();
  Json args, sizes = Json::object();
  for (const auto& [name, value] : shape.sizes) sizes[name] = value;
  for (const auto& config : product(full_space(task, options.space), options.most_configs, 1)) {
    std::map<std::string, task::Constant> overrides;
    for (const auto& [name, value] : config) {
      if (task.constexprs.contains(name)) overrides[name] = value;
    }
    Findings own;
    const auto bound = task::bind(task, shape, overrides, own);
    if (!bound) {
      if (configs.empty()) findings.append(std::move(own));
      continue;
    }
    if (args.is_null()) args = args_json(*bound);
    Json constexprs = Json::object();
    for (const auto& [name, value] : bound->constexprs) {
      std::visit([&, &key = name](const auto& held) { constexprs[key] = held; }, value);
    }
    configs.push_back({{"constexprs", std::move(constexprs)},
                       {"grid", {bound->grid[0], bound->grid[1], bound->grid[2]}},
                       {"num_warps", config.at("num_warps")},
                       {"num_stages", config.at("num_stages")}});
  }
  const fs::path library = fs::absolute(task.folder / "library.py");
  std::error_code error;
  return {{"file", fs::absolute(task.kernel_file).string()},
          {"library", fs::is_regular_file(library, error) ? library.string() : ""},
          {"sizes", std::move(sizes)},
          {"function", task.function},
          {"args", std::move(args)},
          {"configs", std::move(configs)},
          {"rep_ms", options.rep_ms},
          {"warmup_ms", options.warmup_ms}};
}

Json ask_python(const Json& plan, const BaselineOptions& options, Findings& findings) {
  const Scratch scratch;
  const fs::path script = scratch.path() / "baseline.py", input = scratch.path() / "plan.json";
  if (scratch.path().empty() || !write_file(script, kBaselineScript, findings) ||
      !write_file(input, plan.dump(), findings)) {
    return {{"status", "failed"}, {"message", "no scratch folder"}};
  }
  const ProcessResult result = run_process({options.python.string(), script.string(), input.string()}, options.seconds);
  std::string_view text = result.output;
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t line = text.rfind('\n');
  const Json answer = Json::parse(text.substr(line == std::string_view::npos ? 0 : line + 1), nullptr, false);
  if (answer.is_object() && answer.contains("status")) return answer;
  const std::string tail =
      result.output.substr(result.output.size() - std::min<std::size_t>(result.output.size(), 600));
  return {{"status", "failed"}, {"message", result.is_timeout ? "python3 took too long" : "python3 said: " + tail}};
}

// The rounds as medians: the library's and the winner's time, and how many times as fast as the winner the library is.
Json summary_of(const Json& library) {
  if (!library.contains("rounds_ms")) return library;
  std::vector<double> times, beside, ratios;
  for (const Json& round : library["rounds_ms"]) {
    times.push_back(round.at(0));
    beside.push_back(round.at(1));
    ratios.push_back(beside.back() / times.back());
  }
  const gpu::Interval ratio = gpu::median_interval(ratios, 1);
  return {{"name", library.value("name", "")},
          {"ms", gpu::median(times)},
          {"baseline_ms", gpu::median(beside)},
          {"speedup", {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}}},
          {"rounds", ratios.size()}};
}

}  // namespace

BaselineOutcome make_baseline(const task::Task& task, const task::Shape& shape, const BaselineOptions& options) {
  BaselineOutcome out;
  Json plan = plan_of(task, shape, options, out.findings);
  const auto source = read_file(task.kernel_file, out.findings);
  if (!source || out.findings.has_error()) {
    out.is_bad_input = true;
    return out;
  }
  Json hashed = plan;
  hashed.erase("file");
  std::string texts = *source;
  if (const std::string library = plan["library"]; !library.empty()) {
    texts += read_file(library, out.findings).value_or("");
  }
  hashed.erase("library");
  const std::string key = sha256(texts + hashed.dump()).substr(0, 12);
  std::string label = shape.label;
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == ',' || c == '=' || c == ' '; }, '_');
  const fs::path folder = options.out / task.name;
  const fs::path base = folder / fmt::format("{}-{}", label, key);
  out.ptx = base.string() + ".ptx";
  const fs::path record = base.string() + ".record.json";
  std::error_code error;
  if (fs::exists(out.ptx, error) && fs::exists(record, error)) {
    const auto text = read_file(record, out.findings);
    if (text) out.record = Json::parse(*text, nullptr, false);
    out.is_cached = out.record.is_object();
    if (out.is_cached) return out;
  }
  Json answer = ask_python(plan, options, out.findings);
  const std::string status = answer.value("status", "");
  if (status != "done") {
    out.has_gpu = status != "none" && status != "missing";
    out.findings.add(out.has_gpu ? gpu::kBaselineFailed : gpu::kNoGpu, answer.value("message", "no message"));
    return out;
  }
  fs::create_directories(folder, error);
  const std::string ptx = answer["ptx"];
  const std::string launch = answer["launch"];
  answer.erase("ptx");
  answer["task"] = task.name;
  answer["shape"] = shape.label;
  answer["ptx_sha256"] = sha256(ptx);
  if (answer.contains("library")) answer["library"] = summary_of(answer["library"]);
  out.record = answer;
  if (write_file(base.string() + ".json", launch + "\n", out.findings) &&
      write_file(record, answer.dump(1) + "\n", out.findings)) {
    write_file(out.ptx, ptx, out.findings);
  }
  return out;
}

}  // namespace plumb::session
