// SPDX-License-Identifier: Apache-2.0
// Tensor copies leave the memory that an H200 left: every line of tests/vectors/tensor_copy.vec and tensor_fault.vec
// (tools/refresh_tensor_vectors.py) is run again, by the same instructions in a kernel of the same shape.
#include <gtest/gtest.h>

#include <map>

#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "machine/tensor_vectors.h"
#include "ptx/module.h"

namespace plumb::machine {
namespace {

using namespace test;  // NOLINT: a test file

constexpr const char* kStyles[] = {"raw", "f16", "bf16", "f32", "f64"};
constexpr std::size_t kSlot = kVectorTile + 128;  // with the mbarrier behind it

struct Copy {
  VectorLine line;
  std::string kind, op;  // "load", "store", "reduce"
  unsigned dims = 1;
  bool is_im2col = false;
  TensorMap map;
};

Copy copy_of(VectorLine line) {
  Copy copy;
  const std::vector<std::string> name = fields_of(line.fields[0], '_');
  copy.kind = name[0], copy.dims = number<unsigned>(name[1]), copy.is_im2col = name[2] == "im2col";
  if (name.size() > 3) copy.op = name[3];
  copy.map = driver_map(line.fields, 6).map;
  copy.line = std::move(line);
  return copy;
}

std::string group(const char* name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + std::string(name) + std::to_string(i);
  return text + "}";
}

std::string instruction(const Copy& copy) {
  const std::string dims = "." + std::to_string(copy.dims) + "d", at = "[%m, " + group("r", copy.dims) + "]";
  if (copy.kind == "load") {
    const std::string tail = copy.is_im2col ? ", " + group("h", copy.dims - 2) : "";
    return "cp.async.bulk.tensor" + dims + ".shared::cluster.global" + (copy.is_im2col ? ".im2col" : ".tile") +
           ".mbarrier::complete_tx::bytes [%r8], " + at + ", [%z]" + tail + ";";
  }
  const std::string mode = copy.is_im2col ? ".im2col_no_offs" : ".tile";
  const std::string head = copy.kind == "reduce"
                               ? "cp.reduce.async.bulk.tensor" + dims + ".global.shared::cta." + copy.op
                               : "cp.async.bulk.tensor" + dims + ".global.shared::cta";
  return head + mode + ".bulk_group " + at + ", [%r8];";
}

// Each block works on one case of 16 words: coordinates, offsets, place of the tile, bytes, style of the tile.
std::string kernel_text(const Copy& copy) {
  const std::string tile = std::to_string(kVectorTile), words = std::to_string(kVectorTile / 4),
                    slot = std::to_string(kSlot);
  const bool is_load = copy.kind == "load";
  std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 maps, .param .u64 cases, .param .u64 source, .param .u64 out) {\n"
      ".reg .b64 %m, %c, %s, %o, %t; .reg .b32 %i, %n, %b, %w, %y, %z, %r<16>; .reg .b16 %h<3>; .reg .pred %p, %q;\n"
      ".shared .align 1024 .b8 tile[" +
      tile +
      "];\n.shared .align 8 .b8 bar[8];\n"
      "mov.u32 %b, %ctaid.x; mov.u32 %i, %tid.x; setp.eq.u32 %p, %i, 0;\n"
      "ld.param.u64 %m, [maps]; mad.wide.u32 %m, %b, 128, %m;\n"
      "ld.param.u64 %c, [cases]; mad.wide.u32 %c, %b, 64, %c;\n"
      "ld.param.u64 %s, [source]; ld.param.u64 %o, [out]; mad.wide.u32 %o, %b, " +
      slot + ", %o;\n";
  for (int i = 0; i < 11; ++i) {
    text += "ld.global.u32 %r" + std::to_string(i) + ", [%c+" + std::to_string(4 * i) + "];\n";
  }
  text +=
      "cvt.u16.u32 %h0, %r5; cvt.u16.u32 %h1, %r6; cvt.u16.u32 %h2, %r7;\n"
      "mov.u32 %y, tile; add.u32 %r8, %r8, %y; mov.u32 %z, bar;\n";
  if (!is_load) text += "mad.wide.u32 %s, %r10, " + tile + ", %s;\n";
  text += "FILL: " +
          std::string(is_load ? "mov.u32 %w, 0xA5A5A5A5;" : "mad.wide.u32 %t, %i, 4, %s; ld.global.u32 %w, [%t];") +
          " mad.lo.u32 %n, %i, 4, %y; st.shared.u32 [%n], %w; add.u32 %i, %i, 128;\n"
          "setp.lt.u32 %q, %i, " +
          words +
          "; @%q bra FILL;\n"
          "fence.proxy.async; @%p mbarrier.init.shared.b64 [%z], 1; bar.sync 0;\n@!%p bra DONE;\n";
  if (!is_load) {
    return text + instruction(copy) + "\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE: ret; }\n";
  }
  return text + "mbarrier.arrive.expect_tx.shared.b64 _, [%z], %r9;\n" + instruction(copy) +
         "\nWAIT: mbarrier.test_wait.parity.shared.b64 %q, [%z], 0; @!%q bra WAIT;\n"
         "DONE: bar.sync 0; mov.u32 %i, %tid.x;\n"
         "DUMP: mad.lo.u32 %n, %i, 4, %y; ld.shared.u32 %w, [%n]; mad.wide.u32 %t, %i, 4, %o; st.global.u32 [%t], %w;\n"
         "add.u32 %i, %i, 128; setp.lt.u32 %q, %i, " +
         words + "; @%q bra DUMP;\n@!%p bra END;\nmbarrier.inval.shared.b64 [%z]; ld.shared.u64 %t, [%z];\n" +
         "st.global.u64 [%o+" + tile + "], %t;\nEND: ret; }\n";
}

// Runs cases of one kernel; `images` gets what each left behind.
class Runner {
 public:
  Runner() : memory_(false) {
    for (const char* style : kStyles) {
      domain::Buffer& buffer = memory_.add(style, kVectorMemory, domain::Init::Concrete, domain::Format::F32);
      fill_pattern_words(style, buffer.bytes.get(), kVectorMemory, 0);
      at_[style] = &buffer;
    }
    source_ = &memory_.add("source", std::size(kStyles) * kVectorTile, domain::Init::Concrete, domain::Format::F32);
    for (std::size_t i = 0; i < std::size(kStyles); ++i) {
      fill_pattern_words(kStyles[i], source_->bytes.get() + i * kVectorTile, kVectorTile, kTileWordsFirst);
    }
  }

