// SPDX-License-Identifier: Apache-2.0
// For tests: reads the lines of tests/vectors/tensor_*.vec (tools/refresh_tensor_vectors.py), and makes the memory that
// the script's kernels worked on.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "machine/tensor_map.h"

namespace plumb::machine::test {

inline std::vector<std::string> fields_of(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T = std::uint64_t>
T number(std::string_view text, int base = 10) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

template <class T>
std::vector<T> numbers(std::string_view text, int base = 10) {
  std::vector<T> out;
  if (text == "-") return out;
  for (const std::string& part : fields_of(text, ',')) out.push_back(number<T>(part, base));
  return out;
}

// The lines of a file, without its head: "question = answer".
struct VectorLine {
  std::string text, answer;
  std::vector<std::string> fields;
};
inline std::vector<VectorLine> vector_lines(const std::string& name) {
  std::vector<VectorLine> out;
  Findings findings;
  const std::optional<std::string> text = read_file(PLUMB_SOURCE_DIR "/tests/vectors/" + name, findings);
  EXPECT_TRUE(text) << render(findings, false);
  if (!text) return out;
  for (const std::string& line : fields_of(*text, '\n')) {
    const std::size_t split = line.find(" = ");
    if (split == std::string::npos) continue;
    const std::string question = line.substr(0, split);
    out.push_back({question, line.substr(split + 3), fields_of(question, ' ')});
  }
  return out;
}

// 16 words, those at the end left out when they are zero.
inline TensorMapImage image_of(std::string_view text) {
  TensorMapImage image{};
  std::size_t at = 0;
  for (const std::uint64_t word : numbers<std::uint64_t>(text, 16)) {
    for (unsigned i = 0; i < 8; ++i) image[at++] = static_cast<std::byte>(word >> (8 * i));
  }
  return image;
}

// CUtensorMapDataType, in its order.
inline constexpr TensorType kDriverTypes[] = {
    TensorType::U8,     TensorType::U16,  TensorType::U32,    TensorType::S32, TensorType::U64,
    TensorType::S64,    TensorType::F16,  TensorType::F32,    TensorType::F64, TensorType::Bf16,
    TensorType::F32Ftz, TensorType::Tf32, TensorType::Tf32Ftz};

// What the driver was asked for; `is_known`: no argument lies outside of its enumeration, which a TensorMap cannot say.
struct DriverMap {
  TensorMap map;
  bool is_known = true;
};
inline DriverMap driver_map(const std::vector<std::string>& fields, std::size_t at) {
  DriverMap out;
  TensorMap& map = out.map;
  const auto type = number<unsigned>(fields[at]);
  const auto interleave = number<unsigned>(fields[at + 6]), swizzle = number<unsigned>(fields[at + 7]),
             fill = number<unsigned>(fields[at + 9]);
  out.is_known = type < kTensorTypes && interleave <= 2 && swizzle <= 3 && fill <= 1;
  if (!out.is_known) return out;
  map.type = kDriverTypes[type];
  map.rank = number<unsigned>(fields[at + 1]);
  map.address = number(fields[at + 2], 16);
  const auto copy = [](const auto& from, auto& to) {
    for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) to[i] = from[i];
  };
  copy(numbers<std::uint64_t>(fields[at + 3]), map.dims);
  copy(numbers<std::uint64_t>(fields[at + 4]), map.strides);
  copy(numbers<std::uint32_t>(fields[at + 5]), map.element_strides);
  map.interleave = static_cast<Interleave>(interleave);
  map.swizzle = static_cast<Swizzle>(swizzle);
  map.promotion = static_cast<std::uint8_t>(number<unsigned>(fields[at + 8]));
  map.fills_nan = fill == 1;
  map.is_im2col = fields[at + 10] == "im2col";
  if (map.is_im2col) {
    copy(numbers<std::int32_t>(fields[at + 11]), map.lower);
    copy(numbers<std::int32_t>(fields[at + 12]), map.upper);
    map.channels = number<std::uint32_t>(fields[at + 13]);
    map.pixels = number<std::uint32_t>(fields[at + 14]);
  } else {
    copy(numbers<std::uint32_t>(fields[at + 11]), map.box);
  }
  return out;
}

// Word `index` of a memory whose elements are of one style: any bits, or floats of ordinary size.
inline std::uint32_t pattern_word(std::string_view style, std::uint32_t index, std::uint32_t first) {
  std::uint32_t x = index * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  x ^= x >> 13;
  const auto halves = [&](auto make) { return make(x & 0xffff) | make(x >> 16) << 16; };
  if (style == "f16") return halves([](std::uint32_t h) { return (h & 0x83ff) | (0x3800 + ((h >> 10 & 7) << 10)); });
  if (style == "bf16") return halves([](std::uint32_t h) { return (h & 0x807f) | (0x7c + (h >> 8 & 7)) << 7; });
  if (style == "f32") return (x & 0x807fffff) | (0x7c + (x >> 24 & 7)) << 23;
  if (style == "f64" && (index - first) % 2 == 1) return (x & 0x800fffff) | (0x3fc + (x >> 24 & 7)) << 20;
  return x;
}
inline void fill_pattern_words(std::string_view style, std::byte* bytes, std::size_t size, std::uint32_t first) {
  for (std::size_t i = 0; i < size / 4; ++i) {
    const std::uint32_t word = pattern_word(style, first + static_cast<std::uint32_t>(i), first);
    std::memcpy(bytes + 4 * i, &word, 4);
  }
}
inline constexpr std::uint32_t kTileWordsFirst = 1u << 22;  // where the pattern of a tile to be stored begins
inline constexpr std::size_t kVectorTile = 32768, kVectorMemory = 1 << 20;

inline std::uint64_t hash_of(const std::byte* bytes, std::size_t size) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (std::size_t i = 0; i < size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    value = (value ^ word) * 0x100000001B3;
  }
  return value;
}

}  // namespace plumb::machine::test
