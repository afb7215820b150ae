// SPDX-License-Identifier: Apache-2.0
// The typed tree of a PTX text: what the parser builds, the printer prints, and the machine decodes. It keeps every
// place (`Span`) of the text. `print(module)` followed by `parse` gives an equal tree.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/finding.h"
#include "base/source.h"
#include "ptx/form.h"
#include "ptx/type.h"

namespace plumb::ptx {

using RegId = std::uint32_t;    // index into Function::registers
using VarId = std::uint32_t;    // index into Module::variables (module scope and function scope together)
using LabelId = std::uint32_t;  // index into Function::labels

enum class Space : std::uint8_t { none, reg, constant, global, local, param, shared };

struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

struct Target {
  int sm = 0;                        // 89 for sm_89, 90 for sm_90a
  char suffix = 0;                   // 0, 'a' or 'f'
  std::string text;                  // "sm_90a"
  std::vector<std::string> options;  // the rest of the directive: "debug", "texmode_independent", ...
};

// A variable of .global, .const, .shared, .local or .param space, or a `.reg` parameter of a function.
struct Variable {
  std::string name;
  Space space = Space::none;
  Type type = Type::none;
  std::uint32_t alignment = 0;            // bytes; 0: not given (natural alignment applies)
  std::uint64_t size = 0;                 // bytes; 0 for `[]` (extern shared: the launch's dynamic shared memory)
  std::vector<std::uint64_t> dimensions;  // array extents; 0 for an unsized one; empty for a scalar
  bool is_extern = false, is_visible = false, is_weak = false, is_common = false;
  std::vector<std::byte> initial;  // little-endian; empty when there is no initialiser
  // Address-valued initialiser words: byte offset in `initial` -> variable name + addend.
  struct Relocation {
    std::uint64_t offset;
    std::string symbol;
    std::int64_t addend;
    bool is_generic;
    std::uint64_t mask;  // eight ones: that byte of the address, `0xFF00(symbol)`; 0: the whole
  };
  std::vector<Relocation> relocations;
  // For kernel parameters: ".ptr.space.align".
  struct PointerAttribute {
    Space space = Space::none;
    std::uint32_t alignment = 0;
  };
  std::optional<PointerAttribute> pointer;
  RegId reg = 0;  // of a `.reg` parameter: the register, or the first of a vector's `dimensions[0]`
  Span span;
};

struct Register {
  std::string name;
  Type type = Type::none;
  Span span;
};

enum class Special : std::uint16_t {
  tid,
  ntid,
  laneid,
  warpid,
  nwarpid,
  ctaid,
  nctaid,
  smid,
  nsmid,
  gridid,
  is_explicit_cluster,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  pm,
  pm64,
  envreg,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  reserved_smem_offset,
  total_smem_size,
  aggr_smem_size,
  dynamic_smem_size,
  current_graph_exec,
  warp_sz
};

inline constexpr std::uint8_t kAllAxes = 0xff;

struct Operand {
  enum class Kind : std::uint8_t {
    Reg,       // reg; is_negated for `!%p`
    Int,       // integer: 64 bits, sign-extended when it was written negative
    Float,     // real: as written 0f.. (f32 bits in integer), 0d.. (f64 bits in integer) or decimal (f64 bits)
    Special,   // special, axis (0 x, 1 y, 2 z, or the index of pm/envreg; kAllAxes: the whole vector)
    Variable,  // variable name as an address value: `symbol` or `symbol+offset`
    Function,  // callee or function address
    Label,
    Address,  // [base+offset], [base, {coordinates}] or [base, sampler, {coordinates}]: elements hold what follows;
              // base is a Reg, Variable or nothing (absolute)
    Vector,   // { a, b, ... }
    Pair,     // p|q : elements[0], elements[1]
    Sink,     // _
    List,     // ( a, b ) of call
  };
  enum class FloatKind : std::uint8_t { F32Bits, F64Bits, Decimal };

