// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "session/codes.h"
#include "session/handlers.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

Json facts(const std::string& file, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + (text.empty() || text.back() == '\n' ? 0 : 1);
  return {{"file", file}, {"sha256", sha256(text)}, {"bytes", text.size()}, {"lines", lines}};
}

}  // namespace

Reply write_candidate(const Session& session, const Json& input) {
  Findings findings;
  const std::string file = input.value("file", session.default_file());
  const auto& text = input["text"].get_ref<const std::string&>();
  if (!session.write(file, text, findings)) return refuse(findings);
  return {true, facts(file, text)};
}

Reply patch_candidate(const Session& session, const Json& input) {
  Findings findings;
  const std::string file = input.value("file", session.default_file());
  const SourcePtr source = session.read(file, findings);
  if (!source) return refuse(findings);
  std::string text(source->text());
  const std::string hash = sha256(text);
  if (input["base_sha256"] != hash) {
    findings.add(kPatch, fmt::format("`{}` has the sha256 {} now, the patch was made for another text", file, hash));
    return refuse(findings);
  }
  for (std::size_t i = 0; i < input["edits"].size(); ++i) {
    const auto& search = input["edits"][i]["search"].get_ref<const std::string&>();
    const std::size_t found = search.empty() ? std::string::npos : text.find(search);
    if (found == std::string::npos) {
      findings.add(kPatch, fmt::format("edit {}: `search` does not stand in `{}`", i + 1, file));
    } else if (text.find(search, found + 1) != std::string::npos) {
      findings.add(kPatch, fmt::format("edit {}: `search` stands in `{}` more than once", i + 1, file));
    } else {
      text.replace(found, search.size(), input["edits"][i]["replace"].get_ref<const std::string&>());
    }
  }
  if (findings.has_error() || !session.write(file, text, findings)) return refuse(findings);
  return {true, facts(file, text)};
}

Reply read_candidate(const Session& session, const Json& input) {
  Findings findings;
  const std::string file = input.value("file", session.default_file());
  const SourcePtr source = session.read(file, findings);
  if (!source) return refuse(findings);
  Json out = facts(file, source->text());
  const auto first = input.value("first_line", std::uint64_t{1});
  const auto last = std::min<std::uint64_t>(input.value("last_line", ~std::uint64_t{0} >> 1), source->line_count());
  std::string text;
  for (std::uint64_t line = first; line <= last; ++line) {
    text += source->line(static_cast<std::uint32_t>(line));
    text += '\n';
  }
  out["text"] = first == 1 && last == source->line_count() ? std::string(source->text()) : text;
  return {true, std::move(out)};
}

}  // namespace plumb::session
