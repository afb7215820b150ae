// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/wgmma.h"

#include <charconv>
#include <optional>

#include "machine/exec/wgmma_product.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

constexpr std::size_t kMaxInFlight = 65536;
constexpr std::uint64_t kWarpRows = 16;  // of the 64 of a product

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

// What observers call a product of the warp's group.
template <class D>
std::uint64_t product_id(const WarpRun<D>& w, std::uint64_t number) {
  return std::uint64_t{w.index() / kGroupWarps} << 48 | number;
}

// The group of a warp that executes a warpgroup instruction with all its lanes; null when it must do nothing now, or
// after a finding.
template <class D>
Warpgroup<D>* gather_group(WarpRun<D>& w, const Op<D>& op) {
  if (!w.gather_warp(op)) return nullptr;
  Warpgroup<D>* const group = w.cta().warpgroup(w.index());
  if (group == nullptr) {
    w.fault(kWarpgroup, "warp " + std::to_string(w.index()) +
                            " belongs to no whole warpgroup: the block ends before the fourth warp");
  }
  return group;
}

// A value that all lanes must agree on; empty after a finding.
template <class D>
std::optional<std::uint64_t> uniform(WarpRun<D>& w, Slot slot, const char* name) {
  std::optional<std::uint64_t> value;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::optional<std::uint64_t> mine = w.concrete(slot, 8, lane, name);
    if (!mine) return std::nullopt;
    if (value && *value != *mine) {
      w.fault(kWarpgroup, std::string(name) + " differs between lanes 0 and " + std::to_string(lane) + " of warp " +
                              std::to_string(w.index()));
      return std::nullopt;
    }
    value = mine;
  }
  return value;
}

// Op::a, Op::b: descriptors; Op::c: metadata; Op::r: scale-d; Op::list: results, then registers of A; Op::imm: the
// spec.
template <class D>
bool read_operands(WarpRun<D>& w, const Op<D>& op, const WgmmaSpec& spec, WarpgroupProduct<D>& product) {
  product.op = &op, product.pc = w.pc();
  if (!spec.has(WgmmaSpec::kRegisterA)) {
    const std::optional<std::uint64_t> a = uniform(w, op.a, "the descriptor of A");
    if (!a) return false;
    product.a = *a;
  }
  const std::optional<std::uint64_t> b = uniform(w, op.b, "the descriptor of B");
  if (!b) return false;
  product.b = *b;
  const std::uint32_t adds = w.decided(op.r, "`scale-d`");
  if (w.is_stopped()) return false;
  if (adds != 0 && adds != kFullMask) {
    w.fault(kWarpgroup, "`scale-d` differs between lanes of warp " + std::to_string(w.index()));
    return false;
  }
  product.adds = adds != 0;
  if (spec.has(WgmmaSpec::kSparse)) {
    const Lane<std::uint32_t>* words = w.concrete_lanes(op.c, "sparse metadata");
    if (words == nullptr) return false;
    std::copy_n(words, kLanes, product.metadata[w.index() % kGroupWarps].begin());
  }
  return true;
}

// The pieces of an operand in shared memory; false after a finding.
template <class D>
bool find_pieces(WarpRun<D>& w, std::uint64_t bits, const OperandTile& tile, const char* name,
                 std::vector<std::uint32_t>& out) {
  std::string error;
  const std::optional<MatrixDescriptor> descriptor = decode_descriptor(bits, error);
  if (!descriptor) {
    w.fault(kDescriptor, std::string("the descriptor of ") + name + ": " + error);
    return false;
  }
  out = tile_pieces(*descriptor, tile);
  const std::uint64_t end = w.cta().shared().size();
  for (const std::uint32_t at : out) {
    if (at + std::uint64_t{16} <= end) continue;
    w.fault(kDescriptor, std::string("the tile of ") + name + " leads to 16 bytes at shared address " +
                             std::to_string(at) + ", past the " + std::to_string(end) +
                             " bytes of shared memory (start " + std::to_string(descriptor->start) +
                             ", leading byte offset " + std::to_string(descriptor->leading) + ", stride byte offset " +
                             std::to_string(descriptor->stride) + ")");
    return false;
  }
  return true;
}

// Terms of each sum.
std::uint64_t depth(const WgmmaSpec& spec) { return spec.a == WgmmaElement::B1 ? 256 : spec.k(); }

