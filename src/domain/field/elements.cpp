// SPDX-License-Identifier: Apache-2.0
#include "domain/field/elements.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace plumb::domain::field {
namespace {

std::size_t slot_of(const Key& k, std::size_t slots) { return mix64(k.low ^ k.high) & (slots - 1); }

}  // namespace

void Elements::clear() {
  pieces_.clear();
  sets_.clear();
}

bool Elements::contains(const Piece& piece, const Key& k) {
  for (std::size_t at = slot_of(k, piece.slots.size());; at = (at + 1) & (piece.slots.size() - 1)) {
    const std::uint32_t entry = piece.slots[at];
    if (entry == 0) return false;
    if (key(piece.elements[entry - 1]) == k) return true;
  }
}

// False when it is there already. `slots` has room.
bool Elements::insert(Piece& piece, const Residues& element) {
  const Key k = key(element);
  std::size_t at = slot_of(k, piece.slots.size());
  for (; piece.slots[at] != 0; at = (at + 1) & (piece.slots.size() - 1)) {
    if (key(piece.elements[piece.slots[at] - 1]) == k) return false;
  }
  piece.elements.push_back(element);
  piece.slots[at] = static_cast<std::uint32_t>(piece.elements.size());
  return true;
}

void Elements::finish(ElementSet& set, Piece piece) {
  if (piece.elements.empty()) return;
  for (const Residues& a : piece.elements) {
    const Residues square = mul(*modulus_, a, a);
    piece.sums[0] = field::add(*modulus_, piece.sums[0], a);
    piece.sums[1] = field::add(*modulus_, piece.sums[1], square);
    piece.sums[2] = field::add(*modulus_, piece.sums[2], mul(*modulus_, square, a));
  }
  set.count += static_cast<std::uint32_t>(piece.elements.size());
  set.pieces.push_back(static_cast<std::uint32_t>(pieces_.size()));
  pieces_.push_back(std::move(piece));
}

void Elements::add(ElementSet& set, std::span<const Residues> elements) {
  if (elements.empty()) return;
  Piece piece;
  piece.slots.assign(std::bit_ceil(2 * elements.size()), 0);
  piece.elements.reserve(elements.size());
  for (const Residues& element : elements) {
    if (!contains(set, key(element))) insert(piece, element);
  }
  finish(set, std::move(piece));
}

void Elements::consolidate(ElementSet& set) {
  std::vector<Residues> all;
  all.reserve(set.count);
  for_each(set, [&](const Residues& element) { all.push_back(element); });
  ElementSet whole{{}, 0, set.valid};
  add(whole, all);
  set = std::move(whole);
}

void Elements::add(ElementSet& set, const ElementSet& other) {
  set.valid &= other.valid;
  for (const std::uint32_t id : other.pieces) {
    if (std::find(set.pieces.begin(), set.pieces.end(), id) != set.pieces.end()) continue;
    const bool is_disjoint = std::none_of(pieces_[id].elements.begin(), pieces_[id].elements.end(),
                                          [&](const Residues& element) { return contains(set, key(element)); });
    if (is_disjoint) {
      set.pieces.push_back(id);
      set.count += static_cast<std::uint32_t>(pieces_[id].elements.size());
    } else {
      const std::vector<Residues> copy = pieces_[id].elements;  // `add` moves the pieces
      add(set, copy);
    }
  }
}

bool Elements::contains(const ElementSet& set, const Key& k) const {
  // The piece added last first: that is where a running maximum's elements are.
  return std::any_of(set.pieces.rbegin(), set.pieces.rend(),
                     [&](std::uint32_t id) { return contains(pieces_[id], k); });
}

bool Elements::contains(const ElementSet& set, const ElementSet& other) const {
  return std::all_of(other.pieces.begin(), other.pieces.end(), [&](std::uint32_t id) {
    if (std::find(set.pieces.begin(), set.pieces.end(), id) != set.pieces.end()) return true;
    const auto& all = pieces_[id].elements;
    return std::all_of(all.begin(), all.end(), [&](const Residues& element) { return contains(set, key(element)); });
  });
}

void Elements::power_sums(const ElementSet& set, Residues (&sums)[3]) const {
  for (const std::uint32_t id : set.pieces) {
    for (unsigned i = 0; i < 3; ++i) sums[i] = field::add(*modulus_, sums[i], pieces_[id].sums[i]);
  }
}

}  // namespace plumb::domain::field
