// SPDX-License-Identifier: Apache-2.0
// The machine leaves what a GPU left: every program of tests/vectors/products.vec (tools/refresh_matrix_vectors.py) is
// run again on the same input, which the generator there makes, and compared bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 0xCBF29CE484222325;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return seed;
}

struct Form {
  std::string name;
  unsigned width, fraction;
  int bias;
};
const Form& form_of(const std::string& name) {
  static const std::array<Form, 7> kForms{{{"f16", 16, 10, 15},
                                           {"bf16", 16, 7, 127},
                                           {"tf32", 32, 23, 127},
                                           {"f32", 32, 23, 127},
                                           {"e4m3", 8, 3, 7},
                                           {"e5m2", 8, 2, 15},
                                           {"f64", 64, 52, 1023}}};
  for (const Form& form : kForms) {
    if (form.name == name) return form;
  }
  ADD_FAILURE() << "no format `" << name << "`";
  return kForms[0];
}

std::uint64_t number(const Form& form, bool has_specials, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t r = mix(seed + 2 * index), mode = mix(seed + 2 * (index / 8) + 1) & 3;
  const std::uint64_t top = (1ULL << (form.width - 1 - form.fraction)) - 1;
  const std::uint64_t sign = (r >> 63) << (form.width - 1);
  std::uint64_t mantissa = r >> 8 & ((1ULL << std::min(form.fraction, 32U)) - 1);
  if (form.fraction > 32)
    mantissa = mantissa << (form.fraction - 32) | (mantissa >> 4 & ((1ULL << (form.fraction - 32)) - 1));
  if (has_specials && (r >> 40) % 48 == 0) {
    const std::uint64_t kind = r >> 50 & 3, infinity = form.name == "e4m3" ? 0x7F : top << form.fraction;
    return sign | (kind == 0 ? infinity : kind == 1 ? infinity | 1 : infinity - 1);
  }
  if (mode == 3) return sign | ((r >> 60 & 1) != 0 ? mantissa : 0);
  const std::int64_t exponent = mode == 0   ? form.bias + static_cast<std::int64_t>(r % 3) - 1
                                : mode == 1 ? form.bias + static_cast<std::int64_t>(r % 13) - 6
                                            : static_cast<std::int64_t>(r % top);
  const auto limited =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(exponent, 0, static_cast<std::int64_t>(top) - 1));
  return sign | limited << form.fraction | mantissa;
}

void append(std::vector<std::uint32_t>& out, std::string kind, unsigned count, std::uint64_t seed) {
  constexpr std::array<std::uint32_t, 6> kOrdered{0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
  const bool has_specials = kind.back() == '!';
  if (has_specials) kind.pop_back();
  for (std::uint32_t j = 0; j < count; ++j) {
    std::uint64_t word = 0;
    if (kind == "bytes") {
      for (unsigned b = 0; b < 4; ++b) word |= std::uint64_t{(4 * j + b) & 255} << (8 * b);
    } else if (kind == "i32") {
      word = mix(seed + j);
    } else if (kind == "ordered") {
      for (unsigned n = 0; n < 8; ++n) word |= std::uint64_t{kOrdered[(mix(seed + j) >> (8 * n)) % 6]} << (4 * n);
    } else if (kind == "tf32pairs") {
      for (unsigned n = 0; n < 8; ++n) word |= ((mix(seed + j) >> n & 1) != 0 ? 0b1110ULL : 0b0100ULL) << (4 * n);
    } else if (kind == "f64") {
      word = number(form_of(kind), has_specials, seed, j / 2) >> (32 * (j % 2));
    } else {
      const Form& form = form_of(kind);
      const unsigned per = 32 / form.width;
      for (unsigned i = 0; i < per; ++i)
        word |= number(form, has_specials, seed, std::uint64_t{j} * per + i) << (form.width * i);
    }
    out.push_back(static_cast<std::uint32_t>(word));
  }
}

struct Program_ {
  std::string name, text;
  std::vector<std::uint32_t> in, out;
  unsigned block = 32;
};

std::vector<Program_> read_programs() {
  const char* folder = std::getenv("PLUMB_VECTORS");
  Findings findings;
  const auto text = read_file(
      (folder != nullptr ? std::string(folder) : PLUMB_SOURCE_DIR "/tests/vectors") + "/products.vec", findings);
  EXPECT_TRUE(text) << render(findings, false);
  std::vector<Program_> programs;
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("program ")) {
      programs.push_back({line.substr(8), "", {}, {}, 32});
    } else if (programs.empty()) {
      continue;
    } else if (line.starts_with("input ")) {
      std::istringstream parts(line.substr(6));
      std::string kind;
      std::uint64_t seed = seed_of(programs.back().name);
      for (unsigned count = 0; parts >> kind >> count; seed += 0x1000003) append(programs.back().in, kind, count, seed);
    } else if (line.starts_with("launch ")) {
      programs.back().block = static_cast<unsigned>(std::atoi(line.c_str() + 7));
    } else if (line.starts_with("| ")) {
      programs.back().text += line.substr(2) + "\n";
    } else {
      for (std::size_t at = 0; at + 8 <= line.size(); at += 8) {
        programs.back().out.push_back(
            static_cast<std::uint32_t>(std::strtoul(line.substr(at, 8).c_str(), nullptr, 16)));
      }
    }
  }
  return programs;
}

