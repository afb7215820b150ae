// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "gpu/codes.h"
#include "gpu/statistics.h"
#include "session/baseline_script.h"
#include "session/process.h"
#include "task/baseline_forms.h"

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

// The product in an order that draws evenly: what exceeds `most` comes last, in `rest`.
struct Configs {
  std::vector<task::FormConfig> drawn, rest;
};

Configs product(const Space& space, std::size_t most, std::uint64_t seed,
                const std::function<bool(const task::FormConfig&)>& is_tried) {
  std::vector<task::FormConfig> all = {{}};
  for (const auto& [name, values] : space) {
    std::vector<task::FormConfig> longer;
    for (const auto& each : all) {
      for (const std::int64_t value : values) {
        longer.push_back(each);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const task::FormConfig& config) { return !is_tried(config); });
  if (all.size() <= most) return {std::move(all), {}};
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const auto& config) {
      std::uint64_t out = seed;
      for (const auto& [name, value] : config) out = mix64(out ^ static_cast<std::uint64_t>(value));
      return out;
    };
    return key(a) < key(b);
  });
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(most);
  return {{all.begin(), middle}, {middle, all.end()}};
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

Json config_json(const task::FormConfig& config, const std::map<std::string, task::Constant>& constants,
                 const std::uint32_t (&grid)[3]) {
  Json constexprs = Json::object();
  for (const auto& [name, value] : constants) {
    std::visit([&, &key = name](const auto& held) { constexprs[key] = held; }, value);
  }
  return {{"constexprs", std::move(constexprs)},
          {"grid", {grid[0], grid[1], grid[2]}},
          {"num_warps", config.at("num_warps")},
          {"num_stages", config.at("num_stages")}};
}

// One entry of a plan's `forms`, and what is kept of it.
struct PlannedForm {
  Json plan;
  std::string source;  // text of the file
  KeptBaseline kept;
};

// `configs` of a plan, and `rest` where not all were drawn; configurations that have no row are left out.
void put_configs(Json& plan, const Configs& configs, const std::function<Json(const task::FormConfig&, bool)>& row_of) {
  plan["configs"] = Json::array();
  for (const auto& config : configs.drawn) {
    if (Json row = row_of(config, plan["configs"].empty()); !row.is_null()) plan["configs"].push_back(std::move(row));
  }
  for (const auto& config : configs.rest) {
    if (Json row = row_of(config, false); !row.is_null()) plan["rest"].push_back(std::move(row));
  }
}

PlannedForm plan_source(const task::Task& task, const task::Shape& shape, const BaselineOptions& options, Json& args,
                        Findings& findings) {
  const auto row_of = [&](const task::FormConfig& config, bool is_first) {
    std::map<std::string, task::Constant> overrides;
    for (const auto& [name, value] : config) {
      if (task.constexprs.contains(name)) overrides[name] = value;
    }
    Findings own;
    const auto bound = task::bind(task, shape, overrides, own);
    if (!bound && is_first) findings.append(std::move(own));
    if (!bound) return Json();
    if (args.is_null()) args = args_json(*bound);
    Json row = config_json(config, bound->constexprs, bound->grid);
    for (const task::BoundArg& arg : bound->args) {
      if (!arg.is_descriptor()) continue;
      row["descriptors"][arg.name] = {
          {"tensor", arg.name}, {"shape", arg.extent}, {"strides", arg.strides}, {"block", arg.block}};
    }
    return row;
  };
  PlannedForm out{{{"form", ""}, {"file", fs::absolute(task.kernel_file).string()}, {"function", task.function}},
                  read_file(task.kernel_file, findings).value_or(""),
                  {}};
  const auto all = [](const task::FormConfig&) { return true; };
  put_configs(out.plan, product(full_space(task, options.space), options.most_configs, 1, all), row_of);
  return out;
}

PlannedForm plan_form(const task::BaselineForms& forms, const task::BaselineForm& form, const task::Bound& bound,
                      const BaselineOptions& options, Findings& findings) {
  const auto row_of = [&](const task::FormConfig& config, bool) {
    const auto made = task::bind_form(forms, form, bound, config, findings);
    if (!made) return Json();
    Json row = config_json(config, made->constexprs, made->grid);
    row["values"] = made->values;
    row["descriptors"] = Json::object();
    for (const auto& [name, what] : made->descriptors) {
      row["descriptors"][name] = {
          {"tensor", what.tensor}, {"shape", what.shape}, {"strides", what.strides}, {"block", what.block}};
    }
    return row;
  };
  PlannedForm out{
      {{"form", form.name}, {"file", fs::absolute(form.file).lexically_normal().string()}, {"function", form.function}},
      read_file(form.file, findings).value_or(""),
      {}};
  out.kept.form = form.name;
  const auto is_tried = [&](const task::FormConfig& config) {
    return task::bind_form(forms, form, bound, config, findings).has_value();
  };
  const std::size_t most = form.most ? static_cast<std::size_t>(*form.most) : options.most_configs;
  put_configs(out.plan, product(form.space, most, 1, is_tried), row_of);
  return out;
}

