// SPDX-License-Identifier: Apache-2.0
#include "triton/frontend/module.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "triton/frontend/parse.h"
#include "triton/op_table.h"
#include "triton/type.h"

namespace plumb::triton {
namespace {

constexpr std::size_t kMostModules = 256;
constexpr unsigned kDeepest = 64;  // imports of imports

bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}
bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_module_of_triton(const Meaning& meaning) { return meaning.is_triton() && Scope::canonical(meaning.path) == ""; }

bool is_same(const Meaning& a, const Meaning& b) {
  if (a.module != b.module) return false;
  if (a.module != nullptr) return a.global.node == b.global.node;
  const std::optional<std::string> x = Scope::canonical(a.path), y = Scope::canonical(b.path);
  if (!x || !y) return a.path == b.path;
  return x == y || (find_op(*x) != nullptr && find_op(*x) == find_op(*y));
}

struct Deeper {
  explicit Deeper(unsigned& depth_) : depth(depth_) { ++depth; }
  ~Deeper() { --depth; }
  unsigned& depth;
};

}  // namespace

Module::Module(SourcePtr source_, Json statements_)
    : source(std::move(source_)),
      statements(std::move(statements_)),
      scope(statements),
      folder(std::filesystem::path(source->name()).parent_path()) {}

Modules::Modules(SourcePtr main, Json statements, const PythonConfig& python) : python_(python) {
  order_.push_back(main);
  modules_[""] = std::make_unique<Module>(std::move(main), std::move(statements));
}
Modules::~Modules() = default;

std::vector<SourcePtr> Modules::sources() const { return order_; }

// Null when there is no such file, or Python does not parse it.
const Module* Modules::load(const std::filesystem::path& file) {
  const std::string key = file.lexically_normal().string();
  const auto known = modules_.find(key);
  if (known != modules_.end()) return known->second.get();
  if (modules_.size() >= kMostModules || !is_file(file)) return nullptr;
  Findings ignored;
  SourcePtr source = read_source(file, ignored);
  std::optional<Json> statements = source ? parse_python(source, python_, ignored) : std::nullopt;
  std::unique_ptr<Module>& slot = modules_[key];
  if (!statements) return nullptr;
  order_.push_back(source);
  slot = std::make_unique<Module>(std::move(source), std::move(*statements));
  return slot.get();
}

// --- names -----------------------------------------------------------------------------------------------------------

std::optional<Meaning> Modules::find(const Module& module, std::string_view name) {
  const std::pair<const Module*, std::string> key(&module, name);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const Deeper deeper(depth_);
  if (depth_ > kDeepest) return std::nullopt;
  known_[key] = std::nullopt;  // while it is being found, for imports in a circle
  std::optional<Meaning> found;
  if (const std::vector<Binding>* bindings = module.scope.find(name)) {
    found = bound(module, *bindings);
  } else {
    for (const std::string& star : module.scope.stars()) {
      if (star.starts_with("triton.")) {
        found = Meaning{star + std::string(name), nullptr, {}};
        const std::optional<std::string> canonical = Scope::canonical(found->path);
        if (!canonical || (find_op(*canonical) == nullptr && !from_language_name(*canonical))) found.reset();
      } else {
        found = from_path(module, star + std::string(name));
        if (found && found->module == nullptr) found.reset();
      }
      if (found) break;
    }
  }
  known_[key] = found;
  return found;
}

// What the module's statements leave the name bound to. A binding that may or may not be made counts when the kernel
// could not run without it: when it is the only one, or imports Triton itself.
std::optional<Meaning> Modules::bound(const Module& module, const std::vector<Binding>& bindings) {
  std::optional<Meaning> found;
  bool is_tried = false;  // `found` is of a `try`
  for (const Binding& each : bindings) {
    const std::optional<bool> is_bound = holds(module, each);
    if (is_bound == false) continue;
    std::optional<Meaning> next = meaning(module, each);
    if (!next) next = Meaning{{}, &module, {Global::Kind::Other, {}, each.global.node}};
    if (is_bound == true || !found) {
      found = std::move(next);
      is_tried = is_bound != true && each.conditions.back().test == nullptr;
    } else if (is_same(*found, *next) || is_module_of_triton(*found) || (is_tried && found->is_triton())) {
      continue;
    } else if (is_module_of_triton(*next)) {
      found = std::move(next);
    } else {
      found = Meaning{{}, &module, {Global::Kind::Other, {}, each.global.node}};
    }
  }
  return found;
}

std::optional<Meaning> Modules::meaning(const Module& module, const Binding& binding) {
  const Global& global = binding.global;
  if (global.kind == Global::Kind::Path) {
    std::optional<Meaning> found = from_path(module, global.path);
    return found ? found : Meaning{global.path, nullptr, {}};
  }
  if (global.kind == Global::Kind::Constant) {  // exp = tl.exp
    if (std::optional<Meaning> alias = resolve(module, *global.node)) return alias;
  }
  return Meaning{{}, &module, global};
}

