// SPDX-License-Identifier: Apache-2.0
#include "ptx/special.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "ptx/text_hash.h"

namespace plumb::ptx {
namespace {

struct Row {
  std::string_view text;
  Special special;
  bool has_axes = false;
  Type type = Type::u32;
  Version since{};
  int min_sm = 0;
  std::uint8_t index = 0;  // where one of `Special` has several names without a number
};

constexpr Version kClusters{7, 8}, kReserved{7, 6};

constexpr Row kRows[] = {
    {"%tid", Special::tid, true},
    {"%ntid", Special::ntid, true},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%ctaid", Special::ctaid, true},
    {"%nctaid", Special::nctaid, true},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid, false, Type::u64},
    {"%is_explicit_cluster", Special::is_explicit_cluster, false, Type::pred, kClusters, 90},
    {"%clusterid", Special::clusterid, true, Type::u32, kClusters, 90},
    {"%nclusterid", Special::nclusterid, true, Type::u32, kClusters, 90},
    {"%cluster_ctaid", Special::cluster_ctaid, true, Type::u32, kClusters, 90},
    {"%cluster_nctaid", Special::cluster_nctaid, true, Type::u32, kClusters, 90},
    {"%cluster_ctarank", Special::cluster_ctarank, false, Type::u32, kClusters, 90},
    {"%cluster_nctarank", Special::cluster_nctarank, false, Type::u32, kClusters, 90},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%clock", Special::clock},
    {"%clock_hi", Special::clock_hi},
    {"%clock64", Special::clock64, false, Type::u64},
    {"%globaltimer", Special::globaltimer, false, Type::u64},
    {"%globaltimer_lo", Special::globaltimer_lo},
    {"%globaltimer_hi", Special::globaltimer_hi},
    {"%total_smem_size", Special::total_smem_size},
    {"%aggr_smem_size", Special::aggr_smem_size, false, Type::u32, {8, 1}, 90},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%current_graph_exec", Special::current_graph_exec, false, Type::u64, {8, 0}},
    {"%reserved_smem_offset_begin", Special::reserved_smem_offset, false, Type::u32, kReserved, 80, 2},
    {"%reserved_smem_offset_end", Special::reserved_smem_offset, false, Type::u32, kReserved, 80, 3},
    {"%reserved_smem_offset_cap", Special::reserved_smem_offset, false, Type::u32, kReserved, 80, 4},
    {"WARP_SZ", Special::warp_sz},
};

// Families with a number in the name: %pm0 to %pm7, %envreg0 to %envreg31, ...
struct Family {
  std::string_view prefix, suffix;
  Special special;
  unsigned count;
  Type type;
  Version since{};
  int min_sm = 0;
};
constexpr Family kFamilies[] = {
    {"%pm", "", Special::pm, 8, Type::u32},
    {"%pm", "_64", Special::pm64, 8, Type::u64},
    {"%envreg", "", Special::envreg, 32, Type::u32},
    {"%reserved_smem_offset_", "", Special::reserved_smem_offset, 2, Type::u32, kReserved, 80},
};

struct Index {
  std::vector<std::string> texts;  // of the families; reserved once, so that views into it stay
  std::unordered_map<std::string_view, SpecialName, TextHash> by_text;
};

Index build() {
  Index out;
  out.texts.reserve(64);
  for (const Row& row : kRows) {
    out.by_text[row.text] = {row.text, row.special, row.has_axes, row.index, row.type, row.since, row.min_sm};
  }
  for (const Family& family : kFamilies) {
    for (unsigned i = 0; i < family.count; ++i) {
      out.texts.push_back(std::string(family.prefix) + std::to_string(i) + std::string(family.suffix));
      const std::string_view text = out.texts.back();
      out.by_text[text] = {text,        family.special, false,        static_cast<std::uint8_t>(i),
                           family.type, family.since,   family.min_sm};
    }
  }
  return out;
}

const Index& index() {
  static const Index kIndex = build();
  return kIndex;
}

}  // namespace

const SpecialName* find_special(std::string_view text) {
  const auto found = index().by_text.find(text);
  return found == index().by_text.end() ? nullptr : &found->second;
}

std::string special_text(Special special, std::uint8_t axis) {
  for (const Row& row : kRows) {
    if (row.special != special || (!row.has_axes && row.index != axis)) continue;
    std::string out(row.text);
    if (row.has_axes && axis != kAllAxes) out += std::string(".") + "xyzw"[axis];
    return out;
  }
  for (const Family& family : kFamilies) {
    if (family.special == special) {
      return std::string(family.prefix) + std::to_string(axis) + std::string(family.suffix);
    }
  }
  return {};
}

Type special_type(Special special) {
  for (const Row& row : kRows) {
    if (row.special == special) return row.type;
  }
  for (const Family& family : kFamilies) {
    if (family.special == special) return family.type;
  }
  return Type::u32;
}

}  // namespace plumb::ptx
