// SPDX-License-Identifier: Apache-2.0
// Kernels for tensor memory that Triton's own code does not look like (tests/tensor): majors, swizzles, kinds, `.ws`,
// rows in half of the lanes, pairs of blocks, a product that is an operand of the next. Each leaves the numbers of its
// Triton source, is proved, and is caught when one line is changed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "prove/prove.h"
#include "session/process.h"
#include "session/ptxas.h"
#include "session/run.h"
#include "task/task.h"

namespace plumb::session {
namespace {

const std::filesystem::path kKernels = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "tensor";

std::filesystem::path path_of(const std::string& name) { return kKernels / name / (name + ".ptx"); }

class TensorKernel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    Findings findings;
    task_ = task::load_task(kKernels / name, findings);
    candidate_ = prove::load_candidate(path_of(name), findings);
    ASSERT_TRUE(task_ && candidate_) << render(findings, false);
  }

  std::optional<task::Task> task_;
  std::optional<prove::Candidate> candidate_;
};

// Under a drawn schedule; proofs run in turn.
TEST_P(TensorKernel, LeavesTheNumbersOfItsSource) {
  RunOptions options;
  options.shape = task_->prove_shapes.back();
  options.has_spec = true;
  options.schedule = 5;
  const RunOutcome outcome = run(*task_, *candidate_, options);
  EXPECT_TRUE(outcome.holds()) << to_text(outcome, false);
  EXPECT_EQ(outcome.mma_macs != 0, std::string_view(GetParam()) != "extremes");
}

TEST_P(TensorKernel, IsProved) {
  const prove::Outcome outcome = prove::prove(*task_, *candidate_, prove::Options{});
  EXPECT_EQ(outcome.verdict, prove::Verdict::Proved) << prove::to_text(outcome, false);
  EXPECT_EQ(outcome.contract, prove::Contract::Kept) << prove::to_text(outcome, false);
}

TEST_P(TensorKernel, IsAssembledByPtxas) {
  const char* const search_path = std::getenv("PATH");
  const std::filesystem::path ptxas = find_program("ptxas", search_path == nullptr ? "" : search_path);
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on PATH";
  const ProcessResult ran = run_ptxas(ptxas, path_of(GetParam()), candidate_->module->target.text);
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Own, TensorKernel,
                         testing::Values("row_major_128", "half_sums", "tf32_columns", "bytes_ws", "bytes_32",
                                         "integers", "chain", "update", "scaled", "sparse", "ring", "pair_256",
                                         "pair_128", "attention", "matmul", "shifted", "fours", "fours_96", "extremes"),
                         [](const auto& row) { return std::string(row.param); });

TEST(ShiftedRows, AreProvedWithARemarkOnWhatTheirDirectionRestsOn) {
  Findings findings;
  const auto task = task::load_task(kKernels / "shifted", findings);
  const auto candidate = prove::load_candidate(path_of("shifted"), findings);
  ASSERT_TRUE(task && candidate) << render(findings, false);
  const prove::Outcome outcome = prove::prove(*task, *candidate, {});
  EXPECT_TRUE(outcome.holds()) << prove::to_text(outcome, false);
  std::size_t remarks = 0;
  for (const Finding& finding : outcome.findings.list()) {
    remarks += finding.code->id == std::string_view("tensor.shift") && finding.severity == Severity::Note ? 1 : 0;
  }
  EXPECT_EQ(remarks, 5U) << "one product, four shifts";
}

