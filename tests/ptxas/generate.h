// SPDX-License-Identifier: Apache-2.0
// Instructions made from the instruction table: legal ones, and near-misses that differ from a legal one in one place.
// Whether a near-miss is legal after all is not decided here: the table's validator and the assembler say so.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "ptx/isa/table.h"

namespace plumb::agreement {

struct Case {
  std::string text;  // one line, with its `;`
  Setting setting;
  const ptx::Line* line = nullptr;
  std::string change;  // what was changed; empty: nothing, the table calls the instruction legal
};

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  // `legal` instructions of the syntax line, each word of each slot at least once, and `misses` near-misses.
  std::vector<Case> cases(const ptx::Line& line, unsigned legal, unsigned misses);

 private:
  struct Draft {
    std::vector<std::string> words;  // without dots
    std::vector<std::string> operands;
    std::vector<const ptx::OperandSpec*> specs;  // of the operands
  };
  unsigned pick(std::size_t count) { return static_cast<unsigned>(random_() % count); }
  bool coin() { return pick(2) == 0; }

  std::vector<int> filling(const ptx::Line& line, std::size_t slot, std::size_t word);
  Draft draft(const ptx::Line& line, const std::vector<int>& chosen);
  std::string operand(const ptx::Line& line, const std::vector<int>& chosen, const ptx::OperandSpec& spec);
  static std::vector<ptx::Type> fitting_types(const ptx::OperandSpec& spec, ptx::Type type);
  std::string value(const ptx::OperandSpec& spec, ptx::Type type);
  std::string address(const ptx::OperandSpec& spec, const ptx::Line& line, const std::vector<int>& chosen);
  std::string pack(const ptx::OperandSpec& spec, ptx::Type type);
  std::int64_t some_value(const ptx::OperandSpec& spec);
  std::string change(const ptx::Line& line, Draft& draft);
  std::string random_operand();
  bool place(const ptx::Line& line, const std::vector<int>& chosen, Setting& lowest, Setting& any);
  void miss_setting(const ptx::Line& line, const std::vector<int>& chosen, Case base, std::vector<Case>& out);

  std::mt19937 random_;
  unsigned next_register_ = 0;
};

}  // namespace plumb::agreement
