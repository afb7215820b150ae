// SPDX-License-Identifier: Apache-2.0
#include "session/knowledge.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "session/codes.h"
#include "session/tool.h"

namespace plumb::session {
namespace {

constexpr std::string_view kHead = "+++\ntargets = \"sm_80 and later\"\n[[evidence]]\nclaim = \"c\"\n";
constexpr std::string_view kProof = "proof = \"softmax/sm_89\"\nshows = [\"shfl\"]\n";

std::string entry_text(std::string_view evidence, std::string_view body = "\n# Ring of slots\n\nwaits\n") {
  return std::string(kHead) + std::string(evidence) + "+++\n" + std::string(body);
}

KnowledgeEntry named(std::string_view name, std::string_view text) {
  KnowledgeEntry out;
  out.name = name;
  out.text = text;
  out.targets = "all";
  return out;
}

std::vector<std::string> names_of(const std::vector<KnowledgeEntry>& entries) {
  std::vector<std::string> out;
  for (const KnowledgeEntry& entry : entries) out.emplace_back(entry.name);
  return out;
}

TEST(Knowledge, AnEntryReadsWithItsEvidence) {
  const std::string text = entry_text(kProof);
  Findings findings;
  KnowledgeEntry entry;
  ASSERT_TRUE(read_entry("ring", text, entry, findings));
  EXPECT_EQ(entry.title(), "Ring of slots");
  EXPECT_EQ(entry.text, "# Ring of slots\n\nwaits\n");
  ASSERT_EQ(entry.evidence.size(), 1u);
  EXPECT_EQ(entry.evidence[0].proof, "softmax/sm_89");
  EXPECT_EQ(entry.evidence[0].shows, std::vector<std::string>{"shfl"});
}

TEST(Knowledge, AFigureIsEvidence) {
  const std::string text = entry_text("figure = \"r.json\"\nat = \"/rows/0/us\"\nvalue = 2.93\n");
  Findings findings;
  KnowledgeEntry entry;
  ASSERT_TRUE(read_entry("ring", text, entry, findings));
  EXPECT_EQ(entry.evidence[0].figure, "r.json");
  EXPECT_EQ(entry.evidence[0].at, "/rows/0/us");
  EXPECT_DOUBLE_EQ(entry.evidence[0].value, 2.93);
}

TEST(Knowledge, AnEntryWithoutHeadTitleTargetsOrEvidenceIsRefused) {
  const std::string bad[] = {"# Ring\n",
                             "+++\ntargets = \"all\"\n+++\n\n# No evidence\n",
                             "+++\n[[evidence]]\nclaim = \"c\"\nproof = \"p\"\nshows = [\"s\"]\n+++\n# No targets\n",
                             entry_text(kProof, "no title\n"),
                             entry_text(""),
                             entry_text("proof = \"softmax/sm_89\"\n"),
                             entry_text("mutant = \"softmax/sm_89\"\nname = \"n\"\n"),
                             entry_text(std::string(kProof) + "mutant = \"m\"\nname = \"n\"\ncode = \"c\"\n"),
                             entry_text("figure = \"r.json\"\nat = \"/rows/0/us\"\n"),
                             entry_text("figure = \"r.json\"\nvalue = 3\n"),
                             entry_text(std::string(kProof) + "figure = \"r.json\"\nat = \"/a\"\nvalue = 3\n"),
                             "+++\ntargets = \n+++\n# Not TOML\n"};
  for (const std::string& text : bad) {
    Findings findings;
    KnowledgeEntry entry;
    EXPECT_FALSE(read_entry("bad", text, entry, findings)) << text;
    EXPECT_TRUE(findings.has_error()) << text;
  }
}

TEST(Knowledge, HoldsForTheTargetsThatItNames) {
  EXPECT_TRUE(holds_for("all", "sm_70"));
  EXPECT_TRUE(holds_for("sm_80 and later", "sm_80"));
  EXPECT_TRUE(holds_for("sm_80 and later", "sm_100a"));
  EXPECT_FALSE(holds_for("sm_80 and later", "sm_75"));
  EXPECT_TRUE(holds_for("sm_90a, sm_100a", "sm_100a"));
  EXPECT_FALSE(holds_for("sm_90a, sm_100a", "sm_90"));
  EXPECT_TRUE(holds_for("sm_90a", ""));
}

TEST(Knowledge, RareWordsAndTitlesComeFirst) {
  const std::vector<KnowledgeEntry> entries = {named("a", "# Reductions\n\nbarrier barrier barrier\n"),
                                               named("b", "# Barriers\n\nwait\n"),
                                               named("c", "# Copies\n\nbarrier, swizzled chunk\n")};
  EXPECT_EQ(names_of(search(entries, "barrier swizzle")), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(names_of(search(entries, "BARRIERS"))[0], "b");
  EXPECT_TRUE(search(entries, "tensor memory").empty());
  EXPECT_TRUE(search(entries, "").empty());
  EXPECT_TRUE(search(entries, "\xff\xfe ??").empty());
}

TEST(Knowledge, EveryEntryThatIsBuiltInIsFoundByItsTitle) {
  const std::vector<KnowledgeEntry> entries = knowledge();
  ASSERT_GE(entries.size(), 9u);
  for (const KnowledgeEntry& entry : entries) {
    const std::vector<KnowledgeEntry> found = search(entries, entry.title());
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].name, entry.name);
  }
}

TEST(Knowledge, TheToolSearchesForTheRunsTarget) {
  Config config;
  config.target = "sm_89";
  const Session session(std::move(config));
  const Reply listed = call(session, "knowledge", nlohmann::json::object());
  ASSERT_TRUE(listed.is_answer);
  for (const nlohmann::json& entry : listed.output["entries"]) {
    EXPECT_NE(entry["name"], "tma-ring");
    EXPECT_FALSE(entry.contains("text"));
  }
  const Reply found = call(session, "knowledge", {{"query", "bank conflicts of ldmatrix"}});
  ASSERT_TRUE(found.is_answer);
  ASSERT_FALSE(found.output["entries"].empty());
  EXPECT_EQ(found.output["entries"][0]["name"], "swizzle");
  EXPECT_FALSE(found.output["entries"][0]["evidence"].empty());
  EXPECT_NE(found.output["entries"][0]["text"].get<std::string>().find("bank conflicts"), std::string::npos);
  EXPECT_TRUE(call(session, "knowledge", {{"name", "tma-ring"}}).is_answer);
  const Reply absent = call(session, "knowledge", {{"name", "absent"}});
  EXPECT_FALSE(absent.is_answer);
  EXPECT_EQ(absent.output["findings"][0]["code"], kKnowledge.id);
  EXPECT_EQ(facts_of("knowledge", true, found.output), facts_of("knowledge", true, listed.output));
}

}  // namespace
}  // namespace plumb::session
