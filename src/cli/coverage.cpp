// SPDX-License-Identifier: Apache-2.0
#include "cli/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "machine/dispatch.h"
#include "ptx/form.h"
#include "ptx/isa.h"
#include "ptx/module.h"

namespace plumb::cli {
namespace {

// Vectors by form: a file names an instruction in a line `form TEXT`, and its results stand in the lines with `=`.
std::map<ptx::Form, unsigned> count_vectors(const std::string& folder) {
  std::map<ptx::Form, unsigned> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".vec") continue;
    Findings findings;
    const std::optional<std::string> text = read_file(entry.path(), findings);
    if (!text) continue;
    std::optional<ptx::Form> form;
    for (std::string_view rest = *text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.starts_with("form ")) {
        form = ptx::form_of(line.substr(5, line.find(' ', 5) - 5));
        if (form && line.find(' ', 5) == std::string_view::npos) ++out[*form];  // a matrix: one case a form line
      } else if (form && line.find(" = ") != std::string_view::npos) {
        ++out[*form];
      }
    }
  }
  return out;
}

// The forms in kernels that have a certificate.
std::set<ptx::Form> proved_forms(const std::string& folder) {
  constexpr std::string_view kCertificate = ".proof.json";
  std::set<ptx::Form> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kCertificate)) continue;
    Findings findings;
    const SourcePtr source = read_source(path.substr(0, path.size() - kCertificate.size()) + ".ptx", findings);
    const auto module = source ? ptx::load(source, findings) : std::nullopt;
    if (!module) continue;
    for (const ptx::Function& function : (*module)->functions) {
      for (const ptx::Instr& instr : function.instrs) out.insert(instr.form);
    }
  }
  return out;
}

}  // namespace

std::vector<CoverageRow> coverage(const std::string& vectors_folder, const std::string& proofs_folder) {
  const std::map<ptx::Form, unsigned> vectors = count_vectors(vectors_folder);
  const std::set<ptx::Form> proved = proved_forms(proofs_folder);
  std::vector<CoverageRow> out;
  for (std::size_t i = 0; i < ptx::forms().size(); ++i) {
    const auto form = static_cast<ptx::Form>(i);
    const ptx::IsaSummary summary = ptx::summarise(form);
    CoverageRow row;
    row.form = ptx::spec(form).name;
    row.opcodes = summary.opcodes;
    row.lines = summary.lines;
    row.since = summary.since;
    row.unmodelled = machine::unmodelled_reason(form);
    row.is_proved = proved.contains(form);
    if (const auto found = vectors.find(form); found != vectors.end()) row.vectors = found->second;
    out.push_back(std::move(row));
  }
  return out;
}

std::string coverage_page(const std::vector<CoverageRow>& rows) {
  const auto count = [&](auto&& holds) { return std::count_if(rows.begin(), rows.end(), holds); };
  std::string out =
      "# Coverage\n\nWritten by `plumb isa --coverage --vectors tests/vectors --proofs suite`. `parsed` and "
      "`validated` "
      "hold for every row of the table;\n`lines` counts its syntax lines. `executed` says whether the machine runs it, "
      "and "
      "what is missing where it does not. `proved`: a\nlowering of `suite/` with a certificate uses it. `vectors` "
      "counts "
      "results from hardware that a test compares.\n\n";
  out += fmt::format("{} forms, {} executed, {} in proved kernels, {} with hardware vectors.\n\n", rows.size(),
                     count([](const CoverageRow& row) { return row.unmodelled.empty(); }),
                     count([](const CoverageRow& row) { return row.is_proved; }),
                     count([](const CoverageRow& row) { return row.vectors != 0; }));
  out += "| form | instructions | lines | since | parsed | validated | executed | proved | vectors |\n";
  out += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const CoverageRow& row : rows) {
    out += fmt::format("| {} | {} | {} | {} | yes | yes | {} | {} | {} |\n", row.form, fmt::join(row.opcodes, ", "),
                       row.lines, row.since, row.unmodelled.empty() ? "yes" : "no: " + row.unmodelled,
                       row.is_proved ? "yes" : "", row.vectors == 0 ? std::string() : std::to_string(row.vectors));
  }
  return out;
}

}  // namespace plumb::cli
