// SPDX-License-Identifier: Apache-2.0
#include "session/run_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plumb::session {
namespace {

using Json = nlohmann::json;
using machine::AccessKind;
using machine::InstrProfile;
using machine::Mover;
using machine::ProfiledSpace;
using machine::Traffic;

constexpr std::size_t kMostInstructions = 12;  // in the text

std::string_view word(ProfiledSpace space) {
  switch (space) {
    case ProfiledSpace::Global:
      return "global";
    case ProfiledSpace::Shared:
      return "shared";
    case ProfiledSpace::Cluster:
      return "cluster shared";
    case ProfiledSpace::Tensor:
      return "tensor";
    case ProfiledSpace::Local:
      return "local";
    case ProfiledSpace::Param:
      return "param";
    case ProfiledSpace::Const:
      break;
  }
  return "const";
}

std::string_view word(Mover mover) {
  return mover == Mover::Lanes ? "lanes" : mover == Mover::Copies ? "copies" : "tensor cores";
}

std::string_view word(AccessKind kind) {
  return kind == AccessKind::Read ? "read" : kind == AccessKind::Write ? "write" : "atomic";
}

bool has_sectors(const Traffic& traffic) { return traffic.space == ProfiledSpace::Global; }
bool has_wavefronts(const Traffic& traffic) { return traffic.wavefronts != 0; }

double ratio(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

struct Named {
  std::string name;
  InstrProfile counts;
};

// The counts by a key of each instruction, those of most warp instructions first.
template <class Key>
std::vector<Named> sums(const RunProfile& profile, Key&& key) {
  std::map<std::string, InstrProfile> by_name;
  for (const ProfiledInstr& instr : profile.instrs) by_name[std::string(key(instr))].add(instr.counts);
  std::vector<Named> out;
  for (auto& [name, counts] : by_name) out.push_back({name, std::move(counts)});
  std::stable_sort(out.begin(), out.end(),
                   [](const Named& a, const Named& b) { return a.counts.warps > b.counts.warps; });
  return out;
}

std::vector<Named> by_class(const RunProfile& profile) {
  return sums(profile, [](const ProfiledInstr& instr) { return text(instr.which); });
}

std::vector<Named> by_instruction(const RunProfile& profile) {
  return sums(profile, [](const ProfiledInstr& instr) { return instr.words; });
}

InstrProfile whole(const RunProfile& profile) {
  InstrProfile out;
  for (const ProfiledInstr& instr : profile.instrs) out.add(instr.counts);
  std::sort(out.traffic.begin(), out.traffic.end(), [](const Traffic& a, const Traffic& b) {
    return std::tuple(a.space, a.mover, a.kind) < std::tuple(b.space, b.mover, b.kind);
  });
  return out;
}

Json traffic_json(const std::vector<Traffic>& rows) {
  Json out = Json::array();
  for (const Traffic& traffic : rows) {
    Json row = {{"space", word(traffic.space)},
                {"access", word(traffic.kind)},
                {"by", word(traffic.mover)},
                {"requests", traffic.requests},
                {"bytes", traffic.bytes}};
    if (has_sectors(traffic)) {
      row["sectors"] = traffic.sectors;
      row["least_sectors"] = traffic.least_sectors;
      row["sectors_per_request"] = ratio(traffic.sectors, traffic.requests);
    }
    if (has_wavefronts(traffic)) {
      row["wavefronts"] = traffic.wavefronts;
      row["bank_conflicts"] = traffic.wavefronts - traffic.least_wavefronts;
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json mix_json(const std::vector<Named>& rows, const char* name) {
  Json out = Json::array();
  for (const Named& row : rows) {
    out.push_back({{name, row.name}, {"warp_instructions", row.counts.warps}, {"lane_instructions", row.counts.lanes}});
  }
  return out;
}

std::string mix_text(const std::vector<Named>& rows, std::size_t most, std::uint64_t all) {
  std::string out;
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    out += fmt::format("    {:<44} {:>12}  {:5.1f}%\n", rows[i].name, rows[i].counts.warps,
                       100 * ratio(rows[i].counts.warps, all));
  }
  if (rows.size() > most) out += fmt::format("    and {} more\n", rows.size() - most);
  return out;
}

std::string traffic_text(const Traffic& traffic) {
  std::string out = fmt::format("    {:<32} {:>12} {:>14}",
                                fmt::format("{} {}, {}", word(traffic.space), word(traffic.kind), word(traffic.mover)),
                                traffic.requests, traffic.bytes);
  if (has_sectors(traffic)) {
    out += fmt::format("  {} sectors, {:.2f} a request, at least {}", traffic.sectors,
                       ratio(traffic.sectors, traffic.requests), traffic.least_sectors);
  }
  if (has_wavefronts(traffic)) {
    out += fmt::format("  {} wavefronts, {} of them bank conflicts", traffic.wavefronts,
                       traffic.wavefronts - traffic.least_wavefronts);
  }
  return out + '\n';
}

std::string line_text(const ProfiledInstr& instr) {
  std::string out = fmt::format("    {:>6} {:>12} {:>6.1f}  {}", instr.line, instr.counts.warps,
                                ratio(instr.counts.lanes, instr.counts.warps), instr.words);
  if (instr.counts.macs != 0) out += fmt::format("  {} MACs", instr.counts.macs);
  for (const Traffic& traffic : instr.counts.traffic) {
    if (has_sectors(traffic)) {
      out += fmt::format("  {:.2f} sectors a request, at least {:.2f}", ratio(traffic.sectors, traffic.requests),
                         ratio(traffic.least_sectors, traffic.requests));
    }
    if (has_wavefronts(traffic)) {
      out += fmt::format("  {:.2f} wavefronts a request, at least {:.2f}", ratio(traffic.wavefronts, traffic.requests),
                         ratio(traffic.least_wavefronts, traffic.requests));
    }
  }
  return out + '\n';
}

// The instructions of all functions by where they begin in the text.
std::unordered_map<std::uint32_t, const ptx::Instr*> instrs_by_begin(const ptx::Module& module) {
  std::unordered_map<std::uint32_t, const ptx::Instr*> out;
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instr& instr : function.instrs) out.emplace(instr.span.begin, &instr);
  }
  return out;
}

}  // namespace

std::function<bool(std::uint32_t)> matrix_loads(const ptx::CheckedModule& module,
                                                std::function<Place(std::uint32_t)> place) {
  return [instrs = instrs_by_begin(*module), place = std::move(place)](std::uint32_t instr) {
    const auto found = instrs.find(place(instr).span.begin);
    return found != instrs.end() && found->second->opcode == "ldmatrix";
  };
}

RunProfile make_run_profile(const ptx::CheckedModule& module, const std::vector<InstrProfile>& counts,
                            const std::function<Place(std::uint32_t)>& place) {
  const auto by_begin = instrs_by_begin(*module);
  RunProfile out;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    if (counts[i].warps == 0) continue;
    const Span span = place(i).span;
    const auto found = by_begin.find(span.begin);
    // What is no instruction of the text is the return at the end of a body.
    const bool is_end = found == by_begin.end();
    out.instrs.push_back({module->source->locate(is_end ? span.end : span.begin).line,
                          is_end ? "ret" : std::string(module->source->slice(found->second->opcode_span)),
                          is_end ? InstrClass::Control : class_of(*found->second), counts[i]});
  }
  std::stable_sort(out.instrs.begin(), out.instrs.end(),
                   [](const ProfiledInstr& a, const ProfiledInstr& b) { return a.line < b.line; });
  return out;
}

