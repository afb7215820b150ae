// SPDX-License-Identifier: Apache-2.0
#include "machine/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace plumb::machine {

namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Special;

constexpr std::uint32_t kSlotAlignment = 64;
constexpr std::uint64_t kGlobalGap = 4096;  // between module variables, so that an overrun meets nothing
// What a variable may take; larger ones get no place, and using one is unmodelled. The windows are 16 MiB.
constexpr std::uint64_t kMaxPlaced = std::uint64_t{1} << 22;
constexpr std::uint64_t kMaxGlobals = std::uint64_t{1} << 28;

std::uint64_t alignment_of(const ptx::Variable& variable) {
  return variable.alignment != 0 ? variable.alignment : std::max(1u, ptx::byte_size(variable.type));
}

// Special registers whose value the launch and the thread fix.
bool is_known(Special special) {
  switch (special) {
    case Special::tid:
    case Special::ntid:
    case Special::laneid:
    case Special::warpid:
    case Special::nwarpid:
    case Special::ctaid:
    case Special::nctaid:
    case Special::clusterid:
    case Special::nclusterid:
    case Special::cluster_ctaid:
    case Special::cluster_nctaid:
    case Special::cluster_ctarank:
    case Special::cluster_nctarank:
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt:
    case Special::total_smem_size:
    case Special::dynamic_smem_size:
    case Special::warp_sz:
      return true;
    default:
      return false;
  }
}

}  // namespace

ParamLayout param_layout(const ptx::Module& module, const ptx::Function& entry) {
  ParamLayout out;
  std::uint64_t at = 0;
  for (const ptx::VarId id : entry.parameters) {
    const ptx::Variable& parameter = module.variables[id];
    at = aligned(at, alignment_of(parameter));
    out.offsets.push_back(static_cast<std::uint32_t>(at));
    out.sizes.push_back(static_cast<std::uint32_t>(parameter.size));
    at += parameter.size;
  }
  out.size = static_cast<std::uint32_t>(at);
  return out;
}

Decoder::Decoder(const ptx::Module& module, std::uint32_t entry, std::uint32_t shared_start, const Decoder* after)
    : module_(module) {
  layout_.shared_start = layout_.static_shared = shared_start;
  layout_.functions.resize(module.functions.size());
  layout_.variables.resize(module.variables.size());
  layout_.reg_bytes = 8 * kLanes * 2;  // slot 0: what `_` names, as wide as the widest register
  regs_.resize(module.functions.size());
  label_instrs_.resize(module.functions.size());
  touches_.resize(module.functions.size());
  is_held_.resize(module.functions.size());
  find_reachable(entry);
  lay_out_variables(entry);
  std::uint32_t first = 0;
  for (const std::uint32_t function : reachable_) {
    const auto count = static_cast<std::uint32_t>(module.functions[function].instrs.size());
    FunctionPlace& place = layout_.functions[function];
    place.first = first, place.count = count, place.is_decoded = true;
    first += count + 1;
    lay_out_registers(function, after);
  }
  layout_.variable_bytes = layout_.reg_bytes;
}

void Decoder::lay_out_variables(std::uint32_t entry) {
  std::vector<bool> is_local_scope(module_.variables.size());
  for (const ptx::Function& function : module_.functions) {
    for (const ptx::VarId id : function.parameters) is_local_scope[id] = true;
    for (const ptx::VarId id : function.results) is_local_scope[id] = true;
    for (const ptx::Statement& statement : function.body) {
      if (statement.kind == ptx::Statement::Kind::Variable) is_local_scope[statement.index] = true;
    }
  }
  const ptx::Function& the_entry = module_.functions[entry];
  layout_.params = param_layout(module_, the_entry);
  for (std::size_t i = 0; i < the_entry.parameters.size(); ++i) {
    layout_.variables[the_entry.parameters[i]] = {Space::param, layout_.params.offsets[i], true};
  }
  for (ptx::VarId id = 0; id < module_.variables.size(); ++id) {
    if (!is_local_scope[id]) place_variable(id);
  }
  for (const std::uint32_t index : reachable_) place_variables_of(index, index == entry);
  place_dynamic_shared();
  displace_unresolved();
  fill_images();
}

