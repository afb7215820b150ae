// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_map.h"

#include <fmt/format.h>

#include <cstring>

namespace plumb::machine {
namespace {

struct TypeRow {
  std::string_view name;
  std::uint8_t size;
  bool is_float;
};
constexpr std::array<TypeRow, kTensorTypes> kTypes{{{"u8", 1, false},
                                                    {"u16", 2, false},
                                                    {"u32", 4, false},
                                                    {"s32", 4, false},
                                                    {"u64", 8, false},
                                                    {"s64", 8, false},
                                                    {"f16", 2, true},
                                                    {"f32", 4, true},
                                                    {"f32.ftz", 4, true},
                                                    {"f64", 8, true},
                                                    {"bf16", 2, true},
                                                    {"tf32", 4, true},
                                                    {"tf32.ftz", 4, true}}};

constexpr std::uint64_t kMostDim = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 40;  // exclusive
constexpr unsigned kAddressBits = 57;
constexpr std::uint32_t kMostBox = 256, kMostElementStride = 8, kMostChannels = 256, kMostPixels = 1024;
constexpr std::uint64_t kMostCopy = 233472;  // bytes of one copy: the shared memory of a multiprocessor

// A field of the 16 words of 64 bits.
struct Bits {
  unsigned word, first, count;
};
constexpr Bits kMode{1, 0, 1}, kRank{1, 4, 3}, kType{1, 7, 4}, kInterleave{1, 11, 2}, kSwizzle{1, 13, 2},
    kFill{1, 15, 1}, kTf32{1, 16, 1}, kPromotion{1, 17, 2}, kAtomicity{1, 22, 1}, kChannels{6, 56, 8},
    kPixels{7, 32, 10};
constexpr std::array<Bits, 3> kUnused{{{1, 1, 3}, {1, 19, 3}, {1, 23, 9}}};
// Strides are in units of 16 bytes: 32 bits low and 4 bits high.
constexpr std::array<Bits, 4> kStrideLow{{{1, 32, 32}, {2, 0, 32}, {2, 32, 32}, {3, 0, 32}}};
constexpr std::array<Bits, 4> kStrideHigh{{{3, 32, 4}, {3, 36, 4}, {3, 40, 4}, {3, 44, 4}}};
constexpr std::array<Bits, 5> kDims{{{4, 0, 32}, {4, 32, 32}, {5, 0, 32}, {5, 32, 32}, {6, 0, 32}}};
constexpr std::array<Bits, 5> kBox{{{6, 56, 8}, {7, 0, 8}, {7, 8, 8}, {7, 16, 8}, {7, 24, 8}}};
constexpr unsigned kUpperCorner = 16;  // of word 7; the lower one begins at bit 0

constexpr Bits element_stride_bits(unsigned axis) { return {6, 32 + 3 * axis, 3}; }

// Bits of one coordinate of a corner, by rank.
constexpr unsigned corner_bits(unsigned rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

class Words {
 public:
  Words() = default;
  explicit Words(const TensorMapImage& image) { std::memcpy(words_.data(), image.data(), image.size()); }
  std::uint64_t get(Bits at) const { return words_[at.word] >> at.first & mask(at); }
  void set(Bits at, std::uint64_t value) {
    words_[at.word] = (words_[at.word] & ~(mask(at) << at.first)) | (value & mask(at)) << at.first;
  }
  std::uint64_t& word(unsigned index) { return words_[index]; }
  TensorMapImage image() const {
    TensorMapImage out;
    std::memcpy(out.data(), words_.data(), out.size());
    return out;
  }

 private:
  static constexpr std::uint64_t mask(Bits at) { return (std::uint64_t{1} << at.count) - 1; }
  std::array<std::uint64_t, kTensorMapBytes / 8> words_{};
};

void set_stride(Words& words, unsigned index, std::uint64_t bytes) {
  words.set(kStrideLow[index], bytes >> 4);
  words.set(kStrideHigh[index], bytes >> 36);
}

// Both tf32 types are f32 ones with a bit beside them.
void set_type(Words& words, TensorType type) {
  const bool is_tf32 = type == TensorType::Tf32 || type == TensorType::Tf32Ftz;
  const TensorType plain = type == TensorType::Tf32      ? TensorType::F32
                           : type == TensorType::Tf32Ftz ? TensorType::F32Ftz
                                                         : type;
  words.set(kType, static_cast<std::uint64_t>(plain));
  if (is_tf32) words.set(kTf32, 1);
}

std::int32_t sign_extend(std::uint64_t bits, unsigned count) {
  const std::uint64_t sign = std::uint64_t{1} << (count - 1);
  return static_cast<std::int32_t>(static_cast<std::int64_t>((bits ^ sign) - sign));
}

// What the driver notes for its own use: bytes of a copy, and the alignment that the shared tile needs.
std::uint64_t noted_bytes(const TensorMap& map) {
  std::uint64_t bytes = byte_size(map.type);
  if (map.is_im2col) return bytes * map.channels * map.pixels;
  for (unsigned i = 0; i < map.rank; ++i) bytes *= map.box[i] / map.element_strides[i];
  return bytes;
}
std::uint64_t noted_alignment(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 16 : std::uint64_t{128} << static_cast<unsigned>(swizzle);
}

class Checker {
 public:
  explicit Checker(const TensorMap& map) : map_(map) {}

  std::vector<TensorMapProblem> run() {
    if (map_.rank < 1 || map_.rank > kMaxTensorRank) {
      add("rank", fmt::format("the rank is {}, it must be 1 to 5", map_.rank));
      return std::move(out_);
    }
    const bool needs_three = map_.is_im2col || map_.interleave != Interleave::None;
    if (needs_three && map_.rank < 3) {
      add("rank", fmt::format("the rank is {}, {} map has at least 3", map_.rank,
                              map_.is_im2col ? "an im2col" : "an interleaved"));
      return std::move(out_);
    }
    if (map_.promotion > 3) add("promotion", "the L2 promotion must be none, 64, 128 or 256 bytes");
    if (map_.fills_nan && !is_float(map_.type)) {
      add("fill", fmt::format("NaN fill needs a float type, and the elements are {}", name_of(map_.type)));
    }
    places();
    for (unsigned i = 0; i < map_.rank; ++i) {
      if (map_.element_strides[i] >= 1 && map_.element_strides[i] <= kMostElementStride) continue;
      add("element_strides",
          fmt::format("element stride {} is {}, it must be 1 to {}", i, map_.element_strides[i], kMostElementStride));
    }
    std::uint64_t inner = 0;
    if (map_.is_im2col) {
      inner = pixels();
    } else {
      inner = box();
    }
    row(inner);
    if (out_.empty() && noted_bytes(map_) > kMostCopy) {
      add(map_.is_im2col ? "pixels" : "box",
          fmt::format("a copy would be {} bytes, it can be {} at most", noted_bytes(map_), kMostCopy));
    }
    return std::move(out_);
  }

 private:
  void add(std::string_view field, std::string text) { out_.push_back({field, std::move(text)}); }

  void places() {
    const unsigned step = map_.interleave == Interleave::Bytes32 ? 32 : 16;
    if (map_.address % step != 0) {
      add("address", fmt::format("the address {:#x} is not a multiple of {}", map_.address, step));
    }
    if (map_.address >> kAddressBits != 0) add("address", fmt::format("the address {:#x} is too large", map_.address));
    for (unsigned i = 0; i < map_.rank; ++i) {
      if (map_.dims[i] >= 1 && map_.dims[i] <= kMostDim) continue;
      add("dims", fmt::format("dimension {} has {} elements, it must have 1 to 4294967296", i, map_.dims[i]));
    }
    for (unsigned i = 0; i + 1 < map_.rank; ++i) {
      if (map_.strides[i] % step != 0) {
        add("strides", fmt::format("the stride of dimension {} is {} bytes, it must be a multiple of {}", i + 1,
                                   map_.strides[i], step));
      } else if (map_.strides[i] >= kMostStride) {
        add("strides",
            fmt::format("the stride of dimension {} is {} bytes, it must be below 2^40", i + 1, map_.strides[i]));
      }
    }
  }

  // Both return the bytes of the innermost extent.
  std::uint64_t box() {
    for (unsigned i = 0; i < map_.rank; ++i) {
      if (map_.box[i] >= 1 && map_.box[i] <= kMostBox) continue;
      add("box",
          fmt::format("the box has {} elements in dimension {}, it must have 1 to {}", map_.box[i], i, kMostBox));
    }
    return std::uint64_t{map_.box[0]} * byte_size(map_.type);
  }
  std::uint64_t pixels() {
    if (map_.channels < 1 || map_.channels > kMostChannels) {
      add("channels", fmt::format("{} channels a pixel, there must be 1 to {}", map_.channels, kMostChannels));
    }
    if (map_.pixels < 1 || map_.pixels > kMostPixels) {
      add("pixels", fmt::format("{} pixels a column, there must be 1 to {}", map_.pixels, kMostPixels));
    }
    const std::int32_t reach = 1 << (corner_bits(map_.rank) - 1);
    const unsigned first = map_.interleave == Interleave::None ? 1 : 0;
    for (unsigned i = 0; i + 2 < map_.rank; ++i) {
      const std::int32_t low = map_.lower[i], high = map_.upper[i];
      for (const auto& [name, corner] : {std::pair("lower", low), std::pair("upper", high)}) {
        if (corner >= -reach && corner < reach) continue;
        add(name,
            fmt::format("corner {} of a map of rank {} must be from {} to {}", corner, map_.rank, -reach, reach - 1));
      }
      // The driver counts in 32 bits here.
      const auto end = static_cast<std::int32_t>(static_cast<std::uint32_t>(map_.dims[i + first]) +
                                                 static_cast<std::uint32_t>(high));
      if (end > low) continue;
      add("upper", fmt::format("the box of pixels is empty: from {} up to {} in spatial dimension {}", low, end, i));
    }
    return std::uint64_t{map_.channels} * byte_size(map_.type);
  }

  void row(std::uint64_t inner) {
    const std::string_view field = map_.is_im2col ? "channels" : "box";
    if (inner % 16 != 0) {
      add(field, fmt::format("the innermost extent is {} bytes, it must be a multiple of 16", inner));
    } else if (map_.interleave == Interleave::None && map_.swizzle != Swizzle::None && inner > span_of(map_.swizzle)) {
      add(field, fmt::format("the innermost extent is {} bytes, a swizzle of {} bytes allows no more than that", inner,
                             span_of(map_.swizzle)));
    }
  }

  const TensorMap& map_;
  std::vector<TensorMapProblem> out_;
};

}  // namespace

unsigned byte_size(TensorType type) { return kTypes[static_cast<unsigned>(type)].size; }
bool is_float(TensorType type) { return kTypes[static_cast<unsigned>(type)].is_float; }
std::string_view name_of(TensorType type) { return kTypes[static_cast<unsigned>(type)].name; }

std::optional<TensorType> tensor_type_of(std::string_view name) {
  for (unsigned i = 0; i < kTensorTypes; ++i) {
    if (kTypes[i].name == name) return static_cast<TensorType>(i);
  }
  return std::nullopt;
}

unsigned span_of(Swizzle swizzle) { return swizzle == Swizzle::None ? 0 : 16u << static_cast<unsigned>(swizzle); }

std::vector<TensorMapProblem> problems_of(const TensorMap& map) { return Checker(map).run(); }

TensorMapImage encode(const TensorMap& map) {
  Words words;
  words.word(0) = map.address;
  words.set(kMode, map.is_im2col ? 1 : 0);
  words.set(kRank, map.rank - 1);
  set_type(words, map.type);
  words.set(kInterleave, static_cast<std::uint64_t>(map.interleave));
  words.set(kSwizzle, static_cast<std::uint64_t>(map.swizzle));
  words.set(kFill, map.fills_nan ? 1 : 0);
  words.set(kPromotion, map.promotion);
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i + 1 < map.rank) set_stride(words, i, map.strides[i]);
    words.set(kDims[i], map.dims[i] - 1);
    words.set(element_stride_bits(i), map.element_strides[i] - 1);
    if (!map.is_im2col) words.set(kBox[i], map.box[i] - 1);
  }
  if (map.is_im2col) {
    const unsigned bits = corner_bits(map.rank);
    for (unsigned i = 0; i + 2 < map.rank; ++i) {
      words.set({7, bits * i, bits}, static_cast<std::uint64_t>(map.lower[i]));
      words.set({7, kUpperCorner + bits * i, bits}, static_cast<std::uint64_t>(map.upper[i]));
    }
    words.set(kChannels, map.channels - 1);
    words.set(kPixels, map.pixels - 1);
  }
  words.word(8) = noted_bytes(map);
  words.word(9) = noted_alignment(map.swizzle);
  return words.image();
}

