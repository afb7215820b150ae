// SPDX-License-Identifier: Apache-2.0
// The recursive-descent reader behind `parse`: one class, its parts by what they read (module items, bodies, operands).
// After an error it skips to the next statement, so that every independent error of a file is reported.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/match.h"
#include "ptx/module.h"
#include "ptx/text_hash.h"

namespace plumb::ptx {

// Limits that keep any input from exhausting memory or the stack.
inline constexpr std::size_t kMostRegisters = 1u << 20;
inline constexpr std::size_t kDeepestScope = 64;
inline constexpr std::uint64_t kLargestVariable = 1ull << 32;     // bytes declared
inline constexpr std::uint64_t kLargestInitialiser = 1ull << 26;  // bytes written out
inline constexpr std::size_t kMostFindings = 50;

class Parser {
 public:
  Parser(SourcePtr source, Findings& findings);
  std::optional<Module> run();

 private:
  struct Name {
    enum class Kind : std::uint8_t { Register, Variable, Label } kind = Kind::Register;
    std::uint32_t index = 0;
    Span span;
    std::uint8_t lanes = 1;  // of a register declared `.v2` or `.v4`: so many registers from `index` on
  };
  using Names = std::unordered_map<std::string_view, Name, TextHash>;
  struct PendingLabel {
    std::string_view name;
    Span span;
    std::uint32_t instr = 0;  // index in instrs; kTargets: a .branchtargets list
    std::uint32_t operand = 0;
    bool wants_list = false;  // `brx.idx`: of a .branchtargets
  };
  // `.reg .b32 %r<100>` declares %r0 to %r99 as one entry.
  struct Range {
    std::string_view prefix;
    RegId first = 0;
    std::uint32_t count = 0;
    Span span;
    std::uint8_t lanes = 1;
  };
  struct Constant {
    bool is_real = false, is_unsigned = false;
    std::uint64_t bits = 0;
    double real = 0;
    bool is_true() const { return is_real ? real != 0 : bits != 0; }
  };
  struct Scope {
    Names names;
    std::vector<Range> ranges;
    std::vector<PendingLabel> pending;
  };
  static constexpr std::uint32_t kTargets = ~0u;
  struct Linkage {
    bool is_visible = false, is_extern = false, is_weak = false, is_common = false;
    Span span;
    bool any() const { return is_visible || is_extern || is_weak || is_common; }
  };

  // -- tokens --
  const Token& peek() const { return token_; }
  void advance();
  Token take();
  bool accept(char punct);
  bool accept_dot(std::string_view word);
  bool expect(char punct, std::string_view where);
  std::optional<std::uint64_t> expect_integer(std::string_view what);
  Place place(Span span) const { return {module_.source, span}; }
  // Reports unless this statement already failed; always returns false.
  bool fail(const Code& code, std::string message, Span span, std::string hint = {});
  bool unexpected(std::string_view wanted);
  bool expect_end(std::string_view where);
  // From a statement that began there and failed: to after its `;`, or before the `}` around it or the end.
  void recover(std::uint32_t begin);
  void forgive(std::uint32_t begin);
  std::string describe(const Token& token) const;

  // -- module (parser.cpp) --
  bool looks_like_text();
  void item();
  bool plain_item();
  bool variable_item(const Linkage& link);
  void raw_item(Item::Kind kind, std::string text);
  bool has_debug_information() const;
  void resolve_all();

  // -- version and target (parse_header.cpp) --
  void header();
  bool version_directive();
  bool target_directive();
  bool target_name(const Token& word);
  bool target_option(const Token& word);

  // -- directives (parse_directive.cpp) --
  bool needs(std::string_view what, Version version, int sm, Span span);
  bool linkage(Linkage& out);
  bool attribute(bool is_function);
  bool pragma_string(const Token& text, bool is_in_body);
  bool pragma_strings(bool is_in_body, std::vector<std::string>* out);
  bool pragma_item();
  bool pragma_statement();
  const Function* last_function(std::string_view name) const;
  bool alias_item();
  bool count(std::uint32_t& out);
  bool counts(std::array<std::uint32_t, 3>& out);
  bool directives();
  bool entry_directive();
  bool call_directives(bool& is_noreturn, std::vector<std::string>& out);
  bool prototype_list(std::vector<Variable>& out, bool is_result);
  bool call_prototype(LabelId label);
  bool call_targets(LabelId label);
  void add_text(Statement::Kind kind, Span span);
  bool is_same_signature(const Function& a, const Function& b, std::string& why) const;
  bool goes_with_earlier(Span name, bool is_defined);

  // -- for debuggers (parse_debug.cpp) --
  std::string normalised(std::uint32_t begin) const;  // the text from there to the last token
  bool expect_word32(std::uint32_t& out, std::string_view what);
  bool file_item();
  bool section_item();
  bool section_word();
  bool section_data();
  bool section_address(bool is_wide);
  bool section_number(unsigned bits);
  bool loc();
  bool inlined(Loc& out);

