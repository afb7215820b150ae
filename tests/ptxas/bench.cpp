// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <fmt/format.h>

#include <memory>

#include "base/finding.h"

namespace plumb::agreement {
namespace {

constexpr TargetRow kTargets[] = {{"sm_75", {6, 3}},   {"sm_80", {7, 0}},   {"sm_86", {7, 1}},   {"sm_87", {7, 4}},
                                  {"sm_88", {9, 0}},   {"sm_89", {7, 8}},   {"sm_90", {7, 8}},   {"sm_90a", {8, 0}},
                                  {"sm_100", {8, 6}},  {"sm_100a", {8, 6}}, {"sm_100f", {8, 8}}, {"sm_103", {8, 8}},
                                  {"sm_103a", {8, 8}}, {"sm_103f", {8, 8}}, {"sm_110", {9, 0}},  {"sm_110a", {9, 0}},
                                  {"sm_110f", {9, 0}}, {"sm_120", {8, 7}},  {"sm_120a", {8, 7}}, {"sm_120f", {8, 8}},
                                  {"sm_121", {8, 8}},  {"sm_121a", {8, 8}}, {"sm_121f", {8, 8}}};

constexpr ptx::Version kVersions[] = {{6, 3}, {6, 4}, {6, 5}, {7, 0}, {7, 1}, {7, 2}, {7, 3}, {7, 4},
                                      {7, 5}, {7, 6}, {7, 7}, {7, 8}, {8, 0}, {8, 1}, {8, 2}, {8, 3},
                                      {8, 4}, {8, 5}, {8, 6}, {8, 7}, {8, 8}, {9, 0}};

constexpr ptx::Type kRegisterTypes[] = {
    ptx::Type::pred, ptx::Type::b8,  ptx::Type::u8,  ptx::Type::s8,  ptx::Type::b16, ptx::Type::u16,
    ptx::Type::s16,  ptx::Type::f16, ptx::Type::b32, ptx::Type::u32, ptx::Type::s32, ptx::Type::f16x2,
    ptx::Type::f32,  ptx::Type::b64, ptx::Type::u64, ptx::Type::s64, ptx::Type::f64, ptx::Type::b128};

}  // namespace

std::span<const TargetRow> targets() { return kTargets; }
std::span<const ptx::Version> versions() { return kVersions; }

ptx::Target parse_target(const std::string& name) {
  ptx::Target out;
  out.text = name;
  std::string digits = name.substr(3);
  if (digits.back() == 'a' || digits.back() == 'f') {
    out.suffix = digits.back();
    digits.pop_back();
  }
  out.sm = std::stoi(digits);
  return out;
}

unsigned register_count(ptx::Type type) {
  switch (type) {
    case ptx::Type::b32:
    case ptx::Type::f32:
    case ptx::Type::s32:
      return 130;
    case ptx::Type::b8:
    case ptx::Type::u8:
    case ptx::Type::s8:
    case ptx::Type::b128:
      return 6;
    default:
      return 18;
  }
}

std::string register_name(ptx::Type type, unsigned index) {
  return fmt::format("%{}_{}", ptx::name(type), index % register_count(type));
}

std::string head(const Setting& setting) {
  std::string out = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", setting.version.major,
                                setting.version.minor, setting.target);
  out +=
      ".global .align 16 .b8 g_data[256];\n.const .align 16 .b8 c_data[256];\n.shared .align 16 .b8 s_data[256];\n"
      ".global .texref tex_a;\n.global .surfref surf_a;\n"
      ".func (.param .b32 res) callee(.param .b32 arg) { ret; }\n"
      ".visible .entry k(.param .u64 p_wide, .param .u32 p_word, .param .align 64 .b8 p_map[128])\n{\n"
      ".local .align 16 .b8 l_data[256];\n.param .b32 arg_a;\n.param .b32 res_a;\n";
  for (const ptx::Type type : kRegisterTypes) {
    if (type == ptx::Type::b128 && setting.version < ptx::Version{8, 3}) continue;
    out += fmt::format(".reg .{} %{}_<{}>;\n", ptx::name(type), ptx::name(type), register_count(type));
  }
  out += "TO:\nTABLE: .branchtargets TO, END;\nPROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
  return out;
}

std::string tail() { return "END:\nret;\n}\n"; }

std::string judge(const Setting& setting, const std::string& line) {
  Findings findings;
  const auto source = std::make_shared<Source>("line.ptx", head(setting) + line + "\n" + tail());
  if (ptx::load(source, findings)) return {};
  if (findings.empty()) return "no finding";
  const Finding& first = findings.list().front();
  return fmt::format("{}: {}", first.code->id, first.message);
}

}  // namespace plumb::agreement
