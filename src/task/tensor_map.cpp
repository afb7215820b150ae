// SPDX-License-Identifier: Apache-2.0
#include "task/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "task/codes.h"
#include "task/reader.h"

namespace plumb::task {
namespace {

constexpr std::size_t kMostDims = 5;

struct TypeRow {
  std::string_view name;   // of a tensor map
  std::string_view words;  // the argument types that stand for it, between blanks
  unsigned size;
};
constexpr TypeRow kTypes[] = {{"u8", " i8 u8 i1 u1 fp8e4nv fp8e5 ", 1},
                              {"u16", " i16 u16 ", 2},
                              {"u32", " u32 ", 4},
                              {"s32", " i32 ", 4},
                              {"u64", " u64 ", 8},
                              {"s64", " i64 ", 8},
                              {"f16", " fp16 ", 2},
                              {"f32", " fp32 ", 4},
                              {"f32.ftz", "", 4},
                              {"f64", " fp64 ", 8},
                              {"bf16", " bf16 ", 2},
                              {"tf32", "", 4},
                              {"tf32.ftz", "", 4}};

class RowReader {
 public:
  RowReader(TomlReader& reader, std::string name) : reader_(reader) { row_.name = std::move(name); }

  TensorMapRow run() {
    reader_.only(row_.pointer(),
                 {"tensor", "offset", "type", "dims", "strides", "element_strides", "box", "lower", "upper", "channels",
                  "pixels", "swizzle", "interleave", "promotion", "fill"},
                 "a tensor map");
    if (reader_.find(at("tensor")) == nullptr) wrong("", "a tensor map names the argument `tensor` that it describes");
    row_.tensor = reader_.text(at("tensor")).value_or("");
    row_.offset = reader_.expression(at("offset")).value_or(row_.offset);
    for (const auto& [key, list] : {std::pair("dims", &row_.dims), std::pair("strides", &row_.strides),
                                    std::pair("element_strides", &row_.element_strides), std::pair("box", &row_.box),
                                    std::pair("lower", &row_.lower), std::pair("upper", &row_.upper)}) {
      *list = reader_.expressions(at(key)).value_or(*list);
    }
    row_.channels = reader_.expression(at("channels")).value_or("");
    row_.pixels = reader_.expression(at("pixels")).value_or("");
    word("type", row_.type,
         {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz"});
    word("swizzle", row_.swizzle, {"none", "32B", "64B", "128B"});
    word("interleave", row_.interleave, {"none", "16B", "32B"});
    word("promotion", row_.promotion, {"none", "64B", "128B", "256B"});
    word("fill", row_.fill, {"zero", "nan"});
    const bool has_pixels = !row_.channels.empty() && !row_.pixels.empty();
    const bool has_column =
        !row_.channels.empty() || !row_.pixels.empty() || !row_.lower.empty() || !row_.upper.empty();
    if (row_.box.empty() ? !has_pixels : has_column) {
      wrong("",
            "a tensor map has a `box`, or, for im2col, `channels` and `pixels` with the corners `lower` and "
            "`upper`");
    }
    return std::move(row_);
  }

 private:
  std::string at(const char* key) const { return row_.pointer() + "/" + key; }
  void wrong(const char* key, std::string message) {
    reader_.wrong_value(*key == 0 ? row_.pointer() : at(key), std::move(message));
  }
  void word(const char* key, std::string& out, std::initializer_list<std::string_view> known) {
    const std::optional<std::string> text = reader_.text(at(key));
    if (!text) return;
    out = *text;
    if (std::find(known.begin(), known.end(), out) != known.end()) return;
    wrong(key, fmt::format("`{}` is `{}`, it must be one of {}", key, out, fmt::join(known, ", ")));
  }

  TomlReader& reader_;
  TensorMapRow row_;
};

class MapBinder {
 public:
  MapBinder(const TensorMapRow& row, const Bound& bound, const Sizes& sizes,
            const std::function<Place(const std::string&)>& place_of, Findings& findings)
      : row_(row), bound_(bound), sizes_(sizes), place_of_(place_of), findings_(findings) {}

  std::optional<BoundTensorMap> run() {
    const auto arg = std::find_if(bound_.args.begin(), bound_.args.end(),
                                  [&](const BoundArg& one) { return one.name == row_.tensor && one.is_tensor; });
    if (arg == bound_.args.end()) return fail("tensor", fmt::format("the task has no tensor `{}`", row_.tensor));
    out_.name = row_.name, out_.tensor = row_.tensor, out_.is_im2col = row_.is_im2col();
    out_.swizzle = row_.swizzle, out_.interleave = row_.interleave;
    out_.promotion = row_.promotion, out_.fill = row_.fill;
    const TypeRow* type = type_of(*arg);
    if (type == nullptr) {
      return fail("type", fmt::format("`{}` has elements of type {}, which no tensor map has", row_.tensor, arg->type));
    }
    out_.type = type->name;
    if (!dims(*arg) || !one("offset", row_.offset, out_.offset)) return std::nullopt;
    const std::size_t rank = out_.dims.size();
    for (std::size_t i = 0; i < rank; ++i) out_.element_strides.push_back(1);
    if (!strides(*arg, type->size) || !list("element_strides", row_.element_strides, rank, out_.element_strides)) {
      return std::nullopt;
    }
    if (!out_.is_im2col) return list("box", row_.box, rank, out_.box) ? std::optional(std::move(out_)) : std::nullopt;
    if (rank < 3) return fail("dims", fmt::format("an im2col map has at least 3 dimensions, not {}", rank));
    const bool is_good = list("lower", row_.lower, rank - 2, out_.lower) &&
                         list("upper", row_.upper, rank - 2, out_.upper) &&
                         one("channels", row_.channels, out_.channels) && one("pixels", row_.pixels, out_.pixels);
    return is_good ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  std::string at(const char* key) const { return row_.pointer() + "/" + key; }
  std::nullopt_t fail(const char* key, std::string message) {
    findings_.add(kLaunchValue,
                  fmt::format("tensor map `{}`: {}, at the shape {}", row_.name, std::move(message), bound_.label),
                  place_of_(at(key)));
    return std::nullopt;
  }

  const TypeRow* type_of(const BoundArg& arg) const {
    const std::string word = fmt::format(" {} ", std::string_view(arg.type).substr(1));
    for (const TypeRow& row : kTypes) {
      const bool is_it = row_.type.empty() ? row.words.find(word) != std::string_view::npos : row.name == row_.type;
      if (is_it) return &row;
    }
    return nullptr;
  }

  bool one(const char* key, const std::string& expression, std::int64_t& out) {
    const auto value = evaluate(expression, sizes_, place_of_(at(key)), findings_);
    if (value) out = *value;
    return value.has_value();
  }
  // An empty list leaves `out`, where it has a default.
  bool list(const char* key, const std::vector<std::string>& expressions, std::size_t count,
            std::vector<std::int64_t>& out) {
    if (expressions.empty() && out.size() == count) return true;
    if (expressions.size() != count) {
      fail(key, fmt::format("`{}` has {} entries, it must have {}", key, expressions.size(), count));
      return false;
    }
    out.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = evaluate(expressions[i], sizes_, place_of_(fmt::format("{}/{}", at(key), i)), findings_);
      if (!value) return false;
      out[i] = *value;
    }
    return true;
  }

  bool dims(const BoundArg& arg) {
    if (row_.dims.empty()) {
      const std::vector<std::int64_t>& extents = arg.is_descriptor() ? arg.extent : arg.shape;
      out_.dims.assign(extents.rbegin(), extents.rend());
    } else if (!list("dims", row_.dims, row_.dims.size(), out_.dims)) {
      return false;
    }
    if (!out_.dims.empty() && out_.dims.size() <= kMostDims) return true;
    fail("dims", fmt::format("it has {} dimensions, it must have 1 to 5", out_.dims.size()));
    return false;
  }
  bool strides(const BoundArg& arg, unsigned size) {
    if (arg.is_descriptor() && row_.dims.empty()) {
      for (std::size_t i = arg.strides.size() - 1; i > 0; --i) out_.strides.push_back(arg.strides[i - 1] * size);
      return list("strides", row_.strides, out_.dims.size() - 1, out_.strides);
    }
    std::int64_t stride = size;
    for (std::size_t i = 0; i + 1 < out_.dims.size(); ++i) {
      if (__builtin_mul_overflow(stride, out_.dims[i], &stride)) {
        fail("dims", "its strides exceed 64 bits");
        return false;
      }
      out_.strides.push_back(stride);
    }
    return list("strides", row_.strides, out_.dims.size() - 1, out_.strides);
  }

  const TensorMapRow& row_;
  const Bound& bound_;
  const Sizes& sizes_;
  const std::function<Place(const std::string&)>& place_of_;
  Findings& findings_;
  BoundTensorMap out_;
};

}  // namespace

std::vector<TensorMapRow> read_tensor_maps(TomlReader& reader) {
  std::vector<TensorMapRow> out;
  const nlohmann::json* tables = reader.find("/tensor_maps");
  if (tables == nullptr) return out;
  if (!tables->is_object()) {
    reader.wrong_type("/tensor_maps", "a table of tables, [tensor_maps.NAME]");
    return out;
  }
  for (const auto& [name, table] : tables->items()) {
    if (table.is_object()) {
      out.push_back(RowReader(reader, name).run());
    } else {
      reader.wrong_type("/tensor_maps/" + name, "a table");
    }
  }
  return out;
}

std::optional<BoundTensorMap> bind_tensor_map(const TensorMapRow& row, const Bound& bound, const Sizes& sizes,
                                              const std::function<Place(const std::string&)>& place_of,
                                              Findings& findings) {
  return MapBinder(row, bound, sizes, place_of, findings).run();
}

}  // namespace plumb::task
