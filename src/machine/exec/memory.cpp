// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/memory.h"

#include <algorithm>

#include "machine/cluster.h"
#include "machine/exec/value_key.h"
#include "machine/run.h"

namespace plumb::machine {

using ptx::Mod;
using ptx::Space;

Order order_of(const ptx::Instr& instr) {
  Order order;
  if (instr.has(Mod::cta)) order.scope = static_cast<std::uint8_t>(Scope::Cta);
  if (instr.has(Mod::cluster)) order.scope = static_cast<std::uint8_t>(Scope::Cluster);
  if (instr.has(Mod::gpu)) order.scope = static_cast<std::uint8_t>(Scope::Gpu);
  // Volatile accesses order as relaxed ones of the widest scope do.
  if (instr.has(Mod::sys) || instr.has(Mod::volatile_)) order.scope = static_cast<std::uint8_t>(Scope::Sys);
  order.is_acquire = instr.has(Mod::acquire) || instr.has(Mod::acq_rel);
  order.is_release = instr.has(Mod::release) || instr.has(Mod::acq_rel);
  return order;
}

Space space_of(const ptx::Instr& instr) {
  if (instr.has(Mod::global)) return Space::global;
  if (instr.has(Mod::shared) || instr.has(Mod::shared_cta) || instr.has(Mod::shared_cluster)) return Space::shared;
  if (instr.has(Mod::local)) return Space::local;
  if (instr.has(Mod::const_)) return Space::constant;
  if (instr.has(Mod::param) || instr.has(Mod::param_entry) || instr.has(Mod::param_func)) return Space::param;
  return Space::none;
}

namespace {

constexpr unsigned kMaxElements = 8;

// What Op::aux says of a load or store.
struct Shape {
  unsigned count = 1;  // elements
  unsigned size = 4;   // bytes of one
  unsigned address_width = 8;
  bool is_signed = false;   // loads extend by sign
  bool is_cluster = false;  // shared memory of any block of the cluster
  Space space = Space::none;
  std::uint8_t widths[kMaxElements] = {};  // storage bytes of each register; 0: `_`

