// SPDX-License-Identifier: Apache-2.0
#include "ptx/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ptx/codes.h"
#include "ptx/flow.h"
#include "ptx/liveness.h"
#include "ptx/memory_use.h"
#include "ptx/register_limit.h"
#include "ptx/special.h"

namespace plumb::ptx {
namespace {

constexpr std::size_t kMostAdvice = 50;

// Instructions that do nothing but write their results. One that is not here gets no advice.
constexpr std::string_view kPure[] = {
    "abs",      "activemask", "add",      "addc",      "and",  "bfe",   "bfi",  "bfind", "bmsk", "brev", "clz",
    "cnot",     "copysign",   "cos",      "cvt",       "cvta", "div",   "dp2a", "dp4a",  "ex2",  "fma",  "fns",
    "isspacep", "ld",         "ldmatrix", "ldu",       "lg2",  "lop3",  "mad",  "mad24", "madc", "mapa", "max",
    "min",      "mma",        "mov",      "movmatrix", "mul",  "mul24", "neg",  "not",   "or",   "popc", "prmt",
    "rcp",      "rem",        "rsqrt",    "sad",       "selp", "set",   "setp", "shf",   "shfl", "shl",  "shr",
    "sin",      "slct",       "sqrt",     "sub",       "subc", "szext", "tanh", "testp", "vote", "xor",
};
static_assert(std::is_sorted(std::begin(kPure), std::end(kPure)));

bool is_pure(const Instr& instr) {
  if (!std::binary_search(std::begin(kPure), std::end(kPure), instr.opcode)) return false;
  // An ordered load synchronises, and the carry flag is a result that is no operand.
  for (const Mod mod : {Mod::volatile_, Mod::relaxed, Mod::acquire, Mod::mmio, Mod::cc}) {
    if (instr.has(mod)) return false;
  }
  return true;
}

// A clock is read for its time, whatever becomes of the value.
bool reads_clock(const Instr& instr) {
  return std::any_of(instr.operands.begin(), instr.operands.end(), [](const Operand& operand) {
    return operand.kind == Operand::Kind::Special &&
           (operand.special == Special::clock || operand.special == Special::clock_hi ||
            operand.special == Special::clock64 || operand.special == Special::globaltimer);
  });
}

// A register is often cleared before a load that may be masked off, and costs nothing where it is not.
bool sets_constant(const Instr& instr) {
  const Operand::Kind kind = instr.operands.back().kind;
  return instr.opcode == "mov" && (kind == Operand::Kind::Int || kind == Operand::Kind::Float);
}

unsigned words_of(const Register& reg) { return reg.type == Type::pred ? 0 : (byte_size(reg.type) + 3) / 4; }

class FunctionLint {
 public:
  FunctionLint(const Module& module, const Function& function, std::vector<Finding>& out)
      : module_(module), function_(function), flow_(module, function), out_(out) {}

  void run(FunctionFacts& facts) {
    facts.instructions = function_.instrs.size();
    unreachable();
    end();
    const std::optional<Liveness> liveness = Liveness::of(function_, flow_);
    if (!liveness) {
      say(kLimit, Severity::Note, "the function is too large for advice about its registers", function_.span);
      return;
    }
    unwritten(*liveness);
    results(*liveness, facts);
    pressure(facts);
  }

 private:
  Finding& say(const Code& code, Severity severity, std::string message, Span span) {
    out_.push_back(Finding{&code, severity, std::move(message), {module_.source, span}, {}, {}});
    return out_.back();
  }
  const std::string& name_of(RegId reg) const { return function_.registers[reg].name; }

  // One message for each run of blocks. Compilers put a lone `ret`, `exit` or `trap` behind what does not return.
  void unreachable() {
    const std::vector<Block>& blocks = flow_.blocks();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (flow_.reached()[b]) continue;
      const std::uint32_t first = blocks[b].first;
      while (b + 1 < blocks.size() && !flow_.reached()[b + 1]) ++b;
      bool does_something = false;
      for (std::uint32_t i = first; i < blocks[b].last; ++i) {
        const std::string_view opcode = function_.instrs[i].opcode;
        does_something |= opcode != "ret" && opcode != "exit" && opcode != "trap" && opcode != "bra";
      }
      if (!does_something) continue;
      const std::uint32_t count = blocks[b].last - first;
      say(kUnreachable, Severity::Warning,
          fmt::format("no way leads here: {} {} never run", count, count == 1 ? "instruction is" : "instructions are"),
          function_.instrs[first].span);
    }
  }

