// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_mma.h"

#include <bit>
#include <memory>
#include <optional>
#include <string>

#include "machine/exec/operands.h"
#include "machine/exec/tcgen05_product.h"
#include "machine/tensor_pipe.h"

namespace plumb::machine {

namespace {

using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

// The instruction's text, in Op::imm. Op::a, Op::b: descriptors of A (when in shared memory) and B; Op::c: the
// instruction descriptor; Op::d: the column mask; Op::r: whether the sums are added to. Op::list: addresses in tensor
// memory (of the sums; A, metadata, scales of A and B, where there are any), then the lanes that stay. Op::aux: the
// flags.
struct Text {
  Tcgen05Form form;
  std::uint8_t scale_d = 0;

  static Text of(std::uint64_t imm) { return std::bit_cast<Text>(imm); }
  std::uint64_t bits() const { return std::bit_cast<std::uint64_t>(*this); }
};
static_assert(sizeof(Text) == 8);

struct Flags {
  static constexpr std::uint32_t kLanes = 1, kMask = 2, kShift = 64;
  static constexpr unsigned kCollecting = 2, kBuffer = 4;  // first bits
  static CollectorHint hint(std::uint32_t flags) {
    return {static_cast<Collecting>(flags >> kCollecting & 3), static_cast<std::uint8_t>(flags >> kBuffer & 3)};
  }
};

template <class D>
class ProductOp final : public TensorOp<D> {
 public:
  void run(Cluster<D>& cluster) override {
    if (finds_six_bits(cluster)) multiply(cluster, product, this->pc);
  }
  Tcgen05Product product;

 private:
  // A of 6 bits in tensor memory is what a copy has laid down; nothing else is.
  bool finds_six_bits(Cluster<D>& cluster) {
    for (const TensorUse& use : this->uses) {
      if (!use.reads) continue;
      const std::uint32_t found =
          cluster.cta(use.rank).tensor_memory().count_six(use.lane, use.lanes, use.column, use.columns);
      const bool is_six = use.role == TensorRole::A && has_six_bits(product.spec.a);
      if (found == (is_six ? use.lanes * use.columns : 0)) continue;
      cluster.fault(
          Stop::Kind::Unmodelled, kUnmodelled,
          "at which bits of its byte in tensor memory an element of 6 bits lies: the product reads what a copy "
          "of other elements or a store has laid down",
          this->pc);
      return false;
    }
    return true;
  }
};

// What one thread's operands come to. The members return false after a finding.
template <class D>
class Issue {
 public:
  Issue(WarpRun<D>& w, const Op<D>& op, unsigned lane, bool adds)
      : w_(w), op_(op), text_(Text::of(op.imm)), lane_(lane), issued_(std::make_unique<ProductOp<D>>()) {
    product().adds = adds;
  }

  bool run() {
    if (!find_pair() || !read_addresses() || !read_instruction() || !read_columns() || !read_tiles() || !find_cells() ||
        !collect()) {
      return false;
    }
    w_.count_macs(std::uint64_t{spec().m} * spec().n * spec().k());
    return w_.cta().cluster().tensor_pipe().issue(w_, lane_, std::move(issued_));
  }

 private:
  const Tcgen05Spec& spec() { return product().spec; }
  Tcgen05Product& product() { return issued_->product; }
  bool refuse(const Code& code, const std::string& what, const Refusal& refusal) {
    const std::string text = what + ": " + refusal.text;
    if (refusal.is_open) {
      w_.unmodelled(text + ", on which what is published is silent or disagrees");
    } else {
      w_.fault(code, text);
    }
    return false;
  }

  bool find_pair();
  bool read_addresses();
  bool read_instruction();
  bool read_columns();
  bool read_tiles();
  bool read_tile(Slot slot, const OperandTile& tile, const char* name, Pieces& out);
  bool find_cells();
  bool collect();
  bool check_lane(TensorAddress address, unsigned lane, const char* name);
  bool use(TensorRole role, bool reads, bool writes, unsigned cta, TensorUse cells, const char* name);
  bool use_rows(TensorRole role, unsigned copies, std::uint32_t column, std::uint32_t columns, const char* name);

