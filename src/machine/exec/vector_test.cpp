// SPDX-License-Identifier: Apache-2.0
// The machine leaves what a GPU left: every section of tests/vectors/*.vec (tools/refresh_vectors.py) is run again.
// Exact instructions must agree bit for bit, the approximate ones within the distance that the section names.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "machine/exec/lane_kernel.h"
#include "machine/exec/small_float.h"

namespace plumb::machine {
namespace {

using namespace test;  // NOLINT: a test file

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}
std::uint64_t hex(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}
bool take(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  return true;
}

// The lines of a chapter's file; tests/vectors unless the environment names another folder (a larger set).
std::vector<std::string> lines_of(const std::string& chapter) {
  const char* folder = std::getenv("PLUMB_VECTORS");
  const std::string path =
      (folder != nullptr ? std::string(folder) : PLUMB_SOURCE_DIR "/tests/vectors") + "/" + chapter + ".vec";
  Findings findings;
  const std::optional<std::string> text = read_file(path, findings);
  EXPECT_TRUE(text) << render(findings, false);
  std::vector<std::string> lines;
  if (!text) return lines;
  for (const std::string_view line : split(*text, '\n')) lines.emplace_back(line);
  return lines;
}

// Distance in units of the last place, as places on the number line of a format; huge when only one is a NaN.
std::uint64_t places_apart(std::uint64_t a, std::uint64_t b, unsigned width, std::uint64_t infinity) {
  const std::uint64_t sign = 1ULL << (width - 1);
  const bool a_nan = (a & (sign - 1)) > infinity, b_nan = (b & (sign - 1)) > infinity;
  if (a_nan || b_nan) return a_nan && b_nan ? 0 : ~0ULL;
  const auto place = [&](std::uint64_t x) {
    const auto size = static_cast<std::int64_t>(x & (sign - 1));
    return (x & sign) != 0 ? -size : size;
  };
  return static_cast<std::uint64_t>(std::llabs(place(a) - place(b)));
}

bool is_near(std::string_view check, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return true;
  const std::vector<std::string_view> words = split(check, ' ');
  const auto number = [&](std::size_t i) {
    return static_cast<std::uint64_t>(std::atoi(std::string(words[i]).c_str()));
  };
  if (words[0] == "ulp" && words.size() == 2) return places_apart(got, expected, 32, 0x7F800000) <= number(1);
  if (words[0] == "ulp") {  // of a half, or of both of a pair
    const std::uint64_t infinity = words[2][0] == 'b' ? 0x7F80 : 0x7C00;
    return places_apart(got & 0xFFFF, expected & 0xFFFF, 16, infinity) <= number(1) &&
           places_apart(got >> 16, expected >> 16, 16, infinity) <= number(1);
  }
  if (words[0] == "absolute") {
    const double bound = std::ldexp(1.0, -std::atoi(std::string(words[1].substr(3)).c_str()));
    if (std::fabs(static_cast<double>(as_float(got)) - static_cast<double>(as_float(expected))) <= bound) return true;
    return words.size() > 2 && places_apart(got, expected, 32, 0x7F800000) <= number(4);
  }
  if (words[0] == "upper") {
    return places_apart(got >> 32, expected >> 32, 32, 0x7FF00000) <= 1 && (got & 0xFFFFFFFF) == 0;
  }
  return false;
}

// Runs the section whose lines begin at `at`; returns where the next one begins.
std::size_t run_section(const std::vector<std::string>& lines, std::size_t at, std::size_t& count) {
  std::string_view form = lines[at], result = lines[at + 1], check = lines[at + 2];
  EXPECT_TRUE(take(form, "form ") && take(result, "result ") && take(check, "check ")) << lines[at];
  std::vector<Inputs> inputs;
  std::vector<std::uint64_t> expected;
  for (at += 3; at < lines.size() && !lines[at].starts_with("form "); ++at) {
    const std::vector<std::string_view> words = split(lines[at], ' ');
    Inputs row{};
    for (std::size_t i = 0; i + 2 < words.size() && i < 3; ++i) row[i] = hex(words[i]);
    inputs.push_back(row);
    expected.push_back(hex(words.back()));
  }
  const test::Result kind = result == "b16"   ? test::Result::B16
                            : result == "b32" ? test::Result::B32
                                              : test::Result::B64;
  const std::vector<std::uint64_t> got = run_lanes(std::string(form), inputs, kind, "sm_90a");
  if (got.size() != inputs.size()) {
    ADD_FAILURE() << form;
    return at;
  }
  int shown = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_near(check, got[i], expected[i])) continue;
    if (++shown > 3) break;
    ADD_FAILURE() << form << std::hex << " on " << inputs[i][0] << ' ' << inputs[i][1] << ' ' << inputs[i][2] << ": "
                  << got[i] << ", the GPU has " << expected[i];
  }
  count += inputs.size();
  return at;
}