  void end() {
    if (function_.instrs.empty()) return;
    for (std::size_t b = 0; b < flow_.blocks().size(); ++b) {
      if (!flow_.reached()[b] || !flow_.blocks()[b].falls_off_end) continue;
      Finding& finding =
          say(kNoEnd, Severity::Warning, fmt::format("control runs past the last instruction of `{}`", function_.name),
              function_.instrs.back().span);
      finding.hint = "end the body with `ret;`";
      return;
    }
  }

  void unwritten(const Liveness& liveness) {
    std::unordered_set<RegId> told;
    for (const VarId id : function_.parameters) {
      const Variable& parameter = module_.variables[id];
      const std::uint64_t lanes = parameter.dimensions.empty() ? 1 : parameter.dimensions[0];
      for (RegId lane = 0; parameter.space == Space::reg && lane < lanes; ++lane) told.insert(parameter.reg + lane);
    }
    std::vector<RegId> written;
    for (std::size_t b = 0; b < flow_.blocks().size(); ++b) {
      if (!flow_.reached()[b]) continue;
      written.clear();
      for (std::uint32_t i = flow_.blocks()[b].first; i < flow_.blocks()[b].last; ++i) {
        const Uses& uses = flow_.uses(i);
        for (const RegId reg : uses.reads) {
          if (liveness.is_written(b, reg) || std::find(written.begin(), written.end(), reg) != written.end()) continue;
          if (!told.insert(reg).second) continue;
          report_unwritten(reg, i, liveness.may_be_written(b, reg));
        }
        for (const RegId reg : uses.writes) {
          if (!liveness.is_written(b, reg)) written.push_back(reg);
        }
      }
    }
  }

  void report_unwritten(RegId reg, std::uint32_t instr, bool is_sometimes) {
    const Span span = function_.instrs[instr].span;
    if (is_sometimes) {
      say(kMaybeUnwritten, Severity::Note, fmt::format("`{}` is read, and not every way here writes it", name_of(reg)),
          span);
    } else {
      say(kUnwritten, Severity::Warning, fmt::format("`{}` is read, and nothing before has written it", name_of(reg)),
          span);
    }
  }

  // Results that are never read, and on the same walk how much is live at once.
  void results(const Liveness& liveness, FunctionFacts& facts) {
    std::vector<bool> live(function_.registers.size(), false);
    for (std::size_t b = 0; b < flow_.blocks().size(); ++b) {
      if (!flow_.reached()[b]) continue;
      std::vector<RegId> marked;
      unsigned words = 0, predicates = 0;
      const auto begin_life = [&](RegId reg) {
        if (live[reg]) return;
        live[reg] = true;
        marked.push_back(reg);
        words += words_of(function_.registers[reg]);
        predicates += function_.registers[reg].type == Type::pred ? 1 : 0;
      };
      const auto end_life = [&](RegId reg) {
        if (!live[reg]) return;
        live[reg] = false;
        words -= words_of(function_.registers[reg]);
        predicates -= function_.registers[reg].type == Type::pred ? 1 : 0;
      };
      for (const RegId reg : liveness.crossing()) {
        if (liveness.is_live_out(b, reg)) begin_life(reg);
      }
      for (std::uint32_t i = flow_.blocks()[b].last; i-- > flow_.blocks()[b].first;) {
        const Uses& uses = flow_.uses(i);
        result(i, live);
        std::for_each(uses.writes.begin(), uses.writes.end(), begin_life);
        peak(words, predicates, i, facts);
        if (!function_.instrs[i].guard) std::for_each(uses.writes.begin(), uses.writes.end(), end_life);
        std::for_each(uses.reads.begin(), uses.reads.end(), begin_life);
        std::for_each(uses.updates.begin(), uses.updates.end(), begin_life);
        peak(words, predicates, i, facts);
      }
      for (const RegId reg : marked) live[reg] = false;
    }
  }

