// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "task/codes.h"
#include "task/float_range.h"
#include "task/reader.h"
#include "task/task.h"

namespace plumb::task {
namespace {

struct TypeRow {
  std::string_view name;
  unsigned bytes;
  bool is_float;
};
constexpr TypeRow kTypes[] = {{"fp16", 2, true},    {"bf16", 2, true},  {"fp32", 4, true}, {"fp64", 8, true},
                              {"fp8e4nv", 1, true}, {"fp8e5", 1, true}, {"i1", 1, false},  {"i8", 1, false},
                              {"i16", 2, false},    {"i32", 4, false},  {"i64", 8, false}, {"u1", 1, false},
                              {"u8", 1, false},     {"u16", 2, false},  {"u32", 4, false}, {"u64", 8, false}};

const TypeRow* find_type(std::string_view type) {
  if (type.starts_with('*')) type.remove_prefix(1);
  for (const TypeRow& row : kTypes) {
    if (row.name == type) return &row;
  }
  return nullptr;
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

class Loader {
 public:
  Loader(Task& task, Findings& findings, bool needs_kernel)
      : task_(task),
        needs_kernel_(needs_kernel),
        reader_(task.toml, {kTaskKey, kTaskType, kTaskValue}, findings),
        findings_(findings) {}

  void run() {
    if (task_.toml.value.empty()) {
      findings_.add(kTaskMissing, "the file holds no task", reader_.place(""));
      return;
    }
    reader_.only("", {"kernel", "grid", "constexpr", "args", "shapes", "tolerance", "baseline", "work"}, "a task");
    kernel();
    grid();
    constexprs();
    args();
    tolerance();
    baseline();
    work();
    shapes("prove", task_.prove_shapes);
    shapes("test", task_.test_shapes);
    shapes("bench", task_.bench_shapes);
    reader_.only("/shapes", {"prove", "test", "bench"}, "[shapes]");
    if (task_.prove_shapes.empty() && !findings_.has_error()) missing("", "[[shapes.prove]]");
  }

 private:
  void missing(const std::string& pointer, std::string_view what) {
    findings_.add(kTaskMissing, fmt::format("{} is missing", what), reader_.place(pointer));
  }

  void kernel() {
    const nlohmann::json* table = reader_.find("/kernel");
    if (table == nullptr) {
      if (needs_kernel_) missing("", "[kernel]");
      return;
    }
    if (!table->is_object()) return reader_.wrong_type("/kernel", "a table");
    reader_.only("/kernel", {"file", "function"}, "[kernel]");
    if (reader_.find("/kernel/file") == nullptr) missing("/kernel", "`file` of [kernel]");
    if (reader_.find("/kernel/function") == nullptr) missing("/kernel", "`function` of [kernel]");
    const std::optional<std::string> file = reader_.text("/kernel/file");
    const std::optional<std::string> function = reader_.text("/kernel/function");
    if (file) {
      task_.kernel_file = task_.folder / *file;
      std::error_code error;
      if (!std::filesystem::is_regular_file(task_.kernel_file, error)) {
        reader_.wrong_value("/kernel/file", fmt::format("there is no file `{}`", task_.kernel_file.string()));
      }
    }
    if (function && !is_name(*function)) reader_.wrong_value("/kernel/function", "a function name is an identifier");
    task_.function = function.value_or("");
  }

  void grid() {
    if (reader_.find("/grid") == nullptr) return missing("", "grid");
    task_.grid = reader_.expressions("/grid").value_or(std::vector<std::string>{});
    if (findings_.has_error()) return;
    if (task_.grid.empty() || task_.grid.size() > 3) reader_.wrong_value("/grid", "a grid has one to three dimensions");
  }

  void constexprs() {
    const nlohmann::json* table = reader_.find("/constexpr");
    if (table == nullptr) return;
    if (!table->is_object()) return reader_.wrong_type("/constexpr", "a table");
    for (const auto& [name, value] : table->items()) {
      const std::string pointer = "/constexpr/" + name;
      if (!is_name(name)) reader_.wrong_value(pointer, fmt::format("`{}` is not an identifier", name));
      Task::ConstexprRow row;
      row.place = reader_.place(pointer);
      if (value.is_boolean()) row.constant = value.get<bool>();
      else if (value.is_number_integer()) row.constant = value.get<std::int64_t>();
      else if (value.is_number_float()) row.constant = value.get<double>();
      else if (value.is_string()) row.expression = value.get<std::string>();
      else if (value.is_object() && value.size() == 1 && value.contains("text"))
        row.constant = reader_.text(pointer + "/text");
      else reader_.wrong_type(pointer, "a number, a boolean, an expression or { text = \"...\" }");
      task_.constexprs[name] = std::move(row);
    }
  }

  void args() {
    const nlohmann::json* list = reader_.find("/args");
    if (list == nullptr) return missing("", "[[args]]");
    if (!list->is_array()) return reader_.wrong_type("/args", "a list of tables");
    if (list->empty()) return missing("/args", "an argument");
    std::set<std::string> names;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string pointer = fmt::format("/args/{}", i);
      if (!(*list)[i].is_object()) {
        reader_.wrong_type(pointer, "a table");
        continue;
      }
      Arg row = arg(pointer);
      if (!names.insert(row.name).second || task_.constexprs.contains(row.name)) {
        reader_.wrong_value(pointer + "/name", fmt::format("`{}` is declared twice", row.name));
      }
      task_.args.push_back(std::move(row));
    }
    const bool has_output =
        std::any_of(task_.args.begin(), task_.args.end(), [](const Arg& row) { return row.role != Role::In; });
    if (!has_output && !findings_.has_error()) {
      reader_.wrong_value("/args", "no argument has role = \"out\" or \"inout\": there is nothing to compare");
    }
  }

  Arg arg(const std::string& pointer) {
    Arg row;
    row.place = reader_.place(pointer);
    for (const char* key : {"name", "type"}) {
      if (reader_.find(pointer + "/" + key) == nullptr) missing(pointer, fmt::format("`{}` of an argument", key));
    }
    row.name = reader_.text(pointer + "/name").value_or("");
    row.type = reader_.text(pointer + "/type").value_or("");
    if (!row.name.empty() && !is_name(row.name)) {
      reader_.wrong_value(pointer + "/name", fmt::format("`{}` is not an identifier", row.name));
    }
    if (!row.type.empty() && find_type(row.type) == nullptr) {
      std::vector<std::string_view> known;
      for (const TypeRow& type : kTypes) known.push_back(type.name);
      reader_.wrong_value(pointer + "/type",
                          fmt::format("unknown type `{}`; types are {}, with a leading * for a tensor", row.type,
                                      fmt::join(known, ", ")));
    }
    if (row.is_tensor()) tensor(pointer, row);
    else scalar(pointer, row);
    return row;
  }

  void tensor(const std::string& pointer, Arg& row) {
    reader_.only(pointer, {"name", "type", "shape", "role", "metadata", "init", "block", "extent"},
                 "a tensor argument");
    if (reader_.find(pointer + "/shape") == nullptr) missing(pointer, fmt::format("`shape` of tensor `{}`", row.name));
    row.shape = reader_.expressions(pointer + "/shape").value_or(std::vector<std::string>{});
    row.block = reader_.expressions(pointer + "/block").value_or(row.block);
    row.extent = reader_.expressions(pointer + "/extent").value_or(row.block.empty() ? row.extent : row.shape);
    if (row.block.empty() && !row.extent.empty()) {
      reader_.wrong_value(pointer + "/extent", "`extent` is of a descriptor, which has a `block`");
    }
    constexpr std::size_t kMostRank = 5;
    const bool is_ranked = row.block.size() == row.shape.size() && row.extent.size() == row.shape.size();
    if (!row.block.empty() && (!is_ranked || row.shape.size() > kMostRank)) {
      reader_.wrong_value(pointer + "/block",
                          "a descriptor's `block`, `shape` and `extent` have one length, at most 5");
    }
    const std::string role = reader_.text(pointer + "/role").value_or("in");
    if (role == "out") row.role = Role::Out;
    else if (role == "inout") row.role = Role::InOut;
    else if (role != "in") reader_.wrong_value(pointer + "/role", "role is \"in\", \"out\" or \"inout\"");
    row.is_metadata = reader_.flag(pointer + "/metadata").value_or(false);
    row.init = reader_.text(pointer + "/init").value_or("");
    const TypeRow* type = find_type(row.type);
    if (type != nullptr) check_init(pointer + "/init", row.init, type->is_float);
    if (row.is_metadata && type != nullptr && type->is_float) {
      reader_.wrong_value(pointer + "/metadata", "only integer tensors can be metadata");
    }
    if (row.is_metadata && row.role != Role::In) reader_.wrong_value(pointer + "/role", "metadata is an input");
  }

  void check_init(const std::string& pointer, std::string_view init, bool is_float) {
    if (init.empty()) return;
    if (is_float) {
      if (init == "normal" || float_range(init)) return;
      return reader_.wrong_value(pointer, "init of floats is normal, uniform, uniform(low, high) or zeros");
    }
    const bool is_randint = init.starts_with("randint(") && init.ends_with(")");
    if (is_randint || init == "zeros" || init == "arange" || init == "permutation") return;
    reader_.wrong_value(pointer, "init of integers is zeros, arange, permutation or randint(low, high)");
  }

  void scalar(const std::string& pointer, Arg& row) {
    reader_.only(pointer, {"name", "type", "value"}, "a scalar argument");
    const nlohmann::json* value = reader_.find(pointer + "/value");
    if (value == nullptr) return missing(pointer, fmt::format("`value` of scalar `{}`", row.name));
    const TypeRow* type = find_type(row.type);
    if (type == nullptr) return;
    if (!type->is_float) {
      row.value = reader_.expression(pointer + "/value").value_or("0");
      return;
    }
    if (value->is_number()) {
      row.real = value->get<double>();
      row.value = fmt::format("{}", row.real);
    } else {
      reader_.wrong_type(pointer + "/value", "a number");
    }
  }

  void tolerance() {
    const nlohmann::json* table = reader_.find("/tolerance");
    if (table == nullptr) return;
    if (!table->is_object()) return reader_.wrong_type("/tolerance", "a table");
    reader_.only("/tolerance", {"relative", "absolute"}, "[tolerance]");
    task_.tolerance.relative = reader_.number("/tolerance/relative").value_or(0);
    task_.tolerance.absolute = reader_.number("/tolerance/absolute").value_or(0);
    for (const double bound : {task_.tolerance.relative, task_.tolerance.absolute}) {
      if (!(bound >= 0) || std::isinf(bound)) reader_.wrong_value("/tolerance", "a tolerance is at least 0 and finite");
    }
  }

  // What autotuning tries; whoever tunes reads it from the file's tree.
  void baseline() {
    const nlohmann::json* table = reader_.find("/baseline");
    if (table == nullptr) return;
    if (!table->is_object()) return reader_.wrong_type("/baseline", "a table");
    for (const auto& [name, values] : table->items()) {
      const std::string pointer = "/baseline/" + name;
      const bool is_option = name == "num_warps" || name == "num_stages";
      if (!is_option && !task_.constexprs.contains(name)) {
        reader_.wrong_value(pointer,
                            fmt::format("`{}` is neither num_warps, num_stages nor a constexpr of the task", name));
      }
      const auto is_integer = [](const nlohmann::json& value) { return value.is_number_integer(); };
      if (!values.is_array() || values.empty() || !std::all_of(values.begin(), values.end(), is_integer)) {
        reader_.wrong_type(pointer, "a list of integers");
      }
    }
  }

  void work() {
    const nlohmann::json* table = reader_.find("/work");
    if (table == nullptr) return;
    if (!table->is_object()) return reader_.wrong_type("/work", "a table");
    reader_.only("/work", {"operations"}, "[work]");
    reader_.text("/work/operations");
  }

  void shapes(const std::string& kind, std::vector<Shape>& out) {
    const std::string pointer = "/shapes/" + kind;
    const nlohmann::json* list = reader_.find(pointer);
    if (list == nullptr) return;
    if (!list->is_array()) return reader_.wrong_type(pointer, "a list of tables");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string at = fmt::format("{}/{}", pointer, i);
      if (!(*list)[i].is_object()) {
        reader_.wrong_type(at, "a table of sizes");
        continue;
      }
      Shape shape;
      shape.place = reader_.place(at);
      for (const auto& [name, value] : (*list)[i].items()) {
        if (!value.is_number_integer()) reader_.wrong_type(at + "/" + name, "an integer");
        else shape.sizes[name] = value.get<std::int64_t>();
        if (!is_name(name)) reader_.wrong_value(at + "/" + name, fmt::format("`{}` is not an identifier", name));
        if (task_.constexprs.contains(name)) {
          reader_.wrong_value(at + "/" + name, fmt::format("`{}` is a constexpr of the task", name));
        }
      }
      if (shape.sizes.empty()) reader_.wrong_value(at, "a shape without sizes");
      shape.label = label_of(shape.sizes);
      out.push_back(std::move(shape));
    }
  }

