// SPDX-License-Identifier: Apache-2.0
// Tensor copies in kernels: maps that the host makes, maps that the device makes, both domains, clusters, and misuse.
#include "machine/exec/tensor_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "machine/machine.h"
#include "machine/tensor_map.h"
#include "ptx/module.h"

namespace plumb::machine {
namespace {

using testing::HasSubstr;

// A kernel over a tensor of 64 x 16 elements in `tensor`, with its map as the parameter `map` and at %at in global
// memory; thread 0 runs `body`, between the lines that make an mbarrier at %bar and a tile of 8 KiB at %tile.
struct Kernel {
  std::string body;
  std::string after = "";  // by all threads, after a barrier
  std::function<void(TensorMap&)> change = {};
  std::uint32_t ctas = 1;
  std::string head = "";  // instead of the guard that leaves thread 0 alone
  std::string target = "sm_90a";
};

struct Ran {
  Result result;
  std::vector<std::byte> tensor, out;
  std::vector<domain::Tag> tags;  // of `out`
  std::string code() const { return result.stop ? std::string(result.stop->finding.code->id) : ""; }
  std::string message() const { return result.stop ? result.stop->finding.message : ""; }
  template <class T>
  T word(std::size_t index, const char* from = "out") const {
    T value{};
    std::memcpy(&value, (*from == 'o' ? out : tensor).data() + index * sizeof(T), sizeof(T));
    return value;
  }
};

constexpr std::uint64_t kOutBytes = 16384;

std::string text_of(const Kernel& kernel) {
  return ".version 9.0\n.target " + kernel.target +
         "\n.address_size 64\n"
         ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 tensor, .param .u64 maps, .param .u64 out) {\n"
         ".reg .b64 %map, %tensor, %at, %out, %rd<16>;\n.reg .b32 %tile, %bar, %t, %r<16>;\n.reg .b16 %h<4>;\n"
         ".reg .pred %p<8>;\n.shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b64 bar;\n"
         ".shared .align 128 .b8 scratch[128];\n"
         "mov.b64 %map, map;\ncvta.param.u64 %map, %map;\nld.param.u64 %tensor, [tensor];\nld.param.u64 %at, [maps];\n"
         "ld.param.u64 %out, [out];\nmov.u32 %tile, tile;\nmov.u32 %bar, bar;\nmov.u32 %t, %tid.x;\n"
         "setp.eq.u32 %p0, %t, 0;\n@%p0 mbarrier.init.shared.b64 [%bar], 1;\nbar.sync 0;\n" +
         (kernel.head.empty() ? "@!%p0 bra DONE;\n" : kernel.head) + kernel.body + "\nDONE:\nbar.sync 0;\n" +
         kernel.after + "\nret;\n}\n";
}

// Waits for the tile, as every thread may.
constexpr const char* kWait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%bar], 0;\n@!%p1 bra WAIT;\n";
// Copies `tile` to `out`, 16 bytes a thread and round.
constexpr const char* kDump =
    "mov.u32 %r1, %t;\nDUMP: shl.b32 %r2, %r1, 4;\nadd.u32 %r3, %r2, %tile;\n"
    "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];\ncvt.u64.u32 %rd1, %r2;\nadd.u64 %rd1, %rd1, %out;\n"
    "st.global.v4.b32 [%rd1], {%r4, %r5, %r6, %r7};\nadd.u32 %r1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 64;\n@%p2 bra "
    "DUMP;\n";
constexpr const char* kLoad =
    "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;\nmov.u32 %r1, 32;\nmov.u32 %r2, 4;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {%r1, %r2}], "
    "[%bar];\n";

TensorMap usual_map(std::uint64_t address) {
  TensorMap map;
  map.type = TensorType::F32, map.rank = 2, map.address = address;
  map.dims = {64, 16, 1, 1, 1}, map.strides = {256, 0, 0, 0}, map.box = {32, 8, 1, 1, 1};
  return map;
}

template <class D>
Ran run_in(const Kernel& kernel, const std::vector<D*>& domains, domain::Init init) {
  Ran ran;
  ran.tensor.resize(64 * 16 * 4), ran.out.resize(kOutBytes);
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("k.ptx", text_of(kernel)), findings);
  const auto program = module ? Program<D>::decode(*module, "k", findings) : std::nullopt;
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return ran;
  }
  domain::Memory memory(D::kHasTags);
  domain::Buffer& tensor = memory.add("tensor", 64 * 16 * 4, init, domain::Format::F32);
  tensor.tensor = 1;
  if (init == domain::Init::Concrete) {
    for (std::uint32_t i = 0; i < 64 * 16; ++i) std::memcpy(tensor.bytes.get() + 4 * i, &i, 4);
  }
  domain::Buffer& maps = memory.add("maps", 1024, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", kOutBytes, domain::Init::Concrete, domain::Format::F32);
  std::memset(out.bytes.get(), 0, out.size);
  TensorMap map = usual_map(tensor.address);
  if (kernel.change) kernel.change(map);
  const TensorMapImage image = encode(map);
  std::memcpy(maps.bytes.get(), image.data(), image.size());
  Launch launch;
  launch.entry = "k", launch.block.x = 32, launch.grid.x = kernel.ctas, launch.cluster.x = kernel.ctas;
  launch.params.resize(128 + 24);
  std::memcpy(launch.params.data(), image.data(), image.size());
  std::size_t at = 128;
  for (const domain::Buffer* buffer : {&tensor, &maps, &out}) {
    std::memcpy(launch.params.data() + at, &buffer->address, 8);
    at += 8;
  }
  ran.result = program->run(launch, domains, memory, {.workers = 1});
  ran.tensor.assign(tensor.bytes.get(), tensor.bytes.get() + tensor.size);
  ran.out.assign(out.bytes.get(), out.bytes.get() + out.size);
  if (out.tags) ran.tags.assign(out.tags.get(), out.tags.get() + out.size);
  return ran;
}

