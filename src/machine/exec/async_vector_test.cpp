// SPDX-License-Identifier: Apache-2.0
// Whole kernels with clusters, mbarriers, bulk copies and atomics leave what an H200 left
// (tools/refresh_async_vectors.py), in both domains and under every schedule.
#include <gtest/gtest.h>

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

struct Section {
  std::string name, ptx;
  Dim3 grid, block;
  std::vector<std::uint32_t> in, out;
};

std::uint32_t default_word(std::uint32_t index) { return index * 2654435761u + 12345; }

std::vector<std::uint32_t> words(std::string_view text) {
  std::vector<std::uint32_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::uint32_t value = 0;
    at = std::from_chars(at, end, value, 16).ptr + 1;
    out.push_back(value);
  }
  return out;
}

std::vector<Section> sections() {
  constexpr std::uint32_t kDefaultWords = 1024;
  std::vector<Section> all;
  Findings findings;
  const auto text = read_file(PLUMB_SOURCE_DIR "/tests/vectors/async.vec", findings);
  EXPECT_TRUE(text) << render(findings, false);
  if (!text) return all;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("kernel ")) {
      Section& section = all.emplace_back();
      char name[64] = {};
      std::sscanf(std::string(line).c_str(), "kernel %63s %u %u", name, &section.grid.x, &section.block.x);
      section.name = name;
      for (std::uint32_t i = 0; i < kDefaultWords; ++i) section.in.push_back(default_word(i));
    } else if (line.starts_with("| ")) {
      all.back().ptx += std::string(line.substr(2)) + "\n";
    } else if (line.starts_with("in ")) {
      all.back().in = words(line.substr(3));
    } else if (line.starts_with("out ")) {
      all.back().out = words(line.substr(4));
    }
  }
  return all;
}

template <class D>
Ran run_section(const Section& section, D& dom, std::optional<std::uint64_t> schedule) {
  Ran ran;
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>(section.name, section.ptx), findings);
  const auto program = module ? Program<D>::decode(*module, "k", findings) : std::nullopt;
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return ran;
  }
  domain::Memory memory(D::kHasTags);
  domain::Buffer& in = memory.add("in", section.in.size() * 4, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", section.out.size() * 4, domain::Init::Concrete, domain::Format::F32);
  std::memcpy(in.bytes.get(), section.in.data(), in.size);
  std::memset(out.bytes.get(), 0, out.size);
  Launch launch;
  launch.entry = "k", launch.grid = section.grid, launch.block = section.block;
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  Options options;
  options.workers = 1, options.schedule = schedule;
  ran.result = program->run(launch, {&dom}, memory, options);
  ran.out.resize(section.out.size());
  std::memcpy(ran.out.data(), out.bytes.get(), out.size);
  return ran;
}

TEST(AsyncVectors, KernelsLeaveWhatTheHardwareLeft) {
  const std::vector<Section> all = sections();
  EXPECT_GT(all.size(), 100u);
  domain::Ieee ieee;
  for (const Section& section : all) {
    for (int seed = -1; seed < 3; ++seed) {
      const Ran ran = run_section(section, ieee, seed < 0 ? std::nullopt : std::optional<std::uint64_t>(seed));
      EXPECT_EQ(ran.message(), "") << section.name << " at " << ran.place() << ", schedule " << seed;
      unsigned wrong = 0;
      for (std::size_t i = 0; i < section.out.size() && wrong < 4; ++i) {
        if (ran.out[i] == section.out[i]) continue;
        ++wrong;
        ADD_FAILURE() << section.name << ", schedule " << seed << ": word " << i << " is " << std::hex << ran.out[i]
                      << ", the hardware left " << section.out[i];
      }
    }
  }
}

// The field domain computes with concrete floats as with reals, so that only kernels of integers must agree.
TEST(AsyncVectors, TheFieldDomainLeavesTheSameIntegers) {
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  for (const Section& section : sections()) {
    const bool has_floats = section.ptx.find("f16") != std::string::npos ||
                            section.ptx.find(".f32") != std::string::npos ||
                            section.ptx.find(".f64") != std::string::npos;
    if (has_floats) continue;
    const Ran ran = run_section(section, field, std::nullopt);
    EXPECT_EQ(ran.message(), "") << section.name << " at " << ran.place();
    EXPECT_EQ(ran.out, section.out) << section.name;
  }
}

}  // namespace
}  // namespace plumb::machine::test