  unsigned total() const { return count * size; }
  std::uint32_t pack() const {
    std::uint32_t out = count | size << 4 | static_cast<std::uint32_t>(space) << 8 |
                        (address_width == 8 ? 1u << 11 : 0) | (is_signed ? 1u << 12 : 0) | (is_cluster ? 1u << 13 : 0);
    for (unsigned i = 0; i < count; ++i)
      out |= static_cast<std::uint32_t>(std::countr_zero(unsigned{widths[i]}) & 3) << (16 + 2 * i);
    return out;
  }
  static Shape unpack(std::uint32_t aux) {
    Shape shape;
    shape.count = aux & 15, shape.size = aux >> 4 & 15, shape.space = static_cast<Space>(aux >> 8 & 7);
    shape.address_width = (aux >> 11 & 1) != 0 ? 8 : 4, shape.is_signed = (aux >> 12 & 1) != 0;
    shape.is_cluster = (aux >> 13 & 1) != 0;
    for (unsigned i = 0; i < kMaxElements; ++i) {
      const unsigned code = aux >> (16 + 2 * i) & 3;
      shape.widths[i] = static_cast<std::uint8_t>(code == 0 ? 0 : 1u << code);
    }
    return shape;
  }
};

// The bits of a value of `size` bytes in a register of `width` bytes.
std::uint64_t extended(std::uint64_t bits, unsigned size, bool is_signed) {
  if (size == 8) return bits;
  const unsigned shift = 64 - 8 * size;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift)
                   : bits << shift >> shift;
}

// Splits lanes by the space that their generic addresses are in; calls fn(space, lanes) for each, with addresses in it.
template <class Fn>
void by_space(Space named, std::uint32_t mask, std::uint64_t (&address)[kLanes], Fn&& fn) {
  if (named != Space::none) return fn(named, mask);
  while (mask != 0) {
    const Space space = space_of(address[std::countr_zero(mask)]);
    std::uint32_t same = 0;
    for_lanes(mask, [&](unsigned lane) {
      if (space_of(address[lane]) == space) same |= 1u << lane;
    });
    for_lanes(same, [&](unsigned lane) { address[lane] -= window(space); });
    mask &= ~same;
    fn(space, same);
  }
}

// A signed load of abstract bytes: the sign is a bit of data.
template <class D>
bool write_extended(WarpRun<D>& w, const TaggedBytes* loaded, unsigned begin, unsigned size, unsigned width,
                    Slot slot) {
  domain::Word words[kLanes], length;
  length.bits = 8 * size;
  for (std::uint32_t mask = w.mask(); mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    domain::Word low;
    std::memcpy(&low.bits, loaded[lane].bytes + begin, size);
    std::memcpy(low.tags, loaded[lane].tags + begin, size * sizeof(domain::Tag));
    const auto extend = [size](std::uint64_t bits, std::uint64_t, std::uint64_t) { return extended(bits, size, true); };
    if (!w.has_tag(low, size)) {
      words[lane].bits = extended(low.bits, size, true);
    } else if (!w.bit_op(domain::BitOp::BfeS, width, width, low, {}, length, 0, extend, words[lane])) {
      return false;
    }
  }
  w.write_words(slot, width, words);
  return true;
}

// The commonest case of the next.
template <class D>
bool write_four_bytes(WarpRun<D>& w, const TaggedBytes* loaded, unsigned begin, Slot slot) {
  domain::Tag any = 0;
  for_lanes(w.mask(), [&](unsigned lane) {
    const domain::Tag* tags = loaded[lane].tags + begin;
    any |= tags[0] | tags[1] | tags[2] | tags[3];
  });
  if (any != 0) {
    domain::Tag* tags = w.writable_tags(slot, 4);
    for_lanes(w.mask(),
              [&](unsigned lane) { std::memcpy(tags + lane * 4, loaded[lane].tags + begin, 4 * sizeof *tags); });
  }
  auto* out = w.template lanes<std::uint32_t>(slot);
  for_lanes(w.mask(), [&](unsigned lane) { std::memcpy(&out[lane], loaded[lane].bytes + begin, 4); });
  if (any == 0) w.wrote_plain(slot, 4);
  return true;
}

template <class D>
bool write_element(WarpRun<D>& w, const Shape& shape, const TaggedBytes* loaded, unsigned element, Slot slot) {
  const unsigned size = shape.size, begin = element * size, width = shape.widths[element];
  std::byte* out = reinterpret_cast<std::byte*>(w.template lanes<std::uint64_t>(slot));
  bool any = false;
  if constexpr (D::kHasTags) {
    if (size == 4 && width == 4) return write_four_bytes(w, loaded, begin, slot);
  }
  if constexpr (D::kHasTags) {
    for_lanes(w.mask(), [&](unsigned lane) {
      for (unsigned i = begin; i < begin + size; ++i) any |= loaded[lane].tags[i] != 0;
    });
    if (any && shape.is_signed && width > size) return write_extended(w, loaded, begin, size, width, slot);
    if (any) {
      domain::Tag* tags = w.writable_tags(slot, width);
      for_lanes(w.mask(), [&](unsigned lane) {
        std::memset(tags + lane * width, 0, width * sizeof(domain::Tag));
        std::memcpy(tags + lane * width, loaded[lane].tags + begin, std::min(size, width) * sizeof(domain::Tag));
      });
    }
  }
  for_lanes(w.mask(), [&](unsigned lane) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, loaded[lane].bytes + begin, size);
    bits = extended(bits, size, shape.is_signed);
    std::memcpy(out + lane * width, &bits, width);
  });
  if (!any) w.wrote_plain(slot, width);
  return true;
}

