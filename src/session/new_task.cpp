// SPDX-License-Identifier: Apache-2.0
#include "session/new_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "session/codes.h"
#include "task/task.h"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// A number stands as it is, 'text' in single quotes is a string, everything else an expression.
std::string value_text(std::string_view text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                         text.find_first_of("0123456789") != std::string_view::npos;
  if (is_number || text == "true" || text == "false") return std::string(text);
  const bool is_text = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return is_text ? fmt::format("{{ text = {} }}", toml_string(text.substr(1, text.size() - 2))) : toml_string(text);
}

class Writer {
 public:
  Writer(const NewTask& wanted, Findings& findings) : wanted_(wanted), findings_(findings) {}

  std::optional<std::string> toml(const std::vector<triton::Kernel::Parameter>& parameters) {
    std::map<std::string, std::string> given;
    for (const std::string& argument : wanted_.arguments) {
      const std::size_t equals = argument.find('=');
      if (equals == std::string::npos) return refuse(fmt::format("`{}` is no argument; write NAME=...", argument));
      given[std::string(trimmed(argument.substr(0, equals)))] = trimmed(argument.substr(equals + 1));
    }
    std::string constexprs, arguments;
    for (const triton::Kernel::Parameter& parameter : parameters) {
      const auto found = given.find(parameter.name);
      if (found == given.end()) {
        if (parameter.default_value) continue;
        return refuse(fmt::format("the kernel's parameter `{}` is not described; add --arg '{}=...'", parameter.name,
                                  parameter.name));
      }
      if (parameter.is_constexpr) constexprs += fmt::format("{} = {}\n", parameter.name, value_text(found->second));
      else if (!add_argument(parameter.name, found->second, arguments)) return std::nullopt;
      given.erase(found);
    }
    if (!given.empty()) return refuse(fmt::format("the kernel has no parameter `{}`", given.begin()->first));
    return head() + (constexprs.empty() ? "" : "\n[constexpr]\n" + constexprs) + arguments + tail();
  }

 private:
  std::optional<std::string> refuse(std::string message) {
    findings_.add(kNewTask, std::move(message));
    return std::nullopt;
  }

  std::string head() const {
    std::string grid;
    for (const std::string& each : wanted_.grid) grid += (grid.empty() ? "" : ", ") + value_text(each);
    return fmt::format("grid = [{}]\n\n[kernel]\nfile = {}\nfunction = {}\n", grid,
                       toml_string(wanted_.kernel_file.filename().string()), toml_string(wanted_.function));
  }

  std::string tail() const {
    std::string prove;
    for (const std::string& shape : wanted_.shapes) prove += fmt::format("  {},\n", table(shape));
    const std::string last = table(wanted_.shapes.back());
    return fmt::format(
        "\n[tolerance]\nrelative = 0.01\nabsolute = 0.001\n\n[shapes]\nprove = [\n{}]\ntest = [{}]\nbench = [{}]\n",
        prove, last, last);
  }

  static std::string table(std::string_view shape) {
    std::string out = "{ ";
    for (const char c : shape) {
      if (c == '=') out += " = ";
      else if (c == ',') out += ", ";
      else if (c != ' ') out += c;
    }
    return out + " }";
  }

  bool add_argument(const std::string& name, std::string_view text, std::string& out) {
    out += fmt::format("\n[[args]]\nname = {}\n", toml_string(name));
    return text.starts_with('*') ? add_tensor(name, text, out) : add_scalar(text, out);
  }

