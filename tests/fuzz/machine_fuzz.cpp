// SPDX-License-Identifier: Apache-2.0
// Claim: whatever the validator accepts runs to an end or to a finding, in both domains, within the step budget. The
// input picks the launch's shape and then, three bytes at a time, an instruction and its operands, so that nearly every
// input is a legal kernel.
#include <array>
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
    ".func (.param .b32 r) half(.param .b32 x) {\n.reg .b32 %a<3>;\n.reg .pred %q;\nld.param.b32 %a1, [x];\n"
    "setp.gt.u32 %q, %a1, 9;\n@%q bra BIG;\nshr.u32 %a1, %a1, 1;\nBIG:\nst.param.b32 [r], %a1;\nret;\n}\n"
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
    ".reg .b64 %d<8>, %in, %out;\n.reg .b32 %r<8>;\n.reg .b16 %h<8>;\n.reg .f32 %f<8>;\n.reg .f64 %e<8>;\n"
    ".reg .pred %p<8>;\n.local .align 8 .b8 stack[64];\n.param .b32 arg;\n.param .b32 res;\n"
    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\n"
    "mad.wide.u32 %d0, %r0, 4, %in;\nmad.wide.u32 %d1, %r0, 4, %out;\nmov.u32 %r2, 3;\nmov.b32 %f0, 0f3F800000;\n"
    "mov.u64 %d2, stack;\ncvta.local.u64 %d3, %d2;\nsetp.lt.u32 %p0, %r0, 7;\nmov.b16 %h0, 5;\n"
    "ld.global.f32 %f1, [%d0];\nmad.lo.u32 %r3, %r0, 16, %r1;\n";

// r, d, h, f, e, p: a register of that kind; #: a small number; @: a guard or none; &: a label that stands somewhere.
constexpr const char* kLines[] = {
    "@add.u32 r, r, r;",
    "@sub.s32 r, r, #;",
    "mul.lo.u32 r, r, r;",
    "mad.wide.s32 d, r, #, d;",
    "@mad.lo.s32 r, r, r, r;",
    "div.s32 r, r, r;",
    "rem.u32 r, r, r;",
    "min.s32 r, r, r;",
    "add.s64 d, d, #;",
    "add.u16 h, h, h;",
    "shl.b32 r, r, r;",
    "shr.s32 r, r, #;",
    "and.b32 r, r, r;",
    "@xor.b32 r, r, #;",
    "not.b64 d, d;",
    "prmt.b32 r, r, r, r;",
    "lop3.b32 r, r, r, r, 0x96;",
    "shf.l.wrap.b32 r, r, r, r;",
    "bfe.u32 r, r, r, r;",
    "bfi.b32 r, r, r, #, #;",
    "popc.b32 r, r;",
    "clz.b64 r, d;",
    "dp4a.u32.u32 r, r, r, r;",
    "setp.lt.u32 p, r, r;",
    "setp.eq.s64 p, d, d;",
    "@setp.gt.f32 p, f, f;",
    "setp.leu.f32 p|p, f, f;",
    "and.pred p, p, p;",
    "not.pred p, p;",
    "mov.pred p, p;",
    "selp.b32 r, r, r, p;",
    "selp.f32 f, f, f, p;",
    "@mov.u32 r, r;",
    "mov.b64 d, {r, r};",
    "mov.b64 {r, r}, d;",
    "mov.b32 {h, h}, r;",
    "mov.b32 r, {h, h};",
    "mov.u32 r, %laneid;",
    "mov.u32 r, #;",
    "mov.b32 r, f;",
    "mov.b32 f, r;",
    "@add.f32 f, f, f;",
    "mul.ftz.f32 f, f, f;",
    "fma.rn.f32 f, f, f, f;",
    "sub.rn.sat.f32 f, f, f;",
    "div.full.f32 f, f, f;",
    "div.rn.f32 f, f, f;",
    "max.f32 f, f, f;",
    "min.NaN.f32 f, f, f;",
    "abs.f32 f, f;",
    "neg.f32 f, f;",
    "ex2.approx.ftz.f32 f, f;",
    "lg2.approx.f32 f, f;",
    "rcp.approx.f32 f, f;",
    "sqrt.rn.f32 f, f;",
    "rsqrt.approx.f32 f, f;",
    "sin.approx.f32 f, f;",
    "tanh.approx.f32 f, f;",
    "add.f64 e, e, e;",
    "fma.rn.f64 e, e, e, e;",
    "cvt.f64.f32 e, f;",
    "cvt.rn.f32.f64 f, e;",
    "cvt.rn.bf16x2.f32 r, f, f;",
    "cvt.rn.f16.f32 h, f;",
    "cvt.f32.f16 f, h;",
    "cvt.rn.f32.s32 f, r;",
    "cvt.rzi.s32.f32 r, f;",
    "cvt.u16.u32 h, r;",
    "cvt.s64.s32 d, r;",
    "cvt.u32.u64 r, d;",
    "add.rn.f16x2 r, r, r;",
    "fma.rn.bf16x2 r, r, r, r;",
    "max.bf16x2 r, r, r;",
    "set.lt.u32.f32 r, f, f;",
    "cvt.rn.satfinite.e4m3x2.f32 h, f, f;",
    "@ld.global.u32 r, [d];",
    "ld.global.f32 f, [d+#];",
    "@ld.global.v2.b32 {r, r}, [d];",
    "ld.global.u8 r, [d+#];",
    "ld.shared.u32 r, [r];",
    "ld.shared.v4.f32 {f, f, f, f}, [r];",
    "ld.shared.s8 r, [r+#];",
    "ld.local.u64 d, [d];",
    "ld.u32 r, [d];",
    "ld.const.u32 r, [table+#];",
    "ld.global.b64 d, [spare+#];",
    "@st.global.u32 [d], r;",
    "st.global.f32 [d+#], f;",
    "st.shared.u32 [r], r;",
    "@st.shared.b16 [r+#], h;",
    "st.shared.v2.b32 [r], {r, r};",
    "st.local.b32 [d], r;",
    "st.u32 [d], r;",
    "st.shared.f32 [dynamic], f;",
    "ld.volatile.shared.u32 r, [r];",
    "st.release.gpu.global.u32 [d], r;",
    "isspacep.shared p, d;",
    "cvta.shared.u64 d, d;",
    "cvta.to.local.u64 d, d;",
    "atom.global.add.u32 r, [d], r;",
    "@atom.shared.cas.b32 r, [r], r, r;",
    "red.shared.add.f32 [r], f;",
    "red.global.add.f32 [d], f;",
    "atom.exch.b32 r, [d], r;",
    "atom.shared.inc.u32 r, [r], #;",
    "bar.sync 0;",
    "bar.sync #;",
    "@bar.arrive 1, 64;",
    "bar.sync 1, 64;",
    "barrier.sync 2;",
    "bar.red.popc.u32 r, 3, p;",
    "bar.red.or.pred p, 0, p;",
    "bar.warp.sync -1;",
    "@bar.warp.sync r;",
    "shfl.sync.bfly.b32 r|p, r, #, 31, -1;",
    "@shfl.sync.idx.b32 r, r, r, r, -1;",
    "shfl.sync.up.b32 f, f, r, r, r;",
    "vote.sync.ballot.b32 r, p, -1;",
    "@vote.sync.any.pred p, !p, r;",
    "match.any.sync.b32 r, r, -1;",
    "redux.sync.add.u32 r, r, -1;",
    "activemask.b32 r;",
    "elect.sync r|p, -1;",
    "cp.async.ca.shared.global [r], [d], 4;",
    "@cp.async.cg.shared.global [r], [d], 16, r;",
    "cp.async.ca.shared.global [r+#], [d+#], 8, p;",
    "cp.async.commit_group;",
    "cp.async.wait_group #;",
    "cp.async.wait_all;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r, r, r, r}, [r];",
    "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {r}, [r];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [r], {r, r};",
    "movmatrix.sync.aligned.m8n8.trans.b16 r, r;",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f, f, f, f}, {r, r, r, r}, {r, r}, {f, f, f, f};",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r};",
    "@bra &;",
    "bra.uni &;",
    "&:",
    "&:",
    "&:",
    "@exit;",
    "@ret;",
    "@trap;",
    "membar.gl;",
    "fence.acq_rel.cta;",
    "prefetch.global.L2 [d];",
    "nanosleep.u32 r;",
    "st.param.b32 [arg], r;\ncall (res), half, (arg);\nld.param.b32 r, [res];",
    "@call (res), half, (arg);",
    "pmevent #;"};

