// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/wmma.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "machine/exec/fragment.h"
#include "machine/exec/memory.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using domain::Format;
using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

constexpr unsigned kWord = 4;  // bytes of a register, but for f64

enum class Part : std::uint8_t { A, B, C };

struct Shape {
  unsigned m, n, k;
};
constexpr std::pair<Mod, Shape> kShapes[] = {{Mod::m16n16k16, {16, 16, 16}}, {Mod::m32n8k16, {32, 8, 16}},
                                             {Mod::m8n32k16, {8, 32, 16}},   {Mod::m16n16k8, {16, 16, 8}},
                                             {Mod::m8n8k4, {8, 8, 4}},       {Mod::m8n8k32, {8, 8, 32}},
                                             {Mod::m8n8k128, {8, 8, 128}}};

unsigned shape_index(const Instr& instr) {
  unsigned i = 0;
  while (i < std::size(kShapes) && !instr.has(kShapes[i].first)) ++i;
  return i;
}

unsigned bits_of(Type type) {
  switch (type) {
    case Type::b1:
      return 1;
    case Type::s4:
    case Type::u4:
      return 4;
    case Type::s8:
    case Type::u8:
      return 8;
    case Type::f16:
    case Type::bf16:
      return 16;
    case Type::f64:
      return 64;
    default:
      return 32;
  }
}

// Row and column in the whole matrix.
struct Cell {
  unsigned row = 0, column = 0;
};

// Where element `part` of a lane's register `reg` of A or B lies: its line (a row of A, a column of B) and its k. A
// register holds `per` elements along k of one line; a block is eight lines of four of these. Fragments with more
// registers than blocks hold them again.
Cell operand_cell(Part which, const Shape& shape, unsigned per, unsigned reg, unsigned lane, unsigned part) {
  const unsigned lines = which == Part::A ? shape.m : shape.n, along = shape.k / (4 * per);
  unsigned line = 0, k = 0;
  if (lines == 8) {
    k = reg % along;
  } else if (lines == 32) {
    line = along == 1 ? reg : 2 * (reg / 4) + reg % 2;
    k = along == 1 ? 0 : reg / 2 % 2;
  } else if (which == Part::A) {
    line = reg % 2, k = reg / 2 % along;
  } else {
    line = reg / along % 2, k = reg % along;
  }
  const Cell at{8 * line + lane / 4, per * (lane % 4) + part + 4 * per * k};
  return which == Part::A ? at : Cell{at.column, at.row};
}

// Element i of a lane's accumulators.
Cell sum_cell(const Shape& shape, unsigned lane, unsigned i) {
  const unsigned group = lane / 4, pair = 2 * (lane % 4) + i % 2;
  if (shape.m == 32) return {8 * (i / 2) + group, pair};
  if (shape.n == 32) return {pair, 8 * (i / 2) + group};
  return {8 * (i / 2 % 2) + group, 8 * (i / 4) + pair};
}

Cell cell_of(Part which, const Shape& shape, unsigned per, unsigned reg, unsigned lane, unsigned part) {
  return which == Part::C ? sum_cell(shape, lane, reg * per + part) : operand_cell(which, shape, per, reg, lane, part);
}

// -- Loads and stores: Op::a, imm: the address; Op::b: the stride; Op::list: the registers.
// ----------------------------
struct Move {  // travels in Op::aux
  unsigned shape = 0, bits = 16, registers = 0;
  Part which = Part::A;
  bool is_column_major = false, is_strided = false;
  Space space = Space::none;
  unsigned address_width = 8;

