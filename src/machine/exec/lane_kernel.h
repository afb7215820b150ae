// SPDX-License-Identifier: Apache-2.0
// For tests of meanings: runs a few PTX lines once per input triple in the IEEE machine and gives back one 64-bit
// result per triple. The lines find the inputs in registers of every width (%x1 %x2 %x3 are .b64, %r1.. .b32, %h1..
// .b16) and leave the result in %d (.b64), %e (.b32, zero-extended) or %s (.b16, zero-extended), as `Result` says.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "domain/ieee/ieee.h"
#include "domain/memory.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace plumb::machine::test {

using Inputs = std::array<std::uint64_t, 3>;
enum class Result : std::uint8_t { B64, B32, B16 };

inline std::string lane_kernel(const std::string& body, Result result, const std::string& target) {
  const std::string widen = result == Result::B64   ? ""
                            : result == Result::B32 ? "cvt.u64.u32 %d, %e;\n"
                                                    : "cvt.u64.u16 %d, %s;\n";
  return ".version 9.0\n.target " + target +
         "\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {\n"
         ".reg .b64 %x<4>, %d, %at<8>, %wide<4>;\n.reg .b32 %r<8>, %e, %n<8>;\n.reg .b16 %h<8>, %s;\n"
         ".reg .pred %out_of_range, %p<4>;\n"
         "mov.u32 %n0, %ctaid.x;\nmov.u32 %n1, %ntid.x;\nmov.u32 %n2, %tid.x;\nmad.lo.u32 %n3, %n0, %n1, %n2;\n"
         "ld.param.u32 %n4, [count];\nsetp.ge.u32 %out_of_range, %n3, %n4;\n@%out_of_range bra DONE;\n"
         "ld.param.u64 %at0, [in];\nmad.wide.u32 %at1, %n3, 24, %at0;\n"
         "ld.global.u64 %x1, [%at1];\nld.global.u64 %x2, [%at1+8];\nld.global.u64 %x3, [%at1+16];\n"
         "cvt.u32.u64 %r1, %x1;\ncvt.u32.u64 %r2, %x2;\ncvt.u32.u64 %r3, %x3;\n"
         "cvt.u16.u64 %h1, %x1;\ncvt.u16.u64 %h2, %x2;\ncvt.u16.u64 %h3, %x3;\n" +
         body + "\n" + widen +
         "ld.param.u64 %at2, [out];\nmad.wide.u32 %at3, %n3, 8, %at2;\nst.global.u64 [%at3], %d;\nDONE:\nret;\n}\n";
}

inline std::vector<std::uint64_t> run_lanes(const std::string& body, const std::vector<Inputs>& inputs,
                                            Result result = Result::B32, const std::string& target = "sm_90a") {
  Findings findings;
  std::optional<ptx::CheckedModule> module =
      ptx::load(std::make_shared<Source>("lanes.ptx", lane_kernel(body, result, target)), findings);
  if (!module) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  auto program = Program<domain::Ieee>::decode(*module, "k", findings);
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  domain::Memory memory(false);
  domain::Buffer& in = memory.add("in", inputs.size() * sizeof(Inputs), domain::Init::Concrete, domain::Format::F64);
  domain::Buffer& out = memory.add("out", inputs.size() * 8, domain::Init::Concrete, domain::Format::F64);
  std::memcpy(in.bytes.get(), inputs.data(), in.size);
  Launch launch;
  launch.entry = "k";
  launch.block.x = 64;
  launch.grid.x = static_cast<std::uint32_t>((inputs.size() + 63) / 64);
  launch.params.resize(20);
  const auto count = static_cast<std::uint32_t>(inputs.size());
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  std::memcpy(launch.params.data() + 16, &count, 4);
  domain::Ieee ieee;
  const machine::Result run = program->run(launch, {&ieee}, memory, {});
  if (run.stop) {
    ADD_FAILURE() << render(run.stop->finding, false);
    return {};
  }
  std::vector<std::uint64_t> results(inputs.size());
  std::memcpy(results.data(), out.bytes.get(), out.size);
  return results;
}

}  // namespace plumb::machine::test
