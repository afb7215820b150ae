// SPDX-License-Identifier: Apache-2.0
// The coverage page: for every form of the instruction table, what plumb does with it.
#pragma once

#include <string>
#include <vector>

namespace plumb::cli {

struct CoverageRow {
  std::string form;
  std::vector<std::string> opcodes;
  unsigned lines = 0;      // syntax lines that are read and validated
  std::string since;       // "PTX 7.0, sm_80 or later"
  std::string unmodelled;  // why the machine does not execute it; empty: it does
  bool is_proved = false;  // a kernel with a certificate uses it
  unsigned vectors = 0;    // hardware vectors
};

// `vectors_folder` holds *.vec files, and somewhere below `proofs_folder` lie certificates NAME.proof.json beside
// NAME.ptx; empty: they are not counted.
std::vector<CoverageRow> coverage(const std::string& vectors_folder, const std::string& proofs_folder);
std::string coverage_page(const std::vector<CoverageRow>& rows);  // Markdown

}  // namespace plumb::cli