  std::uint32_t packed() const {
    return shape | static_cast<unsigned>(std::countr_zero(bits)) << 3 | registers << 6 |
           static_cast<unsigned>(which) << 10 | (is_column_major ? 1u << 12 : 0) | (is_strided ? 1u << 13 : 0) |
           static_cast<unsigned>(space) << 14 | address_width << 22;
  }
  static Move of(std::uint32_t aux) {
    return {aux & 7,
            1u << (aux >> 3 & 7),
            aux >> 6 & 15,
            static_cast<Part>(aux >> 10 & 3),
            (aux >> 12 & 1) != 0,
            (aux >> 13 & 1) != 0,
            static_cast<Space>(aux >> 14 & 255),
            aux >> 22};
  }
  const Shape& the_shape() const { return kShapes[shape].second; }
  unsigned width() const { return bits == 64 ? 8 : kWord; }  // of a register
  unsigned per() const { return std::max(1u, 32 / bits); }
  // Elements below a byte move a register at a time: they lie side by side along k.
  unsigned piece_bytes() const { return bits < 8 ? kWord : bits / 8; }
  unsigned pieces() const { return width() / piece_bytes(); }
};

// The matrix's address and the elements between its rows (or columns); false after a finding.
template <class D>
bool find_matrix(WarpRun<D>& w, const Op<D>& op, Move& move, std::uint64_t& base, std::uint64_t& stride) {
  if (!w.gather_warp(op)) return false;
  std::uint64_t address[kLanes];
  if (!w.addresses(op, move.address_width, address)) return false;
  const Shape& shape = move.the_shape();
  const unsigned rows = move.which == Part::B ? shape.k : shape.m, columns = move.which == Part::A ? shape.k : shape.n;
  stride = move.is_column_major ? rows : columns;
  const Lane<std::uint32_t>* strides = nullptr;
  if (move.is_strided && (strides = w.concrete_lanes(op.b, "the stride")) == nullptr) return false;
  if (strides != nullptr) stride = strides[0];
  base = address[0];
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    if (address[lane] == base && (strides == nullptr || strides[lane] == stride)) continue;
    w.fault(kCollective, "lanes 0 and " + std::to_string(lane) + " give different addresses or strides of one matrix");
    return false;
  }
  if (move.space == Space::none) {
    move.space = space_of(base);
    base -= window(move.space);
  }
  return true;
}

// Calls fn(lane addresses, register, piece) for the pieces of the fragment in turn.
template <class Fn>
void for_pieces(const Move& move, std::uint64_t base, std::uint64_t stride, Fn&& fn) {
  for (unsigned reg = 0; reg < move.registers; ++reg) {
    for (unsigned piece = 0; piece < move.pieces(); ++piece) {
      std::uint64_t address[kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const Cell at = cell_of(move.which, move.the_shape(), move.per(), reg, lane, piece);
        const std::uint64_t element = move.is_column_major ? at.column * stride + at.row : at.row * stride + at.column;
        address[lane] = base + element * move.bits / 8;
      }
      if (!fn(address, reg, piece)) return;
    }
  }
}

template <class D>
void step_load(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  Move move = Move::of(op.aux);
  std::uint64_t base = 0, stride = 0;
  if (!find_matrix(w, op, move, base, stride)) return;
  const unsigned size = move.piece_bytes();
  domain::Word words[16][kLanes] = {};
  for_pieces(move, base, stride, [&](std::uint64_t(&address)[kLanes], unsigned reg, unsigned piece) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      TaggedBytes loaded = {};
      if (!w.load(move.space, address[lane], size, lane, loaded)) return false;
      std::memcpy(reinterpret_cast<std::byte*>(&words[reg][lane].bits) + piece * size, loaded.bytes, size);
      if constexpr (D::kHasTags) std::copy_n(loaded.tags, size, words[reg][lane].tags + piece * size);
    }
    w.observe(AccessKind::Read, move.space, op, kFullMask, size, address);
    return true;
  });
  if (w.is_stopped()) return;
  for (unsigned reg = 0; reg < move.registers; ++reg) w.write_words(w.listed(op, reg), move.width(), words[reg]);
}