std::optional<TensorMap> decode(const TensorMapImage& image, std::string& why) {
  Words words(image);
  const auto fail = [&](std::string text) {
    why = std::move(text);
    return std::nullopt;
  };
  for (const Bits at : kUnused) {
    if (words.get(at) != 0) return fail("its second word has bits set that no map has");
  }
  TensorMap map;
  map.is_im2col = words.get(kMode) != 0;
  map.rank = static_cast<unsigned>(words.get(kRank)) + 1;
  if (map.rank > kMaxTensorRank) return fail(fmt::format("its rank is {}", map.rank));
  if (map.is_im2col && map.rank < 3) return fail(fmt::format("it is an im2col map of rank {}", map.rank));
  const std::uint64_t type = words.get(kType);
  const bool is_tf32 = words.get(kTf32) != 0;
  map.type = static_cast<TensorType>(type);
  if (is_tf32 && map.type == TensorType::F32) map.type = TensorType::Tf32;
  else if (is_tf32 && map.type == TensorType::F32Ftz) map.type = TensorType::Tf32Ftz;
  else if (is_tf32 || type > static_cast<std::uint64_t>(TensorType::Bf16)) return fail("its element type is unknown");
  if (words.get(kInterleave) > 2) return fail("its interleave is unknown");
  if (words.get(kAtomicity) != 0) return fail("its swizzle is none of an sm_90 map");
  map.interleave = static_cast<Interleave>(words.get(kInterleave));
  map.swizzle = static_cast<Swizzle>(words.get(kSwizzle));
  map.fills_nan = words.get(kFill) != 0;
  map.promotion = static_cast<std::uint8_t>(words.get(kPromotion));
  map.address = words.word(0);
  for (unsigned i = 0; i < map.rank; ++i) {
    if (i + 1 < map.rank) map.strides[i] = words.get(kStrideLow[i]) << 4 | words.get(kStrideHigh[i]) << 36;
    map.dims[i] = words.get(kDims[i]) + 1;
    map.element_strides[i] = static_cast<std::uint32_t>(words.get(element_stride_bits(i))) + 1;
    if (!map.is_im2col) map.box[i] = static_cast<std::uint32_t>(words.get(kBox[i])) + 1;
  }
  if (map.is_im2col) {
    const unsigned bits = corner_bits(map.rank);
    for (unsigned i = 0; i + 2 < map.rank; ++i) {
      map.lower[i] = sign_extend(words.get({7, bits * i, bits}), bits);
      map.upper[i] = sign_extend(words.get({7, kUpperCorner + bits * i, bits}), bits);
    }
    map.channels = static_cast<std::uint32_t>(words.get(kChannels)) + 1;
    map.pixels = static_cast<std::uint32_t>(words.get(kPixels)) + 1;
  }
  return map;
}