  void result(std::uint32_t i, const std::vector<bool>& live) {
    const Uses& uses = flow_.uses(i);
    const Instr& instr = function_.instrs[i];
    if (uses.writes.empty() || !is_pure(instr) || reads_clock(instr) || sets_constant(instr)) return;
    if (std::any_of(uses.writes.begin(), uses.writes.end(), [&](RegId reg) { return live[reg]; })) return;
    const std::string names = uses.writes.size() == 1 ? fmt::format("`{}`", name_of(uses.writes[0]))
                                                      : fmt::format("the {} results", uses.writes.size());
    say(kUnusedResult, Severity::Warning,
        fmt::format("`{}` writes {}, which {} never read after", module_.source->slice(instr.opcode_span), names,
                    uses.writes.size() == 1 ? "is" : "are"),
        instr.span);
  }

  void peak(unsigned words, unsigned predicates, std::uint32_t instr, FunctionFacts& facts) {
    if (words > facts.registers) facts.registers = words, peak_ = instr;
    facts.predicates = std::max(facts.predicates, predicates);
  }

  void pressure(const FunctionFacts& facts) {
    // `setmaxnreg` moves registers between warps while they run.
    if (std::any_of(function_.instrs.begin(), function_.instrs.end(),
                    [](const Instr& instr) { return instr.opcode == "setmaxnreg"; })) {
      return;
    }
    const RegisterLimit limit = register_limit(function_);
    if (facts.registers <= limit.count) return;
    say(kRegisterPressure, Severity::Warning,
        fmt::format("about {} registers hold a value here, and {}: some are likely to spill", facts.registers,
                    limit.reason),
        function_.instrs[peak_].span);
  }

  const Module& module_;
  const Function& function_;
  Flow flow_;
  std::vector<Finding>& out_;
  std::uint32_t peak_ = 0;
};

// What the driver takes of PTX that it assembles itself, whatever the target.
constexpr std::uint64_t kLoadableStaticShared = 48 * 1024;

// What ptxas 13.0 lets a kernel declare: 48 KiB, and for a target with the suffix `a` all that a block can have.
std::uint64_t most_static_shared(const Target& target) {
  if (target.suffix != 'a') return kLoadableStaticShared;
  return target.sm >= 120 ? 99 * 1024 : 227 * 1024;
}

void check_shared(const Module& module, const FunctionFacts& facts, std::vector<Finding>& out) {
  if (!facts.is_entry || facts.shared_bytes <= kLoadableStaticShared) return;
  const std::uint64_t most = most_static_shared(module.target);
  const bool assembles = facts.shared_bytes <= most;
  Finding finding{
      &kSharedSize,
      assembles ? Severity::Warning : Severity::Error,
      fmt::format("`{}` declares {} bytes of shared memory, and {}", facts.name, facts.shared_bytes,
                  assembles ? fmt::format("a driver that loads this PTX takes {}", kLoadableStaticShared)
                            : fmt::format("{} has at most {} of static shared memory", module.target.text, most)),
      {module.source, facts.span},
      {},
      "declare `.extern .shared .align 16 .b8 smem[];` and give the size at the launch"};
  out.push_back(std::move(finding));
}

}  // namespace

Advice lint(const CheckedModule& checked) {
  const Module& module = *checked;
  Advice out;
  std::vector<Finding> found;
  const MemoryUse memory(module);
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    if (function.is_declaration) continue;
    FunctionFacts facts;
    facts.name = function.name;
    facts.is_entry = function.is_entry;
    facts.span = function.span;
    memory.measure(i, facts);
    FunctionLint(module, function, found).run(facts);
    check_shared(module, facts, found);
    out.functions.push_back(std::move(facts));
  }
  unused_names(module, found);
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    return std::pair(a.severity, a.place.span.begin) < std::pair(b.severity, b.place.span.begin);
  });
  if (found.size() > kMostAdvice) found.resize(kMostAdvice);  // the gravest first
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.place.span.begin < b.place.span.begin; });
  for (Finding& finding : found) out.findings.add(std::move(finding));
  return out;
}

}  // namespace plumb::ptx
