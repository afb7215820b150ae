// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tensormap_replace.h"

#include <algorithm>
#include <cstring>

#include "machine/exec/operands.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Space;
using ptx::Type;

constexpr unsigned kPart = kMaxAccess;  // bytes that a lane's load or store moves

// The bytes that a field has bits in.
std::array<bool, kTensorMapBytes> bytes_of(TensorMapField field, unsigned ordinal) {
  std::array<bool, kTensorMapBytes> out{};
  for (const std::byte start : {std::byte{0}, std::byte{0xff}}) {
    // Fields store a value or one less: these set and clear every bit.
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      TensorMapImage image;
      image.fill(start);
      replace(image, field, ordinal, field == TensorMapField::ElemType ? value % kTensorTypes : value);
      for (unsigned i = 0; i < kTensorMapBytes; ++i) out[i] = out[i] || image[i] != start;
    }
  }
  // The element type's tf32 bit is only ever set, by the values that the loop above does not reach.
  if (field == TensorMapField::ElemType) out[10] = true;
  return out;
}

template <class D>
bool is_map_aligned(WarpRun<D>& w, Space space, std::uint64_t address, unsigned lane, const char* verb) {
  if (address % kTensorMapAlignment == 0) return true;
  w.report_alignment(space, address, kTensorMapAlignment, lane, verb);
  return false;
}

// Op::a, imm: the map's address; aux: field, ordinal, space, widths of address and value; b: the value.
struct Replacement {
  TensorMapField field = TensorMapField::Rank;
  unsigned ordinal = 0;
  Space space = Space::none;
  unsigned address_width = 8, value_width = 4;

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(field) | ordinal << 4 | static_cast<std::uint32_t>(space) << 8 |
           address_width << 16 | value_width << 20;
  }
  static Replacement unpack(std::uint32_t aux) {
    return {static_cast<TensorMapField>(aux & 15), aux >> 4 & 15, static_cast<Space>(aux >> 8 & 255), aux >> 16 & 15,
            aux >> 20 & 15};
  }
};

// The object is changed byte by byte: what the field does not touch may be unwritten still.
template <class D>
void replace_field(WarpRun<D>& w, const Replacement& what, Space space, std::uint64_t address, std::uint64_t value,
                   unsigned lane) {
  if (!is_map_aligned(w, space, address, lane, "replaces a field of a tensor map in")) return;
  if (std::string loss = loss_of(what.field, what.ordinal, value); !loss.empty()) {
    return w.fault(kTensorMap, w.thread_name(lane) + " replaces a field of a tensor map: " + loss);
  }
  const auto touched = bytes_of(what.field, what.ordinal);
  TaggedBytes parts[kTensorMapBytes / kPart] = {};
  TensorMapImage image;
  for (unsigned at = 0; at < kTensorMapBytes; at += kPart) {
    TaggedBytes& part = parts[at / kPart];
    if (!w.load(space, address + at, kPart, lane, part)) return;
    std::memcpy(image.data() + at, part.bytes, kPart);
    for (unsigned i = 0; i < kPart; ++i) {
      if (!touched[at + i] || part.tags[i] == 0) continue;
      return w.fault(kTensorMap, w.thread_name(lane) +
                                     " replaces a field of a tensor map whose bytes were never written; zero the map "
                                     "first");
    }
  }
  replace(image, what.field, what.ordinal, value);
  for (unsigned at = 0; at < kTensorMapBytes; ++at) {
    if (!touched[at]) continue;
    TaggedBytes out = {};
    out.bytes[0] = image[at];
    if (!w.store(space, address + at, 1, lane, out)) return;
  }
}

template <class D>
void step_replace(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const Replacement what = Replacement::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (!w.addresses(op, what.address_width, address)) return;
  Space space = what.space;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    const auto value = w.concrete(op.b, what.value_width, lane, "a field of a tensor map");
    if (!value) return;
    std::uint64_t at = address[lane];
    space = what.space;
    if (space == Space::none) {
      space = space_of(at);
      at -= window(space);
    }
    if (space != Space::global && space != Space::shared) {
      return w.fault(kTensorMap, w.thread_name(lane) +
                                     " replaces a field of a tensor map outside of global and shared "
                                     "memory");
    }
    replace_field(w, what, space, at, *value, lane);
    address[lane] = at;
  });
  if (!w.is_stopped()) w.observe(AccessKind::Write, space, op, w.mask(), kTensorMapBytes, address);
}

std::optional<TensorMapField> field_of(const ptx::Instr& instr) {
  constexpr std::pair<Mod, TensorMapField> kFields[] = {{Mod::global_address, TensorMapField::GlobalAddress},
                                                        {Mod::rank, TensorMapField::Rank},
                                                        {Mod::box_dim, TensorMapField::BoxDim},
                                                        {Mod::global_dim, TensorMapField::GlobalDim},
                                                        {Mod::global_stride, TensorMapField::GlobalStride},
                                                        {Mod::element_stride, TensorMapField::ElementStride},
                                                        {Mod::elemtype, TensorMapField::ElemType},
                                                        {Mod::interleave_layout, TensorMapField::InterleaveLayout},
                                                        {Mod::swizzle_mode, TensorMapField::SwizzleMode},
                                                        {Mod::fill_mode, TensorMapField::FillMode}};
  for (const auto& [mod, field] : kFields) {
    if (instr.has(mod)) return field;
  }
  return std::nullopt;
}

