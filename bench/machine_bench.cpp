// SPDX-License-Identifier: Apache-2.0
// How fast the machine runs: lane-instructions a second on integer and float code, multiply-adds a second of mma.sync,
// wgmma and tcgen05.mma, each beside a plain loop that does the same arithmetic on arrays. One core.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace {

using namespace plumb;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A loop of `trips` rounds over a body, one block of 256 threads, one word written a thread.
std::string kernel(const std::string& body, unsigned trips) {
  return ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n"
         ".reg .b64 %rd<4>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .pred %p<4>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
         "mov.u32 %r2, 1;\nmov.u32 %r3, 3;\nmov.u32 %r4, 5;\nmov.u32 %r5, 7;\n"
         "mov.b32 %f1, 0f3F800000;\nmov.b32 %f2, 0f3F800001;\nmov.b32 %f3, 0f3A800000;\nmov.b32 %f4, 0f3F000000;\n"
         "mov.b32 %f5, 0f3F000000;\nmov.u32 %r6, 0;\nLOOP:\n" +
         body + "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, " + std::to_string(trips) +
         ";\n@%p1 bra LOOP;\nadd.f32 %f1, %f1, %f4;\nmov.b32 %r7, %f1;\nadd.u32 %r2, %r2, %r7;\n"
         "st.global.u32 [%rd2], %r2;\nret;\n}\n";
}

// Two warpgroups, each `trips` times four products of 64 x 128 x 16 on its accumulators: a K step of 64.
std::string warpgroup_kernel(const std::string& types, unsigned trips) {
  std::string results;
  for (unsigned i = 0; i < 64; ++i) results += (i == 0 ? "%d" : ", %d") + std::to_string(i);
  std::string products;
  for (unsigned i = 0; i < 4; ++i) {
    products += "wgmma.mma_async.sync.aligned.m64n128k16." + types + " {" + results + "}, %a" + std::to_string(i) +
                ", %b" + std::to_string(i) + ", %p2, 1, 1, 0, 0;\n";
  }
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[32768];\n"
      ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<4>, %a<4>, %b<4>;\n.reg .b32 %r<8>;\n.reg .f32 %d<64>;\n"
      ".reg .pred %p<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
      "mov.u32 %r2, tile;\nmad.lo.u32 %r3, %r1, 4, %r2;\nmov.u32 %r4, 0;\nFILL:\nmad.lo.u32 %r5, %r4, 2654435761, "
      "%r1;\n"
      "and.b32 %r5, %r5, 0x83ff83ff;\nor.b32 %r5, %r5, 0x3c003c00;\nst.shared.b32 [%r3], %r5;\nadd.u32 %r3, %r3, "
      "1024;\n"
      "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 32;\n@%p1 bra FILL;\nfence.proxy.async;\nbar.sync 0;\n";
  for (unsigned i = 0; i < 64; ++i) text += "mov.b32 %d" + std::to_string(i) + ", 0;\n";
  for (unsigned i = 0; i < 4; ++i) {  // rows of 128 bytes, swizzled; 32 bytes of K a product
    text += "mov.b64 %a" + std::to_string(i) + ", " + std::to_string((1ULL << 62) + (64ULL << 32) + 2 * i) + ";\n";
    text +=
        "mov.b64 %b" + std::to_string(i) + ", " + std::to_string((1ULL << 62) + (64ULL << 32) + 512 + 2 * i) + ";\n";
  }
  return text + "setp.eq.u32 %p2, 0, 0;\nmov.u32 %r6, 0;\nLOOP:\nwgmma.fence.sync.aligned;\n" + products +
         "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.u32 %r6, %r6, 1;\n"
         "setp.lt.u32 %p1, %r6, " +
         std::to_string(trips) + ";\n@%p1 bra LOOP;\nst.global.f32 [%rd2], %d0;\nret;\n}\n";
}

// One thread, `trips` times a K step of 64 on a tile of 128 x 256: four products of K = 16, and a wait for them.
std::string tensor_kernel(unsigned trips) {
  std::string products;
  for (unsigned i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    products += "tcgen05.mma.cta_group::1.kind::f16 [%r5], %a" + n + ", %b" + n + ", 0x08400490, %p2;\n";
  }
  std::string text =
      ".version 8.7\n.target sm_100a\n.address_size 64\n.shared .align 1024 .b8 tile[49152];\n.shared .align 8 .b64 "
      "bar;\n"
      ".shared .align 4 .b32 slot;\n.visible .entry k(.param .u64 out) {\n.reg .b64 %rd<4>, %a<4>, %b<4>;\n"
      ".reg .b32 %r<12>;\n.reg .pred %p<6>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %rd2, %r1, 4, %rd1;\nmov.u32 %r2, tile;\nmad.lo.u32 %r3, %r1, 4, %r2;\nmov.u32 %r4, 0;\nFILL:\n"
      "mad.lo.u32 %r5, %r4, 2654435761, %r1;\nand.b32 %r5, %r5, 0x83ff83ff;\nor.b32 %r5, %r5, 0x3c003c00;\n"
      "st.shared.b32 [%r3], %r5;\nadd.u32 %r3, %r3, 1024;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 48;\n"
      "@%p1 bra FILL;\nsetp.eq.u32 %p3, %r1, 0;\nsetp.lt.u32 %p4, %r1, 32;\n@%p3 mbarrier.init.shared.b64 [bar], 1;\n"
      "fence.proxy.async;\nbar.sync 0;\n@!%p4 bra NOALLOC;\nmov.u32 %r6, slot;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 256;\nNOALLOC:\nbar.sync 0;\n"
      "ld.shared.b32 %r5, [slot];\n";
  for (unsigned i = 0; i < 4; ++i) {  // rows of 128 bytes, swizzled; 32 bytes of K a product
    const std::uint64_t rows = 0x4000404000010000;
    text += "mov.b64 %a" + std::to_string(i) + ", " + std::to_string(rows + 2 * i) + ";\n";
    text += "mov.b64 %b" + std::to_string(i) + ", " + std::to_string(rows + 1024 + 2 * i) + ";\n";
  }
  return text + "setp.ne.u32 %p2, 0, 0;\nmov.u32 %r7, 0;\nmov.u32 %r8, bar;\n@!%p3 bra DONE;\nLOOP:\n" + products +
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r8];\nand.b32 %r9, %r7, 1;\nWAIT:\n"
         "mbarrier.try_wait.parity.shared.b64 %p5, [bar], %r9;\n@!%p5 bra WAIT;\nadd.u32 %r7, %r7, 1;\n"
         "setp.eq.u32 %p2, 0, 0;\nsetp.lt.u32 %p1, %r7, " +
         std::to_string(trips) +
         ";\n@%p1 bra LOOP;\nDONE:\nbar.sync 0;\n@!%p4 bra END;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 256;\nEND:\nst.global.b32 [%rd2], %r5;\nret;\n}\n";
}