void replace(TensorMapImage& image, TensorMapField field, unsigned ordinal, std::uint64_t value) {
  Words words(image);
  switch (field) {
    case TensorMapField::GlobalAddress:
      words.word(0) = value;
      break;
    case TensorMapField::Rank:
      words.set(kRank, value);
      break;
    case TensorMapField::BoxDim:
      words.set(kBox[ordinal], value - 1);
      break;
    case TensorMapField::GlobalDim:
      words.set(kDims[ordinal], value - 1);
      break;
    case TensorMapField::GlobalStride:
      set_stride(words, ordinal, value);
      break;
    case TensorMapField::ElementStride:
      words.set(element_stride_bits(ordinal), value - 1);
      break;
    case TensorMapField::ElemType:
      if (value < kTensorTypes) set_type(words, static_cast<TensorType>(value));
      break;
    case TensorMapField::InterleaveLayout:
      words.set(kInterleave, value);
      break;
    case TensorMapField::SwizzleMode:
      words.set(kSwizzle, value);
      words.set(kAtomicity, 0);
      break;
    case TensorMapField::FillMode:
      words.set(kFill, value);
      break;
  }
  image = words.image();
}

std::string loss_of(TensorMapField field, unsigned ordinal, std::uint64_t value) {
  const auto limited = [&](const char* what, std::uint64_t low, std::uint64_t high) {
    if (value >= low && value <= high) return std::string();
    return fmt::format("{} is {}, it must be {} to {}", what, value, low, high);
  };
  switch (field) {
    case TensorMapField::Rank:
      return limited("the rank less one", 0, kMaxTensorRank - 1);
    case TensorMapField::BoxDim:
      return limited("the box's extent", 1, kMostBox);
    case TensorMapField::GlobalDim:
      return {};  // 32 bits, and 0 stands for 2^32
    case TensorMapField::ElementStride:
      return limited("the element stride", 1, kMostElementStride);
    case TensorMapField::ElemType:
      return limited("the element type", 0, kTensorTypes - 1);
    case TensorMapField::InterleaveLayout:
      return limited("the interleave layout", 0, 2);
    case TensorMapField::SwizzleMode:
      return limited("the swizzle mode", 0, 3);
    case TensorMapField::FillMode:
      return limited("the fill mode", 0, 1);
    case TensorMapField::GlobalStride:
      if (value % 16 == 0 && value < kMostStride) return {};
      return fmt::format("the stride of dimension {} is {} bytes, it must be a multiple of 16 below 2^40", ordinal + 1,
                         value);
    case TensorMapField::GlobalAddress:
      break;
  }
  return {};
}

}  // namespace plumb::machine