Ran run(const Kernel& kernel) {
  domain::Ieee ieee;
  return run_in<domain::Ieee>(kernel, {&ieee}, domain::Init::Concrete);
}
Ran run_field(const Kernel& kernel, domain::Init init) {
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  return run_in<domain::Field>(kernel, {&field}, init);
}
// Concrete data moves alike in both domains.
Ran run_both(const Kernel& kernel) {
  Ran ieee = run(kernel), field = run_field(kernel, domain::Init::Concrete);
  EXPECT_EQ(ieee.code(), field.code()) << ieee.message() << "\n" << field.message();
  if (!ieee.result.stop && !field.result.stop) {
    EXPECT_EQ(ieee.out, field.out);
    EXPECT_EQ(ieee.tensor, field.tensor);
  }
  return ieee;
}

TEST(TensorCopy, ATileArrivesByAMapInAParameter) {
  const Ran ran = run_both({.body = kLoad, .after = std::string(kWait) + kDump});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<std::uint32_t>(0), 4u * 64 + 32);
  EXPECT_EQ(ran.word<std::uint32_t>(31), 4u * 64 + 63);
  EXPECT_EQ(ran.word<std::uint32_t>(7 * 32 + 5), 11u * 64 + 37);
}

// Without the wait the tile is not there: effects come at the latest legal moment.
TEST(TensorCopy, WithoutItsWaitATileIsMissing) {
  const Ran ran = run({.body = kLoad, .after = std::string(kDump) + kWait});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<std::uint32_t>(0), 0xcdcdcdcdu);
}

TEST(TensorCopy, AbstractValuesKeepTheirIdentity) {
  const Ran ran = run_field({.body = kLoad, .after = std::string(kWait) + kDump}, domain::Init::Abstract);
  ASSERT_EQ(ran.message(), "");
  ASSERT_EQ(ran.tags.size(), kOutBytes);
  // All 256 elements of the tile are different values, with their bytes in order.
  std::vector<domain::Tag> values;
  for (std::size_t i = 0; i < 256; ++i) {
    const domain::Tag tag = ran.tags[4 * i];
    values.push_back(domain::tag_value(tag));
    for (unsigned byte = 0; byte < 4; ++byte) EXPECT_EQ(ran.tags[4 * i + byte], domain::make_tag(values.back(), byte));
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
  EXPECT_GE(values.front(), domain::kFirstValue);
}

TEST(TensorCopy, AStoreAndAReductionReachTheTensor) {
  const std::string fill =
      "st.shared.f32 [%tile], 0f40000000;\nst.shared.f32 [%tile+4], 0f3F800000;\nfence.proxy.async;\nmov.u32 %r1, 60;\n"
      "mov.u32 %r2, 15;\n";
  const auto change = [](TensorMap& map) { map.box = {4, 1, 1, 1, 1}; };
  const std::string done = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
  const std::string all = "mov.u32 %r3, 0;\nst.shared.b32 [%tile+8], %r3;\nst.shared.b32 [%tile+12], %r3;\n";
  Ran ran = run_both({.body = all + fill +
                              "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%r1, %r2}], "
                              "[%tile];\n" +
                              done,
                      .change = change});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<float>(15 * 64 + 60, "tensor"), 2.0f);
  EXPECT_EQ(ran.word<float>(15 * 64 + 61, "tensor"), 1.0f);
  EXPECT_EQ(ran.word<std::uint32_t>(15 * 64 + 59, "tensor"), 15u * 64 + 59);
  const std::string add =
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {%r1, %r2}], [%tile];\n" + done;
  ran = run_both(
      {.body = all + "st.global.b32 [%tensor+4080], 0;\nst.global.f32 [%tensor+4084], 0f40400000;\n" + fill + add,
       .change = change});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<float>(15 * 64 + 60, "tensor"), 2.0f);
  EXPECT_EQ(ran.word<float>(15 * 64 + 61, "tensor"), 4.0f);
}

