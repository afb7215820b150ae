// SPDX-License-Identifier: Apache-2.0
// Evaluates one call of a Triton kernel in the IEEE domain, for the comparisons that Python scripts of this folder
// make.
//   triton_evaluate MANIFEST.json
//   triton_evaluate --load [CACHE]
//   triton_evaluate --serve [CACHE]
// The manifest names the source, the function, the grid and the arguments; tensors are raw files, read before and
// written back after. The last line of output is a JSON object with the time that the evaluation took. With --load,
// lines of standard input name a source and a function, separated by a tab, and each is answered by one line: the list
// of what loading the kernel found, as [code, message, line]. With --serve, lines are manifests whose tensors are
// "hex", each answered by a line with the tensors afterwards, or the code and message of the stop. CACHE keeps parsed
// trees.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/parallel.h"
#include "domain/ieee/ieee.h"
#include "triton/kernel.h"

namespace {

using nlohmann::json;
using namespace plumb;

int report(const Findings& findings) {
  std::fputs(render(findings, false).c_str(), stderr);
  return 1;
}

triton::Constexpr constant(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return triton::None{};
}

// A tensor's bytes: of the file that its entry names, or written out in its "hex".
std::optional<std::string> bytes_of(const json& entry, Findings& findings) {
  if (entry.contains("file")) return read_file(entry["file"].get<std::string>(), findings);
  const auto& hex = entry.at("hex").get_ref<const std::string&>();
  std::string out;
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return out;
}
std::string hex_of(const domain::Buffer& buffer) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::uint64_t i = 0; i < buffer.size; ++i) {
    const auto byte = std::to_integer<unsigned>(buffer.bytes[i]);
    out += kDigits[byte >> 4], out += kDigits[byte & 15];
  }
  return out;
}
bool is_tensor(const json& entry) { return entry.contains("file") || entry.contains("hex"); }

std::optional<triton::Argument> argument_of(const std::string& name, const json& entry, domain::Memory& memory,
                                            Findings& findings) {
  triton::Argument argument;
  argument.type = entry.at("type");
  if (is_tensor(entry)) {
    const std::optional<std::string> bytes = bytes_of(entry, findings);
    if (!bytes) return std::nullopt;
    domain::Buffer& buffer = memory.add(name, bytes->size(), domain::Init::Concrete, domain::Format::F32);
    std::memcpy(buffer.bytes.get(), bytes->data(), bytes->size());
    argument.bits = buffer.address;
    argument.shape = entry.value("shape", std::vector<std::int64_t>());
    argument.strides = entry.value("strides", std::vector<std::int64_t>());
  } else if (argument.type == "constexpr") {
    argument.constant = constant(entry.at("value"));
  } else if (argument.type == "tuple") {
    for (std::size_t i = 0; i < entry.at("elements").size(); ++i) {
      std::optional<triton::Argument> element =
          argument_of(name + "." + std::to_string(i), entry["elements"][i], memory, findings);
      if (!element) return std::nullopt;
      argument.elements.push_back(std::move(*element));
    }
  } else {
    argument.bits = entry.at("bits").get<std::uint64_t>();
  }
  return argument;
}

// One call of a kernel: what it left in memory, or the stop.
struct Run {
  domain::Memory memory{false};
  triton::Result result;
  double seconds = 0;
  bool is_made = false;
};

