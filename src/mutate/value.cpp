// SPDX-License-Identifier: Apache-2.0
// Faults of value: another operand, constant, place, type or rounding.
#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "mutate/table.h"

namespace plumb::mutate {
namespace {

using Kind = ptx::Operand::Kind;
using Words = std::pair<std::string_view, std::string_view>;

bool is_memory(const Site& site) {
  return site.is({"ld", "st", "ldu", "cp", "red", "atom", "ldmatrix", "stmatrix", "multimem", "prefetch"});
}

void guard_negate(const Site& site, Edits& out) {
  const auto& guard = site.instr().guard;
  if (!guard) return;
  out.push_back(
      site.replaced({site.instr().span.begin, site.instr().opcode_span.begin},
                    fmt::format("@{}{} ", guard->is_negated ? "" : "!", site.function().registers[guard->reg].name)));
}

void guard_drop(const Site& site, Edits& out) {
  if (site.instr().guard) out.push_back(site.without_guard());
}

void branch_drop(const Site& site, Edits& out) {
  if (site.is({"bra"}) && site.instr().guard) out.push_back(site.dropped());
}

void store_drop(const Site& site, Edits& out) {
  if (site.is({"st", "stmatrix", "red"})) out.push_back(site.dropped());
}

void atomic_twice(const Site& site, Edits& out) {
  if (!site.is({"red"})) return;
  std::string twice(site.text(site.instr().span));
  twice += ' ';
  twice += site.text(site.instr().span);
  out.push_back(site.replaced(site.instr().span, std::move(twice)));
}

void comparison(const Site& site, Edits& out) {
  if (!site.is({"setp", "set"})) return;
  constexpr Words kPairs[] = {{"lt", "le"}, {"le", "lt"}, {"gt", "ge"}, {"ge", "gt"}, {"eq", "ne"},
                              {"ne", "eq"}, {"lo", "ls"}, {"ls", "lo"}, {"hi", "hs"}, {"hs", "hi"}};
  for (const auto& [from, to] : kPairs) site.with_word(out, from, to);
}

void signedness(const Site& site, Edits& out) {
  if (!site.is({"setp", "set", "shr", "cvt", "min", "max", "div", "rem", "mul", "mad", "bfe"})) return;
  for (const char* bits : {"8", "16", "32", "64"}) {
    site.with_word(out, fmt::format("s{}", bits), fmt::format("u{}", bits));
    site.with_word(out, fmt::format("u{}", bits), fmt::format("s{}", bits));
  }
}

void opcode(const Site& site, Edits& out) {
  constexpr Words kPairs[] = {{"add", "sub"}, {"sub", "add"}, {"mul", "add"}, {"min", "max"}, {"max", "min"},
                              {"and", "or"},  {"or", "xor"},  {"xor", "or"},  {"shl", "shr"}, {"shr", "shl"}};
  for (const auto& [from, to] : kPairs) {
    if (site.opcode() != from) continue;
    const std::uint32_t begin = site.instr().opcode_span.begin;
    out.push_back(site.replaced({begin, begin + static_cast<std::uint32_t>(from.size())}, std::string(to)));
  }
}

void rounding(const Site& site, Edits& out) {
  if (site.is({"tcgen05", "wgmma"})) return;
  for (const auto& [from, to] : {Words{"rn", "rz"}, {"rz", "rn"}, {"rni", "rzi"}, {"rmi", "rpi"}, {"rpi", "rmi"}})
    site.with_word(out, from, to);
}

void narrow(const Site& site, Edits& out) {
  if (!site.is({"add", "sub", "mul", "fma"}) || site.operands().empty()) return;
  const ptx::Operand& result = site.operands()[0];
  if (result.kind != Kind::Reg || site.type(result.reg) != ptx::Type::f32 || !site.has("f32")) return;
  std::string whole(site.text(site.instr().span));
  const std::string& name = site.function().registers[result.reg].name;
  constexpr std::string_view kRounded =
      "{} {{ .reg .b16 plumb_half, plumb_low; cvt.rn.bf16.f32 plumb_half, {}; mov.b16 plumb_low, 0; "
      "mov.b32 {}, {{plumb_low, plumb_half}}; }}";
  out.push_back(site.replaced(site.instr().span, fmt::format(kRounded, whole, name, name)));
}

void element_type(const Site& site, Edits& out) {
  if (!site.is({"mma", "wgmma", "cvt", "add", "fma", "mul"})) return;
  for (const auto& [from, to] : {Words{"bf16", "f16"},
                                 {"f16", "bf16"},
                                 {"bf16x2", "f16x2"},
                                 {"f16x2", "bf16x2"},
                                 {"e4m3", "e5m2"},
                                 {"e5m2", "e4m3"},
                                 {"e4m3x2", "e5m2x2"},
                                 {"e5m2x2", "e4m3x2"}})
    site.with_word(out, from, to);
}

// The n-th and the operand after it, of instructions for which their order counts.
void operand_swap(const Site& site, Edits& out) {
  std::size_t first = 0;
  if (site.is({"sub", "div", "rem", "shl", "shr", "setp", "set", "selp", "prmt"})) first = 1;
  else if (site.is({"fma", "mad"})) first = 2;
  else return;
  if (first + 1 < site.operands().size()) site.swapped(out, site.operands()[first], site.operands()[first + 1]);
}

void operand_other(const Site& site, Edits& out) {
  const bool has_result = !site.is({"st", "red", "bra", "bar", "barrier", "cp", "wgmma"});
  for (std::size_t at = has_result ? 1 : 0; at < site.operands().size(); ++at) {
    const ptx::Operand& operand = site.operands()[at];
    if (operand.kind != Kind::Reg) continue;
    const std::string_view other = site.other_register(operand.reg);
    if (!other.empty()) out.push_back(site.replaced(operand.span, std::string(other)));
  }
}

void element_order(const Site& site, Edits& out) {
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Vector || operand.elements.size() < 2) continue;
    site.swapped(out, operand.elements[0], operand.elements[1]);
  }
}

