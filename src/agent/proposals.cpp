// SPDX-License-Identifier: Apache-2.0
#include "agent/proposals.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/codes.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "session/schema.h"
#include "session/tool.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

// A basic string of TOML is written as one of JSON.
std::string toml_string(const Json& text) { return text.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string entry_text(const Json& proposal, const task::Task& task, std::string_view target) {
  std::string shows;
  for (const Json& passage : proposal["shows"])
    shows += fmt::format("{}{}", shows.empty() ? "" : ", ", toml_string(passage));
  return fmt::format("+++\ntargets = {}\n\n[[evidence]]\nclaim = {}\nproof = {}\nshows = [{}]\n+++\n\n{}\n",
                     toml_string(std::string(target)), toml_string(proposal["claim"]),
                     toml_string(fmt::format("{}/{}", task.name, target)), shows, proposal["text"].get<std::string>());
}

}  // namespace

std::vector<std::filesystem::path> write_proposals(const std::filesystem::path& log, const task::Task& task,
                                                   std::string_view target, std::string_view lowering,
                                                   const std::filesystem::path& out, Findings& findings) {
  std::vector<std::filesystem::path> written;
  Findings ignored;  // the log was just written by this process
  const std::optional<RunLog> run = read_log(log, ignored);
  if (!run) return written;
  std::map<std::string, Json> proposals;  // the last one of a name counts
  for (const Event& event : run->events) {
    const Json& call = event.value;
    if (call["event"] != "call" || call["tool"] != "propose" || !call.value("is_answer", false)) continue;
    const Json& input = call["input"];
    Findings unfit;
    if (session::conforms(input, Json::parse(session::find_tool("propose")->schema), unfit))
      proposals[input["name"].get<std::string>()] = input;
  }
  for (const auto& [name, proposal] : proposals) {
    std::string missing;
    for (const Json& passage : proposal["shows"]) {
      const auto& words = passage.get_ref<const std::string&>();
      if (lowering.find(words) == std::string_view::npos) missing = words;
    }
    if (!missing.empty()) {
      findings.add(kProposal,
                   fmt::format("the entry `{}` is not kept: the lowering has no passage `{}`", name, missing), {},
                   Severity::Warning);
      continue;
    }
    std::error_code error;
    std::filesystem::create_directories(out / "knowledge", error);
    const std::filesystem::path path = out / "knowledge" / (name + ".md");
    if (write_file(path, entry_text(proposal, task, target), findings)) written.push_back(path);
  }
  return written;
}

}  // namespace plumb::agent
