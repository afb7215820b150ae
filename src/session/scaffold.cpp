// SPDX-License-Identifier: Apache-2.0
#include "session/scaffold.h"

#include <fmt/format.h>

#include "base/file.h"
#include "session/codes.h"
#include "session/knowledge.h"
#include "session/texts.h"

namespace plumb::session {
namespace {

constexpr Scaffold kScaffolds[] = {
    {"row-reduction", "sm_80 and later",
     "a row a CTA, read in vectors, reduced in warps and across them, read again and written"},
    {"fragment-map", "sm_80 and later",
     "which lane of a warp holds which element of mma.m16n8k16: a product straight from global memory"},
    {"mma-loop", "sm_80 and later",
     "a product: cp.async ring of three slots, swizzle, ldmatrix, mma.sync, stores from fragments"},
    {"wgmma-loop", "sm_90a",
     "a product: a warp copies tensor boxes into a ring of mbarriers, a warpgroup multiplies by wgmma"},
    {"tcgen05-epilogue", "sm_100a",
     "a product by tcgen05.mma, its sums read out of tensor memory and stored by four warps"},
};

std::string_view file_of(std::string_view kind, std::string_view file) {
  return text_of(fmt::format("scaffolds/{}/{}", kind, file));
}

}  // namespace

std::string_view Scaffold::ptx() const { return file_of(kind, fmt::format("{}.ptx", kind)); }
std::string_view Scaffold::task() const { return file_of(kind, "task.toml"); }
std::string_view Scaffold::kernel() const { return file_of(kind, "kernel.py"); }

std::span<const Scaffold> scaffolds() { return kScaffolds; }

const Scaffold* find_scaffold(std::string_view kind, std::string_view target, Findings& findings) {
  std::string known;
  for (const Scaffold& each : kScaffolds) {
    if (!holds_for(each.targets, target)) continue;
    if (each.kind == kind) return &each;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.kind);
  }
  findings.add(kScaffold, fmt::format("there is no scaffold `{}` for {}", kind, target)).hint =
      known.empty() ? "there is none at all for that target" : fmt::format("for {}: {}", target, known);
  return nullptr;
}

std::vector<std::filesystem::path> write_scaffold(const Scaffold& scaffold, const std::filesystem::path& folder,
                                                  Findings& findings) {
  const std::pair<std::filesystem::path, std::string_view> files[] = {
      {folder / "task.toml", scaffold.task()},
      {folder / "kernel.py", scaffold.kernel()},
      {folder / fmt::format("{}.ptx", scaffold.kind), scaffold.ptx()}};
  std::error_code error;
  for (const auto& [path, text] : files) {
    if (!std::filesystem::exists(path, error)) continue;
    findings.add(kScaffold, fmt::format("`{}` is there already", path.string())).hint =
        "name another folder with --out";
    return {};
  }
  std::filesystem::create_directories(folder, error);
  std::vector<std::filesystem::path> out;
  for (const auto& [path, text] : files) {
    if (!write_file(path, text, findings)) return {};
    out.push_back(path);
  }
  return out;
}

}  // namespace plumb::session
