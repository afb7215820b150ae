// SPDX-License-Identifier: Apache-2.0
// Decoding of an entry: lays out registers, constants and variables, and answers what the meanings ask about operands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/decoded.h"
#include "machine/meaning.h"
#include "machine/pack.h"

namespace plumb::machine {

class Decoder final : public DecodeContext {
 public:
  // Decoding goes twice over the instructions: the first time to see what they do with their registers, the second
  // time, `after` the first, with registers packed.
  Decoder(const ptx::Module& module, std::uint32_t entry, std::uint32_t shared_start, const Decoder* after = nullptr);

  // The functions to decode, the entry first.
  const std::vector<std::uint32_t>& reachable() const { return reachable_; }
  void enter_function(std::uint32_t function) { function_ = function; }
  void enter_instr(std::uint32_t instr) { instr_ = instr; }
  Layout take_layout();
  PredSlot pred_slot(ptx::RegId reg);
  // Why the instruction since the last call is not modelled; empty when nothing was said.
  std::string take_reason() { return std::exchange(reason_, {}); }
  std::uint32_t add_reason(std::string reason);
  const Layout& layout() const { return layout_; }

  Slot source(const ptx::Operand& operand, ptx::Type type) override;
  Slot dest(const ptx::Operand& operand) override;
  unsigned width(const ptx::Operand& operand) const override;
  Address address(const ptx::Operand& operand, bool to_generic) override;
  PredRef pred_source(const ptx::Operand& operand) override;
  PredSlot pred_dest(const ptx::Operand& operand) override;
  PredSlot carry() override;
  std::uint32_t list(const std::vector<Slot>& slots) override;
  void hold(const ptx::Operand& operand) override;
  // For Op::watch: the held registers that the current instruction touches.
  std::uint32_t watch_list();
  std::uint32_t target(ptx::LabelId label) override;
  std::uint32_t branch_table(ptx::LabelId targets) override;
  std::optional<std::uint32_t> call_site(const ptx::Instr& instr) override;
  std::uint32_t indirect_call(const ptx::Instr& instr, Slot& address, unsigned& bytes) override;
  const ptx::Module& module() const override { return module_; }
  const ptx::Function& function() const override { return module_.functions[function_]; }
  void unmodelled(std::string reason) override;

 private:
  void lay_out_variables(std::uint32_t entry);
  void place_variable(ptx::VarId id);
  // Variables of a function that are not the entry's parameters.
  void place_variables_of(std::uint32_t function, bool is_entry);
  void place_dynamic_shared();
  // Of the module's variable of that name; null where it has no place.
  const VariablePlace* place_of(std::string_view symbol) const;
  void displace_unresolved();
  void fill_images();
  void lay_out_registers(std::uint32_t function, const Decoder* after);
  void use(ptx::RegId reg) { touches_[function_][instr_].uses.push_back(reg); }
  void def(ptx::RegId reg);
  Slot new_slot(unsigned width);
  Slot constant(std::uint64_t value, unsigned width, bool is_shared_address = false);
  std::optional<std::uint64_t> literal(const ptx::Operand& operand, ptx::Type type);
  // The register that holds the address of a place in the frame of the current function.
  Slot frame_address(std::uint64_t offset, unsigned width);
  // What an initial value takes for a name; none: nothing here fixes it.
  std::optional<std::uint64_t> address_of(const ptx::Variable::Relocation& relocation) const;

  // -- Calls (layout_calls.cpp).
  std::optional<std::uint32_t> find_body(std::string_view name) const;  // of a function of the module
  void find_reachable(std::uint32_t entry);
  std::optional<PassedAt> passed(const ptx::Operand& operand, const ptx::Variable& formal, bool is_result);
  std::optional<PassedAt> formal_place(std::uint32_t function, const ptx::Variable& formal, ptx::VarId id) const;
  // The call of one function; none: it does not go with what the instruction passes.
  std::optional<std::uint32_t> add_call(const ptx::Instr& instr, std::uint32_t callee);
  std::vector<std::uint32_t> possible_callees(const ptx::Function& function, const ptx::Instr& call) const;

  const ptx::Module& module_;
  Layout layout_;
  std::vector<std::uint32_t> reachable_;
  std::vector<std::uint32_t> taken_;  // functions whose address is taken
  std::map<std::tuple<std::uint32_t, std::uint64_t, unsigned>, Slot> frame_addresses_;  // function, offset, width
  std::vector<std::vector<std::uint32_t>> regs_;          // by function and RegId: Slot or PredSlot
  std::vector<std::vector<std::uint32_t>> label_instrs_;  // by function and LabelId: instruction that follows
  std::map<std::tuple<std::uint64_t, unsigned, bool>, Slot> constants_;
  std::map<std::pair<unsigned, unsigned>, Slot> specials_;  // (special, axis), width
  std::vector<ptx::VarId> const_variables_, global_variables_;
  std::uint64_t next_global_ = kModuleGlobals;
  std::vector<std::vector<Touches>> touches_;  // by function and instruction
  std::vector<std::vector<bool>> is_held_;     // by function and RegId; empty where no register is
  std::uint32_t function_ = 0, instr_ = 0;
  PredSlot carry_ = kNoPred;  // made when it is first asked for
  std::string reason_;
};

}  // namespace plumb::machine