// Turns one line and two bytes of choices into PTX.
class Writer {
 public:
  void write(const char* line, std::uint32_t choices) {
    choices_ = choices;
    for (const char* c = line; *c != 0; ++c) {
      const bool is_alone = (c == line || !is_letter(c[-1])) && !is_letter(c[1]) && c[1] != '.';
      if (*c == '@') {
        if (const unsigned guard = take(); guard < 4)
          text_ += guard % 2 == 0 ? "@%p0 " : "@!%p" + std::to_string(guard) + " ";
      } else if (*c == '&') {
        label(c[1] == ':');
      } else if (*c == '#') {
        static constexpr const char* kNumbers[] = {"0", "1", "4", "8", "16", "3", "2", "12"};
        text_ += kNumbers[take()];
      } else if (is_alone && std::strchr("rdhfep", *c) != nullptr) {
        text_ += std::string("%") + *c + std::to_string(take());
      } else {
        text_ += *c;
      }
    }
    text_ += "\n";
  }
  std::string finish() {
    for (unsigned i = 0; i < stands_.size(); ++i) {
      if (!stands_[i]) text_ += "L" + std::to_string(i) + ":\n";
    }
    return text_;
  }

 private:
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '%';
  }
  unsigned take() {
    choices_ = choices_ * 1664525u + 1013904223u;
    return choices_ >> 13 & 7;
  }
  void label(bool is_place) {
    const unsigned number = take() % stands_.size();
    if (is_place && stands_[number]) {
      text_ += "UNUSED" + std::to_string(unused_++);
    } else {
      text_ += "L" + std::to_string(number);
    }
    stands_[number] = stands_[number] || is_place;
  }

  std::string text_;
  std::uint32_t choices_ = 0;
  std::array<bool, 6> stands_{};
  unsigned unused_ = 0;
};

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
  if (size < 5 || size > 600) return 0;
  Writer writer;
  for (std::size_t i = 2; i + 2 < size; i += 3) {
    writer.write(kLines[data[i] % std::size(kLines)], data[i + 1] | static_cast<std::uint32_t>(data[i + 2]) << 8);
  }
  Findings findings;
  const std::string text = kBefore + writer.finish() + "ret;\n}\n";
  const auto module = ptx::load(std::make_shared<Source>("fuzz.ptx", text), findings);
  if (!module) {
    // An immediate that its form does not take, as `bar.sync 16`: said with a place, and nothing to execute.
    PLUMB_CHECK(findings.has_error());
    return -1;
  }
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
