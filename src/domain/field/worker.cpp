// SPDX-License-Identifier: Apache-2.0
#include "domain/field/worker.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "domain/field/number.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint16_t kMostRoundings = 0x7fff;
constexpr double kSentinel = -1e4;

std::uint8_t mode_flags(const FloatMode& mode) {
  unsigned flags = 0;
  if (mode.round == Round::Rz) flags |= Signature::kTruncated;
  if (mode.ftz) flags |= Signature::kFlushed;
  if (mode.approximate) flags |= Signature::kApproximate;
  if (mode.satfinite) flags |= Signature::kClamped;
  return static_cast<std::uint8_t>(flags);
}

}  // namespace

Worker::Worker(Shared& context)
    : shared(context),
      temporary(context.arena, ChunkKind::Temporary),
      permanent(context.arena, ChunkKind::Permanent),
      pair_memo(4096),
      elements(context.modulus),
      predicates(context.modulus),
      deferred(context.arena) {
  PLUMB_CHECK(permanent.allocate(scratch) != nullptr);
  peek(scratch) = Value{};
}

Value& Worker::allocate(ValueId& id) {
  Value* v = temporary.allocate(id);
  if (v == nullptr) {
    raise(kFieldMemory, "no room for more abstract values");
    id = scratch;
    return peek(id);
  }
  fresh = id;
  return *v;
}

void Worker::raise(const Code& code, std::string text) {
  if (fault.code == nullptr) fault = {&code, std::move(text)};
}

void Worker::force(Value& v) {
  v.kind &= static_cast<std::uint8_t>(~kLazy);
  if (v.is(Kind::Log)) {
    force_logarithm(v);
  } else {
    force_order(v);
  }
}

Class Worker::classify(Format f, std::uint64_t bits) {
  if (ieee::is_nan(f, bits)) return Class::NotANumber;
  if (ieee::is_infinite(f, bits)) return ieee::is_negative(f, bits) ? Class::NegativeInfinite : Class::Infinite;
  if (ieee::magnitude(f, bits) == 0) return Class::Zero;
  if (shared.options.sentinels && ieee::is_negative(f, bits)) {
    const double value = to_double(f, bits);
    if (value <= kSentinel) {
      shared.assume({"sentinel", std::to_string(value) + " stands for minus infinity"});
      return Class::NegativeInfinite;
    }
  }
  return Class::Finite;
}

ValueId Worker::lift(Format f, std::uint64_t bits) {
  Literal& cached = literals[mix64(bits + static_cast<std::uint64_t>(f)) % literals.size()];
  if (cached.id != kNoValue && cached.bits == bits && cached.format == f) return cached.id;
  const ValueId id = shared.literal(f, bits, permanent);
  if (id == kNoValue) {
    raise(kFieldMemory, "no room for more abstract values");
    return kPoisonId;
  }
  cached = {bits, id, f};
  return id;
}

Real Worker::finish(Format f, ValueId id, FloatMode mode, bool is_rounding) {
  if (peek(id).is_broken()) return {id};
  if (id != fresh && peek(id).format() != f) id = copy(f, id);
  Value& v = peek(id);
  if (id == fresh) {
    v.set(f);
    if (is_rounding) {
      v.flags |= mode_flags(mode);
      if (const auto rounding = rounding_class(f)) {
        std::uint16_t& count = v.counts[static_cast<unsigned>(*rounding)];
        count = static_cast<std::uint16_t>(std::min<unsigned>(count + 1U, kMostRoundings));
      }
    }
  }
  if (mode.relu || mode.sat) id = maximum(f, id, lift(f, 0), false);
  if (mode.sat) id = maximum(f, id, lift(f, ieee.from_int(f, 1, {})), true);
  fresh = kNoValue;
  return {id};
}