  // -- variables (parse_variable.cpp) --
  static Space space_of(std::string_view word);
  bool variable(Space space, const Linkage& link, std::vector<VarId>& out);
  bool variable_head(Variable& base, unsigned& lanes, const Linkage& link);
  bool variable_value(Variable& variable, unsigned lanes);
  bool numbered_variables(const Variable& base, const Token& name, unsigned lanes, std::vector<VarId>& out);
  void resolve(Operand& operand) const;
  bool declare_variable(Variable variable, std::string_view name, std::vector<VarId>& out);
  bool goes_with_earlier(const Variable& variable, VarId earlier) const;
  bool goes_in(Type type, Space space, bool is_kernel_parameter, Span span);
  bool alignment(std::uint32_t& out);
  bool parameter(std::vector<VarId>& out, bool is_result);
  bool parameter_words(Variable& one, unsigned& lanes, bool is_result);
  bool reference_states(Variable& variable);
  bool reference_state(Type type);
  bool register_parameter(Variable one, unsigned lanes, std::vector<VarId>& out);
  std::optional<Type> type_word();
  unsigned vector_word();  // `.v2` or `.v4` of a declaration; 1 where there is none
  bool widen(Variable& variable, unsigned lanes);
  bool array_dimensions(Variable& variable);
  bool is_complete(const Variable& variable, bool may_be_open);
  bool initialiser(Variable& variable, unsigned lanes);
  bool initial_values(Variable& variable, std::uint64_t& offset, unsigned depth, unsigned lanes);
  bool initial_value(Variable& variable, std::uint64_t& offset);
  bool initial_address(Variable& variable, std::uint64_t offset, bool is_masked);
  bool initial_symbol(const Token& name, bool is_computed);
  static bool initial_bits(const Variable& variable, const Operand& value, std::uint64_t& bits);
  VarId add_variable(Variable variable);

  // -- functions (parse_body.cpp) --
  void function(bool is_entry, const Linkage& link);
  bool head();
  bool parameter_list(std::vector<VarId>& out, bool is_result);
  bool parameters_fit(Span name);
  void body(Span open);
  void statement();
  void body_directive();
  bool registers();
  void check_calls();
  bool label_fits(const PendingLabel& pending, LabelId label);
  bool branch_targets(LabelId label);
  void label(const Token& name);
  bool instruction();
  bool guard(Instr& instr);
  const Spelling* spelling();
  void open_scope();
  void close_scope();
  void add(Statement::Kind kind, std::uint32_t index, Span span, std::uint32_t count = 0);
  bool is_free_name(std::string_view name, Span span, bool is_of_module);
  bool declare(std::string_view name, Name entry);
  bool declare_range(const Range& range);
  bool one_register(Type type, unsigned lanes, Span span);
  void add_register(const std::string& name, Type type, unsigned lanes, Span span);
  static const Range* find_range(const Scope& scope, std::string_view name, RegId& index);
  std::optional<Name> find(std::string_view name) const;

  // -- operands (parse_operand.cpp) --
  bool operand(Operand& out, unsigned depth = 0);
  bool address(Operand& out);
  bool second_of_pair(Operand& out);
  bool word_operand(Operand& out);
  bool special(std::string_view word, Operand& out);
  bool literal(Operand& out, bool is_minus);
  std::size_t commas_before(char close) const;
  bool list(Operand& out, char close, unsigned depth);
  bool offset(Operand& out);
  bool is_label_operand() const;
  bool register_operand(const Name& known, Operand& out);
  bool undeclared(const Token& word);
  std::string nearest_name(std::string_view word) const;

  // -- constant expressions (parse_constant.cpp) --
  std::string_view binary_operator(int& precedence) const;
  bool expression(Constant& out, unsigned depth);
  bool conditional(Constant& out, unsigned depth);
  bool unary(Constant& out, unsigned depth);
  bool climb(Constant& left, int lowest, unsigned depth);
  bool apply(std::string_view op, Constant& left, const Constant& right, Span span);
  bool apply_real(std::string_view op, Constant& left, const Constant& right, Span span);
  bool to_constant(const Operand& value, Constant& out);
  bool constant(Operand& out);
  bool rest_of_constant(Constant value, std::uint32_t begin, Operand& out);
  bool offset_sum(std::int64_t& to);

  Module module_;
  Findings& findings_;
  Lexer lexer_;
  Token token_;
  std::uint32_t last_end_ = 0;
  bool has_failed_ = false;  // the present statement has an error already
  bool any_error_ = false;
  Names globals_;
  std::unordered_set<std::string_view, TextHash> forgiven_;  // names that are not told of (again) where undeclared
  std::vector<Scope> scopes_;
  std::vector<std::pair<VarId, VarId>> resolved_;  // an .extern declaration, and the definition that followed it
  std::unordered_set<std::string_view, TextHash> aliases_;
  std::unordered_set<std::uint32_t> files_;        // indices of `.file`
  std::set<std::array<std::uint32_t, 3>> places_;  // of every `.loc` so far
  std::deque<std::string> made_names_;             // of `name<count>`
  std::vector<Prototype> prototypes_;              // of the function being read
  bool has_cluster_shape_ = false;                 // the head being read has `.reqnctapercluster`
  std::shared_ptr<std::deque<Spelling>> spellings_ = std::make_shared<std::deque<Spelling>>();
  std::unordered_map<std::string_view, const Spelling*, TextHash> spelling_of_;  // by text
  Function* function_ = nullptr;
  // The instruction being read, for labels.
  std::string_view opcode_;
  bool reads_whole_special_ = false;  // `mov.v4`
  std::uint32_t operand_index_ = 0;
};

std::string nearest_opcode(std::string_view word);    // "did you mean `ld`?", or empty
std::string nearest_modifier(std::string_view word);  // the same for a dotted word
std::optional<std::uint64_t> read_integer(
    std::string_view text);  // literals with U, 0x, 0b, 0; null when malformed or too large

}  // namespace plumb::ptx
