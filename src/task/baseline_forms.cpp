// SPDX-License-Identifier: Apache-2.0
#include "task/baseline_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "task/codes.h"
#include "task/reader.h"

namespace plumb::task {
namespace {

constexpr std::int64_t kMostGrid[3] = {2147483647, 65535, 65535};

class FormReader {
 public:
  FormReader(const Task& task, const Toml& toml, Findings& findings)
      : task_(task), reader_(toml, {kTaskKey, kTaskType, kTaskValue}, findings), findings_(findings) {}

  std::vector<BaselineForm> run() {
    reader_.only("", {"form"}, "baselines.toml");
    std::vector<BaselineForm> out;
    const nlohmann::json* list = reader_.find("/form");
    if (list == nullptr) return out;
    if (!list->is_array()) {
      reader_.wrong_type("/form", "a list of tables");
      return out;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < list->size(); ++i) {
      out.push_back(form(fmt::format("/form/{}", i)));
      if (!names.insert(out.back().name).second) {
        reader_.wrong_value(out.back().pointer + "/name", fmt::format("two forms are `{}`", out.back().name));
      }
    }
    return out;
  }

 private:
  std::string needed(const std::string& pointer, const char* key) {
    const std::string at = pointer + "/" + key;
    if (reader_.find(at) == nullptr) {
      findings_.add(kTaskMissing, fmt::format("`{}` is missing", key), reader_.place(pointer));
    }
    return reader_.text(at).value_or("");
  }

  BaselineForm form(const std::string& pointer) {
    BaselineForm out;
    out.pointer = pointer;
    reader_.only(pointer,
                 {"name", "file", "function", "grid", "where", "most", "constexpr", "space", "values", "descriptors"},
                 "a form");
    out.name = needed(pointer, "name");
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (!std::all_of(out.name.begin(), out.name.end(), is_plain)) {
      reader_.wrong_value(pointer + "/name", "a form's name is of small letters, digits and _");
    }
    out.file = task_.folder / needed(pointer, "file");
    out.function = needed(pointer, "function");
    std::error_code error;
    if (!std::filesystem::is_regular_file(out.file, error)) {
      reader_.wrong_value(pointer + "/file", fmt::format("there is no file `{}`", out.file.string()));
    }
    out.grid = reader_.expressions(pointer + "/grid").value_or(task_.grid);
    if (out.grid.empty() || out.grid.size() > 3) {
      reader_.wrong_value(pointer + "/grid", "a grid has one to three dimensions");
    }
    out.where = reader_.expressions(pointer + "/where").value_or(out.where);
    if (const auto most = reader_.number(pointer + "/most")) out.most = static_cast<std::int64_t>(*most);
    constexprs(out);
    space(out);
    for (const std::string& name : keys(pointer + "/values")) {
      out.values[name] = reader_.expression(pointer + "/values/" + name).value_or("0");
    }
    for (const std::string& name : keys(pointer + "/descriptors")) {
      out.descriptors[name] = descriptor(pointer + "/descriptors/" + name);
    }
    return out;
  }

  std::vector<std::string> keys(const std::string& pointer) {
    std::vector<std::string> out;
    const nlohmann::json* table = reader_.find(pointer);
    if (table == nullptr) return out;
    if (!table->is_object()) {
      reader_.wrong_type(pointer, "a table");
      return out;
    }
    for (const auto& [name, value] : table->items()) out.push_back(name);
    return out;
  }

  void constexprs(BaselineForm& out) {
    out.constexprs = task_.constexprs;
    for (const std::string& name : keys(out.pointer + "/constexpr")) {
      const std::string at = out.pointer + "/constexpr/" + name;
      Task::ConstexprRow row;
      row.place = reader_.place(at);
      row.expression = reader_.expression(at).value_or("0");
      out.constexprs[name] = std::move(row);
    }
  }

  void space(BaselineForm& out) {
    out.space = {{"num_warps", {4, 8}}, {"num_stages", {3}}};
    const std::string table = out.pointer + "/space";
    for (const std::string& name : keys(table)) {
      const nlohmann::json& values = *reader_.find(table + "/" + name);
      const auto is_integer = [](const nlohmann::json& value) { return value.is_number_integer(); };
      if (!values.is_array() || values.empty() || !std::all_of(values.begin(), values.end(), is_integer)) {
        reader_.wrong_type(table + "/" + name, "a list of integers");
      } else {
        out.space[name] = values.get<std::vector<std::int64_t>>();
      }
    }
  }

