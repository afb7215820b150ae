// SPDX-License-Identifier: Apache-2.0
// For tests of the machine: runs a kernel body with two buffers of 32-bit words, `in` and `out`, in a domain. The body
// finds their addresses in %in and %out, the thread's number in its block in %t, and registers %r, %rd, %h, %p of
// each kind; what stands before it at module scope is `before`.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "domain/memory.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace plumb::machine::test {

struct Kernel {
  std::string body;
  std::string before = {};
  std::vector<std::uint32_t> in = {};
  std::size_t out_words = 64;
  Dim3 grid = {}, block = {32, 1, 1};
  std::uint32_t dynamic_shared = 0;
  std::string target = "sm_80";
  Options options = {.workers = 1};
  Dim3 cluster = {};
  std::string directives = {};  // of the entry
  std::string version = "8.7";
};

struct Ran {
  Result result;
  std::vector<std::uint32_t> out;

  std::string code() const { return result.stop ? std::string(result.stop->finding.code->id) : ""; }
  std::string message() const { return result.stop ? result.stop->finding.message : ""; }
  // The source text that the finding points at.
  std::string place() const {
    if (!result.stop || !result.stop->finding.place.source) return "";
    return std::string(result.stop->finding.place.source->slice(result.stop->finding.place.span));
  }
};

inline std::string kernel_text(const Kernel& kernel) {
  return ".version " + kernel.version + "\n.target " + kernel.target + "\n.address_size 64\n" + kernel.before +
         ".visible .entry k(.param .u64 in, .param .u64 out) " + kernel.directives +
         "{\n"
         ".reg .b64 %rd<32>, %in, %out, %mine;\n.reg .b32 %r<32>, %t;\n.reg .b16 %h<16>;\n.reg .pred %p<8>;\n"
         ".reg .f32 %f<8>;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n"
         "mad.wide.u32 %mine, %t, 4, %out;\n" +
         kernel.body + "\nret;\n}\n";
}

// An observer that listens to nothing; tests override what they want to hear.
class QuietObserver : public Observer {
 public:
  void access(const Access&) override {}
  void async_copy_issued(std::uint64_t, std::uint32_t, WarpMask, const std::uint64_t*, const std::uint64_t*,
                         std::uint32_t, const std::uint32_t*) override {}
  void async_copy_waited(std::uint64_t, WarpMask) override {}
  void barrier_arrived(std::uint32_t, std::uint32_t, WarpMask) override {}
  void barrier_completed(std::uint32_t, std::span<const WarpMask>) override {}
  void warp_synchronized(std::uint32_t, WarpMask) override {}
  void fence(std::uint32_t, WarpMask, Scope) override {}
  void exited(WarpMask) override {}
};

template <class D>
Ran run_in(const Kernel& kernel, const std::vector<D*>& domains) {
  Ran ran;
  Findings findings;
  std::optional<ptx::CheckedModule> module =
      ptx::load(std::make_shared<Source>("kernel.ptx", kernel_text(kernel)), findings);
  if (!module) {
    ADD_FAILURE() << render(findings, false);
    return ran;
  }
  auto program = Program<D>::decode(*module, "k", findings);
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return ran;
  }
  domain::Memory memory(D::kHasTags);
  domain::Buffer& in = memory.add("in", kernel.in.size() * 4, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", kernel.out_words * 4, domain::Init::Concrete, domain::Format::F32);
  std::memcpy(in.bytes.get(), kernel.in.data(), in.size);
  std::memset(out.bytes.get(), 0, out.size);
  Launch launch;
  launch.entry = "k";
  launch.grid = kernel.grid, launch.block = kernel.block, launch.dynamic_shared = kernel.dynamic_shared;
  launch.cluster = kernel.cluster;
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  ran.result = program->run(launch, domains, memory, kernel.options);
  ran.out.resize(kernel.out_words);
  std::memcpy(ran.out.data(), out.bytes.get(), out.size);
  return ran;
}

inline Ran run(const Kernel& kernel) {
  domain::Ieee first, second;
  return run_in<domain::Ieee>(kernel, {&first, &second});
}

inline Ran run_field(const Kernel& kernel) {
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  return run_in<domain::Field>(kernel, {&field});
}

// As `run`; in the field domain a run on concrete integers must leave the same.
inline Ran run_both(const Kernel& kernel) {
  Ran ieee = run(kernel), field = run_field(kernel);
  EXPECT_EQ(ieee.code(), field.code()) << ieee.message() << "\n" << field.message();
  if (!ieee.result.stop && !field.result.stop) {
    EXPECT_EQ(ieee.out, field.out);
  }
  return ieee;
}

}  // namespace plumb::machine::test