void Decoder::place_variables_of(std::uint32_t index, bool is_entry) {
  const ptx::Function& function = module_.functions[index];
  FunctionPlace& owned = layout_.functions[index];
  owned.params.begin = layout_.call_param_bytes;
  owned.locals.begin = owned.is_recursive ? 0 : layout_.local_bytes;
  std::uint64_t frame = 0;
  if (!is_entry) {
    for (const ptx::VarId id : function.parameters) place_variable(id);
    for (const ptx::VarId id : function.results) place_variable(id);
  }
  for (const ptx::Statement& statement : function.body) {
    if (statement.kind != ptx::Statement::Kind::Variable) continue;
    const ptx::Variable& variable = module_.variables[statement.index];
    if (!owned.is_recursive || variable.space != Space::local) {
      place_variable(statement.index);
      continue;
    }
    const std::uint64_t at = aligned(frame, alignment_of(variable));
    if (alignment_of(variable) > kFrameAlignment || variable.size > kMaxPlaced || at + variable.size > kMaxPlaced)
      continue;
    layout_.variables[statement.index] = {Space::local, at, true, true};
    frame = at + variable.size;
  }
  owned.params.end = layout_.call_param_bytes;
  owned.locals.end = owned.is_recursive ? static_cast<std::uint32_t>(frame) : layout_.local_bytes;
}

void Decoder::place_variable(ptx::VarId id) {
  const ptx::Variable& variable = module_.variables[id];
  VariablePlace& place = layout_.variables[id];
  if (place.is_placed) return;
  const std::uint64_t alignment = alignment_of(variable);
  place.space = variable.space;
  const auto take = [&](std::uint32_t& end, std::uint64_t base) {
    const std::uint64_t at = aligned(end, alignment);
    if (variable.size > kMaxPlaced || at + variable.size > kMaxPlaced) return;
    end = static_cast<std::uint32_t>(at + variable.size);
    place.address = base + at;
    place.is_placed = true;
  };
  switch (variable.space) {
    case Space::shared:
      // Dynamic shared memory comes after all others.
      if (variable.size != 0) take(layout_.static_shared, 0);
      break;
    case Space::local:
      take(layout_.local_bytes, 0);
      break;
    case Space::param:
      take(layout_.call_param_bytes, kCallParams);
      break;
    case Space::constant: {
      auto end = static_cast<std::uint32_t>(layout_.const_image.size());
      take(end, 0);
      layout_.const_image.resize(end);
      if (place.is_placed) const_variables_.push_back(id);
      break;
    }
    case Space::global: {
      const std::uint64_t at = aligned(next_global_, std::max<std::uint64_t>(alignment, 256));
      if (variable.size > kMaxGlobals || at + variable.size - kModuleGlobals > kMaxGlobals) return;
      next_global_ = at + variable.size + kGlobalGap;
      layout_.globals.push_back({variable.name, at, std::vector<std::byte>(variable.size)});
      place.address = at;
      place.is_placed = true;
      global_variables_.push_back(id);
      break;
    }
    default:
      break;
  }
}

void Decoder::place_dynamic_shared() {
  std::uint64_t alignment = 16;
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space == Space::shared && variable.size == 0) alignment = std::max(alignment, alignment_of(variable));
  }
  layout_.static_shared = static_cast<std::uint32_t>(aligned(layout_.static_shared, alignment));
  for (ptx::VarId id = 0; id < module_.variables.size(); ++id) {
    const ptx::Variable& variable = module_.variables[id];
    if (variable.space == Space::shared && variable.size == 0) {
      layout_.variables[id] = {Space::shared, layout_.static_shared, true};
    }
  }
}

// A declaration gives way to its definition; of two variables of one name in different scopes it is not known which.
const VariablePlace* Decoder::place_of(std::string_view symbol) const {
  const VariablePlace *declared = nullptr, *defined = nullptr;
  for (ptx::VarId id = 0; id < module_.variables.size(); ++id) {
    if (module_.variables[id].name != symbol || !layout_.variables[id].is_placed) continue;
    const VariablePlace*& to = module_.variables[id].is_extern ? declared : defined;
    if (to != nullptr && !module_.variables[id].is_extern) return nullptr;
    to = &layout_.variables[id];
  }
  return defined != nullptr ? defined : declared;
}

std::optional<std::uint64_t> Decoder::address_of(const ptx::Variable::Relocation& relocation) const {
  if (const VariablePlace* const place = place_of(relocation.symbol)) {
    if (place->is_in_frame) return std::nullopt;
    return place->address + (relocation.is_generic ? window(place->space) : 0);
  }
  const std::optional<std::uint32_t> function = find_body(relocation.symbol);
  if (!function || module_.functions[*function].is_entry) return std::nullopt;
  return kFunctions + *function * kFunctionStep;
}