template <class D>
void step_store(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  Move move = Move::of(op.aux);
  std::uint64_t base = 0, stride = 0;
  if (!find_matrix(w, op, move, base, stride)) return;
  const unsigned size = move.piece_bytes();
  for_pieces(move, base, stride, [&](std::uint64_t(&address)[kLanes], unsigned reg, unsigned piece) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const domain::Word word = w.word(w.listed(op, reg), move.width(), lane);
      TaggedBytes stored = {};
      std::memcpy(stored.bytes, reinterpret_cast<const std::byte*>(&word.bits) + piece * size, size);
      std::copy_n(word.tags + piece * size, size, stored.tags);
      if (!w.store(move.space, address[lane], size, lane, stored)) return false;
    }
    w.observe(AccessKind::Write, move.space, op, kFullMask, size, address);
    return true;
  });
}

template <class D>
StepFn<D> select_move(DecodeContext& ctx, const Instr& instr, Op<D>& op, Part which, bool is_store) {
  Move move;
  move.shape = shape_index(instr);
  if (move.shape == std::size(kShapes)) return ctx.unmodelled("this shape of `wmma`"), nullptr;
  move.bits = bits_of(instr.type());
  move.which = which;
  move.is_column_major = instr.has(Mod::col);
  move.space = space_of(instr);
  const Operand &address = instr.operands[is_store ? 0 : 1], &fragment = instr.operands[is_store ? 1 : 0];
  const DecodeContext::Address at = ctx.address(address, move.space == Space::none);
  op.a = at.base, op.imm = at.offset, move.address_width = at.width;
  if (instr.operands.size() > 2) {
    move.is_strided = true;
    op.b = ctx.source(instr.operands[2], Type::u32);
  }
  const std::vector<Operand> elements =
      fragment.kind == Operand::Kind::Vector ? fragment.elements : std::vector<Operand>{fragment};
  std::vector<Slot> slots;
  for (const Operand& each : elements) {
    slots.push_back(is_store ? ctx.source(each, move.bits == 64 ? Type::f64 : Type::b32) : ctx.dest(each));
  }
  move.registers = static_cast<unsigned>(slots.size());
  op.list = ctx.list(slots);
  op.aux = move.packed();
  return is_store ? &step_store<D> : &step_load<D>;
}

// -- Products: Op::list: the registers of d, a, b, c in turn; Op::aux: how many of each, a byte apiece.
// ----------------
struct Product {  // travels in Op::imm
  std::uint8_t shape = 0;
  Type a = Type::none, b = Type::none, c = Type::none, d = Type::none;
  domain::Round round = domain::Round::Rn;
  std::uint8_t flags = 0;
  std::uint8_t padding = 0;
  static constexpr std::uint8_t kSaturating = 1, kXor = 2;

  static Product of(std::uint64_t imm) { return std::bit_cast<Product>(imm); }
  std::uint64_t packed() const { return std::bit_cast<std::uint64_t>(*this); }
  const Shape& the_shape() const { return kShapes[shape].second; }
};
static_assert(sizeof(Product) == 8);

Format format_of(Type type) {
  switch (type) {
    case Type::f16:
      return Format::F16;
    case Type::bf16:
      return Format::BF16;
    case Type::tf32:
      return Format::Tf32;
    case Type::f64:
      return Format::F64;
    default:
      return Format::F32;
  }
}

struct Registers {
  unsigned d, a, b, c;  // counts
  explicit Registers(std::uint32_t aux) : d(aux & 0xff), a(aux >> 8 & 0xff), b(aux >> 16 & 0xff), c(aux >> 24) {}
};

template <class D>
void load_matrix(Warp<D>& w, const Op<D>& op, Part which, const Shape& shape, Format format, unsigned first,
                 unsigned count, std::vector<typename D::Real>& out) {
  const unsigned columns = which == Part::A ? shape.k : shape.n, per = std::max(1u, 4 / domain::byte_size(format));
  const unsigned rows = which == Part::B ? shape.k : shape.m;
  out.resize(std::size_t{rows} * columns);
  for (unsigned reg = 0; reg < count; ++reg) {
    for (unsigned i = 0; i < kLanes * per; ++i) {
      const Cell at = cell_of(which, shape, per, reg, i / per, i % per);
      out[at.row * columns + at.column] = w.real(format, w.listed(op, first + reg), i / per, i % per, per);
    }
  }
}

