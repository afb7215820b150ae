// SPDX-License-Identifier: Apache-2.0
// Elements in global memory: one typed access at an address, with the buffer of the previous access kept at hand.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "triton/tile/blocks.h"
#include "triton/tile/ieee_rows.h"

namespace plumb::triton {

// Where element `index` of a block of `shape` stands: "[3, 17]", nothing for a scalar.
std::string element_text(const Shape& shape, std::size_t index);
std::string describe_address(const domain::Memory& memory, std::uint64_t address, unsigned size);

// Calls f.template operator()<element>() with the type as a constant, so that the loops inside are made for it.
template <class F>
void with_element(DType element, F f) {
  switch (element) {
    case DType::Int1:
      return f.template operator()<DType::Int1>();
    case DType::Int8:
      return f.template operator()<DType::Int8>();
    case DType::Int16:
      return f.template operator()<DType::Int16>();
    case DType::Int32:
      return f.template operator()<DType::Int32>();
    case DType::Int64:
      return f.template operator()<DType::Int64>();
    case DType::UInt8:
      return f.template operator()<DType::UInt8>();
    case DType::UInt16:
      return f.template operator()<DType::UInt16>();
    case DType::UInt32:
      return f.template operator()<DType::UInt32>();
    case DType::UInt64:
      return f.template operator()<DType::UInt64>();
    case DType::Fp8E4Nv:
      return f.template operator()<DType::Fp8E4Nv>();
    case DType::Fp8E5:
      return f.template operator()<DType::Fp8E5>();
    case DType::Fp16:
      return f.template operator()<DType::Fp16>();
    case DType::BF16:
      return f.template operator()<DType::BF16>();
    case DType::Fp32:
      return f.template operator()<DType::Fp32>();
    case DType::Fp64:
      return f.template operator()<DType::Fp64>();
  }
}

template <class D, DType element_>
class Access {
 public:
  // `shape` is the block's whose elements are accessed: for messages. `takes_words`: integers of data are loaded into
  // `words` beside the known ones in `ints`, for `settle_words`.
  Access(Context<D>& context, const Shape& shape, bool takes_words = false)
      : context_(context), shape_(shape), takes_words_(takes_words) {}

  // Reads element `index` of `out` from an address. An element that was never written is marked undefined.
  void load(std::uint64_t address, Block<D>& out, std::size_t index) {
    domain::Buffer& buffer = find(address, "load", index);
    std::byte bytes[8] = {};
    domain::Word word;
    context_.domain.load(buffer, address - buffer.address, kSize, bytes, D::kHasTags ? word.tags : nullptr);
    std::memcpy(&word.bits, bytes, sizeof bytes);
    put(buffer, word, out, index);
  }

  // Writes element `from` of a block of the element's type.
  void store(std::uint64_t address, const Block<D>& value, std::size_t from, std::size_t index) {
    if (!value.undefined.empty() && value.undefined[from] != 0) undefined_store(address, index);
    domain::Buffer& buffer = find(address, "store", index);
    domain::Word word;
    if constexpr (kIsReal) {
      word = context_.domain.to_word(kFormat, value.reals[from]);
    } else if (value.is_word()) {
      word = value.words[from];
    } else {
      word.bits = static_cast<std::uint64_t>(value.ints[from]);
    }
    std::byte bytes[8];
    std::memcpy(bytes, &word.bits, sizeof bytes);
    context_.domain.store(buffer, address - buffer.address, kSize, bytes, D::kHasTags ? word.tags : nullptr);
  }

  // As `load` and `store` of n elements that lie one after the other.
  void load_run(std::uint64_t address, std::size_t n, Block<D>& out, std::size_t index) {
    if constexpr (!D::kHasTags) {
      if (const domain::Buffer* buffer = context_.memory.find(address, n * kSize)) {
        const std::byte* from = buffer->bytes.get() + (address - buffer->address);
        if constexpr (kIsReal) {
          widen_row(kSize, false, n, from, out.reals.data() + index);
        } else {
          auto* to = out.ints.data() + index;
          widen_row(kSize, is_signed(element_), n, from, reinterpret_cast<std::uint64_t*>(to));
          if (element_ == DType::Int1) {
            for (std::size_t i = 0; i < n; ++i) to[i] = to[i] != 0;
          }
        }
        return;
      }
    }
    if constexpr (D::kHasTags) {
      if (domain::Buffer* buffer = context_.memory.find(address, n * kSize)) {
        return load_tagged(*buffer, address - buffer->address, n, out, index);
      }
    }
    for (std::size_t i = 0; i < n; ++i) load(address + i * kSize, out, index + i);
  }
  void store_run(std::uint64_t address, std::size_t n, const Block<D>& value, std::size_t index) {
    if constexpr (!D::kHasTags) {
      domain::Buffer* buffer = value.undefined.empty() ? context_.memory.find(address, n * kSize) : nullptr;
      if (buffer != nullptr) {
        std::byte* to = buffer->bytes.get() + (address - buffer->address);
        if constexpr (kIsReal) {
          narrow_row(kSize, n, value.reals.data() + index, to);
        } else {
          narrow_row(kSize, n, reinterpret_cast<const std::uint64_t*>(value.ints.data() + index), to);
        }
        return;
      }
    }
    for (std::size_t i = 0; i < n; ++i) store(address + i * kSize, value, index + i, index + i);
  }