  DescriptorRow descriptor(const std::string& pointer) {
    DescriptorRow out;
    reader_.only(pointer, {"tensor", "shape", "strides", "block"}, "a descriptor");
    out.tensor = needed(pointer, "tensor");
    const auto is_it = [&](const Arg& arg) { return arg.name == out.tensor && arg.is_tensor(); };
    if (std::none_of(task_.args.begin(), task_.args.end(), is_it)) {
      reader_.wrong_value(pointer + "/tensor", fmt::format("the task has no tensor `{}`", out.tensor));
    }
    out.shape = reader_.expressions(pointer + "/shape").value_or(out.shape);
    out.strides = reader_.expressions(pointer + "/strides").value_or(out.strides);
    out.block = reader_.expressions(pointer + "/block").value_or(out.block);
    const bool is_even = out.block.size() == out.shape.size() && !out.shape.empty() &&
                         (out.strides.empty() || out.strides.size() == out.shape.size());
    if (!is_even) {
      reader_.wrong_value(pointer, "a descriptor's shape, block and strides, where given, have the same length");
    }
    return out;
  }

  const Task& task_;
  TomlReader reader_;
  Findings& findings_;
};

class FormBinder {
 public:
  FormBinder(const BaselineForms& forms, const BaselineForm& form, const Bound& bound, Findings& findings)
      : forms_(forms), form_(form), sizes_(bound.sizes), findings_(findings) {}

  std::optional<BoundForm> run(const FormConfig& config) {
    for (const auto& [name, value] : config) set(name, value);
    for (const auto& [name, row] : form_.constexprs) {
      if (!config.contains(name) && row.constant) set(name, *row.constant);
    }
    for (const auto& [name, row] : form_.constexprs) {
      if (config.contains(name) || row.constant) continue;
      const auto computed = evaluate(row.expression, sizes_, row.place, findings_);
      if (!computed) return std::nullopt;
      set(name, *computed);
    }
    out_.constexprs.erase("num_warps");
    out_.constexprs.erase("num_stages");
    for (std::size_t i = 0; i < form_.where.size(); ++i) {
      const auto holds = value(form_.where[i], fmt::format("/where/{}", i));
      if (!holds || *holds == 0) return std::nullopt;
    }
    for (std::size_t i = 0; i < form_.grid.size(); ++i) {
      const auto extent = value(form_.grid[i], fmt::format("/grid/{}", i));
      if (!extent || *extent < 1 || *extent > kMostGrid[i]) return std::nullopt;
      out_.grid[i] = static_cast<std::uint32_t>(*extent);
    }
    for (const auto& [name, expression] : form_.values) {
      const auto computed = value(expression, "/values/" + name);
      if (!computed) return std::nullopt;
      out_.values[name] = *computed;
    }
    for (const auto& [name, row] : form_.descriptors) {
      if (!descriptor(row, "/descriptors/" + name, out_.descriptors[name])) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  void set(const std::string& name, const Constant& constant) {
    out_.constexprs[name] = constant;
    if (const auto* integer = std::get_if<std::int64_t>(&constant)) sizes_[name] = *integer;
    if (const auto* flag = std::get_if<bool>(&constant)) sizes_[name] = *flag ? 1 : 0;
  }

  std::optional<std::int64_t> value(const std::string& expression, const std::string& pointer) {
    return evaluate(expression, sizes_, forms_.toml.place(form_.pointer + pointer), findings_);
  }

  bool list(const std::vector<std::string>& expressions, const std::string& pointer, std::vector<std::int64_t>& out) {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const auto computed = value(expressions[i], fmt::format("{}/{}", pointer, i));
      if (!computed) return false;
      out.push_back(*computed);
    }
    return true;
  }

  bool descriptor(const DescriptorRow& row, const std::string& pointer, BoundDescriptor& out) {
    out.tensor = row.tensor;
    if (!list(row.shape, pointer + "/shape", out.shape) || !list(row.block, pointer + "/block", out.block) ||
        !list(row.strides, pointer + "/strides", out.strides)) {
      return false;
    }
    if (!out.strides.empty()) return true;
    out.strides.assign(out.shape.size(), 1);
    for (std::size_t i = out.shape.size() - 1; i > 0; --i) out.strides[i - 1] = out.strides[i] * out.shape[i];
    return true;
  }

  const BaselineForms& forms_;
  const BaselineForm& form_;
  Sizes sizes_;
  Findings& findings_;
  BoundForm out_;
};

}  // namespace

std::optional<BaselineForms> load_baseline_forms(const Task& task, Findings& findings) {
  BaselineForms out;
  const std::filesystem::path file = task.folder / "baselines.toml";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return out;
  const SourcePtr source = read_source(file, findings);
  if (!source) return std::nullopt;
  Findings own;
  if (std::optional<Toml> toml = parse_toml(source, source->text(), own)) {
    out.toml = std::move(*toml);
    out.list = FormReader(task, out.toml, own).run();
  }
  const bool is_bad = own.has_error();
  findings.append(std::move(own));
  if (is_bad) return std::nullopt;
  return out;
}

std::optional<BoundForm> bind_form(const BaselineForms& forms, const BaselineForm& form, const Bound& bound,
                                   const FormConfig& config, Findings& findings) {
  return FormBinder(forms, form, bound, findings).run(config);
}

}  // namespace plumb::task