// tf32: two steps of half of k each.
template <class D>
void half_by_half(D& dom, domain::DotShape shape, const std::vector<typename D::Real>& a,
                  const std::vector<typename D::Real>& b, std::vector<typename D::Real>& c) {
  const unsigned k = shape.k;
  shape.k = k / 2;
  std::vector<typename D::Real> part(std::size_t{shape.m} * shape.k);
  for (unsigned half = 0; half < 2; ++half) {
    for (unsigned i = 0; i < part.size(); ++i) part[i] = a[i / shape.k * k + half * shape.k + i % shape.k];
    dom.dot(shape, part.data(), b.data() + std::size_t{half} * shape.k * shape.n, c.data(), c.data());
  }
}

template <class D>
void step_reals(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  if (!w.gather_warp(op)) return;
  const Product product = Product::of(op.imm);
  const Shape& shape = product.the_shape();
  const Registers count(op.aux);
  const Format acc = format_of(product.d), addend = format_of(product.c);
  std::vector<Real> a, b, c;
  load_matrix(w, op, Part::A, shape, format_of(product.a), count.d, count.a, a);
  load_matrix(w, op, Part::B, shape, format_of(product.b), count.d + count.a, count.b, b);
  load_matrix(w, op, Part::C, shape, addend, count.d + count.a + count.b, count.c, c);
  D& dom = w.dom();
  // Mixed accumulators work in f32.
  const Format inner = acc == addend ? acc : Format::F32;
  if (addend != inner) {
    for (Real& x : c) x = dom.convert(inner, addend, x, {});
  }
  const domain::DotShape dot{
      shape.m, shape.n, shape.k, format_of(product.a), format_of(product.b), inner, domain::DotKind::MmaSync};
  if (acc == Format::F64) {
    dot_rounded(dom, dot, product.round, a.data(), b.data(), c.data());
  } else if (product.a == Type::tf32) {
    half_by_half(dom, dot, a, b, c);
  } else {
    dom.dot(dot, a.data(), b.data(), c.data(), c.data());
  }
  if (acc != inner) {
    for (Real& x : c) x = dom.convert(acc, inner, x, {});
  }
  const unsigned per = std::max(1u, 4 / domain::byte_size(acc));
  for (unsigned reg = 0; reg < count.d; ++reg) {
    Real elements[kLanes * 2];
    for (unsigned i = 0; i < kLanes * per; ++i) {
      const Cell at = sum_cell(shape, i / per, reg * per + i % per);
      elements[i] = c[at.row * shape.n + at.column];
    }
    w.write_reals(acc, w.listed(op, reg), per, elements);
  }
  w.count_macs(std::uint64_t{shape.m} * shape.n * shape.k);
}

std::int32_t element(std::uint32_t word, unsigned part, unsigned bits, bool is_signed) {
  const std::uint32_t raw = word >> (bits * part) << (32 - bits);
  return is_signed ? static_cast<std::int32_t>(raw) >> (32 - bits) : static_cast<std::int32_t>(raw >> (32 - bits));
}