// Equal for registers at one place in results of one shape.
std::uint64_t shape_key(const WgmmaSpec& spec, unsigned reg) {
  return 1 +
         (reg | depth(spec) << 16 | std::uint64_t{spec.n} << 32 | std::uint64_t{static_cast<unsigned>(spec.sum)} << 48);
}

template <class D>
bool report_fence(WarpRun<D>& w, const char* what, const HeldRegisters::Use& use, bool is_touched) {
  w.fault(kWgmmaFence, std::string(what) +
                           (is_touched ? " was accessed"
                                       : " was given to a product of another shape or "
                                         "role") +
                           " since the last `wgmma.fence`");
  w.note(is_touched ? "the access" : "the other product", is_touched ? use.touch_pc : use.product_pc);
  return false;
}

// Whether a product may have its registers now; false after a finding.
template <class D>
bool may_take_registers(WarpRun<D>& w, const Op<D>& op, const WgmmaSpec& spec, std::uint64_t waited) {
  const std::uint64_t fences = w.held.fences();
  if (fences == 1) {
    w.fault(kWgmmaFence, "no `wgmma.fence` before the first `wgmma.mma_async` of warp " + std::to_string(w.index()));
    return false;
  }
  for (unsigned reg = 0; reg < spec.results(); ++reg) {
    const HeldRegisters::Use& use = w.held.at(w.listed(op, reg));
    const bool is_same = use.shape == shape_key(spec, reg);
    if (use.source_of > waited || (use.result_of > waited && !is_same)) {
      report_in_flight(w, use, "accumulates in");
      return false;
    }
    if (use.touched == fences) return report_fence(w, "an accumulator", use, true);
    if (use.result_fence == fences && !is_same) return report_fence(w, "an accumulator", use, false);
  }
  if (!spec.has(WgmmaSpec::kRegisterA)) return true;
  for (unsigned reg = 0; reg < kWgmmaSources; ++reg) {
    const HeldRegisters::Use& use = w.held.at(w.listed(op, spec.results() + reg));
    if (use.result_of > waited) {
      report_in_flight(w, use, "gives as A");
      return false;
    }
    if (use.touched == fences) return report_fence(w, "a register of A", use, true);
    if (use.result_fence == fences) return report_fence(w, "a register of A", use, false);
  }
  return true;
}

template <class D>
void take_registers(WarpRun<D>& w, const Op<D>& op, const WgmmaSpec& spec, std::uint64_t number) {
  for (unsigned reg = 0; reg < spec.results(); ++reg) {
    HeldRegisters::Use& use = w.held.at(w.listed(op, reg));
    use.result_of = number;
    use.result_fence = w.held.fences();
    use.shape = shape_key(spec, reg);
    use.product_pc = w.pc();
  }
  if (!spec.has(WgmmaSpec::kRegisterA)) return;
  for (unsigned reg = 0; reg < kWgmmaSources; ++reg) {
    HeldRegisters::Use& use = w.held.at(w.listed(op, spec.results() + reg));
    use.source_of = number;
    use.product_pc = w.pc();
  }
}

// The first of the four warps to issue a product: finds what it reads.
template <class D>
bool add_product(WarpRun<D>& w, Warpgroup<D>& group, const WgmmaSpec& spec, WarpgroupProduct<D>&& product) {
  if (group.pending() >= kMaxInFlight) {
    w.unmodelled("more than 65536 products of a warpgroup that nobody waited for");
    return false;
  }
  if (!spec.has(WgmmaSpec::kRegisterA) && !find_pieces(w, product.a, spec.a_tile(), "A", product.a_pieces))
    return false;
  if (!find_pieces(w, product.b, spec.b_tile(), "B", product.b_pieces)) return false;
  group.add(std::move(product));
  return true;
}

// Another warp has issued it: that one's operands must be these.
template <class D>
bool join_product(WarpRun<D>& w, WarpgroupProduct<D>& first, const WarpgroupProduct<D>& mine) {
  const char* difference = first.op != mine.op       ? "another product"
                           : first.a != mine.a       ? "this product with another descriptor of A"
                           : first.b != mine.b       ? "this product with another descriptor of B"
                           : first.adds != mine.adds ? "this product with another `scale-d`"
                                                     : nullptr;
  if (difference != nullptr) {
    w.fault(kWarpgroup, "warp " + std::to_string(w.index()) +
                            " issues this where another warp of its warpgroup issued " + difference);
    w.note("the other warp's product", first.pc);
    return false;
  }
  first.metadata[w.index() % kGroupWarps] = mine.metadata[w.index() % kGroupWarps];
  return true;
}

