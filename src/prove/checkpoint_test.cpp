// SPDX-License-Identifier: Apache-2.0
// A proof that is stopped after any of its jobs goes on from its file and ends with the certificate of one that was
// not; a sample of a grid is never called a proof.
#include "prove/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"
#include "base/scratch.h"
#include "prove/codes.h"

namespace plumb::prove {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kTask = fs::path(PLUMB_SOURCE_DIR) / "tests/corpus/vector_add";

struct Pair {
  std::optional<task::Task> task;
  std::optional<Candidate> candidate;
};

// `change` is made to the PTX.
Pair vector_add(const std::string& from = "", const std::string& to = "") {
  Pair out;
  Findings findings;
  out.task = task::load_task(kTask, findings);
  const fs::path path = kTask / "sm_89/vector_add_unaligned.ptx";
  std::string text = read_file(path, findings).value_or("");
  if (const std::size_t at = from.empty() ? std::string::npos : text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
  out.candidate = make_candidate(std::make_shared<Source>(path.string(), text), path, findings);
  EXPECT_TRUE(out.task && out.candidate) << render(findings, false);
  return out;
}

Json without_seconds(Json value) {
  if (value.is_object()) value.erase("seconds");
  if (value.is_structured()) {
    for (Json& each : value) each = without_seconds(each);
  }
  return value;
}

task::Shape shape(const std::string& label) {
  Findings findings;
  task::Shape made = *task::parse_shape(label, findings);
  made.label = label;
  return made;
}

TEST(Checkpoint, AStoppedProofEndsWithTheSameCertificate) {
  const Pair pair = vector_add();
  const Scratch scratch;
  Options options;
  options.seed = 7;
  const Json whole = certificate(*pair.task, *pair.candidate, prove(*pair.task, *pair.candidate, options), options);
  const std::size_t jobs = whole["outcome"]["shapes"].size();
  ASSERT_GT(jobs, 4u);
  ASSERT_EQ(whole["outcome"]["verdict"], "proved");
  for (std::size_t stop = 1; stop < jobs; stop += 2) {
    options.checkpoint = scratch.path() / fmt::format("{}.json", stop);
    std::set<std::string> begun;
    options.progress = [&](const Progress& progress) {
      begun.insert(std::string(progress.shape));
      return begun.size() <= stop;
    };
    EXPECT_EQ(prove(*pair.task, *pair.candidate, options).verdict, Verdict::Unknown) << "stopped";
    // A job that is nearly done may end before it notices.
    Findings findings;
    const Json file = Json::parse(read_file(options.checkpoint, findings).value_or(""));
    const auto kept = file["state"]["jobs"].get<std::size_t>();
    EXPECT_GE(kept, stop);
    EXPECT_LT(kept, jobs);
    begun.clear();
    options.progress = [&](const Progress& progress) { return begun.insert(std::string(progress.shape)), true; };
    const Outcome resumed = prove(*pair.task, *pair.candidate, options);
    EXPECT_EQ(begun.size(), jobs - kept) << "jobs that were done before are not done again";
    EXPECT_EQ(without_seconds(certificate(*pair.task, *pair.candidate, resumed, options)), without_seconds(whole));
  }
}

TEST(Checkpoint, IsOfOneProof) {
  const Pair pair = vector_add(), other = vector_add("add.f32", "sub.f32");
  const Scratch scratch;
  Options options;
  options.checkpoint = scratch.path() / "progress.json";
  options.shapes = {shape("n=1000")};
  ASSERT_TRUE(prove(*pair.task, *pair.candidate, options).holds());
  const auto refused = [&](const Pair& of) {
    const Outcome outcome = prove(*of.task, *of.candidate, options);
    EXPECT_EQ(outcome.verdict, Verdict::Unknown);
    ASSERT_FALSE(outcome.findings.empty());
    EXPECT_EQ(outcome.findings.list().front().code, &kCheckpoint);
  };
  refused(other);
  options.shapes = {shape("n=999")};
  refused(pair);
  options.shapes = {shape("n=1000")};
  options.sample = 1;
  refused(pair);
  options.sample = 0;
  EXPECT_TRUE(prove(*pair.task, *pair.candidate, options).holds());
  for (const char* text : {"", "{}", "[1]", R"({"format": "plumb-proof-in-progress-1"})"}) {
    std::ofstream(options.checkpoint) << text;
    refused(pair);
  }
}

TEST(Sample, IsNoProof) {
  const Pair pair = vector_add();
  Options options;
  options.shapes = {shape("n=65536")};
  const Outcome whole = prove(*pair.task, *pair.candidate, options);
  ASSERT_TRUE(whole.holds()) << to_text(whole, false);
  const std::uint64_t ctas = whole.shapes.front().ctas;
  ASSERT_GT(ctas, 3u);
  options.sample = 3;
  const Outcome sampled = prove(*pair.task, *pair.candidate, options);
  EXPECT_EQ(sampled.verdict, Verdict::Sampled) << to_text(sampled, false);
  EXPECT_FALSE(sampled.holds());
  EXPECT_EQ(sampled.shapes.front().ctas, 3u);
  EXPECT_EQ(sampled.shapes.front().elements, 3 * 65536 / ctas);
  const Json made = certificate(*pair.task, *pair.candidate, sampled, options);
  EXPECT_EQ(made["outcome"]["verdict"], "sampled");
  EXPECT_EQ(made["outcome"]["contract"], nullptr);
  EXPECT_EQ(made["outcome"]["shapes"][0]["ctas_of_grid"], ctas);
  options.sample = 0;
  const Outcome again = recheck(made, *pair.task, *pair.candidate, options);
  EXPECT_EQ(again.verdict, Verdict::Sampled);
  EXPECT_TRUE(again.findings.empty()) << to_text(again, false);
  options.sample = ctas;
  EXPECT_TRUE(prove(*pair.task, *pair.candidate, options).holds());
}

TEST(Sample, SeesAFaultAndRefusesClustersThatMayMeet) {
  Options options;
  options.shapes = {shape("n=65536")};
  options.sample = 3;
  options.witness_seconds = 0.1;
  const Pair wrong = vector_add("add.f32", "sub.f32");
  EXPECT_EQ(prove(*wrong.task, *wrong.candidate, options).verdict, Verdict::Different);
  const Pair meeting = vector_add("ret;", "fence.acq_rel.gpu;\n\tret;");
  const Outcome outcome = prove(*meeting.task, *meeting.candidate, options);
  EXPECT_TRUE(outcome.is_bad_input);
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings.list().front().code, &kSample);
}

}  // namespace
}  // namespace plumb::prove