template <class D>
void step_ints(Warp<D>& w, const Op<D>& op) {
  if (!w.gather_warp(op)) return;
  const Product product = Product::of(op.imm);
  const Shape& shape = product.the_shape();
  const Registers count(op.aux);
  for (unsigned i = count.d; i < count.d + count.a + count.b + count.c; ++i) {
    if (w.is_plain(w.listed(op, i))) continue;
    return w.unmodelled("an integer `wmma` on bytes that are abstract or were never written");
  }
  const unsigned bits = bits_of(product.a), per = 32 / bits;
  std::vector<std::int32_t> a(std::size_t{shape.m} * shape.k), b(std::size_t{shape.k} * shape.n);
  const auto load = [&](Part which, unsigned first, unsigned registers, bool is_signed,
                        std::vector<std::int32_t>& out) {
    const unsigned columns = which == Part::A ? shape.k : shape.n;
    for (unsigned reg = 0; reg < registers; ++reg) {
      const Lane<std::uint32_t>* words = w.template lanes<std::uint32_t>(w.listed(op, first + reg));
      for (unsigned i = 0; i < kLanes * per; ++i) {
        const Cell at = operand_cell(which, shape, per, reg, i / per, i % per);
        out[at.row * columns + at.column] = element(words[i / per], i % per, bits, is_signed);
      }
    }
  };
  load(Part::A, count.d, count.a, product.a == Type::s8 || product.a == Type::s4, a);
  load(Part::B, count.d + count.a, count.b, product.b == Type::s8 || product.b == Type::s4, b);
  for (unsigned reg = 0; reg < count.d; ++reg) {
    const Lane<std::int32_t>* c = w.template lanes<std::int32_t>(w.listed(op, count.d + count.a + count.b + reg));
    write_lanes<D, std::int32_t>(w, w.listed(op, reg), [&](unsigned lane) {
      const Cell at = sum_cell(shape, lane, reg);
      std::int64_t sum = c[lane];
      for (unsigned k = 0; k < shape.k; ++k) {
        const std::int32_t x = a[at.row * shape.k + k], y = b[k * shape.n + at.column];
        sum += bits > 1 ? x * y : (product.flags & Product::kXor) != 0 ? x ^ y : x & y;
      }
      using Limits = std::numeric_limits<std::int32_t>;
      if ((product.flags & Product::kSaturating) != 0)
        sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    });
  }
  w.count_macs(std::uint64_t{shape.m} * shape.n * shape.k);
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::WmmaLoadA>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_move(ctx, instr, op, Part::A, false);
}
template <class D>
StepFn<D> Meaning<ptx::Form::WmmaLoadB>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_move(ctx, instr, op, Part::B, false);
}
template <class D>
StepFn<D> Meaning<ptx::Form::WmmaLoadC>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_move(ctx, instr, op, Part::C, false);
}
template <class D>
StepFn<D> Meaning<ptx::Form::WmmaStoreD>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return select_move(ctx, instr, op, Part::C, true);
}

template <class D>
StepFn<D> Meaning<ptx::Form::WmmaMma>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  Product product;
  product.shape = static_cast<std::uint8_t>(shape_index(instr));
  if (product.shape == std::size(kShapes)) return ctx.unmodelled("this shape of `wmma`"), nullptr;
  product.d = instr.type(0);
  if (instr.type(2) == Type::none) {  // .dtype.ctype: operands of f16
    product.a = product.b = Type::f16;
    product.c = instr.type(1);
  } else {
    product.a = instr.type(1), product.b = instr.type(2), product.c = instr.type(3);
  }
  product.round = instr.has(Mod::rz)   ? domain::Round::Rz
                  : instr.has(Mod::rm) ? domain::Round::Rm
                  : instr.has(Mod::rp) ? domain::Round::Rp
                                       : domain::Round::Rn;
  product.flags |= instr.has(Mod::satfinite) ? Product::kSaturating : 0;
  product.flags |= instr.has(Mod::xor_) ? Product::kXor : 0;
  std::vector<Slot> slots;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand& operand = instr.operands[i];
    const std::vector<Operand> elements =
        operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand};
    const Type type = product.a == Type::f64 ? Type::f64 : Type::b32;
    for (const Operand& each : elements) slots.push_back(i == 0 ? ctx.dest(each) : ctx.source(each, type));
    op.aux |= static_cast<std::uint32_t>(elements.size()) << (8 * i);
  }
  op.list = ctx.list(slots);
  op.imm = product.packed();
  return product.d == Type::s32 ? &step_ints<D> : &step_reals<D>;
}

PLUMB_INSTANTIATE_MEANING(WmmaLoadA)
PLUMB_INSTANTIATE_MEANING(WmmaLoadB)
PLUMB_INSTANTIATE_MEANING(WmmaLoadC)
PLUMB_INSTANTIATE_MEANING(WmmaStoreD)
PLUMB_INSTANTIATE_MEANING(WmmaMma)

}  // namespace plumb::machine