// Where a form's baseline lies. The hash covers the source, the arguments, the configurations; that of the task's own
// source also the library's text.
fs::path place_of(const PlannedForm& form, const task::Task& task, const task::Shape& shape, const Json& args,
                  const std::string& library, const BaselineOptions& options) {
  Json hashed = {{"function", form.plan["function"]}, {"configs", form.plan["configs"]}, {"args", args},
                 {"rep_ms", options.rep_ms},          {"warmup_ms", options.warmup_ms},  {"sizes", shape.sizes}};
  if (form.plan.contains("rest")) hashed["rest"] = form.plan["rest"];
  const std::string key = sha256(form.source + library + hashed.dump()).substr(0, 12);
  std::string label = shape.label;
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == ',' || c == '=' || c == ' '; }, '_');
  const std::string form_name = form.kept.form.empty() ? "" : "-" + form.kept.form;
  return options.out / task.name / fmt::format("{}{}-{}.ptx", label, form_name, key);
}

fs::path beside(const fs::path& ptx, const char* suffix) { return fs::path(ptx).replace_extension(suffix); }

// What an earlier run kept.
void find_kept(KeptBaseline& kept, Findings& findings) {
  std::error_code error;
  if (!fs::exists(kept.ptx, error) || !fs::exists(beside(kept.ptx, ".record.json"), error)) return;
  const auto text = read_file(beside(kept.ptx, ".record.json"), findings);
  Json record = text ? Json::parse(*text, nullptr, false) : Json();
  if (!record.is_object()) return;
  kept.record = std::move(record);
  kept.is_cached = true;
}

Json ask_python(const Json& plan, const BaselineOptions& options, Findings& findings) {
  const Scratch scratch;
  const fs::path script = scratch.path() / "baseline.py", input = scratch.path() / "plan.json",
                 output = scratch.path() / "answer.json";
  if (scratch.path().empty() || !write_file(script, kBaselineScript, findings) ||
      !write_file(input, plan.dump(), findings)) {
    return {{"status", "failed"}, {"message", "no scratch folder"}};
  }
  const ProcessResult result =
      run_process({options.python.string(), script.string(), input.string(), output.string()}, options.seconds);
  std::error_code error;
  const auto text = fs::exists(output, error) ? read_file(output, findings) : std::nullopt;
  const Json answer = text ? Json::parse(*text, nullptr, false) : Json();
  if (answer.is_object() && answer.contains("status")) return answer;
  const std::string tail =
      result.output.substr(result.output.size() - std::min<std::size_t>(result.output.size(), 600));
  return {{"status", "failed"}, {"message", result.is_timeout ? "python3 took too long" : "python3 said: " + tail}};
}

// The rounds as medians: one side's and the source's winner's time, and how many times as fast as the winner that side
// is.
Json summary_of(const Json& side) {
  if (!side.contains("rounds_ms")) return side;
  std::vector<double> times, beside, ratios;
  for (const Json& round : side["rounds_ms"]) {
    times.push_back(round.at(0));
    beside.push_back(round.at(1));
    ratios.push_back(beside.back() / times.back());
  }
  const gpu::Interval ratio = gpu::median_interval(ratios, 1);
  return {{"name", side.value("name", "")},
          {"ms", gpu::median(times)},
          {"baseline_ms", gpu::median(beside)},
          {"speedup", {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}}},
          {"rounds", ratios.size()}};
}

// The artifacts of one form: for the task's source Triton's PTX with the launch JSON beside it, for another form PTX
// that starts with a launch header.
void keep(KeptBaseline& kept, Json answer, const Json& common, Findings& findings) {
  const bool is_source = kept.form.empty();
  std::string ptx = answer["ptx"];
  const std::string launch = answer["launch"];
  if (!is_source) ptx = answer["header"].get<std::string>() + ptx;
  answer.erase("ptx");
  answer.erase("header");
  if (answer.contains("beside_source")) answer["beside_source"] = summary_of(answer["beside_source"]);
  if (is_source) answer.erase("form");
  else answer.erase("launch");
  answer.update(common);
  answer["ptx_sha256"] = sha256(ptx);
  kept.record = std::move(answer);
  std::error_code error;
  fs::create_directories(kept.ptx.parent_path(), error);
  if ((!is_source || write_file(beside(kept.ptx, ".json"), launch + "\n", findings)) &&
      write_file(beside(kept.ptx, ".record.json"), kept.record.dump(1) + "\n", findings)) {
    write_file(kept.ptx, ptx, findings);
  }
}

