// SPDX-License-Identifier: Apache-2.0
#include "session/knowledge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "base/check.h"
#include "base/toml.h"
#include "session/codes.h"
#include "session/texts.h"

namespace plumb::session {
namespace {

constexpr std::string_view kFolder = "knowledge/", kSuffix = ".md", kMark = "+++\n";

// The number of an architecture: 90 of "sm_90a"; 0 where there is none.
unsigned number_of(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  unsigned number = 0;
  if (target.starts_with(kPrefix)) {
    std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), number);
  }
  return number;
}

// Lower-case words: letters, digits and `_`. `cp.async` is two of them, in a query as in an entry.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto end_word = [&] {
    // A plural is found by its singular and the other way round.
    if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    if (word.size() > 1) out.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (is_word) word += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    else end_word();
  }
  end_word();
  return out;
}

// How often each word stands in an entry; one of the title counts as four.
std::map<std::string, double> counts_of(const KnowledgeEntry& entry) {
  constexpr double kTitle = 4;
  std::map<std::string, double> out;
  for (std::string& word : words_of(entry.text)) out[std::move(word)] += 1;
  for (std::string& word : words_of(entry.title())) out[std::move(word)] += kTitle - 1;
  for (std::string& word : words_of(entry.name)) out[std::move(word)] += kTitle;
  return out;
}

std::string string_in(const nlohmann::json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : std::string();
}

Evidence evidence_of(const nlohmann::json& row) {
  Evidence out{string_in(row, "claim"),  string_in(row, "proof"), {},
               string_in(row, "mutant"), string_in(row, "name"),  string_in(row, "code"),
               string_in(row, "figure"), string_in(row, "at"),    0};
  if (row.contains("value") && row["value"].is_number()) out.value = row["value"].get<double>();
  if (row.contains("shows") && row["shows"].is_array()) {
    for (const nlohmann::json& text : row["shows"]) {
      if (text.is_string()) out.shows.push_back(text.get<std::string>());
    }
  }
  return out;
}

bool is_whole(const Evidence& evidence) {
  const bool is_proof = !evidence.proof.empty() && !evidence.shows.empty();
  const bool is_mutant = !evidence.mutant.empty() && !evidence.name.empty() && !evidence.code.empty();
  const bool is_figure = !evidence.figure.empty() && evidence.at.starts_with('/') && evidence.value > 0;
  return !evidence.claim.empty() && int{is_proof} + int{is_mutant} + int{is_figure} == 1;
}

}  // namespace

std::string_view KnowledgeEntry::title() const {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t first = line.find_first_not_of("# ");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

bool holds_for(std::string_view targets, std::string_view target) {
  constexpr std::string_view kLater = " and later";
  if (target.empty() || targets == "all") return true;
  if (targets.ends_with(kLater)) return number_of(target) >= number_of(targets);
  for (std::string_view rest = targets; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == target) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return false;
}

bool read_entry(std::string_view name, std::string_view text, KnowledgeEntry& entry, Findings& findings) {
  const std::size_t end = text.find("\n+++\n");
  const auto source = std::make_shared<Source>(fmt::format("{}.md", name), std::string(text));
  if (!text.starts_with(kMark) || end == std::string_view::npos) {
    findings.add(kKnowledge, "an entry begins with a head in TOML between lines of `+++`", Place{source, {0, 0}});
    return false;
  }
  std::string head(text.size(), ' ');  // as long as the text, so that places are those of the file
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (i >= kMark.size() && i < end)) head[i] = text[i];
  }
  const std::optional<Toml> toml = parse_toml(source, head, findings);
  if (!toml) return false;
  entry = {name, text.substr(end + 5), string_in(toml->value, "targets"), {}};
  while (entry.text.starts_with('\n')) entry.text.remove_prefix(1);
  if (toml->value.contains("evidence") && toml->value["evidence"].is_array()) {
    for (const nlohmann::json& row : toml->value["evidence"]) entry.evidence.push_back(evidence_of(row));
  }
  const auto miss = [&](std::string message, const std::string& pointer) {
    findings.add(kKnowledge, std::move(message), toml->place(pointer));
    return false;
  };
  if (entry.targets.empty()) return miss("an entry says for which `targets` it holds", "");
  if (!entry.text.starts_with("# ")) return miss("an entry begins with its title, as in `# Edges`", "");
  if (entry.evidence.empty()) return miss("an entry has evidence", "");
  for (std::size_t i = 0; i < entry.evidence.size(); ++i) {
    if (is_whole(entry.evidence[i])) continue;
    return miss(
        "evidence is a claim with a `proof` and what it `shows`, with a `mutant`, its `name` and `code`, or with a "
        "`figure`, `at` what place of it and its `value`",
        fmt::format("/evidence/{}", i));
  }
  return true;
}

std::vector<KnowledgeEntry> knowledge() {
  std::vector<KnowledgeEntry> out;
  for (const Text& each : texts()) {
    if (!each.name.starts_with(kFolder)) continue;
    const std::string_view file = each.name.substr(kFolder.size());
    Findings findings;
    KnowledgeEntry entry;
    const bool is_read = read_entry(file.substr(0, file.size() - kSuffix.size()), each.text, entry, findings);
    PLUMB_CHECK(is_read);  // the texts are our own, and a test reads them all
    out.push_back(std::move(entry));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::vector<KnowledgeEntry> search(const std::vector<KnowledgeEntry>& entries, std::string_view query) {
  std::vector<std::map<std::string, double>> counts;
  for (const KnowledgeEntry& entry : entries) counts.push_back(counts_of(entry));
  std::vector<double> scores(entries.size());
  for (const std::string& word : words_of(query)) {
    // The beginning of a longer word counts half: `swizzl` finds `swizzled`.
    std::vector<double> found(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (auto at = counts[i].lower_bound(word); at != counts[i].end() && at->first.starts_with(word); ++at) {
        if (at->first == word) found[i] += at->second;
        else if (word.size() >= 3) found[i] += at->second / 2;
      }
    }
    const auto having = static_cast<double>(std::count_if(found.begin(), found.end(), [](double n) { return n > 0; }));
    const double rarity = std::log(1 + static_cast<double>(entries.size()) / (having + 0.5));
    for (std::size_t i = 0; i < entries.size(); ++i) scores[i] += rarity * found[i] / (found[i] + 1.5);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (scores[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<KnowledgeEntry> out;
  for (const std::size_t i : order) out.push_back(entries[i]);
  return out;
}

}  // namespace plumb::session
