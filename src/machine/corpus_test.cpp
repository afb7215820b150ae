// SPDX-License-Identifier: Apache-2.0
// Triton's own sm_80, sm_89 and sm_90 code computes what the kernels' formulas say, with sizes that are no multiple of
// a tile.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace plumb::machine::test {
namespace {

float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

struct Array {
  std::string format;  // "f32" or "bf16"
  std::vector<float> values;
};
using Argument = std::variant<Array, std::int32_t, float>;

// Values that bf16 holds exactly.
Array random_array(std::string format, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> pick(-64, 64);
  Array array{std::move(format), {}};
  for (std::size_t i = 0; i < count; ++i) array.values.push_back(static_cast<float>(pick(random)) / 32.0f);
  return array;
}
Array empty_array(std::string format, std::size_t count) {
  return {std::move(format), std::vector<float>(count, 0.0f)};
}

struct Corpus {
  std::string kernel, target, variant;  // "swiglu", "sm_89", "" or "_unaligned"
  std::string path(const std::string& extension) const {
    return std::string(PLUMB_SOURCE_DIR) + "/tests/corpus/" + kernel + "/" + target + "/" + kernel + variant +
           extension;
  }
};

void append(std::vector<std::byte>& params, const void* value, std::size_t size) {
  params.resize((params.size() + size - 1) / size * size + size);
  std::memcpy(params.data() + params.size() - size, value, size);
}

// Runs a corpus file by Triton's convention; arrays are changed to what the kernel leaves.
template <class D>
Result run_corpus(const Corpus& corpus, std::map<std::string, Argument>& arguments, std::uint32_t grid,
                  const std::vector<D*>& domains) {
  Findings findings;
  const auto text = read_file(corpus.path(".ptx"), findings);
  const auto facts_text = read_file(corpus.path(".json"), findings);
  if (!text || !facts_text) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  const auto facts = nlohmann::ordered_json::parse(*facts_text);
  const auto module = ptx::load(std::make_shared<Source>(corpus.path(".ptx"), *text), findings);
  const auto program = module ? Program<D>::decode(*module, facts["entry"].get<std::string>(), findings) : std::nullopt;
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  domain::Memory memory(D::kHasTags);
  std::map<std::string, domain::Buffer*> buffers;
  Launch launch;
  launch.entry = facts["entry"].get<std::string>();
  launch.grid.x = grid;
  launch.block.x = 32 * facts["num_warps"].get<std::uint32_t>();
  launch.dynamic_shared = facts["shared"].get<std::uint32_t>();
  std::uint32_t tensor = 0;
  for (const auto& [name, type] : facts["signature"].items()) {
    if (type == "constexpr") continue;
    Argument& argument = arguments.at(name);
    if (const auto* integer = std::get_if<std::int32_t>(&argument)) {
      append(launch.params, integer, 4);
    } else if (const auto* real = std::get_if<float>(&argument)) {
      append(launch.params, real, 4);
    } else {
      const Array& array = std::get<Array>(argument);
      const bool is_wide = array.format == "f32";
      domain::Buffer& buffer = memory.add(name, array.values.size() * (is_wide ? 4 : 2),
                                          D::kHasTags ? domain::Init::Abstract : domain::Init::Concrete,
                                          is_wide ? domain::Format::F32 : domain::Format::BF16);
      buffer.tensor = tensor++;
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(array.values[i]);
        const auto high = static_cast<std::uint16_t>(bits >> 16);
        if (is_wide) std::memcpy(buffer.bytes.get() + 4 * i, &bits, 4);
        else std::memcpy(buffer.bytes.get() + 2 * i, &high, 2);
      }
      buffers[name] = &buffer;
      append(launch.params, &buffer.address, 8);
    }
  }
  const std::uint64_t null = 0;
  append(launch.params, &null, 8), append(launch.params, &null, 8);
  Options options;
  options.workers = static_cast<unsigned>(domains.size());
  Result result = program->run(launch, domains, memory, options);
  for (auto& [name, buffer] : buffers) {
    Array& array = std::get<Array>(arguments.at(name));
    for (std::size_t i = 0; i < array.values.size(); ++i) {
      std::uint32_t bits = 0;
      std::uint16_t high = 0;
      std::memcpy(&bits, buffer->bytes.get() + (array.format == "f32" ? 4 * i : 0), 4);
      std::memcpy(&high, buffer->bytes.get() + (array.format == "f32" ? 0 : 2 * i), 2);
      array.values[i] = array.format == "f32" ? std::bit_cast<float>(bits) : bf16_value(high);
    }
  }
  return result;
}

const std::vector<float>& values(const std::map<std::string, Argument>& arguments, const std::string& name) {
  return std::get<Array>(arguments.at(name)).values;
}