// The way of Triton's kernels: fields put into a zeroed map in shared memory, copied out with a fence, then used.
std::string device_made(const std::string& stride = "256") {
  const auto set = [](const std::string& field, const std::string& rest, const char* type = "b32") {
    return "@%p0 tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [%rd8], " + rest + ";\n";
  };
  return "mov.u32 %r8, scratch;\nshl.b32 %r9, %t, 2;\nadd.u32 %r9, %r9, %r8;\nst.shared.b32 [%r9], 0;\n"
         "bar.warp.sync -1;\ncvt.u64.u32 %rd8, %r8;\n" +
         set("global_address", "%tensor", "b64") + set("rank", "1") + "mov.u32 %r1, 32;\n" + set("box_dim", "0, %r1") +
         set("box_dim", "1, 8") + set("global_dim", "0, 64") + set("global_dim", "1, 16") +
         set("global_stride", "0, " + stride, "b64") + set("element_stride", "0, 1") + set("element_stride", "1, 1") +
         set("elemtype", "7") + set("interleave_layout", "0") + set("swizzle_mode", "3") + set("fill_mode", "0") +
         "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%at], [%rd8], 128;\n"
         "fence.proxy.tensormap::generic.acquire.gpu [%at], 128;\nbar.sync 0;\n@!%p0 bra DONE;\n";
}

TEST(TensorCopy, AMapMadeOnTheDeviceIsUsed) {
  std::string load = kLoad;
  load.replace(load.find("%map"), 4, "%at");
  const Ran ran = run_both({.body = load, .after = std::string(kWait) + kDump, .head = device_made()});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<std::uint32_t>(0), 4u * 64 + 32);
  // Row 1 of the 128-byte swizzle: its first unit stands second.
  EXPECT_EQ(ran.word<std::uint32_t>(32 + 4), 5u * 64 + 32);
}

TEST(TensorCopy, OneCopyReachesEveryBlockOfItsMask) {
  const std::string body =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "mov.u32 %r3, %cluster_ctarank;\nsetp.ne.u32 %p3, %r3, 0;\n@%p3 bra DONE;\nmov.u32 %r1, 32;\nmov.u32 %r2, 4;\n"
      "mov.u16 %h1, 3;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%tile], "
      "[%map, {%r1, %r2}], [%bar], %h1;\n";
  const std::string after =
      std::string(kWait) +
      "mov.u32 %r3, %cluster_ctarank;\nmul.wide.u32 %rd2, %r3, 1024;\nadd.u64 %out, %out, %rd2;\n" + kDump +
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  // All threads of a warp arrive at the cluster's barrier, so the guard comes after it.
  std::string whole = body;
  whole.replace(whole.find("mbarrier.arrive"), 0, "@%p0 ");
  whole.replace(whole.find("mov.u32 %r3"), 0, "@!%p0 bra DONE;\n");
  const Ran ran = run_both({.body = whole, .after = after, .ctas = 2, .head = "\n"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<std::uint32_t>(5), 4u * 64 + 37);
  EXPECT_EQ(ran.word<std::uint32_t>(256 + 5), 4u * 64 + 37);
}

// Both blocks of a pair load a tile of their own, and the first one's mbarrier counts the bytes of both; a multicast
// for a pair signals the mbarrier of that parity once for each tile.
std::string paired(const std::string& load, const std::string& barrier_rank) {
  return "mov.u32 %r3, %cluster_ctarank;\nsetp.eq.u32 %p3, %r3, 0;\nand.pred %p4, %p0, %p3;\n"
         "@%p4 mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
         "@!%p0 bra DONE;\nmapa.shared::cluster.u32 %r8, %bar, " +
         barrier_rank + ";\nmov.u32 %r1, 32;\nshl.b32 %r2, %r3, 2;\nmov.u16 %h1, 3;\n" + load;
}
const std::string kPairedWait =
    std::string("@!%p3 bra WAITED;\n") + kWait +
    "WAITED:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nmov.u32 %r3, %cluster_ctarank;\n"
    "mul.wide.u32 %rd2, %r3, 1024;\nadd.u64 %out, %out, %rd2;\n" +
    kDump + "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
constexpr const char* kPairedLoad =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%tile], "
    "[%map, {%r1, %r2}], [%r8];\n";

