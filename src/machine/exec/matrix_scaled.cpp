// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/matrix_scaled.h"

#include <array>
#include <bit>
#include <optional>

#include "domain/ieee/scaled.h"
#include "machine/exec/fragment.h"
#include "machine/exec/narrow.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using domain::Format;
using domain::ieee::Narrow;
using domain::ieee::Term;
using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

constexpr unsigned kRows = 16, kColumns = 8, kBytes = 32;  // of K in a row: 32 bytes, or 64 elements of 4 bits

// One instruction; travels in Op::imm. A scale is for k / scales elements of a row of A or a column of B.
struct NarrowSpec {
  Narrow a = Narrow::E4M3, b = Narrow::E4M3, scale = Narrow::UE8M0;
  std::uint8_t scales = 0;  // 0: none
  bool is_packed = false;   // two elements a byte
  bool is_half = false;     // f16 accumulators
  std::uint8_t padding[2] = {};

  static NarrowSpec of(std::uint64_t imm) { return std::bit_cast<NarrowSpec>(imm); }
  std::uint64_t packed() const { return std::bit_cast<std::uint64_t>(*this); }
  unsigned k() const { return is_packed ? 2 * kBytes : kBytes; }
};
static_assert(sizeof(NarrowSpec) == 8);

// Op::list: the registers of d, a (4), b (2), c in turn; then, with scales: of A, its byte and thread, of B, likewise.
constexpr unsigned kA = 4, kB = 2, kScaleOperands = 6;
unsigned results(const NarrowSpec& spec) { return spec.is_half ? 2 : 4; }

// Elements of a format below a byte lie in the middle of it when they have 4 bits, in its low end when 6.
Term element(Narrow format, bool is_packed, std::uint32_t word, unsigned i) {
  if (is_packed) return decode(format, word >> (4 * i));
  const std::uint32_t byte = word >> (8 * i) & 0xff;
  return decode(format, format == Narrow::E2M1 ? byte >> 2 : byte);
}

// The scales of the rows of A (line, line + 8) or the columns of B, block by block of K; false after a finding.
template <class D>
bool find_scales(Warp<D>& w, const Op<D>& op, const NarrowSpec& spec, unsigned at, bool is_a,
                 std::array<std::array<Term, 4>, kRows>& out) {
  const Lane<std::uint32_t>* words = w.concrete_lanes(w.listed(op, at), "block scales");
  if (words == nullptr) return false;
  const auto byte = w.concrete(w.listed(op, at + 1), 2, 0, "a scale's byte");
  const auto thread = w.concrete(w.listed(op, at + 2), 2, 0, "a scale's thread");
  if (!byte || !thread) return false;
  if (*byte + spec.scales > 4 || *byte % spec.scales != 0 || *thread > (is_a ? 1u : 3u)) {
    w.unmodelled("block scales at byte " + std::to_string(*byte) + " of thread " + std::to_string(*thread));
    return false;
  }
  for (unsigned line = 0; line < (is_a ? kRows : kColumns); ++line) {
    const unsigned lane = 4 * (line % 8) + static_cast<unsigned>(is_a ? 2 * *thread + line / 8 : *thread);
    for (unsigned i = 0; i < spec.scales; ++i) out[line][i] = decode(spec.scale, words[lane] >> (8 * (*byte + i)));
  }
  return true;
}

using Scales = std::array<std::array<Term, 4>, kRows>;
template <class D>
bool find_all_scales(Warp<D>& w, const Op<D>& op, const NarrowSpec& spec, Scales& a, Scales& b) {
  if (spec.scales == 0) return true;
  const unsigned at = 2 * results(spec) + kA + kB;
  return find_scales(w, op, spec, at, true, a) && find_scales(w, op, spec, at + 3, false, b);
}

