// SPDX-License-Identifier: Apache-2.0
// The surroundings in which one instruction is judged: a kernel that declares registers of every type, variables of
// every space, labels and functions, for a PTX version and a target.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace plumb::agreement {

struct Setting {
  ptx::Version version;
  std::string target;  // "sm_90a"
  friend auto operator<=>(const Setting&, const Setting&) = default;
};

std::string head(const Setting& setting);
std::string tail();

struct TargetRow {
  const char* name;
  ptx::Version since;
};
std::span<const TargetRow> targets();
std::span<const ptx::Version> versions();
ptx::Target parse_target(const std::string& name);

// How many registers of the type are declared: `%TYPE_0` and so on.
unsigned register_count(ptx::Type type);
std::string register_name(ptx::Type type, unsigned index);

// plumb's judgement of a line in the setting: empty when it is legal, else the first finding.
std::string judge(const Setting& setting, const std::string& line);

}  // namespace plumb::agreement