template <class D>
void step_product(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  Warpgroup<D>* const group = gather_group(w, op);
  if (group == nullptr) return;
  const WgmmaSpec spec = WgmmaSpec::of(op.imm);
  typename Warpgroup<D>::Member& member = group->member(w.index());
  WarpgroupProduct<D> product;
  if (!read_operands(w, op, spec, product) || !may_take_registers(w, op, spec, member.waited)) return;
  WarpgroupProduct<D>* const first = group->next(w.index());
  if (first != nullptr ? !join_product(w, *first, product) : !add_product(w, *group, spec, std::move(product))) return;
  take_registers(w, op, spec, ++member.issued);
  w.count_macs(kWarpRows * spec.n * depth(spec));
  if (Observer* const observer = w.cta().observer()) {
    const WarpgroupProduct<D>& issued = group->product(member.issued);
    observer->product_issued(product_id(w, member.issued), w.pc(), {w.index(), w.mask()}, issued.a_pieces,
                             issued.b_pieces);
  }
  // Last, because a wait that ends here lets the product take effect and forgets it.
  const std::uint32_t first_warp = w.index() / kGroupWarps * kGroupWarps;
  for (std::uint32_t i = first_warp; i < first_warp + kGroupWarps; ++i) {
    if (i != w.index()) w.cta().warp(i)->poll_waits();
  }
}

template <class D>
void step_fence(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (gather_group(w, op) != nullptr) w.held.fence();
}

template <class D>
void step_commit(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  Warpgroup<D>* const group = gather_group(w, op);
  if (group == nullptr || group->commit(w.index())) return;
  w.fault(kWarpgroup, "warp " + std::to_string(w.index()) +
                          " commits a group of other products than another warp of its warpgroup did");
}

// Lets the products that the wait covers take effect; false when some warp has not issued them.
template <class D>
bool finish_wait(WarpRun<D>& w, const Op<D>& op) {
  Warpgroup<D>& group = *w.cta().warpgroup(w.index());
  typename Warpgroup<D>::Member& member = group.member(w.index());
  const std::uint64_t last = group.covered(w.index(), op.imm);
  if (last <= member.waited) return true;
  if (group.missing(last) != 0) return false;
  group.complete(w, last);
  if (Observer* const observer = w.cta().observer()) {
    for (std::uint64_t number = member.waited + 1; number <= last; ++number) {
      observer->product_waited(product_id(w, number), {w.index(), kFullMask});
    }
  }
  member.waited = last;
  if constexpr (D::kHasTags) {
    if (w.dom().faulted()) {
      domain::Fault fault = w.dom().take_fault();
      w.stop(Stop::Kind::Unmodelled, *fault.code, std::move(fault.text));
    }
  }
  return true;
}

template <class D>
void explain_wait(WarpRun<D>& w, const Op<D>& op, WaitPicture& picture) {
  if (!picture.wants_text) return;
  const Warpgroup<D>& group = *w.cta().warpgroup(w.index());
  const unsigned missing = group.missing(group.covered(w.index(), op.imm));
  std::string warps;
  for (unsigned i = 0; i < kGroupWarps; ++i) {
    if ((missing >> i & 1) == 0) continue;
    warps += (warps.empty() ? "" : ", ") + std::to_string(w.index() / kGroupWarps * kGroupWarps + i);
  }
  picture.text = "for a product that has not been issued by all warps of the warpgroup: not by " + warps;
}

template <class D>
inline constexpr Wait<D> kWaitForGroup{&finish_wait<D>, nullptr, &explain_wait<D>};

template <class D>
void step_wait(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (gather_group(w, op) == nullptr || finish_wait(w, op)) return;
  w.wait_until(op, kWaitForGroup<D>);
}

// -- Decoding
// -------------------------------------------------------------------------------------------------------
std::optional<WgmmaElement> element_of(Type type) {
  switch (type) {
    case Type::f16:
      return WgmmaElement::F16;
    case Type::bf16:
      return WgmmaElement::BF16;
    case Type::tf32:
      return WgmmaElement::Tf32;
    case Type::e4m3:
      return WgmmaElement::E4M3;
    case Type::e5m2:
      return WgmmaElement::E5M2;
    case Type::s8:
      return WgmmaElement::S8;
    case Type::u8:
      return WgmmaElement::U8;
    case Type::b1:
      return WgmmaElement::B1;
    default:
      return std::nullopt;
  }
}