  Result run(const std::vector<Copy>& copies, std::vector<const std::byte*>& images) {
    const std::size_t count = copies.size();
    domain::Buffer& maps = add("maps", count * kTensorMapBytes);
    domain::Buffer& cases = add("cases", count * 64);
    domain::Buffer& out = add("out", count * kSlot);
    std::memset(out.bytes.get(), 0, out.size);
    for (std::size_t i = 0; i < count; ++i) put(copies[i], i, maps, cases, out, images);
    Findings findings;
    const auto module = ptx::load(std::make_shared<Source>("copy.ptx", kernel_text(copies[0])), findings);
    const auto program = module ? Program<domain::Ieee>::decode(*module, "k", findings) : std::nullopt;
    if (!program) {
      ADD_FAILURE() << render(findings, false);
      return {};
    }
    Launch launch;
    launch.entry = "k", launch.grid.x = static_cast<std::uint32_t>(count), launch.block.x = 128;
    launch.params.resize(32);
    std::size_t at = 0;
    for (const domain::Buffer* buffer : {&maps, &cases, source_, &out}) {
      std::memcpy(launch.params.data() + 8 * at++, &buffer->address, 8);
    }
    domain::Ieee first, second;
    return program->run(launch, {&first, &second}, memory_, {});
  }

 private:
  domain::Buffer& add(const std::string& name, std::size_t size) {
    return memory_.add(name, size, domain::Init::Concrete, domain::Format::F32);
  }