// A text that scales the address of its first shared variable wrongly is right where that is 0.
TEST(SharedAddresses, AreTriedAtTwoPlaces) {
  Findings findings;
  const auto task = task::load_task(kKernels / "bytes_32", findings);
  std::optional<std::string> text = read_file(path_of("bytes_32"), findings);
  ASSERT_TRUE(task && text) << render(findings, false);
  prove::Options options;
  options.shapes = {task->prove_shapes.back(), task->prove_shapes.back()};
  for (const char* const shift : {"shr.u32 %x, %sA, 4;", "shr.u32 %x, %sA, 3;"}) {
    const std::string_view right = "shr.u32 %x, %sA, 4;";
    std::string changed = *text;
    changed.replace(changed.find(right), right.size(), shift);
    const auto candidate =
        prove::make_candidate(std::make_shared<Source>("t.ptx", changed), path_of("bytes_32"), findings);
    ASSERT_TRUE(candidate) << render(findings, false);
    EXPECT_EQ(prove::prove(*task, *candidate, options).holds(), shift == right) << shift;
  }
}

// One change, the code of the finding that it must get, and what stands where the finding points.
struct Change {
  const char* name;
  const char* kernel;
  const char* from;
  const char* to;
  const char* code;
  const char* place = "";
  unsigned nth = 0;
};

class TensorMutant : public testing::TestWithParam<Change> {};

TEST_P(TensorMutant, IsCaught) {
  const Change& change = GetParam();
  Findings findings;
  const std::optional<task::Task> task = task::load_task(kKernels / change.kernel, findings);
  std::optional<std::string> text = read_file(path_of(change.kernel), findings);
  ASSERT_TRUE(task && text) << render(findings, false);
  std::size_t at = text->find(change.from);
  for (unsigned i = 0; i < change.nth && at != std::string::npos; ++i) at = text->find(change.from, at + 1);
  ASSERT_NE(at, std::string::npos) << change.from;
  text->replace(at, std::string(change.from).size(), change.to);
  const std::filesystem::path path = path_of(change.kernel);
  const auto candidate = prove::make_candidate(std::make_shared<Source>(path.string(), *text), path, findings);
  ASSERT_TRUE(candidate) << render(findings, false);
  prove::Options options;
  options.witness_seconds = 0.1;
  options.shapes = {task->prove_shapes.back()};
  const prove::Outcome outcome = prove::prove(*task, *candidate, options);
  EXPECT_FALSE(outcome.holds());
  bool is_found = false;
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.code->id != change.code) continue;
    const std::string_view here =
        finding.place.source ? finding.place.source->slice(finding.place.span) : std::string_view();
    if (here.find(change.place) == std::string_view::npos) continue;
    is_found = true;
    // What makes another function names the element; what breaks a rule names the mend.
    EXPECT_TRUE(finding.code->id.starts_with("prove.") || !finding.hint.empty()) << finding.code->id;
  }
  EXPECT_TRUE(is_found) << change.code << " at " << change.place << "\n" << prove::to_text(outcome, false);
}

constexpr const char* kDiffers = "prove.element-differs";
constexpr const char* kMissing = "prove.element-missing";
constexpr const char* kMeansNothing = "prove.undefined-output";
constexpr const char* kMatrix = "machine.matrix-descriptor";
constexpr const char* kInstruction = "machine.instruction-descriptor";
constexpr const char* kClusterBarrier =
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";
constexpr const char* kDescriptor = "0x4000404000010000";

