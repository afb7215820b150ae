// SPDX-License-Identifier: Apache-2.0
// Small faults planted in a PTX text: what a checker has to find. An operator is one kind of fault (a lost barrier, a
// flipped parity, another rounding); a mutant is the text with one operator used at one place. Mutants are edits of the
// text, so that lines, comments and the launch header stay where they are, and every one of them is a valid module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "ptx/module.h"

namespace plumb::mutate {

struct Operator {
  std::string_view name;     // "barrier-drop"
  std::string_view summary;  // one line
};
std::span<const Operator> operators();
const Operator* find_operator(std::string_view name);  // null when there is none

struct Mutant {
  const Operator* op = nullptr;
  Span span;                // of the original text
  std::string replacement;  // holds as many line breaks as what it replaces
};

struct Options {
  std::vector<const Operator*> operators;    // empty: all
  std::uint64_t seed = 0;                    // which ones are drawn, and their order
  std::size_t most = 0;                      // 0: all
  std::vector<std::uint32_t> skipped_lines;  // where nothing is planted
};

// The module's mutants. With `most`, the operators take turns, each at places drawn without repetition. A text that is
// no longer valid PTX is no mutant and is left out.
std::vector<Mutant> mutants(const ptx::CheckedModule& module, const Options& options);
std::string apply(const Mutant& mutant, const Source& source);

}  // namespace plumb::mutate
