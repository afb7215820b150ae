// SPDX-License-Identifier: Apache-2.0
// Claim: whatever the validator accepts runs to an end or to a finding, in both domains, within the step budget. The
// input is the body of a kernel; the launch's shape comes from its first bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace {

using namespace plumb;

constexpr const char* kBefore =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".shared .align 16 .b8 tile[512];\n.const .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".global .align 8 .b8 spare[64];\n.extern .shared .align 16 .b8 dynamic[];\n"
    ".func (.param .b32 r) half(.param .b32 x) {\n.reg .b32 %a<3>;\nld.param.b32 %a1, [x];\nshr.u32 %a2, %a1, 1;\n"
    "st.param.b32 [r], %a2;\nret;\n}\n"
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
    ".reg .b64 %rd<16>, %in, %out;\n.reg .b32 %r<32>;\n.reg .b16 %h<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<4>;\n"
    ".reg .pred %p<8>;\n.local .align 8 .b8 stack[64];\n.param .b32 arg;\n.param .b32 res;\n"
    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\n"
    "mad.wide.u32 %rd0, %r0, 4, %in;\nmad.wide.u32 %rd1, %r0, 4, %out;\nmov.u32 %r2, 3;\nmov.b32 %f0, 0f3F800000;\n"
    "setp.lt.u32 %p0, %r0, 7;\n";

template <class D>
void run(const ptx::CheckedModule& module, D& domain, const machine::Launch& shape, domain::Init init) {
  Findings findings;
  const auto program = machine::Program<D>::decode(module, "k", findings);
  PLUMB_CHECK(program.has_value());
  domain::Memory memory(D::kHasTags);
  domain::Buffer& in = memory.add("in", 1024, init, domain::Format::F32);
  domain::Buffer& out = memory.add("out", 1024, domain::Init::Undefined, domain::Format::F32);
  if (init == domain::Init::Concrete) std::memset(in.bytes.get(), 0x3f, in.size);
  machine::Launch launch = shape;
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  machine::Options options;
  options.workers = 1;
  options.step_budget = 4000;
  const machine::Result result = program->run(launch, {&domain}, memory, options);
  if (result.stop) PLUMB_CHECK(result.stop->finding.code != nullptr && !result.stop->finding.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("fuzz.ptx", kBefore + body + "\nret;\n}\n"), findings);
  if (!module || (*module)->find_entry("k") == nullptr) return 0;
  machine::Launch launch;
  launch.entry = "k";
  launch.grid.x = 1 + data[0] % 3;
  launch.block.x = 1 + data[1] % 96;
  launch.dynamic_shared = data[0] >> 4;
  launch.params.resize(16);
  domain::Ieee ieee;
  run(*module, ieee, launch, domain::Init::Concrete);
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  run(*module, field, launch, domain::Init::Abstract);
  return 0;
}