void run(const json& manifest, const triton::Kernel& kernel, Run& run, Findings& findings) {
  triton::Call call;
  for (std::size_t i = 0; i < manifest.at("grid").size(); ++i) call.grid[i] = manifest["grid"][i];
  for (const auto& [name, entry] : manifest.at("arguments").items()) {
    std::optional<triton::Argument> argument = argument_of(name, entry, run.memory, findings);
    if (!argument) return;
    call.arguments[name] = std::move(*argument);
  }
  std::vector<domain::Ieee> domains(worker_count(manifest.value("workers", 0u)));
  std::vector<domain::Ieee*> pointers;
  for (domain::Ieee& each : domains) pointers.push_back(&each);
  const auto start = std::chrono::steady_clock::now();
  for (int repeat = manifest.value("repeat", 1); repeat > 0; --repeat) {
    run.result = kernel.evaluate(call, pointers, run.memory,
                                 {.workers = static_cast<unsigned>(domains.size()),
                                  .step_budget = manifest.value("budget", std::uint64_t{1} << 40)});
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.is_made = true;
}

std::optional<triton::Kernel> load_kernel(const json& manifest, const triton::PythonConfig& python,
                                          Findings& findings) {
  const SourcePtr source = read_source(manifest.at("source").get<std::string>(), findings);
  if (!source) return std::nullopt;
  return triton::Kernel::load(source, manifest.at("function").get<std::string>(), python, findings);
}

int evaluate(const json& manifest) {
  Findings findings;
  const std::optional<triton::Kernel> kernel = load_kernel(manifest, {}, findings);
  if (!kernel) return report(findings);
  Run made;
  run(manifest, *kernel, made, findings);
  if (!made.is_made) return report(findings);
  if (made.result.stop) {
    std::fputs(render(made.result.stop->finding, false).c_str(), stderr);
    return 1;
  }
  for (const auto& [name, entry] : manifest["arguments"].items()) {
    if (!entry.contains("file")) continue;
    const domain::Buffer& buffer = *made.memory.find(name);
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.bytes.get()), buffer.size);
    if (!write_file(entry["file"].get<std::string>(), bytes, findings)) return report(findings);
  }
  std::printf("{\"seconds\": %.9f, \"element_ops\": %llu}\n", made.seconds / manifest.value("repeat", 1),
              static_cast<unsigned long long>(made.result.element_ops));
  return 0;
}

// The lines of standard input, one after the other.
template <class Answer>
int for_lines(Answer answer) {
  std::string line;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    std::printf("%s\n", answer(line).c_str());
    std::fflush(stdout);
    line.clear();
  }
  return 0;
}

std::string text_of(const json& answer) { return answer.dump(-1, ' ', false, json::error_handler_t::replace); }

// The answer to one line of --serve.
std::string serve(const std::string& line, const triton::PythonConfig& python,
                  std::map<std::string, std::optional<triton::Kernel>>& kernels) {
  const json manifest = json::parse(line);
  Findings findings;
  const std::string key = manifest.at("source").get<std::string>() + "\t" + manifest.at("function").get<std::string>();
  if (!kernels.contains(key)) kernels.emplace(key, load_kernel(manifest, python, findings));
  Run made;
  const std::optional<triton::Kernel>& kernel = kernels.at(key);
  if (kernel) run(manifest, *kernel, made, findings);
  const Finding* stop = made.result.stop ? &made.result.stop->finding : nullptr;
  if (stop == nullptr && !findings.list().empty()) stop = &findings.list().front();
  if (stop != nullptr) return text_of({{"code", stop->code->id}, {"message", render(*stop, false)}});
  if (!made.is_made) return text_of({{"code", "triton.unsupported"}, {"message", "refused before"}});
  json outputs = json::object();
  for (const auto& [name, entry] : manifest["arguments"].items()) {
    if (is_tensor(entry)) outputs[name] = hex_of(*made.memory.find(name));
  }
  return text_of({{"outputs", outputs}, {"seconds", made.seconds}});
}

// The answer to one line of --load.
std::string load(std::string_view request, const triton::PythonConfig& python) {
  const std::size_t tab = request.find('\t');
  if (tab == std::string_view::npos) return "[]";
  Findings findings;
  const SourcePtr source = read_source(std::string(request.substr(0, tab)), findings);
  if (source) triton::Kernel::load(source, request.substr(tab + 1), python, findings);
  json found = json::array();
  for (const Finding& each : findings.list()) {
    const std::uint32_t at = each.place.source ? each.place.source->locate(each.place.span.begin).line : 0;
    found.push_back({each.code->id, each.message, at});
  }
  return text_of(found);
}

}  // namespace

int main(int argc, char** argv) {
  Findings findings;
  const std::string_view first = argc > 1 ? argv[1] : "";
  const triton::PythonConfig python{.cache = argc > 2 ? argv[2] : ""};
  try {
    if (first == "--load") return for_lines([&](const std::string& line) { return load(line, python); });
    if (first == "--serve") {
      std::map<std::string, std::optional<triton::Kernel>> kernels;
      return for_lines([&](const std::string& line) { return serve(line, python, kernels); });
    }
    if (argc != 2) return std::fputs("usage: triton_evaluate MANIFEST.json | (--load | --serve) [CACHE]\n", stderr), 2;
    const std::optional<std::string> text = read_file(argv[1], findings);
    return text ? evaluate(json::parse(*text)) : report(findings);
  } catch (const json::exception& error) {
    std::fprintf(stderr, "the manifest is not as expected: %s\n", error.what());
    return 2;
  }
}