// An image with an address that nothing here fixes (of a kernel, of a variable without a place) would be wrong: its
// variable loses its place, and so does whatever holds its address.
void Decoder::displace_unresolved() {
  const auto has_target = [&](const ptx::Variable::Relocation& relocation) {
    return address_of(relocation).has_value();
  };
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (ptx::VarId id = 0; id < module_.variables.size(); ++id) {
      const auto& relocations = module_.variables[id].relocations;
      bool& has_place = layout_.variables[id].is_placed;
      if (!has_place || std::all_of(relocations.begin(), relocations.end(), has_target)) continue;
      has_place = false;
      is_changed = true;
    }
  }
}

// Initial bytes, with addresses of other variables put in.
void Decoder::fill_images() {
  const auto fill = [&](const ptx::Variable& variable, std::byte* image) {
    std::copy_n(variable.initial.begin(), std::min<std::size_t>(variable.initial.size(), variable.size), image);
    for (const ptx::Variable::Relocation& relocation : variable.relocations) {
      const std::optional<std::uint64_t> base = address_of(relocation);
      if (!base || relocation.offset >= variable.size) continue;
      std::uint64_t address = *base + static_cast<std::uint64_t>(relocation.addend);
      if (relocation.mask != 0) address = (address & relocation.mask) >> std::countr_zero(relocation.mask);
      const std::uint64_t room = variable.size - relocation.offset;
      std::memcpy(image + relocation.offset, &address, std::min<std::uint64_t>(room, ptx::byte_size(variable.type)));
    }
  };
  for (const ptx::VarId id : const_variables_) {
    fill(module_.variables[id], layout_.const_image.data() + layout_.variables[id].address);
  }
  for (std::size_t i = 0; i < global_variables_.size(); ++i) {
    fill(module_.variables[global_variables_[i]], layout_.globals[i].bytes.data());
  }
}

void Decoder::lay_out_registers(std::uint32_t index, const Decoder* after) {
  const ptx::Function& function = module_.functions[index];
  touches_[index].resize(function.instrs.size());
  label_instrs_[index].assign(function.labels.size(), static_cast<std::uint32_t>(function.instrs.size()));
  auto next = static_cast<std::uint32_t>(function.instrs.size());
  for (auto it = function.body.rbegin(); it != function.body.rend(); ++it) {
    if (it->kind == ptx::Statement::Kind::Instr) next = it->index;
    if (it->kind == ptx::Statement::Kind::Label) label_instrs_[index][it->index] = next;
  }
  Packing packing;
  std::vector<Slot> slots;
  if (after != nullptr) {
    std::vector<Touches> known = after->touches_[index];
    // Parameters and results that are registers are there before the first instruction and after the last.
    for (const std::vector<ptx::VarId>* ids : {&function.parameters, &function.results}) {
      for (const ptx::VarId id : *ids) {
        const ptx::Variable& variable = module_.variables[id];
        if (variable.space == Space::reg && !known.empty()) known[0].held.push_back(variable.reg);
      }
    }
    packing = pack_registers(function, known, label_instrs_[index]);
    std::vector<FunctionPlace::Register>& owned = layout_.functions[index].registers;
    for (const std::uint32_t width : packing.widths) {
      slots.push_back(new_slot(width));
      for (std::uint32_t plane = 0; plane < width; plane += 8) {
        owned.push_back({slots.back() + plane * kLanes, static_cast<std::uint8_t>(std::min(width, 8u))});
      }
    }
    for (const Touches& touches : after->touches_[index]) {
      for (const ptx::RegId reg : touches.held) {
        is_held_[index].resize(function.registers.size());
        is_held_[index][reg] = true;
      }
    }
  }
  for (std::uint32_t reg = 0; reg < function.registers.size(); ++reg) {
    const ptx::Type type = function.registers[reg].type;
    if (type == ptx::Type::pred) {
      regs_[index].push_back(kNoPred);  // when it is first used
    } else if (after == nullptr) {
      regs_[index].push_back(new_slot(storage_width(type)));
    } else {
      regs_[index].push_back(packing.group[reg] == Packing::kNone ? 0 : slots[packing.group[reg]]);
    }
  }
}

PredSlot Decoder::pred_slot(ptx::RegId reg) {
  std::uint32_t& slot = regs_[function_][reg];
  if (slot == kNoPred) slot = layout_.pred_count++;
  return slot;
}

void Decoder::def(ptx::RegId reg) {
  Touches& touches = touches_[function_][instr_];
  if (function().instrs[instr_].guard) touches.uses.push_back(reg);
  touches.defs.push_back(reg);
}