  // Elements that the mask leaves out without `other`, and unwritten memory.
  void mark_undefined(Block<D>& out, std::size_t index) {
    if (out.undefined.empty()) out.undefined.resize(out.size());
    out.undefined[index] = 1;
    if constexpr (kIsReal) {
      out.reals[index] = context_.domain.constant(kFormat, 0);
    } else {
      out.ints[index] = 0;
    }
  }

 private:
  void put([[maybe_unused]] const domain::Buffer& buffer, const domain::Word& word, Block<D>& out, std::size_t index) {
    if constexpr (D::kHasTags) {
      if (is_undefined(word)) return mark_undefined(out, index);
    }
    if constexpr (kIsReal) {
      out.reals[index] = context_.domain.from_word(kFormat, word);
    } else {
      if (D::kHasTags && has_tags(word)) {
        if (!takes_words_ || element_ == DType::Int1 || buffer.integer_bytes == 0) abstract_integer(buffer);
        if (out.words.empty()) out.words.resize(out.size());
        out.words[index] = word;
        out.ints[index] = 0;
        return;
      }
      const auto value = static_cast<std::int64_t>(word.bits);
      out.ints[index] = element_ == DType::Int1 ? (value & 0xff) != 0 : wrap(element_, value);
    }
  }
  // load_run of what one buffer holds, as much at a time as the domain takes.
  void load_tagged(domain::Buffer& buffer, std::uint64_t offset, std::size_t n, Block<D>& out, std::size_t index) {
    constexpr std::size_t kPieces = 16 / kSize;
    std::byte bytes[16];
    domain::Tag tags[16];
    for (std::size_t first = 0; first < n; first += kPieces) {
      const std::size_t count = std::min(kPieces, n - first);
      const auto size = static_cast<unsigned>(count * kSize);
      context_.domain.load(buffer, offset + first * kSize, size, bytes, tags);
      for (std::size_t i = 0; i < count; ++i) {
        domain::Word word;
        std::memcpy(&word.bits, bytes + i * kSize, kSize);
        std::copy_n(tags + i * kSize, kSize, word.tags);
        put(buffer, word, out, index + first + i);
      }
    }
  }

  domain::Buffer& find(std::uint64_t address, const char* what, std::size_t index) {
    const bool is_same = last_ != nullptr && address >= last_->address && address - last_->address <= last_->size &&
                         last_->size - (address - last_->address) >= kSize;
    if (!is_same) last_ = context_.memory.find(address, kSize);
    if (last_ == nullptr) out_of_bounds(address, what, index);
    return *last_;
  }
  static bool has_tags(const domain::Word& word) {
    for (const domain::Tag tag : word.tags) {
      if (tag != 0) return true;
    }
    return false;
  }
  static bool is_undefined(const domain::Word& word) {
    for (const domain::Tag tag : word.tags) {
      if (tag != 0 && domain::tag_value(tag) == domain::kUndefined) return true;
    }
    return false;
  }
  [[noreturn]] void out_of_bounds(std::uint64_t address, const char* what, std::size_t index) {
    context_.fail(kOutOfBounds, fmt::format("the {}{} is outside every tensor: {}", what, element_text(shape_, index),
                                            describe_address(context_.memory, address, kSize)));
  }
  [[noreturn]] void undefined_store(std::uint64_t address, std::size_t index) {
    context_.fail(kUndefined, fmt::format("an unspecified value is stored{} to {}", element_text(shape_, index),
                                          describe_address(context_.memory, address, kSize)));
  }
  [[noreturn]] void abstract_integer(const domain::Buffer& buffer) {
    context_.unmodelled(kMetadata, fmt::format("`{}` holds abstract values and is loaded as {}: declare it metadata",
                                               buffer.name, language_name(element_)));
  }

  static constexpr bool kIsReal = is_float(element_);
  static constexpr domain::Format kFormat = format(element_);
  static constexpr unsigned kSize = byte_size(element_);

  Context<D>& context_;
  const Shape& shape_;
  bool takes_words_;
  domain::Buffer* last_ = nullptr;
};

}  // namespace plumb::triton
