// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "prove/codes.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

std::string hash_of_file(const std::filesystem::path& path) {
  Findings ignored;
  const std::optional<std::string> text = read_file(path, ignored);
  return text ? sha256(*text) : std::string();
}

nlohmann::json hashes(const task::Task& task, const Candidate& candidate) {
  return {{"task", sha256(task.toml.source ? task.toml.source->text() : std::string_view())},
          {"kernel", hash_of_file(task.kernel_file)},
          {"ptx", sha256(candidate.module->source->text())},
          {"launch", candidate.launch_sha256}};
}

}  // namespace

nlohmann::json certificate(const task::Task& task, const Candidate& candidate, const Outcome& outcome) {
  nlohmann::json out;
  out["format"] = "plumb-certificate-1";
  out["task"] = task.name;
  out["function"] = task.function;
  out["target"] = candidate.module->target.text;
  out["sha256"] = hashes(task, candidate);
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
  if (format == certificate.end() || *format != "plumb-certificate-1" || named == certificate.end() ||
      outcome == certificate.end() || !outcome->is_object()) {
    bad.is_bad_input = true;
    return refuse("this is no certificate of plumb");
  }
  const nlohmann::json now = hashes(task, candidate);
  for (const auto& [key, value] : now.items()) {
    const auto was = named->find(key);
    if (was == named->end() || *was != value) {
      return refuse(fmt::format("the {} is not the one that the certificate names (sha256 {})", key,
                                value.get<std::string>().substr(0, 16)));
    }
  }
  Options fresh = options;
  fresh.seed = 0;
  Outcome again = prove(task, candidate, fresh);
  const std::string verdict = outcome->value("verdict", ""), contract = outcome->value("contract", "");
  if (verdict != name(again.verdict) || contract != name(again.contract)) {
    again.findings.add(kCertificate,
                       fmt::format("the certificate says {}, contract {}; proving again says {}, contract {}", verdict,
                                   contract, name(again.verdict), name(again.contract)));
    again.verdict = Verdict::Unknown;
  }
  return again;
}

}  // namespace plumb::prove