// What an answer says about a form. A form that no configuration of ran is no failure; its record says why.
void take(KeptBaseline& kept, const Json& answer, const task::Task& task, const task::Shape& shape,
          Findings& findings) {
  Json common = {{"task", task.name}, {"shape", shape.label}};
  for (const char* key : {"triton", "torch", "card"}) common[key] = answer.value(key, "");
  if (kept.form.empty() && answer.contains("library")) common["library"] = summary_of(answer["library"]);
  for (const Json& row : answer.value("forms", Json::array())) {
    if (row.value("form", "") != kept.form) continue;
    if (row.value("status", "") == "done") return keep(kept, row, common, findings);
    const std::string message = row.value("message", "no message");
    if (kept.form.empty()) findings.add(gpu::kBaselineFailed, message);
    else kept.record = {{"form", kept.form}, {"message", message}, {"tried", row.value("tried", Json::array())}};
  }
}

// Of the task's own source only the winner where that is known: the other forms are compared with what it computes.
Json forms_to_time(const std::vector<PlannedForm>& planned) {
  Json out = Json::array();
  for (const PlannedForm& form : planned) {
    if (form.kept.is_cached && !form.kept.form.empty()) continue;
    out.push_back(form.plan);
    if (!form.kept.is_cached) continue;
    const Json winner = form.kept.record.value("winner", Json::object());
    Json configs = Json::array();
    for (const Json& config : form.plan["configs"]) {
      const auto is_same = [&](const char* key) { return config[key] == winner.value(key, Json()); };
      if (is_same("constexprs") && is_same("num_warps") && is_same("num_stages")) configs.push_back(config);
    }
    if (configs.empty()) continue;
    out.back()["configs"] = std::move(configs);
    out.back().erase("rest");
  }
  return out;
}

std::vector<PlannedForm> plan_all(const task::Task& task, const task::Shape& shape, const BaselineOptions& options,
                                  Json& args, Findings& findings) {
  std::vector<PlannedForm> out;
  out.push_back(plan_source(task, shape, options, args, findings));
  const auto forms = task::load_baseline_forms(task, findings);
  const auto bound = task::bind(task, shape, {}, findings);
  if (!forms || !bound) return out;
  for (const task::BaselineForm& form : forms->list) {
    PlannedForm planned = plan_form(*forms, form, *bound, options, findings);
    if (!planned.plan["configs"].empty()) out.push_back(std::move(planned));
  }
  return out;
}

}  // namespace

const KeptBaseline* BaselineOutcome::quickest() const {
  const auto is_slower = [](const KeptBaseline& a, const KeptBaseline& b) { return a.ms() < b.ms(); };
  const auto found = std::min_element(kept.begin(), kept.end(), is_slower);
  return found == kept.end() || !found->record.contains("ms") ? nullptr : &*found;
}

double KeptBaseline::ms() const {
  static const Json::json_pointer kBeside("/beside_source/ms");
  return record.value(kBeside, record.value("ms", std::numeric_limits<double>::infinity()));
}

BaselineOutcome make_baseline(const task::Task& task, const task::Shape& shape, const BaselineOptions& options) {
  BaselineOutcome out;
  Json args;
  std::vector<PlannedForm> planned = plan_all(task, shape, options, args, out.findings);
  const fs::path library = fs::absolute(task.folder / "library.py");
  std::error_code error;
  const bool has_library = fs::is_regular_file(library, error);
  const std::string library_text = has_library ? read_file(library, out.findings).value_or("") : "";
  if (out.findings.has_error()) {
    out.is_bad_input = true;
    return out;
  }
  for (PlannedForm& form : planned) {
    form.kept.ptx = place_of(form, task, shape, args, form.kept.form.empty() ? library_text : "", options);
    find_kept(form.kept, out.findings);
  }
  const auto is_kept = [](const PlannedForm& form) { return form.kept.is_cached; };
  if (!std::all_of(planned.begin(), planned.end(), is_kept)) {
    Json plan = {{"sizes", shape.sizes}, {"args", args}, {"rep_ms", options.rep_ms}, {"warmup_ms", options.warmup_ms}};
    plan["library"] = has_library && !is_kept(planned.front()) ? library.string() : "";
    plan["forms"] = forms_to_time(planned);
    const Json answer = ask_python(plan, options, out.findings);
    const std::string status = answer.value("status", "");
    if (status != "done") {
      out.has_gpu = status != "none" && status != "missing";
      out.findings.add(out.has_gpu ? gpu::kBaselineFailed : gpu::kNoGpu, answer.value("message", "no message"));
      return out;
    }
    for (PlannedForm& form : planned) {
      if (!is_kept(form)) take(form.kept, answer, task, shape, out.findings);
    }
  }
  for (PlannedForm& form : planned) out.kept.push_back(std::move(form.kept));
  return out;
}

}  // namespace plumb::session
