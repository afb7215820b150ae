// SPDX-License-Identifier: Apache-2.0
// A Triton kernel from its Python source, and its evaluation program by program over a domain. The source is parsed by
// CPython's `ast` in an isolated child process, never executed or imported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/stop.h"
#include "domain/memory.h"

namespace plumb::triton {

struct PythonConfig {
  std::string interpreter = "python3";  // looked up on PATH
  std::filesystem::path cache;          // folder for parsed trees, keyed by content; empty: no cache
};

struct None {
  friend bool operator==(None, None) { return true; }
};

// A constexpr: integers, floats, booleans, strings, None.
using Constexpr = std::variant<std::int64_t, double, bool, std::string, None>;

struct Argument {
  // Triton's spelling: "*fp32", "*bf16", "i32", "i64", "fp32", "u1", "constexpr", "tensordesc<fp16[64, 64]>", "tuple"
  std::string type;
  std::uint64_t bits = 0;  // pointer, descriptor: address; integer: two's complement; float scalar: bits of its type
  Constexpr constant;      // when type is "constexpr"
  std::vector<std::int64_t> shape, strides;  // of a descriptor's tensor, in elements
  std::vector<Argument> elements;            // of a tuple
};

struct Call {
  std::map<std::string, Argument> arguments;  // by parameter name; every parameter without a default is present
  std::uint32_t grid[3] = {1, 1, 1};
};

struct Options {
  unsigned workers = 0;
  std::uint64_t first_program = 0;  // linear program range
  std::uint64_t last_program = ~0ULL;
  std::uint64_t step_budget = 1ULL << 40;                               // element operations
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress;  // false cancels
  // In IEEE arithmetic: casts to a narrower format that round, and tf32 operands, take the other of the two neighbours.
  // What becomes of an output then is what the source's own roundings leave open.
  bool flips_roundings = false;
};

struct Result {
  std::optional<Stop> stop;
  std::uint64_t programs = 0;
  std::uint64_t element_ops = 0;
};

class Kernel {
 public:
  // Reports Python that does not parse, a missing function, and every unsupported construct of the function and the
  // @triton.jit functions it calls, with line and caret, before anything is computed. Modules that the source imports
  // are read from beside it and from the package it is part of. A construct under an `if` or a ternary, which a
  // compile-time condition may take away, is reported by `evaluate` when it is reached.
  static std::optional<Kernel> load(SourcePtr source, std::string_view function, const PythonConfig& python,
                                    Findings& findings);
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

  // Names in order, and which are annotated tl.constexpr.
  struct Parameter {
    std::string name;
    bool is_constexpr = false;
    std::optional<Constexpr> default_value;
  };
  const std::vector<Parameter>& parameters() const;
  // Every source that the meaning may depend on: the kernel's first, then the modules that were read for it.
  const std::vector<SourcePtr>& sources() const;

  template <class D>
  Result evaluate(const Call& call, const std::vector<D*>& domains, domain::Memory& memory,
                  const Options& options) const;

 private:
  struct Inner;
  explicit Kernel(std::unique_ptr<const Inner> inner);
  std::unique_ptr<const Inner> inner_;
};

}  // namespace plumb::triton
