// SPDX-License-Identifier: Apache-2.0
// Compares plumb with ptxas on the modules of directives.txt.
//   agree_directives FILE             plumb against the kept answers, and these against ptxas 13.0 where it is
//   agree_directives FILE --update    asks ptxas, and writes the answers anew
//   agree_directives FILE --fill      the same of the rows with a `?` among their answers, which are new
//   agree_directives FILE --kept      plumb against the kept answers only
//   agree_directives FILE --sample N  the first, with one row in N asked of ptxas
//   agree_directives FILE --show N    what each says of every text of the row in line N
// Exit status: 0 when all agree, or stay apart for a reason that the file gives; 1 when not; 2 wrong arguments.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "assembler.h"
#include "base/file.h"
#include "directives.h"

namespace {

using namespace plumb::agreement;

struct Counts {
  std::size_t asked = 0, apart = 0, stale = 0, explained = 0;
};

// The letters of a row, as they are now; '?' where ptxas was needed and is not here.
struct Judged {
  std::string answers, report;
};

char letter(bool theirs, bool ours) { return theirs ? (ours ? '+' : 'a') : (ours ? 'r' : '-'); }

bool kept_ptxas(const DirectiveRow& row, std::size_t i) {
  const char kept = row.answers[row.answers.size() == 1 ? 0 : i];
  return kept == '+' || kept == 'a';
}

Judged judge_row(const DirectiveTable& table, const DirectiveRow& row, const Assembler* assembler, bool is_shown) {
  Judged out;
  for (const std::string& items : expand(row.text)) {
    for (const ModuleSetting& setting : table.sections[row.section].settings) {
      const std::string text = module_text(setting, items);
      std::string ours, theirs;
      const bool is_ours = plumb_takes(text, ours);
      const std::size_t index = out.answers.size();
      if (assembler == nullptr && row.answers.size() != 1 && index >= row.answers.size()) {
        out.answers += '?';
        continue;
      }
      const bool is_theirs =
          assembler != nullptr ? assembler->takes(arch_of(text), text, theirs) : kept_ptxas(row, index);
      out.answers += letter(is_theirs, is_ours);
      const bool is_apart = is_theirs != is_ours && row.why.empty();
      if (is_apart || is_shown) {
        out.report += fmt::format("{}\t{} {}\t{}\n\tplumb {}\n\tptxas {}\n", row.line, setting.version, setting.target,
                                  items, ours.empty() ? "accepts" : ours,
                                  is_theirs        ? "accepts"
                                  : theirs.empty() ? "refuses"
                                                   : theirs);
      }
    }
  }
  return out;
}

std::string squeezed(const std::string& answers) {
  const bool is_same = std::all_of(answers.begin(), answers.end(), [&](char c) { return c == answers[0]; });
  return is_same ? answers.substr(0, 1) : answers;
}

bool count(const DirectiveRow& row, const Judged& judged, Counts& counts) {
  counts.asked += judged.answers.size();
  std::size_t apart = 0;
  for (const char c : judged.answers) apart += c == 'a' || c == 'r' || c == '?';
  (row.why.empty() ? counts.apart : counts.explained) += apart;
  const bool is_stale = squeezed(judged.answers) != squeezed(row.answers);
  counts.stale += is_stale;
  return !is_stale;
}

struct Options {
  std::string file, name;
  std::size_t number = 1;
};

std::optional<Options> read(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  Options out{argv[1], argc > 2 ? argv[2] : "", 1};
  if (argc > 3) out.number = std::max<std::size_t>(1, static_cast<std::size_t>(std::atoi(argv[3])));
  static constexpr std::string_view kNames[] = {"", "--kept", "--sample", "--update", "--fill", "--show"};
  return std::find(std::begin(kNames), std::end(kNames), out.name) == std::end(kNames) ? std::nullopt
                                                                                       : std::optional(out);
}

bool is_asked(const Options& options, const DirectiveRow& row, std::size_t index) {
  if (options.name == "--kept") return false;
  if (options.name == "--fill") return row.answers.find('?') != std::string::npos;
  return options.name != "--sample" || index % options.number == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read(argc, argv);
  plumb::Findings findings;
  const std::optional<std::string> text = options ? plumb::read_file(options->file, findings) : std::nullopt;
  DirectiveTable table = text ? read_directives(*text) : DirectiveTable{};
  const std::optional<Assembler> assembler = Assembler::find();
  const bool is_update = options && (options->name == "--update" || options->name == "--fill");
  if (table.rows.empty() || (is_update && !assembler)) {
    fmt::print("no table of directives, or no ptxas to ask\n");
    return 2;
  }
  const bool is_shown = options->name == "--show";
  Counts counts;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    DirectiveRow& row = table.rows[i];
    if (is_shown && row.line != options->number) continue;
    const bool asks = assembler && is_asked(*options, row, i);
    const Judged judged = judge_row(table, row, asks ? &*assembler : nullptr, is_shown);
    fmt::print("{}", judged.report);
    if (!count(row, judged, counts) && !is_update) {
      fmt::print("{}\tkept {}, now {}\n", row.line, row.answers, squeezed(judged.answers));
    }
    row.answers = squeezed(judged.answers);
  }
  if (is_update && !plumb::write_file(options->file, with_answers(*text, table), findings)) return 2;
  fmt::print("{} modules: {} apart, {} apart for a reason, {} rows with other answers than kept\n", counts.asked,
             counts.apart, counts.explained, counts.stale);
  return counts.apart == 0 && (is_update || counts.stale == 0) ? 0 : 1;
}