  bool add_tensor(const std::string& name, std::string_view text, std::string& out) {
    const std::size_t open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      refuse(fmt::format("`{}={}`: a tensor is written *bf16[M, K]", name, text));
      return false;
    }
    out += fmt::format("type = {}\nshape = {}\n", toml_string(trimmed(text.substr(0, open))),
                       list(text.substr(open + 1, close - open - 1)));
    return add_facts(name, trimmed(text.substr(close + 1)), out);
  }

  static std::string list(std::string_view rest) {
    std::string extents;
    while (!rest.empty()) {
      const std::size_t comma = extent_end(rest);
      extents += (extents.empty() ? "" : ", ") + value_text(trimmed(rest.substr(0, comma)));
      rest.remove_prefix(std::min(rest.size(), comma + 1));
    }
    return "[" + extents + "]";
  }

  // Up to a comma that stands in no parentheses.
  static std::size_t extent_end(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') --depth;
      if (text[i] == ',' && depth == 0) return i;
    }
    return text.size();
  }

  bool add_facts(const std::string& name, std::string_view facts, std::string& out) {
    while (!facts.empty()) {
      const bool is_init = facts.starts_with("init=");
      const std::size_t open = facts.find('['), close = facts.find(']');
      const bool is_list = facts.starts_with("block=[") || facts.starts_with("extent=[");
      if (is_list && close != std::string_view::npos) {  // of a tensor that the kernel gets as a descriptor
        out += fmt::format("{} = {}\n", facts.substr(0, open - 1), list(facts.substr(open + 1, close - open - 1)));
        facts = trimmed(facts.substr(close + 1));
        continue;
      }
      const std::size_t end = is_init ? facts.size() : std::min(facts.find(' '), facts.size());
      const std::string_view fact = facts.substr(0, end);
      if (is_init) out += fmt::format("init = {}\n", toml_string(trimmed(fact.substr(5))));
      else if (fact == "metadata") out += "metadata = true\n";
      else if (fact == "in" || fact == "out" || fact == "inout") out += fmt::format("role = {}\n", toml_string(fact));
      else {
        refuse(fmt::format("`{}`: `{}` is none of in, out, inout, metadata, block=[...], extent=[...], init=...", name,
                           fact));
        return false;
      }
      facts = trimmed(facts.substr(end));
    }
    return true;
  }

  static bool add_scalar(std::string_view text, std::string& out) {
    const std::size_t space = text.find(' ');
    const std::string_view first = text.substr(0, std::min(space, text.size()));
    const bool has_type = space != std::string_view::npos && task::element_bytes(first) != 0;
    const std::string_view value = has_type ? trimmed(text.substr(space)) : text;
    const bool is_real = value_text(value)[0] != '"' && value.find_first_of(".eE") != std::string_view::npos;
    const std::string_view type = has_type ? first : is_real ? "fp32" : "i32";
    out += fmt::format("type = {}\nvalue = {}\n", toml_string(type), value_text(value));
    return true;
  }

  const NewTask& wanted_;
  Findings& findings_;
};

}  // namespace

bool write_new_task(const NewTask& wanted, const triton::PythonConfig& python, Findings& findings) {
  const SourcePtr source = read_source(wanted.kernel_file, findings);
  const auto kernel = source ? triton::Kernel::load(source, wanted.function, python, findings) : std::nullopt;
  if (!kernel) return false;
  if (kernel->sources().size() > 1) {
    findings.add(kNewTask, fmt::format("the kernel needs {} as well; put what it uses into one file",
                                       kernel->sources()[1]->name()));
    return false;
  }
  if (fs::exists(wanted.folder / "task.toml")) {
    findings.add(kNewTask, fmt::format("there is a task in {} already", wanted.folder.string()));
    return false;
  }
  const auto text = Writer(wanted, findings).toml(kernel->parameters());
  if (!text) return false;
  // Read back beside the final place, so that a description that makes no task leaves nothing.
  const bool was_there = fs::exists(wanted.folder);
  std::error_code error;
  fs::create_directories(wanted.folder, error);
  const bool is_written =
      write_file(wanted.folder / wanted.kernel_file.filename(), std::string(source->text()), findings) &&
      write_file(wanted.folder / "task.toml", *text, findings);
  if (is_written && task::load_task(wanted.folder, findings)) return true;
  fs::remove(wanted.folder / "task.toml", error);
  if (!was_there) fs::remove_all(wanted.folder, error);
  return false;
}

}  // namespace plumb::session