// n of "m64n128k16"; 0 when there is no such word.
std::uint16_t columns_of(const Instr& instr) {
  constexpr std::string_view kPrefix = "m64n";
  for (const Mod mod : instr.mods) {
    const std::string_view word = ptx::text(mod);
    std::uint16_t n = 0;
    if (word.starts_with(kPrefix)) std::from_chars(word.data() + kPrefix.size(), word.data() + word.size(), n);
    if (n != 0) return n;
  }
  return 0;
}

template <class D>
StepFn<D> select_product(DecodeContext& ctx, const Instr& instr, Op<D>& op, bool is_sparse) {
  WgmmaSpec spec;
  spec.n = columns_of(instr);
  const std::optional<WgmmaElement> a = element_of(instr.type(1)), b = element_of(instr.type(2));
  if (spec.n == 0 || !a || !b) return ctx.unmodelled("this shape of `wgmma`"), nullptr;
  spec.a = *a, spec.b = *b;
  spec.sum = instr.type(0) == Type::f16 ? WgmmaSum::F16 : instr.type(0) == Type::s32 ? WgmmaSum::S32 : WgmmaSum::F32;
  std::vector<Slot> slots;
  for (const Operand& element : instr.operands[0].elements) {
    ctx.source(element, Type::b32);
    slots.push_back(ctx.dest(element));
    ctx.hold(element);
  }
  const bool is_register = instr.operands[1].kind == Operand::Kind::Vector;
  if (is_register) {
    spec.flags |= WgmmaSpec::kRegisterA;
    for (const Operand& element : instr.operands[1].elements) {
      slots.push_back(ctx.source(element, Type::b32));
      ctx.hold(element);
    }
  } else {
    op.a = ctx.source(instr.operands[1], Type::b64);
  }
  op.b = ctx.source(instr.operands[2], Type::b64);
  std::size_t next = 3;
  if (is_sparse) {
    spec.flags |= WgmmaSpec::kSparse;
    op.c = ctx.source(instr.operands[next++], Type::b32);
    spec.selector = static_cast<std::uint8_t>(instr.operands[next++].integer);
    const bool is_wide = spec.element_bytes() > 1;
    if (spec.selector > (is_wide ? 1 : 0)) return ctx.unmodelled("this sparsity selector"), nullptr;
  }
  op.r = ctx.pred_source(instr.operands[next++]);
  // Scales of A and B (-1 or 1), then major-ness, where the types have them.
  const auto immediate = [&] { return next < instr.operands.size() ? instr.operands[next++].integer : 0; };
  if (!spec.is_integer()) {
    const std::int64_t scale_a = immediate(), scale_b = immediate();
    if (scale_a * scale_b < 0) spec.flags |= WgmmaSpec::kNegated;
    if (!is_register && immediate() != 0) spec.flags |= WgmmaSpec::kTransposedA;
    if (immediate() != 0) spec.flags |= WgmmaSpec::kTransposedB;
  }
  if (instr.has(Mod::satfinite)) spec.flags |= WgmmaSpec::kSaturating;
  if (slots.size() != spec.results() + (is_register ? kWgmmaSources : 0)) {
    return ctx.unmodelled("this number of registers"), nullptr;
  }
  op.list = ctx.list(slots);
  op.imm = spec.bits();
  return &step_product<D>;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::WgmmaMmaAsync>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_product(ctx, instr, op, false);
}
template <class D>
StepFn<D> Meaning<ptx::Form::WgmmaMmaAsyncSp>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_product(ctx, instr, op, true);
}
template <class D>
StepFn<D> Meaning<ptx::Form::WgmmaFence>::select(DecodeContext&, const Instr&, Op<D>&) {
  return &step_fence<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::WgmmaCommitGroup>::select(DecodeContext&, const Instr&, Op<D>&) {
  return &step_commit<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::WgmmaWaitGroup>::select(DecodeContext&, const Instr& instr, Op<D>& op) {
  op.imm = static_cast<std::uint64_t>(instr.operands[0].integer);
  return &step_wait<D>;
}

PLUMB_INSTANTIATE_MEANING(WgmmaMmaAsync)
PLUMB_INSTANTIATE_MEANING(WgmmaMmaAsyncSp)
PLUMB_INSTANTIATE_MEANING(WgmmaFence)
PLUMB_INSTANTIATE_MEANING(WgmmaCommitGroup)
PLUMB_INSTANTIATE_MEANING(WgmmaWaitGroup)

}  // namespace plumb::machine
