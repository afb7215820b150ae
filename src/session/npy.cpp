// SPDX-License-Identifier: Apache-2.0
#include "session/npy.h"

#include <fmt/format.h>

#include <charconv>

#include "session/codes.h"
#include "task/task.h"

namespace plumb::session {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostBytes = 1ULL << 40;

// The header is a Python dictionary literal with three known keys; whatever else it may hold is refused.
class Header {
 public:
  Header(std::string_view text, Array& array) : text_(text), array_(array) {}

  // Empty when it was read; otherwise what is wrong.
  std::string read() {
    if (!take("{")) return "the header is not a dictionary";
    while (!take("}")) {
      std::string_view key;
      if (!quoted(key) || !take(":")) return "the header cannot be read";
      if (key == "descr") {
        if (std::string wrong = descr(); !wrong.empty()) return wrong;
      } else if (key == "fortran_order") {
        if (take("True")) return "it is in Fortran order; save it in C order (numpy.ascontiguousarray)";
        if (!take("False")) return "the header cannot be read";
      } else if (key == "shape") {
        if (!shape()) return "the shape in the header cannot be read";
        has_shape_ = true;
      } else {
        return fmt::format("unknown key `{}` in the header", key);
      }
      take(",");
    }
    if (!has_descr_ || !has_shape_) return "the header lacks `descr` or `shape`";
    return {};
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool quoted(std::string_view& out) {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  std::string descr() {
    std::string_view text;
    if (!quoted(text)) return "it holds records, not plain numbers";
    const bool is_plain = text.size() == 3 && std::string_view("<|>=").find(text[0]) != std::string_view::npos &&
                          std::string_view("fiub").find(text[1]) != std::string_view::npos &&
                          std::string_view("1248").find(text[2]) != std::string_view::npos;
    if (!is_plain) return fmt::format("element type `{}` is not a plain number", text);
    if (text[0] == '>' && text[2] != '1') return "it is big-endian";
    array_.kind = text[1];
    array_.item_bytes = static_cast<unsigned>(text[2] - '0');
    has_descr_ = true;
    return {};
  }

  bool shape() {
    if (!take("(")) return false;
    while (!take(")")) {
      skip();
      std::uint64_t extent = 0;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc()) return false;
      at_ = static_cast<std::size_t>(stop - text_.data());
      array_.shape.push_back(extent);
      if (!take(",")) {
        skip();
        if (at_ >= text_.size() || text_[at_] != ')') return false;
      }
    }
    return true;
  }

  std::string_view text_;
  Array& array_;
  std::size_t at_ = 0;
  bool has_descr_ = false, has_shape_ = false;
};

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::optional<Array> parse_npy(std::string_view file, std::string_view name, Findings& findings) {
  const auto fail = [&](std::string_view message) {
    findings.add(kArray, fmt::format("`{}`: {}", name, message));
    return std::nullopt;
  };
  if (!file.starts_with(kMagic) || file.size() < 10) return fail("this is not a .npy file");
  const auto major = static_cast<unsigned char>(file[6]);
  if (major != 1 && major != 2) return fail(fmt::format("version {} of the .npy format is not supported", major));
  const std::size_t prefix = major == 1 ? 10 : 12;
  if (file.size() < prefix) return fail("it ends within its header");
  const std::size_t length = little_endian(file.substr(8, prefix - 8));
  if (file.size() - prefix < length) return fail("it ends within its header");
  Array array;
  if (const std::string wrong = Header(file.substr(prefix, length), array).read(); !wrong.empty()) return fail(wrong);
  std::uint64_t bytes = array.item_bytes;
  for (const std::uint64_t extent : array.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMostBytes) return fail("it has more than 2^40 bytes");
  }
  const std::string_view data = file.substr(prefix + length);
  if (data.size() != bytes)
    return fail(fmt::format("it holds {} bytes of data, its shape needs {}", data.size(), bytes));
  array.bytes = std::string(data);
  return array;
}

std::string format_npy(const Array& array) {
  std::string shape;
  for (const std::uint64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  else if (array.shape.size() == 1) shape.pop_back();
  std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   array.item_bytes == 1 ? '|' : '<', array.kind, array.item_bytes, shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8 & 0xff);
  return out + header + array.bytes;
}

Held held_as(std::string_view type) {
  if (type.starts_with('*')) type.remove_prefix(1);
  const unsigned bytes = task::element_bytes(type);
  if (type == "bf16" || type.starts_with("fp8")) return {'u', bytes};
  if (task::is_float_type(type)) return {'f', bytes};
  if (type == "i1" || type == "u1") return {'b', 1};
  return {type[0] == 'u' ? 'u' : 'i', bytes};
}

}  // namespace plumb::session
