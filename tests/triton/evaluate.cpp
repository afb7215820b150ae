// SPDX-License-Identifier: Apache-2.0
// Evaluates one call of a Triton kernel in the IEEE domain, for the comparisons that Python scripts of this folder
// make.
//   triton_evaluate MANIFEST.json
// The manifest names the source, the function, the grid and the arguments; tensors are raw files, read before and
// written back after. The last line of output is a JSON object with the time that the evaluation took.
#include <chrono>
#include <cstdio>
#include <cstring>
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

int evaluate(const json& manifest) {
  Findings findings;
  const SourcePtr source = read_source(manifest.at("source").get<std::string>(), findings);
  if (!source) return report(findings);
  std::optional<triton::Kernel> kernel =
      triton::Kernel::load(source, manifest.at("function").get<std::string>(), {}, findings);
  if (!kernel) return report(findings);
  domain::Memory memory(false);
  triton::Call call;
  for (std::size_t i = 0; i < manifest.at("grid").size(); ++i) call.grid[i] = manifest["grid"][i];
  for (const auto& [name, entry] : manifest.at("arguments").items()) {
    triton::Argument argument;
    argument.type = entry.at("type");
    if (entry.contains("file")) {
      const std::optional<std::string> bytes = read_file(entry["file"].get<std::string>(), findings);
      if (!bytes) return report(findings);
      domain::Buffer& buffer = memory.add(name, bytes->size(), domain::Init::Concrete, domain::Format::F32);
      std::memcpy(buffer.bytes.get(), bytes->data(), bytes->size());
      argument.bits = buffer.address;
    } else if (argument.type == "constexpr") {
      argument.constant = constant(entry.at("value"));
    } else {
      argument.bits = entry.at("bits").get<std::uint64_t>();
    }
    call.arguments[name] = argument;
  }
  std::vector<domain::Ieee> domains(worker_count(manifest.value("workers", 0u)));
  std::vector<domain::Ieee*> pointers;
  for (domain::Ieee& each : domains) pointers.push_back(&each);
  const auto start = std::chrono::steady_clock::now();
  triton::Result result;
  for (int repeat = manifest.value("repeat", 1); repeat > 0; --repeat) {
    result = kernel->evaluate(call, pointers, memory,
                              {.workers = static_cast<unsigned>(domains.size()),
                               .step_budget = manifest.value("budget", std::uint64_t{1} << 40)});
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (result.stop) {
    std::fputs(render(result.stop->finding, false).c_str(), stderr);
    return 1;
  }
  for (const auto& [name, entry] : manifest["arguments"].items()) {
    if (!entry.contains("file")) continue;
    const domain::Buffer& buffer = *memory.find(name);
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.bytes.get()), buffer.size);
    if (!write_file(entry["file"].get<std::string>(), bytes, findings)) return report(findings);
  }
  std::printf("{\"seconds\": %.9f, \"element_ops\": %llu}\n", seconds.count() / manifest.value("repeat", 1),
              static_cast<unsigned long long>(result.element_ops));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Findings findings;
  if (argc != 2) return std::fputs("usage: triton_evaluate MANIFEST.json\n", stderr), 2;
  const std::optional<std::string> text = read_file(argv[1], findings);
  if (!text) return report(findings);
  try {
    return evaluate(json::parse(*text));
  } catch (const json::exception& error) {
    std::fprintf(stderr, "the manifest is not as expected: %s\n", error.what());
    return 2;
  }
}