// The words that the program leaves here; empty after a failure.
template <class D>
std::vector<std::uint32_t> run_program(const Program_& program, D& dom) {
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("product.ptx", program.text), findings);
  auto decoded = module ? Program<D>::decode(*module, "k", findings) : std::nullopt;
  if (!decoded) {
    ADD_FAILURE() << program.name << "\n" << render(findings, false);
    return {};
  }
  domain::Memory memory(D::kHasTags);
  domain::Buffer& in = memory.add("in", program.in.size() * 4, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", program.out.size() * 4, domain::Init::Concrete, domain::Format::F32);
  std::memcpy(in.bytes.get(), program.in.data(), in.size);
  Launch launch;
  launch.entry = "k";
  launch.block.x = program.block;
  launch.params.resize(20);
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  const Result result = decoded->run(launch, {&dom}, memory, {.workers = 1});
  if (result.stop) {
    ADD_FAILURE() << program.name << "\n" << render(result.stop->finding, false);
    return {};
  }
  std::vector<std::uint32_t> words(program.out.size());
  std::memcpy(words.data(), out.bytes.get(), out.size);
  return words;
}

TEST(ProductVectors, AgreeWithTheMachine) {
  const std::vector<Program_> programs = read_programs();
  EXPECT_GE(programs.size(), 240U);
  domain::Ieee ieee;
  for (const Program_& program : programs) {
    const std::vector<std::uint32_t> got = run_program(program, ieee);
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != program.out[i] && wrong++ == 0) first = i;
    }
    if (got.empty() || wrong == 0) continue;
    ADD_FAILURE() << program.name << ": " << wrong << " of " << got.size() << " words, word " << first << std::hex
                  << ": " << got[first] << ", the GPU has " << program.out[first];
  }
}

// Integers are concrete in the field domain; floats become numbers of its own, of which none is out of place.
TEST(ProductVectors, RunInTheFieldDomain) {
  domain::FieldContext context({.seed = 1});
  domain::Field field(context);
  unsigned integers = 0, floats = 0;
  for (const Program_& program : read_programs()) {
    if (program.name.find("specials") != std::string::npos) continue;
    const bool is_integer = program.name.find("s32") != std::string::npos;
    const std::vector<std::uint32_t> got = run_program(program, field);
    if (is_integer) {
      EXPECT_EQ(got, program.out) << program.name;
    }
    ++(is_integer ? integers : floats);
  }
  EXPECT_GE(integers, 60U);
  EXPECT_GE(floats, 120U);
}

}  // namespace
}  // namespace plumb::machine