TEST(TensorCopy, BlocksOfAPairSignalOneBarrier) {
  Kernel kernel{.body = paired(kPairedLoad, "0"), .after = kPairedWait, .ctas = 2, .head = "\n", .target = "sm_100a"};
  const Ran ran = run_both(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.word<std::uint32_t>(5), 37u);
  EXPECT_EQ(ran.word<std::uint32_t>(256 + 5), 4u * 64 + 37);
  kernel.body = paired(
      "@!%p3 bra DONE;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::"
      "2 "
      "[%tile], [%map, {%r1, %r2}], [%r8], %h1;\n",
      "0");
  const Ran multicast = run_both(kernel);
  ASSERT_EQ(multicast.message(), "");
  EXPECT_EQ(multicast.word<std::uint32_t>(5), 37u);
  EXPECT_EQ(multicast.word<std::uint32_t>(256 + 5), 37u);
}

TEST(TensorCopy, APairSignalsNoBarrierOfAnother) {
  Kernel kernel{.body = paired("@%p3 mapa.shared::cluster.u32 %r8, %bar, 2;\n" + std::string(kPairedLoad), "0"),
                .after = kPairedWait,
                .ctas = 4,
                .head = "\n",
                .target = "sm_100a"};
  const Ran ran = run_both(kernel);
  EXPECT_EQ(ran.code(), "machine.tensor-copy");
  EXPECT_THAT(ran.message(), HasSubstr("not of its pair"));
}

std::string finding(const std::string& body, std::function<void(TensorMap&)> change = {},
                    const std::string& head = "") {
  const Ran ran = run_both({.body = body, .change = std::move(change), .head = head});
  return ran.code() + ": " + ran.message();
}
std::string load_with(const std::string& from, const std::string& to) {
  std::string body = kLoad;
  body.replace(body.find(from), from.size(), to);
  return body;
}

TEST(TensorCopy, MisuseIsFound) {
  EXPECT_THAT(finding(load_with("%r1, 32", "%r1, 33")), HasSubstr("innermost coordinate 33 is 132 bytes"));
  EXPECT_THAT(finding("add.u32 %tile, %tile, 64;\n" + std::string(kLoad)), HasSubstr("machine.misaligned"));
  EXPECT_THAT(finding("add.u64 %map, %at, 32;\n" + std::string(kLoad)), HasSubstr("machine.misaligned"));
  EXPECT_THAT(finding("add.u64 %map, %at, 128;\n" + std::string(kLoad)), HasSubstr("machine.tensor-map"));
  EXPECT_THAT(finding("cvt.u64.u32 %map, %tile;\ncvta.shared.u64 %map, %map;\n" + std::string(kLoad)),
              HasSubstr("neither a kernel parameter"));
  EXPECT_THAT(
      finding(kLoad,
              [](TensorMap& map) { map.strides[0] = 0, map.box[0] = 4, map.swizzle = Swizzle::Bytes32, map.rank = 3; }),
      HasSubstr("it has rank 3, and the instruction has 2 dimensions"));
  // Rows that the map has and the buffer has not.
  EXPECT_THAT(finding(kLoad, [](TensorMap& map) { map.address += 8 * 256, map.dims[1] = 100; }),
              HasSubstr("machine.out-of-bounds"));
  EXPECT_THAT(finding("add.u32 %tile, %tile, 7680;\n" + std::string(kLoad)), HasSubstr("machine."));
}

TEST(TensorCopy, WhatAMapCannotHoldIsFoundWhereItIsPut) {
  EXPECT_THAT(finding("", {}, device_made("200")), HasSubstr("200 bytes, it must be a multiple of 16"));
  std::string no_zero = device_made();
  no_zero.replace(no_zero.find("st.shared.b32 [%r9], 0;\n"), 24, "");
  const Ran ran = run_field({.body = "", .head = no_zero}, domain::Init::Concrete);
  EXPECT_THAT(ran.message(), HasSubstr("never written"));
}

TEST(TensorCopy, AParameterIsNoAddressUntilItIsMadeOne) {
  EXPECT_THAT(finding("mov.b64 %map, map;\n" + std::string(kLoad)), HasSubstr("`cvta.param.u64`"));
  EXPECT_THAT(finding("mov.b64 %map, map;\ncvta.param.u64 %map, %map;\n" + std::string(kLoad) + kWait), ": ");
}

}  // namespace
}  // namespace plumb::machine
