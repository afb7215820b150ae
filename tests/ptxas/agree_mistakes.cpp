// SPDX-License-Identifier: Apache-2.0
// What plumb says of mistakes.txt, beside ptxas's words: one error for each mistake, at its place.
//   agree_mistakes FILE             compares with the answers that the file keeps; ptxas's too, where ptxas 13.0 is
//   agree_mistakes FILE --update    writes them anew; needs ptxas 13.0
// Exit status: 0 when every answer is as kept and every mistake is one error in its own lines, 1 when not, 2 wrong
// arguments.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "assembler.h"
#include "base/file.h"
#include "ptx/module.h"

namespace {

using namespace plumb::agreement;

constexpr std::string_view kTitle = "=== ", kPlumb = "--- plumb", kPtxas = "--- ptxas";

// Where a mistake is made that is no whole module.
constexpr std::string_view kHead =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 smem[];\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %d<4>;\n.reg .b16 %h<4>;\n"
    ".reg .pred %p<2>;\n";
constexpr std::string_view kTail = "DONE:\nret;\n}\n";

struct Mistake {
  std::string title, text, plumb, ptxas;
  bool is_module() const { return text.find(".entry") != text.npos; }
  std::string module() const { return is_module() ? text : fmt::format("{}{}{}", kHead, text, kTail); }
};

struct Table {
  std::string introduction;
  std::vector<Mistake> mistakes;
};

Table read(const std::string& text) {
  Table out;
  std::string* part = &out.introduction;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kTitle)) {
      out.mistakes.push_back({line.substr(kTitle.size()), {}, {}, {}});
      part = &out.mistakes.back().text;
    } else if (line == kPlumb && !out.mistakes.empty()) {
      part = &out.mistakes.back().plumb;
    } else if (line == kPtxas && !out.mistakes.empty()) {
      part = &out.mistakes.back().ptxas;
    } else {
      *part += line + "\n";
    }
  }
  return out;
}

std::string written(const Table& table) {
  std::string out = table.introduction;
  for (const Mistake& one : table.mistakes) {
    out += fmt::format("{}{}\n{}{}\n{}{}\n{}", kTitle, one.title, one.text, kPlumb, one.plumb, kPtxas, one.ptxas);
  }
  return out;
}

// Empty when the mistake is one error, which begins in the mistake's own lines.
std::string complaint(const Mistake& mistake, const plumb::Findings& findings) {
  if (findings.list().size() != 1) return fmt::format("{} findings", findings.list().size());
  const plumb::Place& place = findings.list()[0].place;
  if (place.source == nullptr) return "the error has no place";
  const auto before = mistake.is_module() ? 0 : std::count(kHead.begin(), kHead.end(), '\n');
  const auto lines = std::count(mistake.text.begin(), mistake.text.end(), '\n');
  const auto line = static_cast<std::ptrdiff_t>(place.source->locate(place.span.begin).line);
  return line > before && line <= before + lines ? "" : fmt::format("the error is in line {}", line);
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_update = argc == 3 && std::string_view(argv[2]) == "--update";
  if (argc != 2 && !is_update) return 2;
  plumb::Findings reading;
  const std::optional<std::string> text = plumb::read_file(argv[1], reading);
  Table table = text ? read(*text) : Table{};
  const std::optional<Assembler> assembler = Assembler::find();
  if (table.mistakes.empty() || (is_update && !assembler)) return 2;
  unsigned wrong = 0, changed = 0;
  for (Mistake& one : table.mistakes) {
    plumb::Findings findings;
    plumb::ptx::load(std::make_shared<plumb::Source>("kernel.ptx", one.module()), findings);
    const std::string plumb = plumb::render(findings, false);
    const std::string ptxas = assembler ? assembler->words("sm_90a", one.module()) : one.ptxas;
    if (const std::string why = complaint(one, findings); !why.empty()) {
      ++wrong;
      fmt::print("{}{}: {}\n{}", kTitle, one.title, why, plumb);
    }
    if (plumb != one.plumb || ptxas != one.ptxas) {
      ++changed;
      if (!is_update) fmt::print("{}{}\nkept\n{}{}now\n{}{}", kTitle, one.title, one.plumb, one.ptxas, plumb, ptxas);
    }
    one.plumb = plumb;
    one.ptxas = ptxas;
  }
  if (is_update && !plumb::write_file(argv[1], written(table), reading)) return 2;
  fmt::print("{} mistakes: {} not one error at its place, {} with other answers than kept\n", table.mistakes.size(),
             wrong, changed);
  return wrong == 0 && (is_update || changed == 0) ? 0 : 1;
}
