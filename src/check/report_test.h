// SPDX-License-Identifier: Apache-2.0
// For tests: runs a kernel on the machine under a Collector. Planted faults are a kernel that is right and an edit of
// its text, with the code and the line that the finding must have.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "check/check.h"
#include "domain/ieee/ieee.h"

namespace plumb::check {

struct Run {
  Report report;
  std::optional<Finding> stop;  // the machine's
};

// Before the body: `bar` and `tile` in shared memory, `%out` and `%in` of 4 KiB in global memory, %t = %tid.x.
inline Run run_kernel(const std::string& body, const machine::Dim3& cluster = {}, const std::string& target = "sm_90a",
                      const machine::Dim3& block = {64, 1, 1}) {
  const std::string text =
      ".version 8.7\n.target " + target +
      "\n.address_size 64\n.shared .align 8 .b64 bar[4];\n.shared .align 1024 .b8 tile[32768];\n"
      ".shared .align 4 .b32 taddr;\n.visible .entry k(.param .u64 out, .param .u64 in) {\n"
      ".reg .b64 %rd<16>, %out, %in;\n.reg .b32 %r<64>, %t;\n.reg .b16 %h<4>;\n.reg .pred %p<16>;\n"
      "ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nmov.u32 %t, %tid.x;\n" +
      body + "\nret;\n}\n";
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("kernel.ptx", text), findings);
  const auto program = module ? machine::Program<domain::Ieee>::decode(*module, "k", findings) : std::nullopt;
  EXPECT_TRUE(program) << render(findings, false);
  if (!program) return {};
  domain::Memory memory(false);
  const domain::Buffer& out = memory.add("out", 4096, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& in = memory.add("in", 4096, domain::Init::Concrete, domain::Format::F32);
  std::memset(in.bytes.get(), 0, in.size);
  machine::Launch launch;
  launch.entry = "k", launch.grid = cluster, launch.block = block, launch.cluster = cluster;
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &out.address, 8);
  std::memcpy(launch.params.data() + 8, &in.address, 8);
  Collector collector(*module, *(*module)->find_entry("k"), launch, &memory);
  machine::Options options;
  options.workers = 1;
  options.observe = [&](std::uint64_t cta) { return collector.observe(cta); };
  domain::Ieee ieee;
  machine::Result result = program->run(launch, {&ieee}, memory, options);
  Run run{collector.finish(result.counts.executed), std::nullopt};
  if (result.stop) run.stop = result.stop->finding;
  return run;
}

inline Report report_of(const std::string& body, const machine::Dim3& cluster = {},
                        const std::string& target = "sm_90a", const machine::Dim3& block = {64, 1, 1}) {
  const Run run = run_kernel(body, cluster, target, block);
  EXPECT_FALSE(run.stop) << run.stop->message;
  return run.report;
}

inline std::string in_words(const Run& run) {
  std::string text = render(run.report.findings, false) + render(run.report.unknowns, false);
  if (run.stop) text += "stop: " + run.stop->message;
  return text;
}

inline void expect_clean(const std::string& body, const machine::Dim3& cluster = {},
                         const std::string& target = "sm_90a", const machine::Dim3& block = {64, 1, 1}) {
  const Run run = run_kernel(body, cluster, target, block);
  EXPECT_TRUE(run.report.is_clean() && !run.stop) << in_words(run);
}

struct Fault {
  const char* name;
  const char* from;  // the first place where this stands in the kernel becomes `to`
  const char* to;
  const char* code;
  const char* line;  // stands in the line that the finding points at
};

// Some finding has the code and points at such a line.
inline void expect_found(const std::string& body, const Fault& fault, const machine::Dim3& cluster = {},
                         const std::string& target = "sm_90a", const machine::Dim3& block = {64, 1, 1}) {
  std::string text = body;
  const std::size_t at = text.find(fault.from);
  ASSERT_NE(at, std::string::npos) << fault.from;
  text.replace(at, std::strlen(fault.from), fault.to);
  const Run run = run_kernel(text, cluster, target, block);
  std::vector<Finding> all = run.report.findings.list();
  for (const Finding& unknown : run.report.unknowns.list()) all.push_back(unknown);
  if (run.stop) all.push_back(*run.stop);
  for (const Finding& finding : all) {
    if (finding.code->id != std::string_view(fault.code) || finding.severity != Severity::Error) continue;
    const std::string_view source = finding.place.source->text();
    const std::size_t begin = source.rfind('\n', finding.place.span.begin) + 1;
    const std::string_view line = source.substr(begin, source.find('\n', begin) - begin);
    if (line.find(fault.line) != std::string_view::npos) return;
  }
  ADD_FAILURE() << fault.name << ": no " << fault.code << " at `" << fault.line << "`\n" << in_words(run);
}

inline const char* const kStart = R"(
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %t, 4, %r2;
  xor.b32 %r4, %r3, 128;
  setp.eq.u32 %p1, %t, 0;
)";

}  // namespace plumb::check