struct Case {
  std::string kernel;
  std::map<std::string, Argument> arguments;
  std::uint32_t grid;
  std::string output;
  std::function<double(const std::map<std::string, Argument>& inputs, std::size_t index)> expected;
  double relative, absolute;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const auto array = [](const std::map<std::string, Argument>& in, const char* name, std::size_t i) {
    return static_cast<double>(values(in, name)[i]);
  };
  constexpr std::int32_t kSize = 2064;  // a multiple of 16, not of the block of 1024
  out.push_back({"vector_add",
                 {{"x_ptr", random_array("f32", kSize, 1)},
                  {"y_ptr", random_array("f32", kSize, 2)},
                  {"out_ptr", empty_array("f32", kSize)},
                  {"n", kSize}},
                 3,
                 "out_ptr",
                 [=](const auto& in, std::size_t i) { return array(in, "x_ptr", i) + array(in, "y_ptr", i); },
                 0,
                 0});
  out.push_back({"swiglu",
                 {{"gate_ptr", random_array("bf16", kSize, 1)},
                  {"up_ptr", random_array("bf16", kSize, 2)},
                  {"out_ptr", empty_array("bf16", kSize)},
                  {"n", kSize}},
                 3,
                 "out_ptr",
                 [=](const auto& in, std::size_t i) {
                   const double gate = array(in, "gate_ptr", i);
                   return gate / (1 + std::exp(-gate)) * array(in, "up_ptr", i);
                 },
                 0x1p-8,
                 1e-6});
  constexpr std::int32_t kRows = 3, kColumns = 720;
  out.push_back({"softmax",
                 {{"x_ptr", random_array("bf16", kRows * kColumns, 1)},
                  {"out_ptr", empty_array("bf16", kRows * kColumns)},
                  {"stride", kColumns},
                  {"n_cols", kColumns}},
                 kRows,
                 "out_ptr",
                 [=](const auto& in, std::size_t i) {
                   const std::size_t row = i / kColumns * kColumns;
                   double sum = 0;
                   for (std::size_t k = 0; k < kColumns; ++k) sum += std::exp(array(in, "x_ptr", row + k));
                   return std::exp(array(in, "x_ptr", i)) / sum;
                 },
                 0x1p-8,
                 1e-6});
  out.push_back({"rmsnorm",
                 {{"x_ptr", random_array("bf16", kRows * kColumns, 1)},
                  {"w_ptr", random_array("bf16", kColumns, 2)},
                  {"out_ptr", empty_array("bf16", kRows * kColumns)},
                  {"n_cols", kColumns},
                  {"eps", 1e-5f}},
                 kRows,
                 "out_ptr",
                 [=](const auto& in, std::size_t i) {
                   const std::size_t row = i / kColumns * kColumns;
                   double sum = 0;
                   for (std::size_t k = 0; k < kColumns; ++k) sum += std::pow(array(in, "x_ptr", row + k), 2);
                   return array(in, "x_ptr", i) / std::sqrt(sum / kColumns + 1e-5) * array(in, "w_ptr", i % kColumns);
                 },
                 0x1p-8,
                 1e-6});
  constexpr std::int32_t kM = 144, kN = 80, kK = 112;
  out.push_back({"matmul_bf16",
                 {{"a_ptr", random_array("bf16", kM * kK, 1)},
                  {"b_ptr", random_array("bf16", kK * kN, 2)},
                  {"c_ptr", empty_array("bf16", kM * kN)},
                  {"M", kM},
                  {"N", kN},
                  {"K", kK},
                  {"sam", kK},
                  {"sbk", kN},
                  {"scm", kN}},
                 2,
                 "c_ptr",
                 [=](const auto& in, std::size_t i) {
                   double sum = 0;
                   for (std::size_t k = 0; k < kK; ++k) {
                     sum += array(in, "a_ptr", i / kN * kK + k) * array(in, "b_ptr", k * kN + i % kN);
                   }
                   return sum;
                 },
                 0x1p-8,
                 1e-3});
  return out;
}

class CorpusTest : public testing::TestWithParam<std::tuple<int, const char*, const char*>> {};

TEST_P(CorpusTest, ComputesTheFormula) {
  const auto [index, target, variant] = GetParam();
  Case one = cases()[static_cast<std::size_t>(index)];
  const std::map<std::string, Argument> inputs = one.arguments;
  domain::Ieee first, second;
  const Result result =
      run_corpus<domain::Ieee>({one.kernel, target, variant}, one.arguments, one.grid, {&first, &second});
  if (result.stop) FAIL() << render(result.stop->finding, false);
  const std::vector<float>& got = values(one.arguments, one.output);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = one.expected(inputs, i);
    ASSERT_NEAR(got[i], expected, std::abs(expected) * one.relative + one.absolute) << one.kernel << " " << i;
  }
}

// The field domain follows the same path: addresses, guards and barriers are concrete in it.
TEST_P(CorpusTest, RunsOnAbstractData) {
  const auto [index, target, variant] = GetParam();
  Case one = cases()[static_cast<std::size_t>(index)];
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  const Result result = run_corpus<domain::Field>({one.kernel, target, variant}, one.arguments, one.grid, {&field});
  if (result.stop) FAIL() << render(result.stop->finding, false);
}

INSTANTIATE_TEST_SUITE_P(Triton, CorpusTest,
                         testing::Combine(testing::Range(0, 5), testing::Values("sm_80", "sm_89"),
                                          testing::Values("", "_unaligned")),
                         [](const auto& tested) {
                           return cases()[static_cast<std::size_t>(std::get<0>(tested.param))].kernel + "_" +
                                  std::get<1>(tested.param) + std::get<2>(tested.param);
                         });

// wgmma on tiles that cp.async brings.
INSTANTIATE_TEST_SUITE_P(Hopper, CorpusTest,
                         testing::Combine(testing::Values(4), testing::Values("sm_90"),
                                          testing::Values("", "_unaligned")),
                         [](const auto& tested) {
                           return cases()[static_cast<std::size_t>(std::get<0>(tested.param))].kernel + "_" +
                                  std::get<1>(tested.param) + std::get<2>(tested.param);
                         });

}  // namespace
}  // namespace plumb::machine::test