class Vectors : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Gpu, Vectors,
                         testing::Values("int_arith", "logic", "compare", "float_arith", "half_arith", "convert",
                                         "video"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Vectors, AgreeWithTheMachine) {
  const std::vector<std::string> lines = lines_of(GetParam());
  std::size_t at = 0, count = 0;
  while (at < lines.size() && !lines[at].starts_with("form ")) ++at;
  while (at < lines.size()) at = run_section(lines, at, count);
  EXPECT_GE(count, 500U) << "the file holds next to nothing";
}

// A kernel that loads the fragments of one tile a warp, multiplies, and stores.
std::string matrix_body(const std::string& form, const std::array<unsigned, 3>& counts, bool is_double) {
  const std::string size = is_double ? "8" : "4", type = is_double ? "b64" : "b32";
  const unsigned all = counts[0] + counts[1] + counts[2];
  const auto group = [](const char* name, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + std::string(name) + std::to_string(first + i);
    return text + "}";
  };
  std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
      ".reg .b64 %at<8>;\n.reg .b32 %n<4>;\n.reg ." +
      type +
      " %v<24>, %w<8>;\n"
      "mov.u32 %n0, %ctaid.x;\nmov.u32 %n1, %tid.x;\nld.param.u64 %at0, [in];\nld.param.u64 %at1, [out];\n"
      "mad.wide.u32 %at2, %n0, " +
      std::to_string(all * 32 * (is_double ? 8 : 4)) +
      ", %at0;\n"
      "mad.wide.u32 %at2, %n1, " +
      size +
      ", %at2;\n"
      "mad.wide.u32 %at3, %n0, " +
      std::to_string(counts[2] * 32 * (is_double ? 8 : 4)) +
      ", %at1;\n"
      "mad.wide.u32 %at3, %n1, " +
      size + ", %at3;\n";
  const unsigned row = is_double ? 256 : 128;
  for (unsigned i = 0; i < all; ++i) {
    text += "ld.global." + type + " %v" + std::to_string(i) + ", [%at2+" + std::to_string(i * row) + "];\n";
  }
  text += form + " " + group("w", 0, counts[2]) + ", " + group("v", 0, counts[0]) + ", " +
          group("v", counts[0], counts[1]) + ", " + group("v", counts[0] + counts[1], counts[2]) + ";\n";
  for (unsigned i = 0; i < counts[2]; ++i) {
    text += "st.global." + type + " [%at3+" + std::to_string(i * row) + "], %w" + std::to_string(i) + ";\n";
  }
  return text + "ret;\n}\n";
}

template <class Word>
std::vector<std::uint64_t> run_tiles(const std::string& text, const std::vector<std::uint64_t>& in,
                                     std::size_t out_words, unsigned tiles) {
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("matrix.ptx", text), findings);
  auto program = module ? Program<domain::Ieee>::decode(*module, "k", findings) : std::nullopt;
  if (!program) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  std::vector<Word> words(in.begin(), in.end());
  domain::Memory memory(false);
  domain::Buffer& source = memory.add("in", words.size() * sizeof(Word), domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", out_words * sizeof(Word), domain::Init::Concrete, domain::Format::F32);
  std::memcpy(source.bytes.get(), words.data(), source.size);
  Launch launch;
  launch.entry = "k";
  launch.grid.x = tiles, launch.block.x = 32;
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &source.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  domain::Ieee ieee;
  const machine::Result run = program->run(launch, {&ieee}, memory, {});
  if (run.stop) {
    ADD_FAILURE() << render(run.stop->finding, false);
    return {};
  }
  std::vector<Word> results(out_words);
  std::memcpy(results.data(), out.bytes.get(), out.size);
  return {results.begin(), results.end()};
}

TEST(MatrixVectors, AgreeWithTheMachine) {
  const std::vector<std::string> lines = lines_of("matrix");
  std::size_t at = 0, sections = 0;
  while (at < lines.size() && !lines[at].starts_with("form ")) ++at;
  while (at < lines.size()) {
    const std::string form = lines[at].substr(5);
    std::array<unsigned, 3> counts{};
    const std::vector<std::string_view> numbers = split(lines[at + 1], ' ');
    for (unsigned i = 0; i < 3; ++i) counts[i] = static_cast<unsigned>(hex(numbers[i + 1]));
    std::vector<std::uint64_t> in, expected;
    unsigned tiles = 0;
    const unsigned rows = counts[0] + counts[1] + counts[2];
    for (at += 2; at < lines.size() && !lines[at].starts_with("form "); ++tiles) {
      for (unsigned row = 0; row < rows + counts[2]; ++row, ++at) {
        for (const std::string_view word : split(lines[at], ' ')) (row < rows ? in : expected).push_back(hex(word));
      }
    }
    const bool is_double = form.find(".f64") != std::string::npos;
    const std::string text = matrix_body(form, counts, is_double);
    const auto got = is_double ? run_tiles<std::uint64_t>(text, in, expected.size(), tiles)
                               : run_tiles<std::uint32_t>(text, in, expected.size(), tiles);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != expected[i] ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << form << ": of " << expected.size() << " words";
    EXPECT_EQ(got.size(), expected.size()) << form;
    ++sections;
  }
  EXPECT_GE(sections, 40U);
}

}  // namespace
}  // namespace plumb::machine