ValueId Worker::keep(ValueId id) {
  if (id < kFirstValue || !shared.arena.is_temporary(id)) return id;
  if (const auto found = kept.find(id); found != kept.end()) return found->second;
  Value v = get(id);
  switch (v.raw_kind()) {
    case Kind::Log:
      v.aux = keep(v.aux);
      v.key_of_denominator = keep(v.key_of_denominator);
      break;
    case Kind::Root:
    case Kind::InverseRoot:
    case Kind::Absolute:
      v.aux = keep(v.aux);
      break;
    case Kind::Maximum:
    case Kind::Minimum:
      if (is_integer(v.format())) set_bound(v, pairs[v.aux].bound);
      [[fallthrough]];
    case Kind::Exponential:
    case Kind::Scaled:  // what they are made of is this unit's
      v.kind = static_cast<std::uint8_t>(Kind::Plain);
      break;
    default:
      break;
  }
  ValueId copy = kNoValue;
  Value* place = permanent.allocate(copy);
  if (place == nullptr) {
    raise(kFieldMemory, "no room for more abstract values");
    return kPoisonId;
  }
  *place = v;
  kept.emplace(id, copy);
  return copy;
}

}  // namespace plumb::domain::field

namespace plumb::domain {

Field::Field(FieldContext& context) : inner_(std::make_unique<Inner>(*context.inner_)), fault_(&inner_->fault) {}
Field::~Field() = default;
Field::Field(Field&&) noexcept = default;
Field& Field::operator=(Field&&) noexcept = default;

void Field::fault(const Code& code, std::string text) { inner_->raise(code, std::move(text)); }

void Field::note_address() { inner_->facts.saw_address = true; }

void Field::begin_unit() {
  Inner& w = *inner_;
  w.shared.enter_unit(w.is_in_unit);
  w.temporary.rewind();
  w.roomy_chunks = field::kRoomyChunks;
  w.generation = 0;
  w.kept.clear();
  w.most_atoms = std::max(w.most_atoms, w.facts.atoms);
  w.most_exponential_atoms = std::max(w.most_exponential_atoms, w.facts.exponential_atoms);
  w.facts.atoms = w.facts.exponential_atoms = 0;
  w.pairs.clear();
  w.scalings.clear();
  w.pair_memo.assign(w.pair_memo.size(), {});
  w.inverses.fill({});
  w.elements.clear();
  w.deferred.clear();
  w.noted_scales.fill(kNoValue);
  w.predicates.clear();
  w.word_bits.clear();
  w.log_targets.clear();
  w.log_bases.clear();
  w.rescaled.clear();
}

void Field::end_unit() {
  begin_unit();
  inner_->shared.leave_unit(inner_->is_in_unit);
}

bool Field::wants_room() const {
  const Inner& w = *inner_;
  return w.temporary.filled() >= w.roomy_chunks && w.is_plain_unit();
}

void Field::keep_only(std::span<const std::span<const Tag>> roots) {
  Inner& w = *inner_;
  field::Arena& arena = w.shared.arena;
  std::unordered_set<std::uint32_t> needed;  // chunks
  std::vector<ValueId> parts;
  std::unordered_set<ValueId> seen_parts;
  ValueId last = kNoValue;
  const auto reach = [&](ValueId id) {
    if (id < kFirstValue || id == last || !arena.is_temporary(id)) return;
    last = id;
    needed.insert(id >> field::Arena::kChunkBits);
    const field::Value& v = arena.at(id);
    switch (v.raw_kind()) {
      case field::Kind::Plain:
      case field::Kind::Constant:
      case field::Kind::Fixed:
      case field::Kind::Undefined:
      case field::Kind::Poison:
        return;
      case field::Kind::Log:
        parts.push_back(v.key_of_denominator);
        [[fallthrough]];
      default:
        parts.push_back(v.aux);
    }
  };
  for (const std::span<const Tag> tags : roots) {
    for (const Tag tag : tags) reach(tag_value(tag));
  }
  while (!parts.empty()) {
    const ValueId id = parts.back();
    parts.pop_back();
    if (seen_parts.insert(id).second) reach(id);
  }
  w.temporary.recycle([&](std::uint32_t chunk) { return needed.contains(chunk); });
  w.roomy_chunks = std::max(field::kRoomyChunks, 2 * w.temporary.filled());
  w.kept.clear();
  w.pair_memo.assign(w.pair_memo.size(), {});
  w.inverses.fill({});
  w.noted_scales.fill(kNoValue);
  w.fresh = kNoValue;
  ++w.generation;
}

std::uint32_t Field::generation(ValueId id) const {
  return id >= kFirstValue && inner_->shared.arena.is_temporary(id) ? inner_->generation : 0;
}

}  // namespace plumb::domain