void coordinate_order(const Site& site, Edits& out) {
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Address) continue;
    for (const ptx::Operand& part : operand.elements) {
      if (part.kind == Kind::Vector && part.elements.size() > 1) site.swapped(out, part.elements[0], part.elements[1]);
    }
  }
}

void offset(const Site& site, Edits& out) {
  if (!is_memory(site)) return;
  each_operand(site.operands(), [&](const ptx::Operand& operand) {
    if (operand.kind != Kind::Address || operand.base == ptx::Operand::Base::None || !operand.elements.empty()) return;
    const std::string_view text = site.text(operand.span);
    const std::string_view base = text.substr(0, text.find_first_of("+-]"));
    for (const int by : {4, 16})
      out.push_back(site.replaced(operand.span, fmt::format("{}+{}]", base, operand.integer + by)));
  });
}

void coordinate(const Site& site, Edits& out) {
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Address) continue;
    for (const ptx::Operand& part : operand.elements) {
      if (part.kind != Kind::Vector || part.elements.empty() || part.elements[0].kind != Kind::Reg) continue;
      const ptx::Operand& first = part.elements[0];
      const std::string before = fmt::format(".reg .b32 plumb_coordinate; add.s32 plumb_coordinate, {}, 1;",
                                             site.function().registers[first.reg].name);
      out.push_back(site.in_block(before, first.span, "plumb_coordinate"));
    }
  }
}

void constant(const Site& site, Edits& out) {
  if (site.is({"bar", "barrier", "mbarrier", "shfl", "vote", "match", "redux", "setmaxnreg"})) return;
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Int) continue;
    out.push_back(site.replaced(operand.span, fmt::format("{}", operand.integer + 1)));
    if (operand.integer != 0) out.push_back(site.replaced(operand.span, fmt::format("{}", operand.integer - 1)));
  }
}

// Wide constants hold the fields of descriptors: addresses and strides below, the swizzle at the top.
void descriptor_bit(const Site& site, Edits& out) {
  if (!site.is({"mov", "or", "add", "and", "xor"})) return;
  for (const ptx::Operand& operand : site.operands()) {
    const auto bits = static_cast<std::uint64_t>(operand.integer);
    if (operand.kind != Kind::Int || (bits >> 32) == 0 || operand.integer < 0) continue;
    for (const unsigned bit : {61U, 62U, 32U, 16U})
      out.push_back(site.replaced(operand.span, fmt::format("{:#x}", bits ^ (std::uint64_t{1} << bit))));
  }
}

void real_constant(const Site& site, Edits& out) {
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Float || operand.float_kind != ptx::Operand::FloatKind::F32Bits) continue;
    const auto bits = static_cast<std::uint32_t>(operand.integer);
    out.push_back(site.replaced(operand.span, fmt::format("0f{:08X}", bits ^ 0x80000000U)));
    out.push_back(site.replaced(operand.span, fmt::format("0f{:08X}", bits ^ 0x00001000U)));
  }
}