INSTANTIATE_TEST_SUITE_P(
    Own, TensorMutant,
    testing::Values(
        Change{"StepTooLong", "row_major_128", "add.s64 %da, %da, 2;", "add.s64 %da, %da, 0;", kDiffers},
        Change{"AddsToNothing", "row_major_128", "setp.eq.u32 %adds", "setp.ne.u32 %adds", kMeansNothing},
        Change{"HopperDescriptor", "row_major_128", kDescriptor, "0x4000004000010000", kMatrix, "tcgen05.mma"},
        Change{"NoSuchSwizzle", "row_major_128", kDescriptor, "0x6000404000010000", kMatrix, "tcgen05.mma"},
        Change{"WrongSwizzle", "row_major_128", kDescriptor, "0x8000404000010000", kMatrix, "tcgen05.mma"},
        Change{"StrideOfFourRows", "row_major_128", kDescriptor, "0x4000402000010000", kDiffers},
        Change{"CarryIntoTheStride", "row_major_128", kDescriptor, "0x4000404040010000", kMatrix, "tcgen05.mma"},
        Change{"PlainSwizzleOfTf32", "tf32_columns", "0x2000402000800000", "0x4000402000800000", kMatrix,
               "tcgen05.mma"},
        Change{"OffsetsExchanged", "tf32_columns", "0x2000402000800000", "0x2000408000200000", kDiffers},
        Change{"StepOutOfTheRow", "bytes_32", "or.b64 %da, %da, %dlo;", "or.b64 %da, %da, %dlo;  add.s64 %da, %da, 1;",
               kMatrix, "tcgen05.mma"},
        Change{"WrongTypeOfB", "row_major_128", "0x8100490", "0x8100890", kInstruction, "tcgen05.mma"},
        Change{"SparseBit", "row_major_128", "0x8100490", "0x8100494", kInstruction, "tcgen05.mma"},
        Change{"NegatedA", "row_major_128", "0x8100490", "0x8102490", kDiffers},
        Change{"NegatedIntegers", "integers", "0x80804a0", "0x80824a0", kInstruction, "tcgen05.mma"},
        Change{"HalfOfTheRows", "row_major_128", "0x8100490", "0x4100490", kMissing},
        Change{"RowsOfOneBlock", "pair_256", "0x10200490", "0x04200490", kInstruction, "tcgen05.mma"},
        Change{"WithoutWs", "bytes_ws", "tcgen05.mma.ws", "tcgen05.mma", kInstruction, "tcgen05.mma"},
        Change{"OtherLanes", "update", "%tm, 0x100000", "%tm, 0x200000", "machine.tensor-operand", "tcgen05.mma"},
        Change{"AInOtherLanes", "update", "%tm, 0x100020", "%tm, 0x20", "machine.tensor-operand", "tcgen05.mma"},
        Change{"OtherScale", "update", "%adds, 2;", "%adds, 3;", kDiffers},
        Change{"OtherColumnsOfA", "chain", "[%tm+72]", "[%tm+80]", kDiffers},
        Change{"ScalesNeverCopied", "scaled", "tcgen05.cp", "// tcgen05.cp", "machine.tensor-operand", "tcgen05.mma"},
        Change{"SameScalesAgain", "scaled", "0x28880010", "0x08880010", kDiffers},
        Change{"ScalesOfOneQuarter", "scaled", "[%quarter+36], {%c0}", "[%quarter+36], {%wid}",
               "machine.tensor-operand", "tcgen05.mma"},
        Change{"ElementsOutOfOrder", "sparse", "%z, %c0, 4, 4;", "%z, %c0, 4, 0;", "machine.tensor-operand",
               "tcgen05.mma"},
        Change{"OldOutputsKept", "attention", "mul.f32 %s9, %s9, %shrink;", "", kDiffers},
        Change{"KeysOfTheFirstStep", "attention", "shl.b32 %key, %j, 6;", "mov.u32 %key, 0;", kDiffers},
        Change{"NobodyWaitsForTiles", "matmul", "@!%done bra multiply_wait;", "", "schedule.value",
               "mbarrier.try_wait"},
        Change{"SlotsFreeTooEarly", "matmul",
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%eb];",
               "mbarrier.arrive.shared::cta.b64 _, [%eb];", "async.source-written", "cp.async.bulk.tensor"},
        Change{"SumsReadyTooEarly", "matmul",
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%ready];",
               "mbarrier.arrive.shared::cta.b64 _, [%ready];", "machine.tensor-in-flight", "tcgen05.dealloc"},
        Change{"ReadsNotWaitedFor", "matmul", "tcgen05.wait::ld.sync.aligned;", "", "machine.tensor-in-flight",
               "tcgen05.dealloc", 3},
        Change{"TooFewColumns", "row_major_128", "[%tp], 64", "[%tp], 32", "machine.tensor-memory", "tcgen05.mma"},
        Change{"OtherQuarter", "row_major_128", "%wid, 21", "%wid, 20", "machine.tensor-memory", "tcgen05.ld"},
        Change{"NobodyChosen", "row_major_128", "@!%elected bra joined;", "", "machine.tensor-issue", "tcgen05.mma"},
        Change{"NeverCommitted", "row_major_128", "tcgen05.commit", "// tcgen05.commit", "machine.deadlock"},
        Change{"NeverGivenBack", "row_major_128", "tcgen05.dealloc", "// tcgen05.dealloc", "machine.tensor-alloc",
               "tcgen05.alloc"},
        Change{"OtherBlockNotTold", "pair_256", "mov.u16 %both, 3", "mov.u16 %both, 1", "machine.deadlock"},
        Change{"SameHalfOfB", "pair_128", "mul.lo.u32 %row, %rank, 32", "mul.lo.u32 %row, %rank, 0", kDiffers},
        Change{"EachStepForgets", "ring", "setp.ne.u32 %acc, %ra, 0", "setp.ne.u32 %acc, %k, 0", kDiffers},
        Change{"ShiftedTooOften", "shifted", ".kind::f16 [%tm]", ".kind::f16.ashift [%tm]", "tensor.unwaited-read",
               "tcgen05.mma"},
        Change{"OtherParity", "row_major_128", "[%mb], 0;", "[%mb], 1;", "machine.tensor-in-flight", "tcgen05.dealloc"},
        Change{"TwoArrivalsDue", "row_major_128", "[%mb], 1;", "[%mb], 2;", "machine.deadlock", "mbarrier.try_wait"},
        Change{"TooFewBytes", "ring", "[%fb], 24576", "[%fb], 24560", "machine.collective", "mbarrier.try_wait"},
        Change{"BytesOfOneBlock", "pair_256", "49152", "24576", "machine.bulk-copy", "cp.async.bulk.tensor"},
        Change{"OtherBlockNotStarted", "pair_256", kClusterBarrier, "", "cluster.unstarted", "cp.async.bulk.tensor"},
        Change{"GivenBackUnderTheOther", "pair_256", kClusterBarrier, "", "tensor.lifetime", "tcgen05.dealloc", 1},
        Change{"AllocatedAfterThePermit", "row_major_128", "tcgen05.alloc",
               "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\ntcgen05.alloc", "machine.tensor-alloc",
               "tcgen05.alloc"},
        Change{"SecondIsLarger", "row_major_128", "tcgen05.alloc",
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%tp], 32;\ntcgen05.alloc",
               "machine.tensor-alloc", "tcgen05.alloc"},
        Change{"OtherSizeGivenBack", "row_major_128", "%tm, 64", "%tm, 32", "machine.tensor-alloc", "tcgen05.dealloc"},
        Change{"HalfOfAWarp", "row_major_128", "tcgen05.ld", "setp.lt.u32 %p, %lane, 16;\n@%p tcgen05.ld",
               "machine.collective", "tcgen05.ld"},
        Change{"AnAddressEach", "row_major_128", "tcgen05.ld", "add.u32 %quarter, %quarter, %lane;\ntcgen05.ld",
               "machine.tensor-memory", "tcgen05.ld"},
        Change{"TileOutOfItsPattern", "row_major_128", ".align 1024 .b8 tile_a",
               ".align 16 .b8 other[16];\n.shared .align 16 .b8 tile_a", kMatrix, "tcgen05.mma"},
        Change{"ShiftedRowsOfHalfTheLanes", "shifted", "0x8100490", "0x4100490", kInstruction, "tcgen05.mma"},
        Change{"ScalesOfPowers", "fours", "0x8040480", "0x8840480", kDiffers},
        Change{"ScalesFor32Elements", "fours", "scale_vec::4X", "scale_vec::2X", kInstruction, "tcgen05.mma"},
        Change{"OtherColumnOfScales", "fours", "[%tm+36], %p", "[%tm+37], %p", "machine.tensor-operand", "tcgen05.mma"},
        Change{"SmallestForLargest", "extremes", "x32.max.f32", "x32.min.f32", kDiffers},
        Change{"SignsKept", "extremes", "min.abs.f32", "min.f32", kDiffers},
        Change{"NotShifted", "shifted", "f16.ashift", "f16", kDiffers},
        Change{"OneGroupNotShifted", "shifted", "tcgen05.shift.cta_group::1.down [%x];", "", kDiffers, "", 2},
        Change{"ShiftedBetweenGroups", "shifted", "%tm, 2097216;", "%tm, 1048640;", "machine.tensor-operand",
               "tcgen05.shift"},
        Change{"ShiftNotWaitedFor", "shifted", "@!%done bra first_wait;", "", "schedule.value", "mbarrier.try_wait"},
        Change{"CommitOfAnotherThread", "row_major_128",
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];\njoined:\nbar.warp.sync "
               "0xffffffff;",
               "joined:\nbar.warp.sync 0xffffffff;\nsetp.eq.u32 %p, %t, 31;\n@%p "
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];",
               "tensor.unwaited-read", "tcgen05.ld"},
        Change{"CommittedByAWarp", "row_major_128",
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];\njoined:\nbar.warp.sync "
               "0xffffffff;",
               "joined:\nbar.warp.sync "
               "0xffffffff;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];",
               "mbarrier.phase", "tcgen05.commit"},
        Change{"CommittedTooEarly", "row_major_128",
               "tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %id, "
               "%adds;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];",
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
               "[%mb];\ntcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %id, %adds;",
               "tensor.unwaited-read", "tcgen05.ld"},
        Change{"ToTheOtherMbarrier", "pair_256", "[%ready], %both", "[%full], %both", "machine.deadlock",
               "mbarrier.try_wait"},
        Change{"ColumnsAfterTheirRelease", "row_major_128", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 64;",
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 64;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, "
               "[%quarter];\ntcgen05.wait::ld.sync.aligned;",
               "machine.tensor-memory", "tcgen05.ld"},
        Change{"CollectorNeverFilled", "row_major_128", "kind::f16 [%tm]", "kind::f16.collector::a::use [%tm]",
               "machine.tensor-operand", "tcgen05.mma"},
        Change{"CollectorOfAnotherOperand", "row_major_128",
               "tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %id, %adds;\nadd.s64 %da, %da, 2;  add.s64 %db, "
               "%db, 2;\nsetp.ne.u32 %adds, 0, 1;\ntcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %id, %adds;",
               "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%tm], %da, %db, %id, %adds;\nadd.s64 %da, %da, "
               "2;  add.s64 %db, %db, 2;\nsetp.ne.u32 %adds, 0, "
               "1;\ntcgen05.mma.cta_group::1.kind::f16.collector::a::use [%tm], %da, %db, %id, %adds;",
               "machine.tensor-operand", "tcgen05.mma"},
        Change{"SumsReadWhenOverwritten", "chain", "tcgen05.wait::ld.sync.aligned;", "", "tensor.overwrites-read",
               "tcgen05.mma"},
        Change{"ColumnsOfB", "row_major_128", "0x8100490", "0x8110490", kMatrix, "tcgen05.mma"},
        Change{"RowsOfAInTensorMemory", "chain", "0x8110490", "0x8118490", kInstruction, "tcgen05.mma"},
        Change{"OtherSelector", "sparse", "0x8040014", "0x8040015", "machine.tensor-operand", "tcgen05.mma"},
        Change{"DenseDescriptor", "sparse", "0x8040014", "0x8040010", kInstruction, "tcgen05.mma"},
        Change{"OddNumberOfColumns", "row_major_128",
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%tp], 64;",
               "mov.u32 %x, 48;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%tp], %x;",
               "machine.tensor-alloc", "tcgen05.alloc"},
        Change{"AllocatedByHalfAWarp", "row_major_128", "tcgen05.alloc",
               "and.b32 %x, %t, 31;\nsetp.lt.u32 %p, %x, 16;\n@%p tcgen05.alloc", "machine.collective",
               "tcgen05.alloc"},
        Change{"StoredOverScales", "scaled", "joined:\nbar.warp.sync 0xffffffff;",
               "joined:\nbar.warp.sync 0xffffffff;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%quarter+36], {%t};",
               "tensor.overwrites-read", "tcgen05.st"},
        Change{"StoredOverTheTile", "row_major_128", "joined:\nbar.warp.sync 0xffffffff;",
               "joined:\nbar.warp.sync 0xffffffff;\nst.shared.b32 [%sA], %t;", "async.source-written", "st.shared"},
        Change{"NoProxyFence", "row_major_128", "fence.proxy.async.shared::cta;", "", "proxy.missing-fence",
               "tcgen05.mma"},
        Change{"AddressNotTold", "row_major_128", "bar.sync 0;", "", "race.shared", "ld.shared"},
        Change{"WideAtomsOfBf16", "chain", "0x4000404002000000", "0x2000404002000000", kMatrix, "tcgen05.mma"},
        Change{"OtherIdOfScales", "fours", "0x8040480", "0x48040480", kInstruction, "tcgen05.mma"},
        Change{"StaleParity", "chain", "[%mb], 1;\n@!%done bra waiting2", "[%mb], 0;\n@!%done bra waiting2",
               "tensor.unwaited-read", "tcgen05.ld"},
        Change{"ColumnsPastTheEnd", "row_major_128", "shl.b32 %quarter, %wid, 21;  add.u32 %quarter, %quarter, %tm;",
               "shl.b32 %quarter, %wid, 21;  add.u32 %quarter, %quarter, %tm;  add.u32 %quarter, %quarter, 1;",
               "machine.tensor-memory", "tcgen05.ld"},
        Change{
            "BarrierMadeAgain", "row_major_128", "joined:\nbar.warp.sync 0xffffffff;",
            "joined:\nbar.warp.sync 0xffffffff;\nsetp.eq.u32 %p, %t, 0;\n@%p mbarrier.init.shared::cta.b64 [%mb], 1;",
            "machine.mbarrier", "mbarrier.init"},
        Change{"OtherParityRead", "row_major_128", "[%mb], 0;", "[%mb], 1;", "tensor.unwaited-read", "tcgen05.ld"},
        Change{"OtherStepOfScales", "fours_96", "0xE88804B0", "0x888804B0", kDiffers},
        Change{"RowsGoOnNowhere", "fours_96", "0x4010404000000000", "0x4000404000000000", kMatrix, "tcgen05.mma"},
        Change{"RowsGoOnInTheSameTile", "fours_96", "add.u32 %x, %sA, 16384;  shl", "add.u32 %x, %sA, 0;  shl",
               kDiffers},
        Change{"NoSuchKOnSm100", "fours_96", ".target sm_103a", ".target sm_100a", kInstruction, "tcgen05.mma"},
        Change{"KOf64", "fours_96", "0xC88804A0", "0x488804A0", kMatrix, "tcgen05.mma"},
        Change{"SecondImageMissing", "fours_96", "tcgen05.cp.cta_group::1.32x128b.warpx4 [%tm+36], %ds;", "",
               "machine.tensor-operand", "tcgen05.mma"},
        Change{"ScalesPastTheAllocation", "fours_96", "[%tm+40], [%tm+56]", "[%tm+40], [%tm+64]",
               "machine.tensor-memory", "tcgen05.mma"},
        Change{"SwappedStore", "row_major_128", "st.global.v4.b32 [%gD+16], {%c4,%c5,%c6,%c7}",
               "st.global.v4.b32 [%gD+16], {%c4,%c5,%c7,%c6}", kDiffers}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumb::session