  WarpRun<D>& w_;
  const Op<D>& op_;
  const Text text_;
  const unsigned lane_;
  std::unique_ptr<ProductOp<D>> issued_;
};

template <class D>
bool Issue<D>::find_pair() {
  Cluster<D>& cluster = w_.cta().cluster();
  const std::uint32_t rank = w_.cta().rank();
  product().rank = rank;
  if (text_.form.group == 1) return true;
  product().rank = rank & ~1U;
  if ((rank ^ 1) >= cluster.size()) {
    w_.fault(kCluster, w_.cta().name() + " has no other block of a pair: its cluster has " +
                           std::to_string(cluster.size()) + ", and `.cta_group::2` takes ranks 2i and 2i + 1 together");
    return false;
  }
  if (cluster.cta(rank ^ 1).is_done()) {
    w_.fault(kCluster, "the other block of the pair has exited");
    return false;
  }
  return true;
}

template <class D>
bool Issue<D>::read_addresses() {
  const Tcgen05Form& form = text_.form;
  unsigned at = 0;
  const auto read = [&](TensorAddress& out) {
    std::uint64_t addresses[machine::kLanes];
    const std::uint32_t mask = w_.exchange_mask(1U << lane_);
    const bool is_good = listed_addresses(w_, op_, at, 4, addresses);
    w_.exchange_mask(mask);
    at += 2;
    if (is_good) out = TensorAddress::of(static_cast<std::uint32_t>(addresses[lane_]));
    return is_good;
  };
  Tcgen05Product& p = product();
  if (!read(p.sums) || (form.is_a_in_memory && !read(p.a)) || (form.is_sparse && !read(p.metadata))) return false;
  if (has_block_scales(form.kind) && (!read(p.scales_a) || !read(p.scales_b))) return false;
  if ((op_.aux & Flags::kLanes) == 0) return true;
  std::uint32_t any = 0;
  for (unsigned i = 0; i < 4U * form.group; ++i) {
    const auto word = w_.concrete(w_.listed(op_, at + i), 4, lane_, "the lanes whose results stay");
    if (!word) return false;
    p.disabled[i] = static_cast<std::uint32_t>(*word);
    any |= p.disabled[i];
  }
  if (form.group == 2 && any != 0) {
    w_.unmodelled("lanes whose results stay, of two CTAs: which words are whose is said nowhere");
    return false;
  }
  return true;
}

template <class D>
bool Issue<D>::read_instruction() {
  const auto bits = w_.concrete(op_.c, 4, lane_, "the instruction descriptor");
  if (!bits) return false;
  Refusal refusal;
  const auto spec = decode_instruction(static_cast<std::uint32_t>(*bits), text_.form, refusal);
  if (!spec) return refuse(kInstructionDescriptor, "the instruction descriptor", refusal);
  product().spec = *spec;
  product().scale_d = text_.scale_d;
  product().shifts_a = (op_.aux & Flags::kShift) != 0;
  if (!product().shifts_a) return true;
  if (spec->m != 128 && spec->m != 256) {
    w_.fault(kInstructionDescriptor, "`.ashift` with M = " + std::to_string(spec->m) + ": it is for M = 128 or 256");
    return false;
  }
  if (text_.form.group == 2 && spec->m == 128) {
    w_.unmodelled("`.ashift` with M = 128 over two CTAs: whether both copies of each row move");
    return false;
  }
  return true;
}

template <class D>
bool Issue<D>::read_columns() {
  if ((op_.aux & Flags::kMask) == 0) return true;
  const auto bits = w_.concrete(op_.d, 8, lane_, "the zero-column mask");
  if (!bits) return false;
  Refusal refusal;
  const auto mask = decode_column_mask(*bits, spec().m, spec().n, refusal);
  if (!mask) return refuse(kInstructionDescriptor, "the zero-column mask", refusal);
  product().columns = *mask;
  return true;
}

template <class D>
bool Issue<D>::read_tile(Slot slot, const OperandTile& tile, const char* name, Pieces& out) {
  const std::string what = std::string("the descriptor of ") + name;
  const auto bits = w_.concrete(slot, 8, lane_, what.c_str());
  if (!bits) return false;
  Refusal refusal;
  const auto descriptor = decode_tcgen05_descriptor(*bits, refusal);
  if (!descriptor || !may_read_tile(*descriptor, tile, refusal)) return refuse(kDescriptor, what, refusal);
  out = tile_pieces(*descriptor, tile);
  const std::uint64_t end = w_.cta().shared().size();
  for (const std::uint32_t at : out) {
    if (at + std::uint64_t{kPieceBytes} <= end) continue;
    w_.fault(kDescriptor, "the tile of " + std::string(name) + " leads to 16 bytes at shared address " +
                              std::to_string(at) + ", past the " + std::to_string(end) +
                              " bytes of shared memory (start " + std::to_string(descriptor->start) +
                              ", leading byte offset " + std::to_string(descriptor->leading) + ", stride byte offset " +
                              std::to_string(descriptor->stride) + "); an operand has " + std::to_string(tile.outer) +
                              " rows or columns in each block, used or not");
    return false;
  }
  for (unsigned cta = 0; cta < text_.form.group; ++cta) issued_->shared.push_back({product().rank + cta, out});
  return true;
}

template <class D>
bool Issue<D>::read_tiles() {
  Tcgen05Product& p = product();
  return (text_.form.is_a_in_memory || read_tile(op_.a, p.spec.a_tile(), "A", p.a_pieces)) &&
         read_tile(op_.b, b_tile_of(p), "B", p.b_pieces);
}

template <class D>
bool Issue<D>::check_lane(TensorAddress address, unsigned lane, const char* name) {
  if (address.lane == lane) return true;
  w_.fault(kTensorOperand, std::string(name) + " of M = " + std::to_string(spec().m) + " starts at lane " +
                               std::to_string(address.lane) + ", where " + std::to_string(lane) + " is due");
  return false;
}

template <class D>
bool Issue<D>::use(TensorRole role, bool reads, bool writes, unsigned cta, TensorUse cells, const char* name) {
  const std::string error = w_.cta()
                                .cluster()
                                .cta(product().rank + cta)
                                .tensor_memory()
                                .why_not(cells.lane, cells.lanes, cells.column, cells.columns);
  if (!error.empty()) {
    w_.fault(kTensorMemory, std::string(name) + ": " + error);
    return false;
  }
  cells.role = role, cells.reads = reads, cells.writes = writes, cells.rank = product().rank + cta;
  issued_->uses.push_back(cells);
  return true;
}

// Cells that lie as the sums do: rows in runs of lanes.
template <class D>
bool Issue<D>::use_rows(TensorRole role, unsigned copies, std::uint32_t column, std::uint32_t columns,
                        const char* name) {
  const bool is_sum = role == TensorRole::Accumulator;
  const unsigned run = takes_half_lanes(spec()) ? 16 : spec().a_rows();
  for (unsigned cta = 0; cta < text_.form.group; ++cta) {
    for (unsigned row = 0; row < spec().a_rows(); row += run) {
      for (unsigned copy = 0; copy < copies; ++copy) {
        const TensorPlace place = sum_place(spec(), product().half(), cta * spec().a_rows() + row, copy);
        TensorUse cells;
        cells.lane = place.lane, cells.lanes = run, cells.column = column, cells.columns = columns;
        const bool is_shifted = role == TensorRole::A && product().shifts_a;
        if (!use(role, !is_sum || product().adds, is_sum || is_shifted, cta, cells, name)) return false;
      }
    }
  }
  return true;
}

template <class D>
bool Issue<D>::find_cells() {
  const Tcgen05Product& p = product();
  const Tcgen05Form& form = text_.form;
  issued_->kind = TensorKind::Mma, issued_->group = form.group;
  issued_->shape = std::uint64_t{static_cast<unsigned>(form.kind)} | std::uint64_t{form.is_sparse} << 8 |
                   std::uint64_t{form.is_stationary} << 9 | std::uint64_t{form.group} << 10 |
                   std::uint64_t{p.spec.is_wide} << 12 | std::uint64_t{p.spec.m} << 16 | std::uint64_t{p.spec.n} << 32;
  const unsigned half = takes_half_lanes(p.spec) && p.sums.lane == 16 ? 16 : 0;
  if (!check_lane(p.sums, half, "the accumulator")) return false;
  if (!use_rows(TensorRole::Accumulator, sum_parts(p.spec), p.sums.column, sum_columns(p.spec), "the accumulator")) {
    return false;
  }
  if (form.is_a_in_memory &&
      (!check_lane(p.a, half, "A") || !use_rows(TensorRole::A, a_copies(p.spec), p.a.column, kAColumns, "A"))) {
    return false;
  }
  for (unsigned cta = 0; cta < form.group; ++cta) {
    TensorUse cells;
    cells.lanes = kTensorLanes;
    if (form.is_sparse) {
      cells.column = p.metadata.column, cells.columns = metadata_columns(p.spec) + p.spec.selector;
      if (!check_lane(p.metadata, half, "the sparse metadata") ||
          !use(TensorRole::Metadata, true, false, cta, cells, "the sparse metadata")) {
        return false;
      }
    }
    if (!has_block_scales(form.kind)) continue;
    for (const bool is_a : {true, false}) {
      const TensorAddress at = is_a ? p.scales_a : p.scales_b;
      const char* const name = is_a ? "the scales of A" : "the scales of B";
      if (!check_lane(at, 0, name)) return false;
      for (unsigned cell = 0; cell < scale_cells(p.spec, is_a); ++cell) {
        cells.column = at.column + cell * scale_stride(p.spec, is_a), cells.columns = scale_columns(p.spec, is_a);
        if (!use(TensorRole::Scale, true, false, cta, cells, name)) return false;
      }
    }
  }
  return true;
}

// The collector buffer before and after the product.
template <class D>
bool Issue<D>::collect() {
  Tcgen05Product& p = product();
  const CollectorHint hint = Flags::hint(op_.aux);
  const bool holds_b = text_.form.is_stationary;
  auto& buffer = w_.cta().cluster().tensor_pipe().collector(p.rank, holds_b ? 1 + hint.buffer : 0U);
  auto mine = std::make_shared<CollectorFill>();
  mine->element = holds_b ? p.spec.b : p.spec.a;
  mine->is_transposed = holds_b ? p.spec.is_b_transposed : p.spec.is_a_transposed;
  mine->is_in_memory = !holds_b && text_.form.is_a_in_memory;
  mine->address = p.a, mine->pieces = holds_b ? p.b_pieces : p.a_pieces;
  if (!mine->is_in_memory) mine->address = {};
  switch (hint.collecting) {
    case Collecting::Discard:
      buffer.reset();
      return true;
    case Collecting::Fill:
      p.collected = buffer = std::move(mine);
      return true;
    case Collecting::Use:
    case Collecting::LastUse:
      break;
  }
  if (buffer == nullptr || !buffer->is_same(*mine)) {
    w_.fault(kTensorOperand, std::string(holds_b ? "B" : "A") + " is to come from a collector buffer that " +
                                 (buffer == nullptr ? "no product before has filled, or that one has discarded"
                                                    : "was filled with another operand"));
    return false;
  }
  p.collected = buffer;
  if (hint.collecting == Collecting::LastUse) buffer.reset();
  return true;
}

template <class D>
void step_product(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const std::uint32_t adds = w.decided(op.r, "`enable-input-d`");
  if (w.is_stopped()) return;
  if (std::popcount(w.mask()) > 1) {
    return w.fault(kTensorIssue, std::to_string(std::popcount(w.mask())) + " threads of warp " +
                                     std::to_string(w.index()) + " execute this, and each issues a product of its own");
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(w.mask()));
  Issue<D> issue(w, op, lane, (adds >> lane & 1) != 0);
  issue.run();
}

// -- Decoding ---------------------------------------------------------------------------------------------------------

Tcgen05Kind kind_of(const Instr& instr) {
  using Kind = Tcgen05Kind;
  constexpr std::pair<Mod, Kind> kKinds[] = {
      {Mod::kind_f16, Kind::F16},           {Mod::kind_tf32, Kind::Tf32},
      {Mod::kind_f8f6f4, Kind::F8f6f4},     {Mod::kind_i8, Kind::I8},
      {Mod::kind_mxf8f6f4, Kind::Mxf8f6f4}, {Mod::kind_mxf4, Kind::Mxf4},
      {Mod::kind_mxf4nvf4, Kind::Mxf4nvf4},
  };
  for (const auto& [mod, kind] : kKinds) {
    if (instr.has(mod)) return kind;
  }
  return Kind::F16;
}

std::uint8_t scales_of(const Instr& instr, Tcgen05Kind kind) {
  if (kind == Tcgen05Kind::Mxf8f6f4) return 1;
  return instr.has(Mod::scale_vec_4X) || instr.has(Mod::block16) ? 4 : 2;
}

Tcgen05Wide wide_of(const ptx::Target& target, const Instr& instr) {
  if (target.text == "sm_103f") return Tcgen05Wide::Unclear;
  if (target.text != "sm_103a") return Tcgen05Wide::No;
  return instr.has(Mod::block16) || instr.has(Mod::block32) ? Tcgen05Wide::Yes : Tcgen05Wide::Unclear;
}

template <class D>
StepFn<D> select_product(DecodeContext& ctx, const Instr& instr, Op<D>& op, bool is_sparse, bool is_stationary) {
  const bool shifts_a = instr.has(Mod::ashift);
  if (shifts_a && is_sparse) return ctx.unmodelled("`.ashift` of sparse rows"), nullptr;
  Text text;
  std::uint32_t flags = shifts_a ? Flags::kShift : 0;
  text.form.kind = kind_of(instr);
  text.form.is_sparse = is_sparse, text.form.is_stationary = is_stationary;
  text.form.group = instr.has(Mod::cta_group_2) ? 2 : 1;
  const bool is_scaled = has_block_scales(text.form.kind);
  if (is_scaled) text.form.scales = scales_of(instr, text.form.kind);
  text.form.wide = wide_of(ctx.module().target, instr);
  for (const Mod mod : instr.mods) {
    const std::optional<CollectorHint> hint = collector_hint(ptx::text(mod));
    if (!hint) continue;
    flags |= static_cast<std::uint32_t>(hint->collecting) << Flags::kCollecting | std::uint32_t{hint->buffer}
                                                                                      << Flags::kBuffer;
  }
  std::vector<Slot> slots;
  std::size_t next = 0;
  const auto add = [&] { add_address(ctx, instr.operands[next++], slots); };
  add();
  text.form.is_a_in_memory = instr.operands[next].kind == Operand::Kind::Address;
  if (text.form.is_a_in_memory) {
    add();
  } else {
    op.a = ctx.source(instr.operands[next++], Type::b64);
  }
  op.b = ctx.source(instr.operands[next++], Type::b64);
  if (is_sparse) add();
  op.c = ctx.source(instr.operands[next++], Type::b32);
  if (is_scaled) add(), add();
  if (instr.operands[next].kind == Operand::Kind::Vector) {
    flags |= Flags::kLanes;
    for (const Operand& each : instr.operands[next++].elements) slots.push_back(ctx.source(each, Type::b32));
  }
  op.r = ctx.pred_source(instr.operands[next++]);
  if (next < instr.operands.size()) {
    if (is_stationary) {
      flags |= Flags::kMask;
      op.d = ctx.source(instr.operands[next], Type::b64);
    } else {
      text.scale_d = static_cast<std::uint8_t>(instr.operands[next].integer);
    }
  }
  op.list = ctx.list(slots);
  op.imm = text.bits(), op.aux = flags;
  return &step_product<D>;
}

}  // namespace

#define PLUMB_PRODUCT(form, is_sparse, is_stationary)                                             \
  template <class D>                                                                              \
  StepFn<D> Meaning<ptx::Form::form>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) { \
    return select_product(ctx, instr, op, is_sparse, is_stationary);                              \
  }                                                                                               \
  PLUMB_INSTANTIATE_MEANING(form)

PLUMB_PRODUCT(Tcgen05Mma, false, false)
PLUMB_PRODUCT(Tcgen05MmaSp, true, false)
PLUMB_PRODUCT(Tcgen05MmaBlockScale, false, false)
PLUMB_PRODUCT(Tcgen05MmaSpBlockScale, true, false)
PLUMB_PRODUCT(Tcgen05MmaWs, false, true)
PLUMB_PRODUCT(Tcgen05MmaWsSp, true, true)
#undef PLUMB_PRODUCT

}  // namespace plumb::machine