  Kind kind = Kind::Sink;
  bool is_negated = false;  // `!` before a predicate, `-` before an identifier never occurs in PTX
  FloatKind float_kind = FloatKind::Decimal;
  enum class Base : std::uint8_t { None, Reg, Variable } base = Base::None;
  std::uint8_t axis = 0;
  bool is_unsigned_literal = false;  // integer literal with a U suffix or above 2^63-1
  Special special = Special::tid;
  RegId reg = 0;       // Reg; Address with a register base
  VarId variable = 0;  // Variable; Address with a variable base
  LabelId label = 0;
  std::int64_t integer = 0;  // Int; Float bits; byte offset of Variable and Address
  std::string_view symbol;   // of the text. Function: its name; Reg: a video instruction's selector, "b0", "h10"
  std::vector<Operand> elements;
  Span span;
};

struct Guard {
  RegId reg = 0;
  bool is_negated = false;
};

// An instruction's words. Files repeat few of them many times, so a module keeps each once.
struct Spelling {
  std::string_view opcode;  // the first word as written; a row may have several (`add` and `addc`)
  Form form{};              // the first row of the opcode
  std::vector<Mod> mods;
  std::uint32_t index = 0;  // in Module::spellings
};

struct Instr {
  Form form{};                 // row of the form table; see form.h
  std::uint32_t spelling = 0;  // index into Module::spellings
  std::string_view opcode;     // of the spelling
  std::span<const Mod> mods;   // of the spelling: every dotted word, in the order written, types included
  std::optional<Guard> guard;
  std::vector<Operand> operands;  // in the order written
  Span span;                      // the whole statement
  Span opcode_span;

  bool has(Mod mod) const;
  // The n-th type word (`cvt.rn.bf16.f32`: type(0) = bf16, type(1) = f32); Type::none when there are fewer.
  Type type(unsigned n = 0) const;
};

// A function body is a flat list, so that an index is a program counter. Scopes are kept for printing and name lookup.
struct Statement {
  enum class Kind : std::uint8_t {
    Instr,
    Label,
    ScopeBegin,
    ScopeEnd,
    Registers,
    Variable,
    Loc,
    Pragma,
    BranchTargets,
    CallPrototype,
    CallTargets
  };
  Kind kind = Kind::Instr;
  std::uint32_t index = 0;  // Instr: into Function::instrs; Label: LabelId; Variable: VarId; Loc: into Function::locs;
                            // Registers: first RegId; others: into Function::texts
  std::uint32_t count = 0;  // Registers: how many
  Span span;
};

struct Loc {
  std::uint32_t file = 0, line = 0, column = 0;
  std::string rest;
};

struct Label {
  std::string name;
  std::uint32_t statement = 0;  // index in Function::body
  Span span;
  std::vector<LabelId> branch_targets;  // for a .branchtargets list declared under this name
};

struct Function {
  std::string name;
  bool is_entry = false, is_visible = false, is_extern = false, is_weak = false, is_declaration = false;
  std::vector<VarId> parameters;
  std::vector<VarId> results;  // .func only
  // Performance directives, absent when not given.
  std::array<std::uint32_t, 3> reqntid{}, maxntid{}, reqnctapercluster{};
  std::uint32_t minnctapersm = 0, maxnreg = 0, maxclusterrank = 0;
  bool explicit_cluster = false, noreturn = false;
  std::vector<std::string> pragmas;  // strings; and, as text, directives such as ".abi_preserve 8"
  std::vector<Register> registers;
  std::vector<Instr> instrs;
  std::vector<Label> labels;
  std::vector<Loc> locs;
  std::vector<std::string> texts;
  std::vector<Statement> body;
  Span span;
};

// One item of module scope, in order, for the printer.
struct Item {
  enum class Kind : std::uint8_t { Variable, Function, File, Section, Pragma, Alias };
  Kind kind = Kind::Variable;
  std::uint32_t index = 0;  // Variable: VarId; Function: into functions; others: into texts
};

struct Module {
  SourcePtr source;
  Version version;
  Target target;
  int address_size = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> texts;  // .file, .section and .pragma items, white space normalised
  std::vector<Item> items;
  std::shared_ptr<const std::deque<Spelling>> spellings;  // shared by copies, whose instructions look into it, too

  const Function* find_entry(std::string_view name) const;  // null when there is none
};

// A module that the validator accepts: every instruction matches a form that its version and target have, every name is
// declared, every operand has a type that the form allows. Only `check` builds one; the machine takes nothing else.
class CheckedModule {
 public:
  const Module& operator*() const { return *module_; }
  const Module* operator->() const { return module_.get(); }

 private:
  friend std::optional<CheckedModule> check(Module module, Findings& findings);
  explicit CheckedModule(std::shared_ptr<const Module> module) : module_(std::move(module)) {}
  std::shared_ptr<const Module> module_;  // shared: programs and findings of one module point into it
};

// Reads what it can and reports every error that is not a consequence of another. Null when there were errors.
std::optional<Module> parse(SourcePtr source, Findings& findings);
std::optional<CheckedModule> check(Module module, Findings& findings);
inline std::optional<CheckedModule> load(SourcePtr source, Findings& findings) {
  std::optional<Module> module = parse(std::move(source), findings);
  if (!module) return std::nullopt;
  return check(std::move(*module), findings);
}
std::string print(const Module& module);
bool equal(const Module& a, const Module& b);  // the same tree; places are not compared

}  // namespace plumb::ptx