template <class D>
void load_any(WarpRun<D>& w, const Op<D>& op, const Shape& shape, std::uint64_t (&address)[kLanes]) {
  TaggedBytes loaded[kLanes];
  if (op.order.scope != 0) w.cta().cluster().looked();
  by_space(shape.space, w.mask(), address, [&](Space space, std::uint32_t lanes) {
    for_lanes(lanes, [&](unsigned lane) {
      if (w.is_stopped()) return;
      if (space == Space::shared && shape.is_cluster) {
        w.load_cluster(address[lane], shape.total(), lane, loaded[lane]);
      } else {
        w.load(space, address[lane], shape.total(), lane, loaded[lane]);
      }
    });
    if (!w.is_stopped()) w.observe(AccessKind::Read, space, op, lanes, shape.total(), address);
  });
  if (w.is_stopped()) return;
  for (unsigned i = 0; i < shape.count; ++i) {
    if (shape.widths[i] != 0 && !write_element(w, shape, loaded, i, w.listed(op, i))) return;
  }
}

template <class D>
void store_any(WarpRun<D>& w, const Op<D>& op, const Shape& shape, std::uint64_t (&address)[kLanes]) {
  TaggedBytes stored[kLanes] = {};
  for (unsigned i = 0; i < shape.count; ++i) {
    const Slot slot = w.listed(op, i);
    for_lanes(w.mask(), [&](unsigned lane) {
      const domain::Word word = w.word(slot, shape.widths[i], lane);
      std::memcpy(stored[lane].bytes + i * shape.size, &word.bits, shape.size);
      std::memcpy(stored[lane].tags + i * shape.size, word.tags, shape.size * sizeof(domain::Tag));
    });
  }
  by_space(shape.space, w.mask(), address, [&](Space space, std::uint32_t lanes) {
    for_lanes(lanes, [&](unsigned lane) {
      if (w.is_stopped()) return;
      if (space == Space::shared && shape.is_cluster) {
        w.store_cluster(address[lane], shape.total(), lane, stored[lane]);
      } else {
        w.store(space, address[lane], shape.total(), lane, stored[lane]);
      }
    });
    if (w.is_stopped() || w.cta().observer() == nullptr) return;
    std::uint64_t keys[kLanes] = {};
    // In shared memory several warps may store one value, each having computed it.
    const bool by_value = space == Space::shared || has_shared_place(address, lanes);
    for_lanes(lanes, [&](unsigned lane) { keys[lane] = value_key(w.dom(), stored[lane], shape.total(), by_value); });
    w.observe(AccessKind::Write, space, op, lanes, shape.total(), address, keys);
  });
}

// Bytes that start at an address.
struct Origin {
  std::byte* bytes = nullptr;
  std::uint64_t address = 0;
};

// Where the executing lanes' accesses lie, when all of them are within one place: the common case, without a check a
// lane. Null: some lane needs a closer look.
template <Space S, class D>
Origin common_origin(WarpRun<D>& w, const std::uint64_t (&address)[kLanes], unsigned total) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0, bits = 0;
  for_lanes(w.mask(), [&](unsigned lane) {
    low = std::min(low, address[lane]);
    high = std::max(high, address[lane]);
    bits |= address[lane];
  });
  if ((bits & (total - 1)) != 0) return {};
  if constexpr (S == Space::shared) {
    const std::uint64_t base = w.cta().shared_base(), end = base + w.cta().shared().size();
    if (low < base || high > end || total > end - high) return {};
    if (w.cta().mbarrier_in(low - base, high - low + total)) return {};
    return {w.cta().shared().bytes(), base};
  } else {
    const std::uint64_t span = high - low;
    if (span > ~std::uint64_t{0} - total) return {};
    domain::Buffer* buffer = w.global(low, span + total);
    if (buffer == nullptr) return {};
    return {buffer->bytes.get(), buffer->address};
  }
}

template <class D>
void step_load(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (w.addresses(op, shape.address_width, address)) load_any(w, op, shape, address);
}

template <class D>
void step_store(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (w.addresses(op, shape.address_width, address)) store_any(w, op, shape, address);
}