void shuffle(const Site& site, Edits& out) {
  if (!site.is({"shfl"})) return;
  for (const auto& [from, to] : {Words{"bfly", "down"}, {"down", "up"}, {"up", "down"}, {"idx", "bfly"}})
    site.with_word(out, from, to);
  if (site.operands().size() < 3 || site.operands()[2].kind != Kind::Int) return;
  const ptx::Operand& lane = site.operands()[2];
  out.push_back(site.replaced(lane.span, fmt::format("{}", lane.integer == 0 ? 1 : lane.integer * 2 % 32)));
}

void member_mask(const Site& site, Edits& out) {
  if (!site.is({"shfl", "vote", "match", "redux", "bar"}) || site.operands().empty()) return;
  const ptx::Operand& mask = site.operands().back();
  if (mask.kind == Kind::Int && (static_cast<std::uint64_t>(mask.integer) & 0xffffffffULL) == 0xffffffffULL)
    out.push_back(site.replaced(mask.span, "0x7fffffff"));
}

void accumulate(const Site& site, Edits& out) {
  if (!site.is({"wgmma", "tcgen05"}) || !(site.has("mma_async") || site.has("mma"))) return;
  for (const ptx::Operand& operand : site.operands()) {
    if (operand.kind != Kind::Reg || site.type(operand.reg) != ptx::Type::pred) continue;
    const std::string before =
        fmt::format(".reg .pred plumb_flag; not.pred plumb_flag, {};", site.function().registers[operand.reg].name);
    out.push_back(site.in_block(before, operand.span, "plumb_flag"));
  }
}

void transpose(const Site& site, Edits& out) {
  if (!site.is({"ldmatrix", "stmatrix"})) return;
  if (site.has("trans")) site.with_word(out, "trans", "");
  else
    for (const char* count : {"x1", "x2", "x4"}) site.with_word(out, count, std::string(count) + ".trans");
}

void zero_fill(const Site& site, Edits& out) {
  // The fourth operand of `cp.async` is how many bytes are read; the rest is filled with zeros.
  if (!site.is({"cp"}) || site.has("bulk") || site.operands().size() < 4) return;
  out.push_back(site.replaced({site.operands()[2].span.end, site.operands()[3].span.end}, {}));
}

void approximate(const Site& site, Edits& out) {
  if (site.is({"sqrt", "rcp", "div"})) {
    site.with_word(out, "rn", "approx");
    site.with_word(out, "full", "approx");
  }
}

constexpr Row kRows[] = {
    {{"guard-negate", "the opposite predicate"}, guard_negate},
    {{"guard-drop", "a guard is left out"}, guard_drop},
    {{"branch-drop", "a conditional branch is left out"}, branch_drop},
    {{"store-drop", "a store or reduction is left out"}, store_drop},
    {{"atomic-twice", "a reduction is done twice"}, atomic_twice},
    {{"comparison", "`le` for `lt`, `ne` for `eq`, ..."}, comparison},
    {{"signedness", "signed for unsigned, or the other way"}, signedness},
    {{"opcode", "another operation: `sub` for `add`, `max` for `min`, ..."}, opcode},
    {{"rounding", "another rounding"}, rounding},
    {{"narrow", "an f32 result is rounded to bf16"}, narrow},
    {{"element-type", "f16 for bf16, e5m2 for e4m3, or the other way"}, element_type},
    {{"operand-swap", "two operands exchanged whose order counts"}, operand_swap},
    {{"operand-other", "another register of the type, written shortly before"}, operand_other},
    {{"element-order", "the first two elements of a vector exchanged"}, element_order},
    {{"coordinate-order", "two coordinates of a tensor exchanged"}, coordinate_order},
    {{"coordinate", "a coordinate of a tensor one too far"}, coordinate},
    {{"offset", "an address 4 or 16 bytes too far"}, offset},
    {{"constant", "a whole number one more or less"}, constant},
    {{"descriptor-bit", "a bit of a wide constant: swizzle, stride or address of a descriptor"}, descriptor_bit},
    {{"real-constant", "a real number's sign or last places"}, real_constant},
    {{"shuffle", "lanes exchanged otherwise"}, shuffle},
    {{"member-mask", "a warp operation without lane 31"}, member_mask},
    {{"accumulate", "an accumulator started anew, or not"}, accumulate},
    {{"transpose", "a matrix load or store transposed, or not"}, transpose},
    {{"zero-fill", "`cp.async` reads what the mask excludes"}, zero_fill},
    {{"approximate", "an approximate root, reciprocal or quotient"}, approximate},
};

}  // namespace

std::span<const Row> value_rows() { return kRows; }

}  // namespace plumb::mutate