  void put(const Copy& copy, std::size_t i, domain::Buffer& maps, domain::Buffer& cases, domain::Buffer& out,
           std::vector<const std::byte*>& images) {
    const std::vector<std::string>& fields = copy.line.fields;
    const std::string& style = fields[1];
    TensorMap map = copy.map;
    if (copy.kind == "load") {
      map.address += at_[style]->address;
    } else {
      map.address += out.address + i * kSlot;
      std::memcpy(out.bytes.get() + i * kSlot, at_[style]->bytes.get(), kVectorTile);
    }
    const TensorMapImage image = encode(map);
    std::memcpy(maps.bytes.get() + i * kTensorMapBytes, image.data(), image.size());
    std::int32_t row[16] = {};
    const auto c = numbers<std::int32_t>(fields[2]), o = numbers<std::int32_t>(fields[3]);
    std::copy(c.begin(), c.end(), row);
    std::copy(o.begin(), o.end(), row + 5);
    row[8] = number<std::int32_t>(fields[4]), row[9] = number<std::int32_t>(fields[5]);
    for (int k = 0; k < static_cast<int>(std::size(kStyles)); ++k) {
      if (style == kStyles[k]) row[10] = k;
    }
    std::memcpy(cases.bytes.get() + 64 * i, row, 64);
    images.push_back(out.bytes.get() + i * kSlot);
  }

  domain::Memory memory_;
  std::map<std::string, domain::Buffer*> at_;
  domain::Buffer* source_ = nullptr;
};

TEST(TensorVectors, CopiesLeaveTheCardsMemory) {
  std::map<std::string, std::vector<Copy>> groups;
  for (VectorLine& line : vector_lines("tensor_copy.vec")) {
    if (!line.answer.starts_with("fault")) groups[line.fields[0]].push_back(copy_of(std::move(line)));
  }
  std::size_t count = 0, wrong = 0;
  for (const auto& [name, copies] : groups) {
    Runner runner;
    std::vector<const std::byte*> images;
    const Result result = runner.run(copies, images);
    ASSERT_FALSE(result.stop) << name << ": " << render(result.stop->finding, false);
    for (std::size_t i = 0; i < copies.size(); ++i, ++count) {
      const VectorLine& line = copies[i].line;
      const std::vector<std::string> answers = fields_of(line.answer, ' ');
      bool is_same = hash_of(images[i], kVectorTile) == number(answers[0], 16);
      if (copies[i].kind == "load") {  // the mbarrier shows how many bytes arrived
        std::uint64_t word = 0;
        std::memcpy(&word, images[i] + kVectorTile, 8);
        is_same = is_same && word == number(answers[1], 16);
      }
      if (!is_same && ++wrong < 20) ADD_FAILURE() << line.text;
    }
  }
  EXPECT_EQ(wrong, 0U) << "of " << count;
  EXPECT_GT(count, 500U);
}

// The findings that stand for what the card's driver calls an illegal instruction, a misaligned address, an illegal
// address.
bool stands_for(std::string_view code, const std::string& error) {
  if (error == "715") return code == "machine.tensor-copy" || code == "machine.tensor-map";
  if (error == "716") return code == "machine.misaligned";
  return code == "machine.out-of-bounds" || code == "machine.tensor-copy";
}

TEST(TensorVectors, CopiesThatTheCardRefusesAreFindings) {
  std::vector<VectorLine> lines = vector_lines("tensor_fault.vec");
  for (VectorLine& line : vector_lines("tensor_copy.vec")) {
    if (!line.answer.starts_with("fault ")) continue;
    line.answer.erase(0, 6);
    lines.push_back(std::move(line));
  }
  std::size_t refused = 0;
  for (VectorLine& line : lines) {
    Runner runner;
    std::vector<const std::byte*> images;
    const std::string text = line.text, answer = line.answer;
    const Result result = runner.run({copy_of(std::move(line))}, images);
    const std::string_view code = result.stop ? result.stop->finding.code->id : "";
    if (answer == "0") {
      EXPECT_EQ(code, "") << text << ": " << result.stop->finding.message;
      continue;
    }
    EXPECT_TRUE(stands_for(code, answer)) << text << " = " << answer << ", here " << code;
    ++refused;
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace plumb::machine