// Calls put(line, k, register word, element of the word) for the elements of A or B.
template <class D, class Put>
void for_operand(Warp<D>& w, const Op<D>& op, const NarrowSpec& spec, bool is_a, Put&& put) {
  const unsigned per = spec.is_packed ? 8 : 4, first = results(spec) + (is_a ? 0 : kA);
  for (unsigned reg = 0; reg < (is_a ? kA : kB); ++reg) {
    const Slot slot = w.listed(op, first + reg);
    const unsigned half = is_a ? reg % 2 : 0, step = is_a ? reg / 2 : reg;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned i = 0; i < per; ++i) put(lane / 4 + 8 * half, per * (lane % 4) + i + 4 * per * step, slot, lane, i);
    }
  }
}

void multiply(domain::Ieee&, const NarrowSpec& spec, const std::array<std::array<Term, 64>, kRows>& a,
              const std::array<std::array<Term, 64>, kRows>& b, std::uint64_t (&c)[kRows * kColumns]) {
  std::array<Term, 64> products;
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kColumns; ++column) {
      for (unsigned k = 0; k < spec.k(); ++k) products[k] = product(a[row][k], b[column][k]);
      std::uint64_t& sum = c[row * kColumns + column];
      sum = domain::ieee::fused_sum({products.data(), spec.k()}, spec.is_half ? Format::F16 : Format::F32, sum);
    }
  }
}

// Results: of Op::list, element by element through `c`.
template <class D>
void move_sums(Warp<D>& w, const Op<D>& op, const NarrowSpec& spec, typename D::Real* c, bool is_store) {
  const unsigned first = is_store ? 0 : results(spec) + kA + kB;
  for (unsigned reg = 0; reg < results(spec); ++reg) {
    const Slot slot = w.listed(op, first + reg);
    typename D::Real* block = spec.is_half ? c + 8 * reg * kColumns : c + 8 * (reg / 2) * kColumns + reg % 2;
    const Format acc = spec.is_half ? Format::F16 : Format::F32;
    const unsigned column = spec.is_half ? 1 : 2;
    if (is_store) {
      store_block(w, acc, slot, block, kColumns, column);
    } else {
      load_block(w, acc, slot, block, kColumns, column);
    }
  }
}

template <class D>
void step_narrow(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  if (!w.gather_warp(op)) return;
  const NarrowSpec spec = NarrowSpec::of(op.imm);
  Scales scale_a, scale_b;
  if (!find_all_scales(w, op, spec, scale_a, scale_b)) return;
  Real c[kRows * kColumns];
  move_sums(w, op, spec, c, false);
  const unsigned per_scale = spec.scales == 0 ? spec.k() : spec.k() / spec.scales;
  if constexpr (!D::kHasTags) {
    std::array<std::array<Term, 64>, kRows> a, b;
    const auto load = [&](bool is_a, Narrow format, const Scales& scales, auto& out) {
      for_operand(w, op, spec, is_a, [&](unsigned line, unsigned k, Slot slot, unsigned lane, unsigned i) {
        out[line][k] = element(format, spec.is_packed, w.template lanes<std::uint32_t>(slot)[lane], i);
        if (spec.scales != 0) out[line][k] = product(out[line][k], scales[line][k / per_scale]);
      });
    };
    load(true, spec.a, scale_a, a);
    load(false, spec.b, scale_b, b);
    multiply(w.dom(), spec, a, b, c);
  } else {
    // Over the reals: an operand times its scale is a number of f32, or the case is left alone.
    D& dom = w.dom();
    std::array<Real, kRows * 64> a;
    std::array<Real, 64 * kColumns> b;
    bool is_good = true;
    const auto scaled = [&](Narrow format, Slot slot, unsigned lane, unsigned i, const Term* scale) {
      const domain::Word word = w.word(slot, 4, lane);
      const unsigned byte = spec.is_packed ? i / 2 : i;
      std::optional<Real> number;
      if (word.tags[byte] == 0) {
        const Term term = element(format, spec.is_packed, static_cast<std::uint32_t>(word.bits), i);
        number = f32_of(dom, scale != nullptr ? product(term, *scale) : term);
      } else {
        domain::Word alone;
        alone.tags[0] = word.tags[byte];
        number = f32_of(dom, format, alone, scale);
      }
      is_good = is_good && number;
      return number.value_or(dom.constant(Format::F32, 0));
    };
    for_operand(w, op, spec, true, [&](unsigned line, unsigned k, Slot slot, unsigned lane, unsigned i) {
      a[line * spec.k() + k] =
          scaled(spec.a, slot, lane, i, spec.scales == 0 ? nullptr : &scale_a[line][k / per_scale]);
    });
    for_operand(w, op, spec, false, [&](unsigned line, unsigned k, Slot slot, unsigned lane, unsigned i) {
      b[k * kColumns + line] =
          scaled(spec.b, slot, lane, i, spec.scales == 0 ? nullptr : &scale_b[line][k / per_scale]);
    });
    if (!is_good) return w.unmodelled("narrow operands that are abstract, infinite or NaN, or leave the range of f32");
    const Format acc = spec.is_half ? Format::F16 : Format::F32;
    dom.dot({kRows, kColumns, spec.k(), Format::F32, Format::F32, acc, domain::DotKind::MmaSync}, a.data(), b.data(), c,
            c);
  }
  move_sums(w, op, spec, c, true);
  w.count_macs(std::uint64_t{kRows} * kColumns * spec.k());
}

