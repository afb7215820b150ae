// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/matrix_sparse.h"

#include <bit>
#include <limits>
#include <optional>

#include "machine/exec/fragment.h"
#include "machine/exec/sparse.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using domain::Format;
using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

constexpr unsigned kRows = 16, kColumns = 8;

// One instruction; travels in Op::imm. Integers have 8 or 4 bits, floats none of the flags.
struct SparseSpec {
  std::uint8_t k = 0;
  Format a = Format::F16, b = Format::F16, acc = Format::F32;
  SparseLayout layout = SparseLayout::FourChunks;
  std::uint8_t selector = 0;
  std::uint8_t bits = 0;  // of an integer
  std::uint8_t flags = 0;

  static constexpr std::uint8_t kSignedA = 1, kSignedB = 2, kSaturating = 4;
  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  static SparseSpec of(std::uint64_t imm) { return std::bit_cast<SparseSpec>(imm); }
  std::uint64_t packed() const { return std::bit_cast<std::uint64_t>(*this); }
};
static_assert(sizeof(SparseSpec) == 8);

// Op::list: the registers of d, a, b, c in turn; Op::aux: how many of each, a byte apiece; Op::c: the metadata.
struct Counts4 {
  unsigned d, a, b, c;
  explicit Counts4(std::uint32_t aux) : d(aux & 0xff), a(aux >> 8 & 0xff), b(aux >> 16 & 0xff), c(aux >> 24) {}
};

template <class D>
std::optional<SparseIndex> index_of(Warp<D>& w, const Op<D>& op, const SparseSpec& spec) {
  const Lane<std::uint32_t>* words = w.concrete_lanes(op.c, "sparse metadata");
  if (words == nullptr) return std::nullopt;
  // Of 4-bit integers the units are pairs.
  const unsigned units = spec.bits == 4 ? spec.k / 2 : spec.k;
  return sparse_index(kRows, units, spec.bits == 0 && spec.a == Format::Tf32, [&](unsigned row, unsigned chunk) {
    return sparse_nibble(spec.layout, words, spec.selector, row, chunk);
  });
}

template <class D>
void step_reals(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  if (!w.gather_warp(op)) return;
  const SparseSpec spec = SparseSpec::of(op.imm);
  const Counts4 counts(op.aux);
  const std::optional<SparseIndex> index = index_of(w, op, spec);
  if (!index) return;
  const unsigned stored = spec.k / 2, per = 4 / domain::byte_size(spec.a);
  Real a[kRows * 32], b[64 * kColumns], c[kRows * kColumns];
  for (unsigned reg = 0; reg < counts.a; ++reg) {
    load_block(w, spec.a, w.listed(op, counts.d + reg), a + 8 * (reg % 2) * stored + 4 * per * (reg / 2), stored, 1);
  }
  for (unsigned reg = 0; reg < counts.b; ++reg) {
    load_block(w, spec.b, w.listed(op, counts.d + counts.a + reg), b + 4 * per * reg * kColumns, 1, kColumns);
  }
  const bool is_packed = spec.acc == Format::F16;
  const auto block = [&](unsigned reg) {
    return is_packed ? c + 8 * reg * kColumns : c + 8 * (reg / 2) * kColumns + reg % 2;
  };
  for (unsigned reg = 0; reg < counts.c; ++reg) {
    load_block(w, spec.acc, w.listed(op, counts.d + counts.a + counts.b + reg), block(reg), kColumns,
               is_packed ? 1 : 2);
  }
  const domain::DotShape shape{kRows, kColumns, spec.k, spec.a, spec.b, spec.acc, domain::DotKind::MmaSync};
  if (!sparse_dot(w.dom(), shape, *index, a, b, c, c)) {
    return w.unmodelled("sparse metadata that mixes halves of two abstract tf32 numbers");
  }
  for (unsigned reg = 0; reg < counts.d; ++reg) {
    store_block(w, spec.acc, w.listed(op, reg), block(reg), kColumns, is_packed ? 1 : 2);
  }
  w.count_macs(std::uint64_t{kRows} * kColumns * spec.k);
}

std::int32_t element(std::uint32_t word, unsigned part, unsigned bits, bool is_signed) {
  const std::uint32_t raw = word >> (bits * part) << (32 - bits);
  return is_signed ? static_cast<std::int32_t>(raw) >> (32 - bits) : static_cast<std::int32_t>(raw >> (32 - bits));
}