struct Measured {
  double seconds = 0;
  machine::Counts counts;
};

Measured measure(const std::string& text) {
  Measured out;
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("bench.ptx", text), findings);
  const auto program = module ? machine::Program<domain::Ieee>::decode(*module, "k", findings) : std::nullopt;
  if (!program) {
    std::fputs(render(findings, false).c_str(), stderr);
    return out;
  }
  domain::Memory memory(false);
  domain::Buffer& buffer = memory.add("out", 4096, domain::Init::Concrete, domain::Format::F32);
  machine::Launch launch;
  launch.entry = "k";
  launch.block.x = 256;
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &buffer.address, 8);
  domain::Ieee ieee;
  machine::Options options;
  options.workers = 1;
  for (int round = 0; round < 3; ++round) {
    const auto begin = Clock::now();
    machine::Result result = program->run(launch, {&ieee}, memory, options);
    const double seconds = seconds_since(begin);
    if (result.stop) std::fputs(render(result.stop->finding, false).c_str(), stderr);
    if (round == 0 || seconds < out.seconds) out.seconds = seconds;
    out.counts = std::move(result.counts);
  }
  return out;
}

std::string repeat(const std::string& text, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) out += text;
  return out;
}

// The integer body below, on arrays of 256 words that the compiler may vectorise.
double plain_integers(unsigned trips) {
  constexpr unsigned kThreads = 256;
  std::vector<std::uint32_t> a(kThreads, 1), b(kThreads, 3), c(kThreads, 5), d(kThreads, 7);
  const auto begin = Clock::now();
  for (unsigned i = 0; i < trips; ++i) {
    for (unsigned t = 0; t < kThreads; ++t) a[t] += b[t];
    for (unsigned t = 0; t < kThreads; ++t) b[t] ^= c[t];
    for (unsigned t = 0; t < kThreads; ++t) c[t] = (c[t] << 3) + a[t];
    for (unsigned t = 0; t < kThreads; ++t) d[t] -= a[t];
    asm volatile("" ::"r"(a.data()), "r"(b.data()), "r"(c.data()), "r"(d.data()) : "memory");
  }
  return seconds_since(begin);
}

}  // namespace

int main() {
  constexpr unsigned kTrips = 2000, kRepeats = 16;
  const Measured integers = measure(
      kernel(repeat("add.u32 %r2, %r2, %r3;\nxor.b32 %r3, %r3, %r4;\nshl.b32 %r8, %r4, 3;\nadd.u32 %r4, %r8, %r2;\n"
                    "sub.u32 %r5, %r5, %r2;\n",
                    kRepeats),
             kTrips));
  const double plain = plain_integers(kTrips * kRepeats);
  const double rate = static_cast<double>(integers.counts.lane_instrs) / integers.seconds;
  std::printf("integer code     %8.2f G lane-instructions/s   %5.1f times the time of a plain loop\n", rate / 1e9,
              integers.seconds / plain);
  const Measured floats = measure(kernel(
      repeat("fma.rn.f32 %f1, %f1, %f5, %f3;\nmul.f32 %f2, %f2, %f5;\nadd.f32 %f4, %f4, %f3;\n", kRepeats), kTrips));
  std::printf("float code       %8.2f G lane-instructions/s\n",
              static_cast<double>(floats.counts.lane_instrs) / floats.seconds / 1e9);
  const Measured products = measure(
      kernel(repeat("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f10,%f11,%f12,%f13}, {%r2,%r3,%r4,%r5}, "
                    "{%r2,%r3}, {%f1,%f2,%f3,%f4};\n",
                    kRepeats),
             kTrips / 20));
  std::printf("mma.sync bf16    %8.2f G multiply-adds/s\n",
              static_cast<double>(products.counts.mma_macs) / products.seconds / 1e9);
  const Measured group = measure(warpgroup_kernel("f32.bf16.bf16", kTrips / 20));
  std::printf("wgmma bf16       %8.2f G multiply-adds/s\n",
              static_cast<double>(group.counts.mma_macs) / group.seconds / 1e9);
  const Measured tensor = measure(tensor_kernel(kTrips / 40));
  std::printf("tcgen05 bf16     %8.2f G multiply-adds/s\n",
              static_cast<double>(tensor.counts.mma_macs) / tensor.seconds / 1e9);
  return 0;
}
