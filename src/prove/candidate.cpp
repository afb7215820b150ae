// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "prove/prove.h"

namespace plumb::prove {

std::optional<Candidate> make_candidate(SourcePtr ptx, const std::filesystem::path& path, Findings& findings) {
  std::optional<ptx::CheckedModule> module = ptx::load(ptx, findings);
  if (!module) return std::nullopt;
  std::optional<task::LaunchHeader> launch = task::load_launch(ptx, path, findings);
  if (!launch) return std::nullopt;
  std::string text(ptx->text());
  if (launch->toml == nullptr || launch->toml->source != ptx) {
    Findings ignored;
    std::filesystem::path beside = path;
    beside.replace_extension(".json");
    if (const std::optional<std::string> json = read_file(beside, ignored)) text = *json;
  }
  return Candidate{std::move(*module), std::move(*launch), sha256(text)};
}

std::optional<Candidate> load_candidate(const std::filesystem::path& path, Findings& findings) {
  SourcePtr source = read_source(path, findings);
  if (!source) return std::nullopt;
  return make_candidate(std::move(source), path, findings);
}

}  // namespace plumb::prove
