// SPDX-License-Identifier: Apache-2.0
// The rows of isa/*.def taken apart: per syntax line the modifier slots, the operands and what version and target the
// line asks for. Built once, never changed. Only the reader, the validator, `isa.h` and the tests against ptxas look in
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/module.h"
#include "ptx/text_hash.h"

namespace plumb::ptx {

// One alternative of a target requirement: sm_90 (and later), sm_90a (only that), sm_100f (its family from there on).
struct SmNeed {
  int sm = 0;
  char suffix = 0;
};

struct Needs {
  Version version{1, 0};
  std::vector<SmNeed> targets;  // any of them; none: every target
};

bool allows(const Needs& needs, const Target& target);
std::string describe_targets(const Needs& needs);  // "sm_90a or sm_100f"

struct WordNeeds {
  std::vector<Mod> words;
  Needs needs;
};

// Words that cannot stand together.
struct Exclusion {
  std::vector<Mod> words, others;
};

struct ModSlot {
  std::string_view name;   // the syntax line's name for the set; a literal word's own text
  std::vector<Mod> words;  // what may stand here
  bool is_optional = false;
  int same_as = -1;  // an earlier slot of the same name
  int group = -1;    // optional words of one brace stand or fall together
  enum class Order : std::uint8_t {
    Free,
    Type,
    Space,
    Layout,               // and words that depend on each other: `.xor.popc`, `.b8x16.b6x16_p32`
    First                 // before all that are not
  } order = Order::Free;  // words of one kind keep their order
};

// Constants from `first` to `last` by `step`.
struct Range {
  std::int64_t first = 0, last = 0, step = 1;
};

struct OperandSpec {
  enum class Kind : std::uint8_t { Value, Address, TensorAddress, Immediate, Label, Call, Sink };
  enum class Count : std::uint8_t { Scalar, Fixed, Vec, Pack, PerX, PerN, Dim, Lanes, Texture, Gradient };
  enum class Pair : std::uint8_t { None, Optional, Required };

  std::string_view name;
  Kind kind = Kind::Value;
  Type type = Type::none;   // literal type
  int type_slot = -1;       // or the slot whose word is the type
  bool is_doubled = false;  // twice as wide as the slot's type
  Count count = Count::Scalar;
  int count_value = 1;  // Fixed: the length; PerX: factor; PerN: divisor; Dim: what is taken off
  Pair pair = Pair::None;
  bool is_dest = false, allows_sink = false, allows_special = false, allows_symbol = false, allows_wider = false;
  bool is_negatable = false;
  bool has_no_offset = false;  // of an address
  bool is_exact = false;       // the register has the type itself, not another of its size
  enum class Selector : std::uint8_t { None, Optional, Required } selector = Selector::None;  // `.b0`, `.h10`
  bool is_register = false;                                                                   // no constant
  bool is_optional = false;
  int condition = -1;         // slot that must be filled for the operand to stand
  std::vector<Range> values;  // what a constant may be; none: anything
};

struct Line {
  Form form{};
  std::string_view opcode;
  std::string_view head;  // the syntax up to the first `;`
  std::vector<ModSlot> slots;
  unsigned leading = 0;  // so many words are part of the instruction's name and come first
  std::vector<OperandSpec> operands;
  Needs needs;
  std::vector<WordNeeds> word_needs;
  std::vector<Exclusion> exclusions;
};

// How many registers stand in the operand's braces, by the instruction's words; 0: one register without braces.
unsigned vector_length(const OperandSpec& operand, std::span<const Mod> mods);
bool allows(std::span<const Range> values, std::int64_t constant);

// Which word of an instruction fills which slot; -1: empty.
using Filling = std::vector<int>;
// Two words of the instruction that the line does not let stand together; both are the same when there are none.
std::pair<Mod, Mod> excluded(const Line& line, std::span<const Mod> mods);
// False when the words do not fit the line. Slots of one name hold the same word.
bool fill(const Line& line, std::span<const Mod> mods, Filling& filling);

struct Table {
  std::vector<FormSpec> forms;
  std::vector<Line> lines;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>, TextHash> by_opcode;  // indices into `lines`
  std::unordered_map<std::string_view, Mod, TextHash> mods;
  std::vector<Type> mod_types;                // by Mod; none where the word is no type
  std::vector<Space> mod_spaces;              // by Mod; none where the word is no space
  std::vector<std::vector<Needs>> mod_needs;  // by Mod, what the word asks for wherever it stands
};
const Table& table();

// The line as a reader of the manual would write it, with its word sets: "add.type d, a, b; .type = .u16, .u32".
std::string pretty(const Line& line);

}  // namespace plumb::ptx