// Op::a, imm: destination in global memory; Op::b, d (its offset's constant register): source in shared memory.
template <class D>
void step_copy_map(Warp<D>& warp, const Op<D>& op) {
  if (!warp.gather_warp(op)) return;
  auto& w = run_of(warp);
  std::uint64_t to[kLanes], from[kLanes];
  if (!w.addresses(op, op.aux & 15, to)) return;
  Op<D> source = op;
  source.a = op.b;
  source.imm = *w.template lanes<std::uint64_t>(op.d);
  if (!w.addresses(source, op.aux >> 4 & 15, from)) return;
  const auto first = static_cast<unsigned>(std::countr_zero(w.mask()));
  bool is_uniform = true;
  for_lanes(w.mask(),
            [&](unsigned lane) { is_uniform = is_uniform && to[lane] == to[first] && from[lane] == from[first]; });
  if (!is_uniform) return w.unmodelled("a warp that copies tensor maps between several addresses at once");
  if (!is_map_aligned(w, Space::global, to[first], first, "writes a tensor map to")) return;
  if (!is_map_aligned(w, Space::shared, from[first], first, "reads a tensor map from")) return;
  for (unsigned at = 0; at < kTensorMapBytes; at += kPart) {
    TaggedBytes part = {};
    if (!w.load(Space::shared, from[first] + at, kPart, first, part)) return;
    if (!w.store(Space::global, to[first] + at, kPart, first, part)) return;
  }
  const std::uint32_t lane = 1u << first;  // one copy, by the warp
  w.observe(AccessKind::Read, Space::shared, op, lane, kTensorMapBytes, from);
  w.observe(AccessKind::Write, Space::global, op, lane, kTensorMapBytes, to);
  if (Observer* observer = w.cta().observer()) {
    observer->proxy_fence(w.pc(), {w.index(), w.mask()}, ProxyFence::TensormapRelease, nullptr);
  }
}

}  // namespace

template <class D>
std::optional<TensorMapImage> load_tensor_map(WarpRun<D>& w, Space space, std::uint64_t address, unsigned lane) {
  if (!is_map_aligned(w, space, address, lane, "reads a tensor map from")) return std::nullopt;
  TensorMapImage image;
  for (unsigned at = 0; at < kTensorMapBytes; at += kPart) {
    TaggedBytes part = {};
    if (!w.load(space, address + at, kPart, lane, part)) return std::nullopt;
    // The driver's notes, and what follows them, are not read.
    const bool is_read = at < kTensorMapBytes / 2;
    if (is_read && std::any_of(part.tags, part.tags + kPart, [](domain::Tag tag) { return tag != 0; })) {
      w.fault(kTensorMap, w.thread_name(lane) +
                              " copies by a tensor map with bytes that were never written, or that "
                              "are abstract data");
      return std::nullopt;
    }
    std::memcpy(image.data() + at, part.bytes, kPart);
  }
  return image;
}

template <class D>
StepFn<D> Meaning<ptx::Form::TensormapReplace>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const auto field = field_of(instr);
  if (!field) {
    ctx.unmodelled("this field of a tensor map");
    return nullptr;
  }
  Replacement what;
  what.field = *field;
  if (instr.has(Mod::global)) what.space = Space::global;
  if (instr.has(Mod::shared_cta)) what.space = Space::shared;
  const DecodeContext::Address at = ctx.address(instr.operands[0], what.space == Space::none);
  op.a = at.base, op.imm = at.offset, what.address_width = at.width;
  const bool has_ordinal = instr.operands.size() > 2;
  if (has_ordinal) {
    const std::int64_t ordinal = instr.operands[1].integer;
    const std::int64_t most = *field == TensorMapField::GlobalStride ? kMaxTensorRank - 2 : kMaxTensorRank - 1;
    if (ordinal < 0 || ordinal > most) {
      ctx.unmodelled("dimension " + std::to_string(ordinal) + " of a tensor map");
      return nullptr;
    }
    what.ordinal = static_cast<unsigned>(ordinal);
  }
  const bool is_wide = *field == TensorMapField::GlobalAddress || *field == TensorMapField::GlobalStride;
  what.value_width = is_wide ? 8 : 4;
  op.b = ctx.source(instr.operands.back(), is_wide ? Type::b64 : Type::b32);
  op.aux = what.pack();
  return &step_replace<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::TensormapCpFenceproxy>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (instr.operands[2].integer != kTensorMapBytes) {
    ctx.unmodelled("a tensor map of " + std::to_string(instr.operands[2].integer) + " bytes");
    return nullptr;
  }
  std::vector<Slot> from;
  const DecodeContext::Address to = ctx.address(instr.operands[0]);
  const unsigned width = add_address(ctx, instr.operands[1], from);
  op.a = to.base, op.imm = to.offset, op.b = from[0], op.d = from[1];
  op.aux = to.width | width << 4;
  return &step_copy_map<D>;
}

template std::optional<TensorMapImage> load_tensor_map(WarpRun<domain::Ieee>&, Space, std::uint64_t, unsigned);
template std::optional<TensorMapImage> load_tensor_map(WarpRun<domain::Field>&, Space, std::uint64_t, unsigned);
PLUMB_INSTANTIATE_MEANING(TensormapReplace)
PLUMB_INSTANTIATE_MEANING(TensormapCpFenceproxy)

}  // namespace plumb::machine
