// SPDX-License-Identifier: Apache-2.0
// Triton's sm_90 code for matmuls by tensor descriptors, which it makes on the device, computes the product: pipelined,
// in two tile sizes, persistent, and with a warpgroup that loads for two that multiply.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace plumb::machine {
namespace {

struct Shape {
  std::int32_t m, n, k;
};

float value_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
std::uint16_t rounded(float value) {  // to bf16, nearest even
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
std::uint16_t element(const domain::Buffer& buffer, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, buffer.bytes.get() + 2 * index, 2);
  return bits;
}

struct File {
  ptx::CheckedModule module;
  nlohmann::json facts;
  std::uint32_t threads = 0;
  std::uint32_t number(const char* key) const { return facts.at(key).get<std::uint32_t>(); }
  std::int32_t constant(const char* key) const { return facts.at("constexprs").at(key).get<std::int32_t>(); }
};

std::optional<File> load(const std::string& kernel, const std::string& variant) {
  const std::string path = PLUMB_SOURCE_DIR "/tests/corpus/" + kernel + "/sm_90/" + kernel + variant;
  Findings findings;
  const auto text = read_file(path + ".ptx", findings), facts = read_file(path + ".json", findings);
  const auto module =
      text && facts ? ptx::load(std::make_shared<Source>(path + ".ptx", *text), findings) : std::nullopt;
  if (!module) {
    ADD_FAILURE() << render(findings, false);
    return std::nullopt;
  }
  File file{*module, nlohmann::json::parse(*facts), 0};
  const std::size_t at = text->find(".reqntid ");
  file.threads = static_cast<std::uint32_t>(std::stoul(text->substr(at + 9)));
  return file;
}

// Runs a file by Triton's convention over fresh matrices of small numbers, and leaves `a`, `b` and `c` in `memory`.
template <class D>
Result run_file(const File& file, const Shape& shape, D& domain, domain::Memory& memory) {
  const auto [m, n, k] = shape;
  const auto add = [&](const char* name, std::int64_t elements) {
    return &memory.add(name, static_cast<std::uint64_t>(2 * elements), domain::Init::Concrete, domain::Format::BF16);
  };
  domain::Buffer *a = add("a", m * k), *b = add("b", n * k), *c = add("c", m * n);
  std::mt19937 random(5);
  for (domain::Buffer* buffer : {a, b}) {
    for (std::uint64_t i = 0; i < buffer->size / 2; ++i) {
      const std::uint16_t bits = rounded(static_cast<float>(static_cast<int>(random() % 9) - 4) / 4);
      std::memcpy(buffer->bytes.get() + 2 * i, &bits, 2);
    }
  }
  std::memset(c->bytes.get(), 0, c->size);
  const std::int32_t bm = file.constant("BM"), bn = file.constant("BN");
  const auto tiles = static_cast<std::uint32_t>(((m + bm - 1) / bm) * ((n + bn - 1) / bn));
  Launch launch;
  launch.entry = file.facts.at("entry").get<std::string>();
  const bool is_persistent = file.facts.at("constexprs").contains("NUM_SMS");
  launch.grid.x = is_persistent ? std::min<std::uint32_t>(tiles, 132) : tiles;
  if (launch.entry == "matmul_desc_ws") {
    launch.grid = {static_cast<std::uint32_t>((m + bm - 1) / bm), static_cast<std::uint32_t>((n + bn - 1) / bn), 1};
  }
  launch.block.x = file.threads, launch.dynamic_shared = file.number("shared");
  const domain::Buffer& scratch = memory.add("scratch", file.number("global_scratch") * launch.grid.count(),
                                             domain::Init::Concrete, domain::Format::F32);
  launch.params.resize(56);
  const std::uint64_t pointers[] = {a->address, b->address, c->address}, trailing[] = {scratch.address, 0};
  const std::int32_t sizes[] = {m, n, k};
  std::memcpy(launch.params.data(), pointers, 24);
  std::memcpy(launch.params.data() + 24, sizes, 12);
  std::memcpy(launch.params.data() + 40, trailing, 16);
  Findings findings;
  const auto program = Program<D>::decode(file.module, launch.entry, findings);
  EXPECT_TRUE(program) << render(findings, false);
  return program ? program->run(launch, {&domain}, memory, {}) : Result{};
}

class TensorCorpus : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Triton, TensorCorpus,
                         testing::Combine(testing::Values("matmul_desc", "matmul_desc_large", "matmul_desc_ws"),
                                          testing::Values("", "_unaligned")),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + std::get<1>(tested.param);
                         });

TEST_P(TensorCorpus, ComputesTheProduct) {
  const auto file = load(std::get<0>(GetParam()), std::get<1>(GetParam()));
  ASSERT_TRUE(file);
  // Rows must be multiples of 16 bytes; extents need not be multiples of a tile.
  for (const Shape& shape : {Shape{128, 128, 64}, Shape{208, 144, 144}, Shape{16, 272, 80}}) {
    domain::Ieee ieee;
    domain::Memory memory(false);
    const Result result = run_file(*file, shape, ieee, memory);
    ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
    const domain::Buffer &a = *memory.find("a"), &b = *memory.find("b"), &c = *memory.find("c");
    std::size_t wrong = 0;
    for (std::int32_t i = 0; i < shape.m; ++i) {
      for (std::int32_t j = 0; j < shape.n; ++j) {
        float sum = 0;  // exact: small multiples of 1/16
        for (std::int32_t l = 0; l < shape.k; ++l) {
          sum += value_of(element(a, static_cast<std::size_t>(i * shape.k + l))) *
                 value_of(element(b, static_cast<std::size_t>(j * shape.k + l)));
        }
        wrong += element(c, static_cast<std::size_t>(i * shape.n + j)) != rounded(sum) ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0U) << shape.m << 'x' << shape.n << 'x' << shape.k;
  }
}

TEST_P(TensorCorpus, RunsInTheFieldDomain) {
  const auto file = load(std::get<0>(GetParam()), std::get<1>(GetParam()));
  ASSERT_TRUE(file);
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  domain::Memory memory(true);
  const Result result = run_file(*file, {144, 136, 72}, field, memory);
  if (result.stop) FAIL() << render(result.stop->finding, false);
}

}  // namespace
}  // namespace plumb::machine