std::optional<Meaning> Modules::resolve(const Module& module, const Json& expression) {
  if (is(expression, "Name")) return find(module, name_of(expression, "id"));
  if (!is(expression, "Attribute")) return std::nullopt;
  std::optional<Meaning> object = resolve(module, get(expression, "value"));
  if (!object || object->module != nullptr) return std::nullopt;
  return from_path(module, object->path + '.' + std::string(name_of(expression, "attr")));
}

// --- paths -----------------------------------------------------------------------------------------------------------

std::optional<Meaning> Modules::from_path(const Module& module, std::string_view path) {
  if (path == "triton" || path.starts_with("triton.")) return Meaning{std::string(path), nullptr, {}};
  const Deeper deeper(depth_);
  if (depth_ > kDeepest) return std::nullopt;
  if (path.starts_with('.')) {
    std::filesystem::path folder = module.folder;
    path.remove_prefix(1);
    for (; path.starts_with('.'); path.remove_prefix(1)) folder = folder / "..";
    std::optional<Meaning> found = in_folder(folder, path);
    return found ? found : Meaning{"." + std::string(path), nullptr, {}};
  }
  // Beside the module and beside the kernel; from the folder that holds the package of that name which the module is
  // in; from the folder that holds the module's whole package.
  for (const std::filesystem::path& folder : {module.folder, main().folder}) {
    if (std::optional<Meaning> found = in_folder(folder, path)) return found;
  }
  const std::string first(split(path).first);
  std::filesystem::path root = module.folder;
  bool is_package = is_file(root / "__init__.py");
  for (std::filesystem::path up = root; !up.empty() && up != up.parent_path(); up = up.parent_path()) {
    if (up.filename() == first) {
      if (std::optional<Meaning> found = in_folder(up.parent_path(), path)) return found;
    }
    is_package = is_package && is_file(up / "__init__.py");
    if (is_package) root = up.parent_path();
  }
  if (root != module.folder) {
    if (std::optional<Meaning> found = in_folder(root, path)) return found;
  }
  return Meaning{std::string(path), nullptr, {}};
}

std::optional<Meaning> Modules::in_folder(const std::filesystem::path& folder, std::string_view rest) {
  const auto [first, others] = split(rest);
  if (first.empty()) return std::nullopt;
  const std::filesystem::path inner = folder / first;
  if (is_folder(inner) && !others.empty()) {
    const Module* init = load(inner / "__init__.py");
    if (init != nullptr && init->scope.find(split(others).first) != nullptr) {
      if (std::optional<Meaning> found = attribute(*init, others)) return found;
    }
    if (std::optional<Meaning> found = in_folder(inner, others)) return found;
    if (init != nullptr) return attribute(*init, others);
    return std::nullopt;
  }
  const Module* module = others.empty() ? nullptr : load(std::filesystem::path(inner.string() + ".py"));
  return module != nullptr ? attribute(*module, others) : std::nullopt;
}

std::optional<Meaning> Modules::attribute(const Module& module, std::string_view rest) {
  const auto [first, others] = split(rest);
  std::optional<Meaning> found = find(module, first);
  if (!found || others.empty()) return found;
  if (found->module != nullptr) return std::nullopt;
  return from_path(module, found->path + '.' + std::string(others));
}

// --- conditions at module level --------------------------------------------------------------------------------------

std::optional<bool> Modules::holds(const Module& module, const Binding& binding) {
  bool is_known = true;
  for (const Condition& each : binding.conditions) {
    const std::optional<bool> known = each.test != nullptr ? truth(module, *each.test) : std::nullopt;
    if (known && *known != each.wanted) return false;
    is_known = is_known && known;
  }
  return is_known ? std::optional<bool>(true) : std::nullopt;
}

std::optional<bool> Modules::truth(const Module& module, const Json& expression) {
  const Known known = value(module, expression);
  if (!known) return std::nullopt;
  if (const bool* boolean = std::get_if<bool>(&*known)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&*known)) return *integer != 0;
  if (const auto* text = std::get_if<std::string>(&*known)) return !text->empty();
  return false;
}