  Task& task_;
  bool needs_kernel_;
  TomlReader reader_;
  Findings& findings_;
};

}  // namespace

std::string label_of(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  return out;
}

unsigned element_bytes(std::string_view type) {
  const TypeRow* row = find_type(type);
  return row != nullptr ? row->bytes : 0;
}

bool is_float_type(std::string_view type) {
  const TypeRow* row = find_type(type);
  return row != nullptr && row->is_float;
}

std::optional<Task> load_task(const std::filesystem::path& path, Findings& findings, bool needs_kernel) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::is_directory(path, error) ? path / "task.toml" : path;
  const SourcePtr source = read_source(file, findings);
  if (!source) return std::nullopt;
  Findings own;
  Task task;
  task.folder = file.parent_path();
  const std::filesystem::path absolute = std::filesystem::absolute(file, error).lexically_normal();
  task.name = absolute.parent_path().filename().string();
  if (std::optional<Toml> toml = parse_toml(source, source->text(), own)) {
    task.toml = std::move(*toml);
    Loader(task, own, needs_kernel).run();
    for (const auto* shapes : {&task.prove_shapes, &task.test_shapes, &task.bench_shapes}) {
      for (const Shape& shape : *shapes) {
        if (own.has_error()) continue;
        const std::optional<Bound> bound = bind(task, shape, {}, own);
        if (bound) operations_of(task, *bound, own);
      }
    }
  }
  const bool is_bad = own.has_error();
  findings.append(std::move(own));
  if (is_bad) return std::nullopt;
  return task;
}

std::optional<std::int64_t> operations_of(const Task& task, const Bound& bound, Findings& findings) {
  static const nlohmann::json::json_pointer kOperations("/work/operations");
  if (!task.toml.value.contains(kOperations)) return std::nullopt;
  return evaluate(task.toml.value[kOperations].get<std::string>(), bound.sizes, task.toml.place("/work/operations"),
                  findings);
}

}  // namespace plumb::task
