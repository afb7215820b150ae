// SPDX-License-Identifier: Apache-2.0
// The instruction set as a table. A form is one syntax line of the manual; `isa/*.def` holds one row per form, and the
// lexer's keywords, the parser, the validator, the printer, `plumb isa` and the coverage page are derived from the
// rows. Adding an instruction: a row here, a meaning in machine/exec, a vector in tests/vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plumb::ptx {

// Every dotted word that a form uses (types, rounding, spaces, ...), generated from isa/mods.def.
enum class Mod : std::uint16_t {
#define PLUMB_MOD(name, text) name,
#include "ptx/isa/mods.def"
#undef PLUMB_MOD
};
std::string_view text(Mod mod);  // "rn", "shared::cta"
std::optional<Mod> mod_from_text(std::string_view text);

// Every row of the table, in the manual's order.
enum class Form : std::uint16_t {
#define PLUMB_FORM(name, ...) name,
#include "ptx/isa/forms.def"
#undef PLUMB_FORM
};

struct FormSpec {
  std::string_view name;    // the enumerator
  std::string_view opcode;  // "cp.async" style opcodes keep their dots out: opcode is the first word ("cp")
  std::string_view syntax;  // the manual's line: "add{.rnd}{.ftz}{.sat}.f32 d, a, b"
  int ptx_major = 0, ptx_minor = 0, min_sm = 0;
  std::string_view manual;  // anchor in the PTX manual
};
std::span<const FormSpec> forms();
const FormSpec& spec(Form form);

}  // namespace plumb::ptx