Layout Decoder::take_layout() {
  for (const std::uint32_t index : reachable_) {
    FunctionPlace& place = layout_.functions[index];
    const ptx::Function& function = module_.functions[index];
    for (std::uint32_t reg = 0; reg < function.registers.size(); ++reg) {
      const bool is_used = function.registers[reg].type == ptx::Type::pred && regs_[index][reg] != kNoPred;
      if (is_used) place.preds.push_back(regs_[index][reg]);
    }
    for (const auto& address : place.frame_addresses) place.registers.push_back(address.reg);
  }
  return std::move(layout_);
}

Slot Decoder::frame_address(std::uint64_t offset, unsigned width) {
  const auto [it, is_new] = frame_addresses_.try_emplace({function_, offset, width}, 0);
  if (is_new) {
    it->second = new_slot(width);
    layout_.functions[function_].frame_addresses.push_back({{it->second, static_cast<std::uint8_t>(width)}, offset});
  }
  return it->second;
}

Slot Decoder::new_slot(unsigned width) {
  const Slot slot = layout_.reg_bytes;
  layout_.reg_bytes += static_cast<std::uint32_t>(aligned(std::uint64_t{width} * kLanes, kSlotAlignment));
  return slot;
}

void Decoder::unmodelled(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

std::uint32_t Decoder::add_reason(std::string reason) {
  layout_.reasons.push_back(std::move(reason));
  return static_cast<std::uint32_t>(layout_.reasons.size() - 1);
}

Slot Decoder::constant(std::uint64_t value, unsigned width, bool is_shared_address) {
  if (width < 8) value &= (std::uint64_t{1} << (8 * width)) - 1;
  const auto [it, is_new] = constants_.try_emplace({value, width, is_shared_address}, 0);
  if (is_new) {
    it->second = new_slot(width);
    layout_.constants.push_back({it->second, static_cast<std::uint8_t>(width), value, is_shared_address});
  }
  return it->second;
}

// The bits of a literal read as a type; empty when it has none.
std::optional<std::uint64_t> Decoder::literal(const Operand& operand, ptx::Type type) {
  const auto bits = static_cast<std::uint64_t>(operand.integer);
  if (operand.kind == Operand::Kind::Int) {
    if (type == ptx::Type::f32 || type == ptx::Type::f64) {
      unmodelled("an integer literal where a float is read");
      return std::nullopt;
    }
    return bits;
  }
  const unsigned size = ptx::byte_size(type);
  if (operand.float_kind == Operand::FloatKind::F32Bits) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (size == 4) return static_cast<std::uint32_t>(bits);
    if (size == 8) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  } else {
    const auto value = std::bit_cast<double>(bits);
    if (size == 8) return bits;
    if (size == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  unmodelled("a float literal where " + std::to_string(8 * size) + " bits are read");
  return std::nullopt;
}

Slot Decoder::source(const Operand& operand, ptx::Type type) {
  const unsigned bytes = std::min(8u, storage_width(type));
  switch (operand.kind) {
    case Operand::Kind::Reg:
      if (function().registers[operand.reg].type == ptx::Type::pred) break;
      use(operand.reg);
      return regs_[function_][operand.reg];
    case Operand::Kind::Int:
    case Operand::Kind::Float: {
      if (storage_width(type) > 8) break;
      const std::optional<std::uint64_t> value = literal(operand, type);
      return value ? constant(*value, bytes) : 0;
    }
    case Operand::Kind::Special: {
      if (!is_known(operand.special)) {
        unmodelled("a special register whose value no rule fixes");
        return 0;
      }
      const unsigned key = static_cast<unsigned>(operand.special) << 8 | operand.axis;
      const auto [it, is_new] = specials_.try_emplace({key, bytes}, 0);
      if (is_new) {
        it->second = new_slot(bytes);
        layout_.specials.push_back({it->second, static_cast<std::uint8_t>(bytes), operand.special, operand.axis});
      }
      return it->second;
    }
    case Operand::Kind::Variable: {
      const VariablePlace& place = layout_.variables[operand.variable];
      if (!place.is_placed) {
        unmodelled("the address of a variable without a place");
        return 0;
      }
      if (place.is_in_frame) {
        return frame_address(place.address + static_cast<std::uint64_t>(operand.integer), bytes);
      }
      return constant(place.address + static_cast<std::uint64_t>(operand.integer), bytes, place.space == Space::shared);
    }
    case Operand::Kind::Function: {
      const std::optional<std::uint32_t> function = find_body(operand.symbol);
      if (!function || module_.functions[*function].is_entry) {
        unmodelled("the address of a kernel, or of a function that has no body in this module");
        return 0;
      }
      return constant(kFunctions + *function * kFunctionStep, bytes);
    }
    default:
      break;
  }
  unmodelled("this operand here");
  return 0;
}

Slot Decoder::dest(const Operand& operand) {
  if (operand.kind == Operand::Kind::Sink) return 0;
  if (operand.kind == Operand::Kind::Reg && function().registers[operand.reg].type != ptx::Type::pred) {
    def(operand.reg);
    return regs_[function_][operand.reg];
  }
  unmodelled("this operand here");
  return 0;
}

unsigned Decoder::width(const Operand& operand) const {
  if (operand.kind != Operand::Kind::Reg) return 0;
  return storage_width(function().registers[operand.reg].type);
}

DecodeContext::Address Decoder::address(const Operand& operand, bool to_generic) {
  const auto offset = static_cast<std::uint64_t>(operand.integer);
  if (operand.kind == Operand::Kind::Address && operand.base == Operand::Base::Reg) {
    const unsigned bytes = storage_width(function().registers[operand.reg].type);
    if (bytes != 4 && bytes != 8) unmodelled("an address of " + std::to_string(8 * bytes) + " bits");
    use(operand.reg);
    return {regs_[function_][operand.reg], bytes == 4 ? 4u : 8u, offset};
  }
  std::uint64_t base = 0;
  bool is_shared = false;
  if (operand.kind == Operand::Kind::Address && operand.base == Operand::Base::Variable) {
    const VariablePlace& place = layout_.variables[operand.variable];
    if (!place.is_placed) unmodelled("the address of a variable without a place");
    if (place.is_in_frame) {
      return {frame_address(place.address, 8), 8, offset + (to_generic ? window(place.space) : 0)};
    }
    base = place.address + (to_generic ? window(place.space) : 0);
    is_shared = place.space == Space::shared;
  } else if (operand.kind != Operand::Kind::Address) {
    unmodelled("this operand as an address");
  }
  return {constant(0, 8, is_shared), 8, base + offset};
}

PredRef Decoder::pred_source(const Operand& operand) {
  if (operand.kind == Operand::Kind::Reg && function().registers[operand.reg].type == ptx::Type::pred) {
    return {pred_slot(operand.reg), operand.is_negated};
  }
  if (operand.kind == Operand::Kind::Int) return {0, (operand.integer != 0) != operand.is_negated};
  if (operand.kind == Operand::Kind::Special && operand.special == Special::is_explicit_cluster) {
    if (layout_.explicit_cluster == kNoPred) layout_.explicit_cluster = layout_.pred_count++;
    return {layout_.explicit_cluster, operand.is_negated};
  }
  unmodelled("this operand as a predicate");
  return {0, false};
}

PredSlot Decoder::carry() {
  if (carry_ == kNoPred) carry_ = layout_.pred_count++;
  return carry_;
}

PredSlot Decoder::pred_dest(const Operand& operand) {
  if (operand.kind == Operand::Kind::Sink) return kNoPred;
  if (operand.kind == Operand::Kind::Reg && function().registers[operand.reg].type == ptx::Type::pred) {
    return pred_slot(operand.reg);
  }
  unmodelled("this operand as a predicate");
  return kNoPred;
}

std::uint32_t Decoder::list(const std::vector<Slot>& slots) {
  const auto begin = static_cast<std::uint32_t>(layout_.lists.size());
  layout_.lists.insert(layout_.lists.end(), slots.begin(), slots.end());
  return begin;
}

void Decoder::hold(const Operand& operand) {
  if (operand.kind == Operand::Kind::Reg) touches_[function_][instr_].held.push_back(operand.reg);
}

std::uint32_t Decoder::watch_list() {
  const std::vector<bool>& is_held = is_held_[function_];
  if (is_held.empty()) return 0;
  std::vector<Slot> slots;
  const Touches& touches = touches_[function_][instr_];
  for (const std::vector<ptx::RegId>* registers : {&touches.uses, &touches.defs}) {
    for (const ptx::RegId reg : *registers) {
      const bool is_own = std::find(touches.held.begin(), touches.held.end(), reg) != touches.held.end();
      if (is_held[reg] && !is_own) slots.push_back(regs_[function_][reg]);
    }
  }
  if (slots.empty()) return 0;
  slots.insert(slots.begin(), static_cast<Slot>(slots.size()));
  return list(slots) + 1;
}

std::uint32_t Decoder::target(ptx::LabelId label) {
  return layout_.functions[function_].first + label_instrs_[function_][label];
}

std::uint32_t Decoder::branch_table(ptx::LabelId targets) {
  std::vector<std::uint32_t> table;
  for (const ptx::LabelId label : function().labels[targets].branch_targets) table.push_back(target(label));
  layout_.branch_tables.push_back(std::move(table));
  return static_cast<std::uint32_t>(layout_.branch_tables.size() - 1);
}

}  // namespace plumb::machine