// A load from the entry's parameters or the constants at an address that all lanes share, into one register.
template <class D>
void step_load_uniform(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  TaggedBytes loaded = {};
  if (!w.load(shape.space, op.imm, shape.size, static_cast<unsigned>(std::countr_zero(w.mask())), loaded)) return;
  std::uint64_t bits = 0;
  std::memcpy(&bits, loaded.bytes, sizeof bits);
  bits = extended(bits, shape.size, shape.is_signed);
  switch (shape.widths[0]) {
    case 2:
      write_lanes<D, std::uint16_t>(w, w.listed(op, 0), [=](unsigned) { return static_cast<std::uint16_t>(bits); });
      break;
    case 4:
      write_lanes<D, std::uint32_t>(w, w.listed(op, 0), [=](unsigned) { return static_cast<std::uint32_t>(bits); });
      break;
    default:
      write_lanes<D, std::uint64_t>(w, w.listed(op, 0), [=](unsigned) { return bits; });
  }
  if (w.cta().observer() == nullptr) return;
  std::uint64_t address[kLanes];
  std::fill_n(address, kLanes, op.imm);
  w.observe(AccessKind::Read, shape.space, op, w.mask(), shape.size, address);
}

// Loads into registers of exactly the element's size, in domains where memory is plain bytes.
template <class D, Space S, class T, unsigned Count>
void step_load_plain(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  constexpr unsigned kTotal = sizeof(T) * Count;
  std::uint64_t address[kLanes];
  if (!w.addresses(op, shape.address_width, address)) return;
  const Origin origin = common_origin<S>(w, address, kTotal);
  if (origin.bytes == nullptr) return load_any(w, op, shape, address);
  Lane<T>* out[Count];
  for (unsigned i = 0; i < Count; ++i) out[i] = w.template lanes<T>(w.listed(op, i));
  for_lanes(w.mask(), [&](unsigned lane) {
    T values[Count];
    std::memcpy(values, origin.bytes + (address[lane] - origin.address), kTotal);
    for (unsigned i = 0; i < Count; ++i) out[i][lane] = values[i];
  });
  w.observe(AccessKind::Read, S, op, w.mask(), kTotal, address);
}

template <class D, Space S, class T, unsigned Count>
void step_store_plain(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  constexpr unsigned kTotal = sizeof(T) * Count;
  std::uint64_t address[kLanes];
  if (!w.addresses(op, shape.address_width, address)) return;
  const Origin origin = common_origin<S>(w, address, kTotal);
  if (origin.bytes == nullptr) return store_any(w, op, shape, address);
  const Lane<T>* in[Count];
  for (unsigned i = 0; i < Count; ++i) in[i] = w.template lanes<T>(w.listed(op, i));
  for_lanes(w.mask(), [&](unsigned lane) {
    T values[Count];
    for (unsigned i = 0; i < Count; ++i) values[i] = in[i][lane];
    std::memcpy(origin.bytes + (address[lane] - origin.address), values, kTotal);
  });
  if (w.cta().observer() == nullptr) return;
  std::uint64_t keys[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    T values[Count];
    for (unsigned i = 0; i < Count; ++i) values[i] = in[i][lane];
    TaggedBytes stored = {};
    std::memcpy(stored.bytes, values, kTotal);
    keys[lane] = value_key(w.dom(), stored, kTotal, false);
  });
  w.observe(AccessKind::Write, S, op, w.mask(), kTotal, address, keys);
}

template <class D, Space S, class T, bool IsStore>
StepFn<D> plain_step(unsigned count) {
  if constexpr (IsStore) {
    return count == 1   ? &step_store_plain<D, S, T, 1>
           : count == 2 ? &step_store_plain<D, S, T, 2>
                        : &step_store_plain<D, S, T, 4>;
  } else {
    return count == 1   ? &step_load_plain<D, S, T, 1>
           : count == 2 ? &step_load_plain<D, S, T, 2>
                        : &step_load_plain<D, S, T, 4>;
  }
}

