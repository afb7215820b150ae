// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: a kernel from a text, its tensors as doubles, and its evaluation in either
// domain.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "triton/kernel.h"
#include "triton/type.h"

namespace plumb::triton {

inline std::uint64_t bits_of(DType type, double value) {
  if (!is_float(type)) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return domain::Ieee().convert(format(type), domain::Format::F64, bits, {.satfinite = is_fp8(type)});
}

inline double value_of(DType type, std::uint64_t bits) {
  if (!is_float(type)) return static_cast<double>(wrap(type, static_cast<std::int64_t>(bits)));
  bits = domain::Ieee().convert(domain::Format::F64, format(type), bits, {});
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Values in [-scale, scale) that look random and are the same in every run.
inline std::vector<double> noise(std::size_t count, double scale, std::uint64_t seed) {
  std::vector<double> out;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    out.push_back((static_cast<double>(state >> 11) * 0x1p-52 - 1.0) * scale);
  }
  return out;
}

class Lab {
 public:
  struct Tensor {
    DType type;
    std::vector<double> values;
    bool is_output = false;
  };

  explicit Lab(std::string text, std::string_view function = "kernel") {
    constexpr std::string_view kImports = "import triton\nimport triton.language as tl\n";
    const bool has_imports = text.find("import triton") != std::string::npos;
    source = std::make_shared<Source>("kernel.py", has_imports ? std::move(text) : std::string(kImports) + text);
    // A parsed tree is kept for the next run of the tests: starting Python is most of their time.
    const PythonConfig python{.cache = std::filesystem::path(testing::TempDir()) / "plumb-triton-trees"};
    kernel = Kernel::load(source, function, python, findings);
  }

  // An input; values are rounded to the type first.
  void in(const std::string& name, DType type, std::vector<double> values) {
    for (double& value : values) value = value_of(type, bits_of(type, value));
    order_.push_back(name);
    tensors[name] = {type, std::move(values), false};
  }
  void out(const std::string& name, DType type, std::size_t count) {
    order_.push_back(name);
    tensors[name] = {type, std::vector<double>(count), true};
  }
  void scalar(const std::string& name, const char* type, double value) {
    call.arguments[name] = {type, bits_of(*from_signature_name(type), value), {}};
  }
  void constant(const std::string& name, Constexpr value) { call.arguments[name] = {"constexpr", 0, std::move(value)}; }
  void constants(std::initializer_list<std::pair<const char*, std::int64_t>> list) {
    for (const auto& [name, value] : list) constant(name, value);
  }
  void integers(std::initializer_list<std::pair<const char*, std::int64_t>> list) {
    for (const auto& [name, value] : list) scalar(name, "i32", static_cast<double>(value));
  }
  void grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
    call.grid[0] = x, call.grid[1] = y, call.grid[2] = z;
  }

  // Evaluates in the IEEE domain; outputs are in `tensors` afterwards.
  Result run(const Options& options = {}) {
    domain::Memory memory(false);
    add_buffers(memory);
    domain::Ieee first, second;
    const Result result = kernel->evaluate<domain::Ieee>(call, {&first, &second}, memory, options);
    for (auto& [name, tensor] : tensors) {
      if (!tensor.is_output) continue;
      const domain::Buffer& buffer = *memory.find(name);
      for (std::size_t i = 0; i < tensor.values.size(); ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, buffer.bytes.get() + i * byte_size(tensor.type), byte_size(tensor.type));
        tensor.values[i] = value_of(tensor.type, bits);
      }
    }
    return result;
  }

  // Evaluates in the field domain: float inputs are abstract, integer inputs concrete.
  Result run(domain::Memory& memory, domain::Field& field, const Options& options = {}) {
    add_buffers(memory);
    return kernel->evaluate<domain::Field>(call, {&field}, memory, options);
  }

  // Adds the tensors to a memory and points the call at them.
  void add_buffers(domain::Memory& memory) {
    for (const std::string& name : order_) {
      const Tensor& tensor = tensors.at(name);
      const unsigned size = byte_size(tensor.type);
      const bool is_abstract = memory.has_tags() && is_float(tensor.type);
      const domain::Init init = tensor.is_output ? domain::Init::Undefined
                                : is_abstract    ? domain::Init::Abstract
                                                 : domain::Init::Concrete;
      domain::Buffer& buffer = memory.add(name, tensor.values.size() * size, init,
                                          is_float(tensor.type) ? format(tensor.type) : domain::Format::F32);
      if (init == domain::Init::Concrete) {
        for (std::size_t i = 0; i < tensor.values.size(); ++i) {
          const std::uint64_t bits = bits_of(tensor.type, tensor.values[i]);
          std::memcpy(buffer.bytes.get() + i * size, &bits, size);
        }
      }
      std::string_view signature;
      for (const char* each : {"i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp8e4nv", "fp8e5", "fp16",
                               "bf16", "fp32", "fp64"}) {
        if (from_signature_name(each) == tensor.type) signature = each;
      }
      call.arguments[name] = {"*" + std::string(signature), buffer.address, {}};
    }
  }

  const std::vector<double>& operator[](const std::string& name) const { return tensors.at(name).values; }

  SourcePtr source;
  Findings findings;
  std::optional<Kernel> kernel;
  Call call;
  std::map<std::string, Tensor> tensors;

 private:
  std::vector<std::string> order_;
};

}  // namespace plumb::triton
