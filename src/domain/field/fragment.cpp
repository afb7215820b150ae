// SPDX-License-Identifier: Apache-2.0
// Matrix products on registers. Tags are compared and written as they lie; ids are taken apart only for fragments that
// were not seen a moment ago.
#include <algorithm>

#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Deferred;
using field::Worker;

constexpr unsigned kWarpLanes = 32;

// The value whose `size` bytes stand in order at `tags`, or kNoValue.
ValueId value_at(const Tag* tags, unsigned size) {
  const ValueId id = tag_value(tags[0]);
  for (unsigned k = 0; k < size; ++k) {
    if (tags[k] != make_tag(id, k)) return kNoValue;
  }
  return id;
}

// Ids of a fragment's elements at their places; false when one is not a finite abstract value of the format.
bool collect(Worker& w, std::span<const Tag* const> registers, std::span<const std::uint16_t> places, Format f,
             std::vector<ValueId>& ids) {
  const unsigned size = byte_size(f);
  const std::size_t each = places.size() / registers.size();
  ids.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ValueId id = value_at(registers[i / each] + i % each * size, size);
    if (id < kFirstValue || w.format_of(id) != f) return false;
    ids[places[i]] = id;
  }
  return true;
}

std::uint32_t panel_of(Worker& w, const Field::Fragment& fragment) {
  const std::size_t tags_each = fragment.places.size() / fragment.registers.size() * byte_size(fragment.format);
  const std::uint32_t seen = w.deferred.find_fragment(fragment.registers, tags_each, fragment.format);
  if (seen != Deferred::kNone) return seen;
  if (!collect(w, fragment.registers, fragment.places, fragment.format, w.left_ids)) return Deferred::kNone;
  const std::uint32_t panel = w.deferred.panel(w.left_ids, fragment.rows, fragment.k);
  w.deferred.note_fragment(fragment.registers, tags_each, fragment.format, panel);
  return panel;
}

// Four-byte values in registers of one element a lane.
bool holds_run(std::span<const Tag* const> registers, std::span<const std::uint16_t> places, ValueId first) {
  Tag difference = 0;
  for (std::size_t r = 0; r < registers.size(); ++r) {
    const Tag* const tags = registers[r];
    const std::uint16_t* const at = places.data() + r * kWarpLanes;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const Tag tag = make_tag(first + at[lane], 0);
      for (unsigned k = 0; k < 4; ++k) difference |= tags[4 * lane + k] ^ (tag + k);
    }
  }
  return difference == 0;
}

// The accumulators' ids by place. Those of a chain's step before, the common case, are one run.
bool collect_addends(Worker& w, std::span<const Tag* const> c, std::span<const std::uint16_t> places) {
  const ValueId first = tag_value(c[0][0]) - places[0];
  if (tag_value(c[0][0]) < kFirstValue + places[0] || !holds_run(c, places, first)) {
    return collect(w, c, places, Format::F32, w.addend_ids);
  }
  w.addend_ids.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) w.addend_ids[i] = first + static_cast<ValueId>(i);
  const bool is_deferred = w.shared.arena.is_deferred(first) && w.shared.arena.is_deferred(w.addend_ids.back());
  return is_deferred || collect(w, c, places, Format::F32, w.addend_ids);
}

}  // namespace

bool Field::dot(const DotShape& shape, const Fragment& a, const Fragment& b, std::span<const Tag* const> c,
                std::span<const std::uint16_t> places, std::span<Tag* const> d) {
  Inner& w = *inner_;
  const std::uint32_t left = panel_of(w, a);
  if (left == Deferred::kNone) return false;
  const std::uint32_t right = panel_of(w, b);
  if (right == Deferred::kNone) return false;
  w.addend_ids.clear();
  if (!c.empty() && !collect_addends(w, c, places)) return false;
  const std::uint32_t index = w.deferred.add(shape, left, right, w.addend_ids);
  const ValueId first = w.deferred.step(index).first;
  if (first == kNoValue) w.compute_product(index);
  const std::vector<ValueId>& made = w.deferred.step(index).made;
  for (std::size_t r = 0; r < d.size(); ++r) {
    const std::uint16_t* const at = places.data() + r * kWarpLanes;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const Tag tag = make_tag(first != kNoValue ? first + at[lane] : made[at[lane]], 0);
      for (unsigned k = 0; k < 4; ++k) d[r][4 * lane + k] = tag + k;
    }
  }
  return true;
}

}  // namespace plumb::domain