template <class D, bool IsStore>
StepFn<D> choose_step(const Shape& shape, bool is_strong_load) {
  const bool is_exact =
      std::all_of(shape.widths, shape.widths + shape.count, [&](unsigned width) { return width == shape.size; });
  const bool has_count = shape.count == 1 || shape.count == 2 || shape.count == 4;
  if (D::kHasTags || is_strong_load || !is_exact || !has_count || shape.total() > 16)
    return IsStore ? &step_store<D> : &step_load<D>;
  const auto of_space = [&]<Space S>() -> StepFn<D> {
    switch (shape.size) {
      case 2:
        return plain_step<D, S, std::uint16_t, IsStore>(shape.count);
      case 4:
        return plain_step<D, S, std::uint32_t, IsStore>(shape.count);
      default:
        return plain_step<D, S, std::uint64_t, IsStore>(shape.count);
    }
  };
  if (shape.space == Space::global) return of_space.template operator()<Space::global>();
  if (shape.space == Space::shared) return of_space.template operator()<Space::shared>();
  return IsStore ? &step_store<D> : &step_load<D>;
}

template <class D, bool IsStore>
StepFn<D> select_access(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const ptx::Operand& address = instr.operands[IsStore ? 0 : 1];
  const ptx::Operand& value = instr.operands[IsStore ? 1 : 0];
  Shape shape;
  shape.space = space_of(instr);
  shape.is_cluster = instr.has(Mod::shared_cluster) || shape.space == Space::none;
  shape.size = ptx::byte_size(instr.type());
  shape.is_signed = ptx::is_signed(instr.type());
  std::vector<Slot> slots;
  const auto add = [&](const ptx::Operand& element) {
    if (slots.size() == kMaxElements) return;
    unsigned width = ctx.width(element);
    if (element.kind == ptx::Operand::Kind::Sink) width = 0;
    else if (width == 0) width = storage_width(instr.type());
    shape.widths[slots.size()] = static_cast<std::uint8_t>(width);
    slots.push_back(IsStore ? ctx.source(element, instr.type()) : ctx.dest(element));
  };
  if (shape.size == 16) {
    // A 128-bit register is two planes of 64 bits.
    shape.size = 8, shape.count = 2;
    const Slot slot = IsStore ? ctx.source(value, instr.type()) : ctx.dest(value);
    slots = {slot, slot + 8 * kLanes};
    shape.widths[0] = shape.widths[1] = 8;
  } else if (value.kind == ptx::Operand::Kind::Vector) {
    for (const ptx::Operand& element : value.elements) add(element);
    shape.count = static_cast<unsigned>(slots.size());
  } else {
    add(value);
  }
  if (shape.total() > kMaxAccess || !std::has_single_bit(shape.total())) {
    ctx.unmodelled("an access of " + std::to_string(shape.total()) + " bytes");
    return nullptr;
  }
  const DecodeContext::Address at = ctx.address(address, shape.space == Space::none);
  op.a = at.base, op.imm = at.offset, shape.address_width = at.width;
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  op.order = order_of(instr);
  const bool is_fixed = address.base != ptx::Operand::Base::Reg && shape.count == 1 && shape.widths[0] != 0;
  if (!IsStore && is_fixed &&
      (shape.space == Space::constant || (shape.space == Space::param && at.offset < kCallParams))) {
    return &step_load_uniform<D>;
  }
  return choose_step<D, IsStore>(shape, !IsStore && op.order.scope != 0);
}

template <class D>
void step_nothing(Warp<D>&, const Op<D>&) {}

// Shared memory of the other blocks of the cluster is `shared::cluster` and not `shared`.
template <class D>
bool is_in_space(WarpRun<D>& w, std::uint64_t address, const Op<D>& op) {
  if (space_of(address) != static_cast<Space>(op.aux)) return false;
  if (static_cast<Space>(op.aux) != Space::shared) return true;
  const std::uint64_t rank = (address - kSharedWindow) >> kRankShift;
  return op.imm != 0 ? rank < w.cta().cluster().size() : rank == w.cta().rank();
}

template <class D>
void step_isspacep(Warp<D>& w, const Op<D>& op) {
  auto& run = static_cast<WarpRun<D>&>(w);
  std::uint32_t bits = 0;
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto address = w.concrete(op.a, 8, lane, "the address");
    if (address && is_in_space(run, *address, op)) bits |= 1u << lane;
  });
  if (!w.is_stopped()) w.write_pred(op.p, bits);
}

