// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "prove/checkpoint.h"
#include "prove/codes.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

std::string hash_of_file(const std::filesystem::path& path) {
  Findings ignored;
  const std::optional<std::string> text = read_file(path, ignored);
  return text ? sha256(*text) : std::string();
}

// Of the modules that the kernel's file imports and its meaning may depend on; empty when there are none.
std::string hash_of_modules(const task::Task& task, const Options& options) {
  Findings ignored;
  const SourcePtr source = read_source(task.kernel_file, ignored);
  std::optional<triton::Kernel> kernel;
  if (source) kernel = triton::Kernel::load(source, task.function, options.python, ignored);
  if (!kernel || kernel->sources().size() < 2) return {};
  std::string all;
  for (std::size_t i = 1; i < kernel->sources().size(); ++i) all += sha256(kernel->sources()[i]->text());
  return sha256(all);
}

}  // namespace

nlohmann::json content_hashes(const task::Task& task, const Candidate& candidate, const Options& options) {
  nlohmann::json out = {{"task", sha256(task.toml.source ? task.toml.source->text() : std::string_view())},
                        {"ptx", sha256(candidate.module->source->text())},
                        {"launch", candidate.launch_sha256}};
  if (options.spec) {
    out["spec"] = sha256(options.spec->module->source->text());
    out["spec_launch"] = options.spec->launch_sha256;
    return out;
  }
  out["kernel"] = hash_of_file(task.kernel_file);
  if (std::string modules = hash_of_modules(task, options); !modules.empty()) out["modules"] = std::move(modules);
  return out;
}

namespace {

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "n=1000, draw 1": the sizes come before the first comma that a space follows.
std::vector<task::Shape> shapes_of(const nlohmann::json& outcome) {
  std::vector<task::Shape> shapes;
  const auto listed = outcome.find("shapes");
  if (listed == outcome.end() || !listed->is_array()) return shapes;
  for (const nlohmann::json& row : *listed) {
    std::string label = row.is_object() ? text_of(row, "shape") : std::string();
    label = label.substr(0, label.find(", "));
    Findings ignored;
    std::optional<task::Shape> shape = task::parse_shape(label, ignored);
    const bool is_known =
        std::any_of(shapes.begin(), shapes.end(), [&](const task::Shape& other) { return other.label == label; });
    if (shape && !is_known) {
      shape->label = label;
      shapes.push_back(std::move(*shape));
    }
  }
  return shapes;
}

}  // namespace

nlohmann::json certificate(const task::Task& task, const Candidate& candidate, const Outcome& outcome,
                           const Options& options) {
  nlohmann::json out;
  out["format"] = "plumb-certificate-1";
  out["task"] = task.name;
  out["function"] = task.function;
  out["target"] = candidate.module->target.text;
  out["sha256"] = content_hashes(task, candidate, options);
  out["outcome"] = to_json(outcome);
  return out;
}

Outcome recheck(const nlohmann::json& certificate, const task::Task& task, const Candidate& candidate,
                const Options& options) {
  Outcome bad;
  const auto refuse = [&](std::string text) {
    bad.findings.add(kCertificate, std::move(text));
    return bad;
  };
  const auto format = certificate.find("format");
  const auto named = certificate.find("sha256");
  const auto outcome = certificate.find("outcome");
  if (!certificate.is_object() || format == certificate.end() || *format != "plumb-certificate-1" ||
      named == certificate.end() || !named->is_object() || outcome == certificate.end() || !outcome->is_object()) {
    bad.is_bad_input = true;
    return refuse("this is no certificate of plumb");
  }
  const nlohmann::json now = content_hashes(task, candidate, options);
  for (const auto& [key, value] : now.items()) {
    const auto was = named->find(key);
    if (was == named->end() || *was != value) {
      return refuse(fmt::format("the {} is not the one that the certificate names (sha256 {})", key,
                                value.get<std::string>().substr(0, 16)));
    }
  }
  Options fresh = options;
  fresh.seed = 0;
  fresh.sample = outcome->value("sample", std::uint64_t{0});
  fresh.shapes = shapes_of(*outcome);
  if (fresh.shapes.empty()) return refuse("the certificate names no shape that was proved");
  Outcome again = prove(task, candidate, fresh);
  const nlohmann::json now_says = to_json(again);
  const std::string verdict = text_of(*outcome, "verdict"), contract = text_of(*outcome, "contract");
  if (verdict != text_of(now_says, "verdict") || contract != text_of(now_says, "contract")) {
    again.findings.add(kCertificate, fmt::format("the certificate says {}{}{}; proving again says {}, contract {}",
                                                 verdict, contract.empty() ? "" : ", contract ", contract,
                                                 name(again.verdict), name(again.contract)));
    again.verdict = Verdict::Unknown;
  }
  return again;
}

}  // namespace plumb::prove
