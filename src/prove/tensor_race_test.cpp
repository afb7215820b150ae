// SPDX-License-Identifier: Apache-2.0
// Kernels for tensor memory of our own (tests/tensor), a ring of tensor copies and pairs of blocks among them, are
// proved; with one line of their synchronisation changed they are not, and the finding is where the fault shows.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

const std::filesystem::path kKernels = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "tensor";

TEST(TensorKernels, AreProved) {
  for (const auto& entry : std::filesystem::directory_iterator(kKernels)) {
    const std::string name = entry.path().filename().string();
    Findings findings;
    const auto task = task::load_task(entry.path(), findings);
    const auto candidate = load_candidate(entry.path() / (name + ".ptx"), findings);
    ASSERT_TRUE(task && candidate) << render(findings, false);
    const Outcome outcome = prove(*task, *candidate, {});
    EXPECT_TRUE(outcome.holds()) << name << "\n" << to_text(outcome, false);
  }
}

struct Fault {
  const char* name;
  const char* kernel;
  const char* from;
  const char* to;
  unsigned nth;
  const char* code;
  const char* place;  // begins what the finding points at
};

class TensorRace : public ::testing::TestWithParam<Fault> {};

TEST_P(TensorRace, IsFound) {
  const Fault& fault = GetParam();
  Findings findings;
  const auto task = task::load_task(kKernels / fault.kernel, findings);
  const std::filesystem::path path = kKernels / fault.kernel / (std::string(fault.kernel) + ".ptx");
  std::optional<std::string> text = read_file(path, findings);
  ASSERT_TRUE(task && text) << render(findings, false);
  std::size_t at = text->find(fault.from);
  for (unsigned i = 0; i < fault.nth && at != std::string::npos; ++i) at = text->find(fault.from, at + 1);
  ASSERT_NE(at, std::string::npos) << fault.from;
  text->replace(at, std::string_view(fault.from).size(), fault.to);
  const auto candidate = make_candidate(std::make_shared<Source>(path.string(), *text), path, findings);
  ASSERT_TRUE(candidate) << render(findings, false);
  Options options;
  options.witness_seconds = 0.1;
  const Outcome outcome = prove(*task, *candidate, options);
  EXPECT_FALSE(outcome.holds());
  bool is_found = false;
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.code->id != fault.code || !finding.place.source) continue;
    is_found = is_found || finding.place.source->slice(finding.place.span).find(fault.place) != std::string_view::npos;
  }
  EXPECT_TRUE(is_found) << to_text(outcome, false);
}

constexpr const char* kClusterBarrier =
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";

INSTANTIATE_TEST_SUITE_P(
    Own, TensorRace,
    ::testing::Values(
        Fault{"PeerNotStarted", "pair_256", kClusterBarrier, "bar.sync 0;", 0, "cluster.unstarted", "cp.async.bulk"},
        Fault{"PeersMbarrierNotThere", "pair_256", kClusterBarrier, "bar.sync 0;", 0, "mbarrier.lifetime",
              "tcgen05.commit"},
        Fault{"PairNotToldBeforeDealloc", "pair_256", kClusterBarrier, "", 1, "tensor.lifetime", "tcgen05.dealloc"},
        Fault{"RelaxedBeforeDealloc", "pair_256", "arrive.release.aligned", "arrive.relaxed.aligned", 1,
              "tensor.lifetime", "tcgen05.dealloc"},
        Fault{"BytesOfOneBlock", "pair_256", "[%full], 49152", "[%full], 24576", 0, "async.unwaited-read",
              "tcgen05.mma"},
        Fault{"AddressNotTold", "pair_256", "bar.sync 0;\ntcgen05.fence::after", "tcgen05.fence::after", 0,
              "race.shared", "ld.shared"},
        Fault{"LoadsNotWaitedFor", "pair_256", "tcgen05.wait::ld", "// tcgen05.wait::ld", 0, "machine.tensor-in-flight",
              "tcgen05.dealloc"},
        Fault{"SlotNotWaitedFor", "ring",
              "L_mw:\n  mbarrier.try_wait.parity.shared::cta.b64 %done, [%fb], %ph;  @!%done bra L_mw;", "", 0,
              "async.source-written", "cp.async.bulk"},
        Fault{"NoCommitOfTheSum", "ring", "[%accb];               // accumulator", "[%eb];  // accumulator", 0,
              "machine.deadlock", "mbarrier.try_wait"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumb::prove