template <class D>
void step_discard(Warp<D>& warp, const Op<D>& op) {
  constexpr unsigned kLine = 128;
  auto& w = static_cast<WarpRun<D>&>(warp);
  std::uint64_t address[kLanes];
  if (!w.addresses(op, op.aux, address)) return;
  TaggedBytes nothing = {};
  std::fill_n(nothing.bytes, kMaxAccess, std::byte{0xcd});
  std::fill_n(nothing.tags, kMaxAccess, domain::kUndefinedTag);
  for_lanes(w.mask(), [&](unsigned lane) {
    if (address[lane] % kLine != 0) return w.report_alignment(Space::global, address[lane], kLine, lane, "discards");
    for (unsigned at = 0; at < kLine && !w.is_stopped(); at += kMaxAccess) {
      w.store(Space::global, address[lane] + at, kMaxAccess, lane, nothing);
    }
  });
  if (!w.is_stopped()) w.observe(AccessKind::Write, Space::global, op, w.mask(), kLine, address);
}

// An opaque cache policy: any value will do, it only steers caches.
template <class D>
void step_policy(Warp<D>& w, const Op<D>& op) {
  write_lanes<D, std::uint64_t>(w, op.d, [](unsigned) { return std::uint64_t{0x10f0000000000000}; });
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Ld>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_access<D, false>(ctx, instr, op);
}
template <class D>
StepFn<D> Meaning<ptx::Form::LdNc>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_access<D, false>(ctx, instr, op);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Ldu>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_access<D, false>(ctx, instr, op);
}
template <class D>
StepFn<D> Meaning<ptx::Form::St>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_access<D, true>(ctx, instr, op);
}

// Hints: they move nothing that a program can see, and do not fault.
template <class D>
StepFn<D> Meaning<ptx::Form::Prefetch>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return &step_nothing<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::Applypriority>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return &step_nothing<D>;
}

// Discarded bytes hold no value any more.
template <class D>
StepFn<D> Meaning<ptx::Form::Discard>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0], true);
  op.a = at.base, op.imm = at.offset, op.aux = at.width;
  return &step_discard<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Isspacep>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.p = ctx.pred_dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], ptx::Type::u64);
  op.aux = static_cast<std::uint32_t>(space_of(instr));
  op.imm = instr.has(Mod::shared_cluster) ? 1 : 0;
  return &step_isspacep<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Cvta>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (instr.type() != ptx::Type::u64) {
    ctx.unmodelled("32-bit generic addresses");
    return nullptr;
  }
  ctx.two(instr, op);
  op.imm = window(space_of(instr));
  if (instr.has(Mod::to)) op.imm = std::uint64_t{0} - op.imm;
  return [](Warp<D>& w, const Op<D>& o) {
    map1<std::uint64_t, std::uint64_t>(w, {}, o.d, o.a, [base = o.imm](std::uint64_t x) { return x + base; });
  };
}

template <class D>
StepFn<D> Meaning<ptx::Form::CreatePolicyFractional>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  return &step_policy<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::CreatePolicyRange>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  return &step_policy<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::CreatePolicyCvt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  return &step_policy<D>;
}

PLUMB_INSTANTIATE_MEANING(Ld)
PLUMB_INSTANTIATE_MEANING(LdNc)
PLUMB_INSTANTIATE_MEANING(Ldu)
PLUMB_INSTANTIATE_MEANING(St)
PLUMB_INSTANTIATE_MEANING(Prefetch)
PLUMB_INSTANTIATE_MEANING(Applypriority)
PLUMB_INSTANTIATE_MEANING(Discard)
PLUMB_INSTANTIATE_MEANING(Isspacep)
PLUMB_INSTANTIATE_MEANING(Cvta)
PLUMB_INSTANTIATE_MEANING(CreatePolicyFractional)
PLUMB_INSTANTIATE_MEANING(CreatePolicyRange)
PLUMB_INSTANTIATE_MEANING(CreatePolicyCvt)

}  // namespace plumb::machine
