// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_resources.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "session/knowledge.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTask = "plumb://run/task.json", kCandidate = "plumb://run/candidate.ptx",
                           kReport = "plumb://run/report.json", kKnowledge = "plumb://knowledge/",
                           kIsa = "plumb://isa/", kExplain = "plumb://explain/";
constexpr std::string_view kJson = "application/json", kText = "text/plain", kMarkdown = "text/markdown";

Json described(std::string_view uri, std::string_view name, std::string_view description, std::string_view type) {
  return {{"uri", uri}, {"name", name}, {"description", description}, {"mimeType", type}};
}

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What a client filled into a template: `%20` and its like stand for bytes.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexadecimal(text[i + 1]) : -1;
    const int low = high >= 0 ? hexadecimal(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string shown(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace); }

McpResource looked_up(const McpRun& run, std::string_view tool, const Json& input) {
  const session::Reply reply = run.look_up(tool, input);
  if (!reply.is_answer) return {};
  return {shown(reply.output), std::string(kJson)};
}

}  // namespace

Json mcp_resources() {
  Json out = Json::array();
  out.push_back(described(kTask, "task", "the Triton source, arguments, grid, prove shapes, target", kJson));
  out.push_back(described(kCandidate, "best candidate", "the last that was proved, or else the last written", kText));
  out.push_back(described(kReport, "report", "how far the run is", kJson));
  for (const session::KnowledgeEntry& entry : session::knowledge()) {
    out.push_back(described(fmt::format("{}{}", kKnowledge, entry.name), entry.name, entry.title(), kMarkdown));
  }
  return out;
}

Json mcp_resource_templates() {
  const auto described_template = [](std::string_view uri, std::string_view name, std::string_view description) {
    return Json{{"uriTemplate", uri}, {"name", name}, {"description", description}, {"mimeType", kJson}};
  };
  return Json::array({described_template("plumb://isa/{query}", "instructions", "forms, PTX version and targets"),
                      described_template("plumb://explain/{code}", "codes", "what the code of a finding means")});
}

McpResource read_mcp_resource(const McpRun& run, std::string_view uri) {
  if (uri == kTask) return looked_up(run, "task", Json::object());
  if (uri == kReport) return {shown(run.report()), std::string(kJson)};
  if (uri == kCandidate) {
    const McpRun::Best best = run.best();
    if (!best.text) return {};
    return {std::string(best.text->text()), std::string(kText)};
  }
  if (uri.starts_with(kIsa)) return looked_up(run, "isa", {{"query", unescaped(uri.substr(kIsa.size()))}});
  if (uri.starts_with(kExplain)) {
    return looked_up(run, "explain", {{"code", unescaped(uri.substr(kExplain.size()))}});
  }
  if (uri.starts_with(kKnowledge)) {
    for (const session::KnowledgeEntry& entry : session::knowledge()) {
      if (entry.name == uri.substr(kKnowledge.size())) return {std::string(entry.text), std::string(kMarkdown)};
    }
  }
  return {};
}

}  // namespace plumb::agent