Json to_json(const RunProfile& profile) {
  const InstrProfile all = whole(profile);
  Json tensor = Json::array();
  for (const Named& row : by_instruction(profile)) {
    if (row.counts.macs == 0) continue;
    tensor.push_back({{"instruction", row.name}, {"warp_instructions", row.counts.warps}, {"macs", row.counts.macs}});
  }
  Json out = {{"warp_instructions", all.warps},
              {"lane_instructions", all.lanes},
              {"by_class", mix_json(by_class(profile), "class")},
              {"by_instruction", mix_json(by_instruction(profile), "instruction")},
              {"memory", traffic_json(all.traffic)},
              {"tensor_cores",
               {{"macs", all.macs},
                {"macs_per_warp_instruction", ratio(all.macs, all.warps)},
                {"by_instruction", std::move(tensor)}}}};
  if (!profile.has_lines) return out;
  Json lines = Json::array();
  for (const ProfiledInstr& instr : profile.instrs) {
    lines.push_back({{"line", instr.line},
                     {"instruction", instr.words},
                     {"class", text(instr.which)},
                     {"warp_instructions", instr.counts.warps},
                     {"lane_instructions", instr.counts.lanes},
                     {"macs", instr.counts.macs},
                     {"memory", traffic_json(instr.counts.traffic)}});
  }
  out["lines"] = std::move(lines);
  return out;
}

std::string to_text(const RunProfile& profile) {
  const InstrProfile all = whole(profile);
  std::string out =
      fmt::format("  profile    {} warp instructions of {:.1f} lanes each\n", all.warps, ratio(all.lanes, all.warps));
  out += "  by class\n" + mix_text(by_class(profile), ~std::size_t{0}, all.warps);
  out += "  by instruction\n" + mix_text(by_instruction(profile), kMostInstructions, all.warps);
  out += fmt::format("  {:<34} {:>12} {:>14}\n", "memory", "requests", "bytes");
  for (const Traffic& traffic : all.traffic) out += traffic_text(traffic);
  if (all.macs != 0) {
    out += fmt::format("  tensor cores  {} MACs, {:.1f} a warp instruction of any kind\n", all.macs,
                       ratio(all.macs, all.warps));
    for (const Named& row : by_instruction(profile)) {
      if (row.counts.macs == 0) continue;
      out += fmt::format("    {:<44} {:>12}  {:.0f} MACs each\n", row.name, row.counts.warps,
                         ratio(row.counts.macs, row.counts.warps));
    }
  }
  if (!profile.has_lines) return out;
  out += fmt::format("  {:>8} {:>12} {:>6}\n", "line", "warps", "lanes");
  for (const ProfiledInstr& instr : profile.instrs) out += line_text(instr);
  return out;
}

}  // namespace plumb::session