template <class D>
void step_ints(Warp<D>& w, const Op<D>& op) {
  if (!w.gather_warp(op)) return;
  const SparseSpec spec = SparseSpec::of(op.imm);
  const Counts4 counts(op.aux);
  const std::optional<SparseIndex> index = index_of(w, op, spec);
  if (!index) return;
  for (unsigned i = counts.d; i < counts.d + counts.a + counts.b + counts.c; ++i) {
    if (w.is_plain(w.listed(op, i))) continue;
    return w.unmodelled("an integer `mma.sp` on bytes that are abstract or were never written");
  }
  const unsigned stored = spec.k / 2, per = 32 / spec.bits, unit = spec.bits == 4 ? 2 : 1;
  std::int32_t a[kRows * 64], b[kColumns * 128];
  for (unsigned reg = 0; reg < counts.a; ++reg) {
    const Lane<std::uint32_t>* words = w.template lanes<std::uint32_t>(w.listed(op, counts.d + reg));
    for (unsigned i = 0; i < kLanes * per; ++i) {
      const unsigned lane = i / per, row = lane / 4 + 8 * (reg % 2),
                     column = per * (lane % 4) + i % per + 4 * per * (reg / 2);
      a[row * stored + column] = element(words[lane], i % per, spec.bits, spec.has(SparseSpec::kSignedA));
    }
  }
  for (unsigned reg = 0; reg < counts.b; ++reg) {
    const Lane<std::uint32_t>* words = w.template lanes<std::uint32_t>(w.listed(op, counts.d + counts.a + reg));
    for (unsigned i = 0; i < kLanes * per; ++i) {
      const unsigned lane = i / per, k = per * (lane % 4) + i % per + 4 * per * reg;
      b[lane / 4 * spec.k + k] = element(words[lane], i % per, spec.bits, spec.has(SparseSpec::kSignedB));
    }
  }
  for (unsigned reg = 0; reg < counts.d; ++reg) {
    const Lane<std::int32_t>* c = w.template lanes<std::int32_t>(w.listed(op, counts.d + counts.a + counts.b + reg));
    write_lanes<D, std::int32_t>(w, w.listed(op, reg), [&](unsigned lane) {
      const unsigned row = lane / 4 + 8 * (reg / 2), column = 2 * (lane % 4) + reg % 2;
      std::int64_t sum = c[lane];
      for (unsigned s = 0; s < stored; ++s) {
        const unsigned k = index->unit[(row * stored + s) / unit] * unit + s % unit;
        sum += std::int64_t{a[row * stored + s]} * b[column * spec.k + k];
      }
      using Limits = std::numeric_limits<std::int32_t>;
      if (spec.has(SparseSpec::kSaturating)) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    });
  }
  w.count_macs(std::uint64_t{kRows} * kColumns * spec.k);
}

std::optional<Format> float_format(Type type) {
  switch (type) {
    case Type::f16:
      return Format::F16;
    case Type::bf16:
      return Format::BF16;
    case Type::tf32:
      return Format::Tf32;
    case Type::e4m3:
      return Format::E4M3;
    case Type::e5m2:
      return Format::E5M2;
    default:
      return std::nullopt;
  }
}

unsigned k_of(const Instr& instr) {
  constexpr std::pair<Mod, unsigned> kShapes[] = {
      {Mod::m16n8k8, 8}, {Mod::m16n8k16, 16}, {Mod::m16n8k32, 32}, {Mod::m16n8k64, 64}, {Mod::m16n8k128, 128}};
  for (const auto& [mod, k] : kShapes) {
    if (instr.has(mod)) return k;
  }
  return 0;
}

// A row of the metadata has this many lanes of a quad, so that the selector picks one of 4, of 2 pairs, or none.
unsigned selectors(SparseLayout layout) {
  return layout == SparseLayout::FourChunks ? 4 : layout == SparseLayout::SixteenChunks ? 1 : 2;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::MmaSp>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  SparseSpec spec;
  spec.k = static_cast<std::uint8_t>(k_of(instr));
  const Type a = instr.type(1), b = instr.type(2);
  const std::optional<Format> float_a = float_format(a), float_b = float_format(b);
  if (float_a && float_b) {
    spec.a = *float_a, spec.b = *float_b;
    spec.acc = instr.type(0) == Type::f16 ? Format::F16 : Format::F32;
    const unsigned bytes = spec.k * domain::byte_size(spec.a);
    spec.layout = domain::byte_size(spec.a) == 1 ? SparseLayout::SixteenChunks
                  : bytes <= 32                  ? SparseLayout::FourChunks
                                                 : SparseLayout::EightWideChunks;
  } else {
    spec.bits = a == Type::s8 || a == Type::u8 ? 8 : 4;
    spec.layout = spec.k * spec.bits == 256 ? SparseLayout::EightChunks : SparseLayout::SixteenChunks;
    spec.flags |= a == Type::s8 || a == Type::s4 ? SparseSpec::kSignedA : 0;
    spec.flags |= b == Type::s8 || b == Type::s4 ? SparseSpec::kSignedB : 0;
    spec.flags |= instr.has(Mod::satfinite) ? SparseSpec::kSaturating : 0;
  }
  std::vector<Slot> slots;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand& operand = instr.operands[i];
    const std::vector<Operand> elements =
        operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand};
    for (const Operand& each : elements) slots.push_back(i == 0 ? ctx.dest(each) : ctx.source(each, Type::b32));
    op.aux |= static_cast<std::uint32_t>(elements.size()) << (8 * i);
  }
  op.list = ctx.list(slots);
  op.c = ctx.source(instr.operands[4], Type::b32);
  const std::int64_t selector = instr.operands[5].integer;
  if (selector < 0 || selector >= selectors(spec.layout)) return ctx.unmodelled("this sparsity selector"), nullptr;
  spec.selector = static_cast<std::uint8_t>(selector);
  op.imm = spec.packed();
  return spec.bits == 0 ? &step_reals<D> : &step_ints<D>;
}

PLUMB_INSTANTIATE_MEANING(MmaSp)

}  // namespace plumb::machine