std::optional<Narrow> narrow_of(Type type) {
  switch (type) {
    case Type::e4m3:
      return Narrow::E4M3;
    case Type::e5m2:
      return Narrow::E5M2;
    case Type::e3m2:
      return Narrow::E3M2;
    case Type::e2m3:
      return Narrow::E2M3;
    case Type::e2m1:
      return Narrow::E2M1;
    default:
      return std::nullopt;
  }
}

template <class D>
StepFn<D> select_any(DecodeContext& ctx, const Instr& instr, Op<D>& op, NarrowSpec spec) {
  const std::optional<Narrow> a = narrow_of(instr.type(1)), b = narrow_of(instr.type(2));
  if (!a || !b) return ctx.unmodelled("these types of `mma`"), nullptr;
  spec.a = *a, spec.b = *b;
  spec.is_half = instr.type(0) == Type::f16;
  std::vector<Slot> slots;
  std::size_t used = 0;
  for (; used < 4; ++used) {
    for (const Operand& each : instr.operands[used].elements) {
      slots.push_back(used == 0 ? ctx.dest(each) : ctx.source(each, Type::b32));
    }
  }
  if (slots.size() != 2 * results(spec) + kA + kB) return ctx.unmodelled("this number of registers"), nullptr;
  if (spec.scales != 0) {
    for (; used < instr.operands.size(); ++used) {
      const Operand& operand = instr.operands[used];
      if (operand.kind != Operand::Kind::Vector) {
        slots.push_back(ctx.source(operand, Type::b32));
        continue;
      }
      for (const Operand& each : operand.elements) slots.push_back(ctx.source(each, Type::u16));
    }
    if (slots.size() != 2 * results(spec) + kA + kB + kScaleOperands) {
      return ctx.unmodelled("this form of block scales"), nullptr;
    }
  }
  op.list = ctx.list(slots);
  op.imm = spec.packed();
  return &step_narrow<D>;
}

}  // namespace

template <class D>
StepFn<D> select_narrow_mma(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_any(ctx, instr, op, NarrowSpec{});
}
template StepFn<domain::Ieee> select_narrow_mma(DecodeContext&, const Instr&, Op<domain::Ieee>&);
template StepFn<domain::Field> select_narrow_mma(DecodeContext&, const Instr&, Op<domain::Field>&);

template <class D>
StepFn<D> Meaning<ptx::Form::MmaBlockScale>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  NarrowSpec spec;
  spec.is_packed = !instr.has(Mod::kind_mxf8f6f4);
  spec.scale = instr.type(4) == Type::ue4m3 ? Narrow::UE4M3 : Narrow::UE8M0;
  spec.scales = !spec.is_packed ? 1 : instr.has(Mod::scale_vec_4X) ? 4 : 2;
  return select_any(ctx, instr, op, spec);
}

PLUMB_INSTANTIATE_MEANING(MmaBlockScale)

}  // namespace plumb::machine