Modules::Known Modules::value(const Module& module, const Json& expression) {
  const Deeper deeper(depth_);
  if (depth_ > kDeepest) return std::nullopt;
  const std::string_view word = kind(expression);
  if (word == "Constant") {
    const Json& constant = get(expression, "value");
    const auto& type = constant.at(0).get_ref<const std::string&>();
    const auto& text = constant.at(1).get_ref<const std::string&>();
    if (type == "none") return None{};
    if (type == "bool") return text == "1";
    if (type == "str") return text;
    if (type == "int" && text.size() < 16) return static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 16));
    return std::nullopt;
  }
  if (word == "Name" || word == "Attribute") {
    const std::optional<Meaning> found = resolve(module, expression);
    if (!found) return std::nullopt;
    if (found->module == nullptr) {  // CUDA is the back end, not HIP
      return found->path == "torch.version.hip" ? Known(None{}) : std::nullopt;
    }
    return found->global.kind == Global::Kind::Constant ? value(*found->module, *found->global.node) : std::nullopt;
  }
  if (word == "UnaryOp" && get(expression, "op") == "Not") {
    const std::optional<bool> operand = truth(module, get(expression, "operand"));
    return operand ? Known(!*operand) : std::nullopt;
  }
  if (word == "BoolOp") {
    const bool decisive = get(expression, "op") == "Or";
    bool is_known = true;
    for (const Json& each : list(expression, "values")) {
      const std::optional<bool> operand = truth(module, each);
      if (operand == decisive) return decisive;
      is_known = is_known && operand;
    }
    return is_known ? Known(!decisive) : std::nullopt;
  }
  if (word == "IfExp") {
    const std::optional<bool> test = truth(module, get(expression, "test"));
    return test ? value(module, get(expression, *test ? "body" : "orelse")) : std::nullopt;
  }
  if (word == "Compare") return compare_value(module, expression);
  if (word == "Call") return call_value(module, expression);
  return std::nullopt;
}

Modules::Known Modules::compare_value(const Module& module, const Json& expression) {
  const Json& ops = list(expression, "ops");
  if (ops.size() != 1) return std::nullopt;
  const auto& op = ops.at(0).get_ref<const std::string&>();
  const Known left = value(module, get(expression, "left"));
  const Json& other = list(expression, "comparators").at(0);
  if (op == "In" || op == "NotIn") {
    if (!left || !(is(other, "Tuple") || is(other, "List") || is(other, "Set"))) return std::nullopt;
    bool is_in = false;
    for (const Json& each : list(other, "elts")) {
      const Known element = value(module, each);
      if (!element) return std::nullopt;
      is_in = is_in || *element == *left;
    }
    return is_in == (op == "In");
  }
  const Known right = value(module, other);
  if (!left || !right) return std::nullopt;
  if (op == "Eq" || op == "Is") return *left == *right;
  if (op == "NotEq" || op == "IsNot") return *left != *right;
  return std::nullopt;
}

// hasattr of Triton's modules, the environment, and a few methods of strings.
Modules::Known Modules::call_value(const Module& module, const Json& expression) {
  const Json& callee = get(expression, "func");
  const Json& arguments = list(expression, "args");
  const auto text_at = [&](std::size_t i) -> std::optional<std::string> {
    const Known known = i < arguments.size() ? value(module, arguments[i]) : std::nullopt;
    const auto* text = known ? std::get_if<std::string>(&*known) : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
  };
  if (is(callee, "Name") && module.scope.find(name_of(callee, "id")) == nullptr) {
    const std::string_view name = name_of(callee, "id");
    if (name == "bool" && arguments.size() == 1) {
      const std::optional<bool> known = truth(module, arguments[0]);
      return known ? Known(*known) : std::nullopt;
    }
    if (name == "int" && arguments.size() == 1) {
      const std::optional<std::string> text = text_at(0);
      if (text && !text->empty() && text->size() < 16 &&
          std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; })) {
        return static_cast<std::int64_t>(std::strtoll(text->c_str(), nullptr, 10));
      }
      return std::nullopt;
    }
    if (name == "hasattr" && arguments.size() == 2) {
      const std::optional<Meaning> object = resolve(module, arguments[0]);
      const std::optional<std::string> attribute = text_at(1);
      if (!object || !object->is_triton() || !attribute) return std::nullopt;
      const std::optional<std::string> canonical = Scope::canonical(object->path + '.' + *attribute);
      const bool is_known = canonical && (find_op(*canonical) != nullptr || from_language_name(*canonical));
      // What the table does not have, Triton may have all the same.
      return is_known && !attribute->starts_with("_experimental") ? Known(true) : std::nullopt;
    }
    return std::nullopt;
  }
  if (!is(callee, "Attribute")) return std::nullopt;
  const std::string_view method = name_of(callee, "attr");
  if (const std::optional<Meaning> found = resolve(module, callee); found && found->module == nullptr) {
    if (found->path != "os.getenv" && found->path != "os.environ.get") return std::nullopt;
    if (arguments.size() == 1) return None{};
    return arguments.size() == 2 ? value(module, arguments[1]) : std::nullopt;
  }
  if (method != "lower" && method != "upper" && method != "strip") return std::nullopt;
  Known text = value(module, get(callee, "value"));
  auto* letters = text ? std::get_if<std::string>(&*text) : nullptr;
  if (letters == nullptr || !arguments.empty()) return std::nullopt;
  for (char& c : *letters) {
    if (method == "lower" && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (method == "upper" && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (method == "strip" && (c == ' ' || c == '\t')) return std::nullopt;
  }
  return text;
}

}  // namespace plumb::triton
