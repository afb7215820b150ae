// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/finding.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "base/source.h"
#include "base/toml.h"

namespace plumb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Code kSample{"base.sample", "a sample", "Only for this test."};

SourcePtr text(std::string body) { return std::make_shared<Source>("a.txt", std::move(body)); }

TEST(Source, LocatesOffsetsAsOneBasedLineAndColumn) {
  const SourcePtr source = text("ab\n\ncd");
  EXPECT_EQ(source->locate(0).line, 1u);
  EXPECT_EQ(source->locate(1).column, 2u);
  EXPECT_EQ(source->locate(3).line, 2u);
  EXPECT_EQ(source->locate(5).line, 3u);
  EXPECT_EQ(source->locate(5).column, 2u);
  EXPECT_EQ(source->line(3), "cd");
  EXPECT_EQ(source->line(4), "");
  EXPECT_EQ(source->offset_of(3, 2), 5u);
}

TEST(Source, OffsetOfInvertsLocateOnEveryByte) {
  const SourcePtr source = text("one\r\ntwo\n\nthree");
  for (std::uint32_t i = 0; i < source->text().size(); ++i) {
    const LineColumn at = source->locate(i);
    EXPECT_EQ(source->offset_of(at.line, at.column), i);
  }
}

TEST(Finding, RendersPlaceCaretNoteAndHint) {
  const SourcePtr source = text("add.f32 a, b;\n");
  Finding finding{&kSample,         Severity::Error,           "`a` is not declared",
                  {source, {8, 9}}, {{"declare it here", {}}}, "use `%a`"};
  const std::string out = render(finding, false);
  EXPECT_THAT(out, HasSubstr("a.txt:1:9: error: `a` is not declared [base.sample]"));
  EXPECT_THAT(out, HasSubstr("add.f32 a, b;\n       |         ^\n"));
  EXPECT_THAT(out, HasSubstr("note: declare it here"));
  EXPECT_THAT(out, HasSubstr("hint: use `%a`"));
}

TEST(Finding, KeepsControlBytesOffTheTerminal) {
  const SourcePtr source = text("a\x1b[31mb");
  EXPECT_THAT(render(Finding{&kSample, Severity::Error, "odd", {source, {0, 1}}, {}, {}}, false),
              Not(HasSubstr("\x1b")));
}

TEST(Finding, RendersPlacesOutsideTheTextWithoutReadingBeyondIt) {
  const SourcePtr source = text("ab");
  for (const std::uint32_t at : {0u, 2u, 3u, 1000u}) {
    EXPECT_THAT(render(Finding{&kSample, Severity::Error, "odd", {source, {at, at + 7}}, {}, {}}, false),
                HasSubstr("odd"));
  }
}

TEST(Finding, JsonNamesCodeLineAndColumn) {
  const nlohmann::json out = to_json(Finding{&kSample, Severity::Warning, "odd", {text("x\ny"), {2, 3}}, {}, {}});
  EXPECT_EQ(out["code"], "base.sample");
  EXPECT_EQ(out["severity"], "warning");
  EXPECT_EQ(out["line"], 2);
  EXPECT_EQ(out["column"], 1);
  EXPECT_FALSE(out.contains("hint"));
}

// FIPS 180-4 example messages.
TEST(Hash, Sha256AgreesWithPublishedVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class Files : public ::testing::Test {
 protected:
  const Scratch scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

TEST_F(Files, WritesReadsAndAppends) {
  Findings findings;
  const std::string bytes = std::string("a\0b\n", 4);
  ASSERT_TRUE(write_file(folder_ / "x", bytes, findings));
  EXPECT_EQ(read_file(folder_ / "x", findings), bytes);
  ASSERT_TRUE(append_line(folder_ / "x", "c", findings));
  EXPECT_EQ(read_file(folder_ / "x", findings), bytes + "c\n");
  EXPECT_TRUE(findings.empty());
}

TEST_F(Files, FailuresAreFindingsThatNameThePath) {
  Findings findings;
  EXPECT_EQ(read_file(folder_ / "none", findings), std::nullopt);
  EXPECT_EQ(read_file(folder_, findings), std::nullopt);
  EXPECT_FALSE(write_file(folder_ / "none" / "x", "", findings));
  ASSERT_EQ(findings.list().size(), 3u);
  EXPECT_THAT(findings.list()[0].message, HasSubstr("none"));
  EXPECT_THAT(findings.list()[1].message, HasSubstr("directory"));
}

TEST(Toml, KeepsValuesAndTheirPlaces) {
  Findings findings;
  const std::string body = "n = 3\n[[args]]\nname = \"x\"\ntype = 7\n";
  const SourcePtr source = text(body);
  const std::optional<Toml> toml = parse_toml(source, body, findings);
  ASSERT_TRUE(toml);
  EXPECT_EQ(toml->value["n"], 3);
  EXPECT_EQ(toml->value["args"][0]["name"], "x");
  EXPECT_EQ(source->slice(toml->place("/args/0/type").span), "7");
  EXPECT_EQ(toml->place("/args/0/missing").source, source);
}

TEST(Toml, SyntaxErrorsHaveAPlace) {
  Findings findings;
  const std::string body = "a = 1\nb = = 2\n";
  EXPECT_FALSE(parse_toml(text(body), body, findings));
  ASSERT_EQ(findings.list().size(), 1u);
  EXPECT_EQ(findings.list()[0].place.source->locate(findings.list()[0].place.span.begin).line, 2u);
}

TEST(Parallel, RunsEveryIndexOnceOnAnyNumberOfWorkers) {
  for (const unsigned workers : {1u, 2u, 7u}) {
    std::vector<std::atomic<int>> hits(1000);
    parallel_for(workers, hits.size(), [&](unsigned worker, std::size_t i) {
      EXPECT_LT(worker, workers);
      ++hits[i];
      return true;
    });
    for (const std::atomic<int>& hit : hits) EXPECT_EQ(hit, 1);
  }
}

TEST(Parallel, StopsHandingOutWorkOnceAJobRefuses) {
  std::atomic<int> ran{0};
  parallel_for(1, 1000, [&](unsigned, std::size_t i) {
    ++ran;
    return i < 9;
  });
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace plumb
