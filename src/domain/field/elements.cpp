// SPDX-License-Identifier: Apache-2.0
#include "domain/field/elements.h"

#include <algorithm>

namespace plumb::domain::field {
namespace {

// Pieces of a set are in rising order (see append).
bool has(const ElementSet& set, std::uint32_t piece) {
  return std::binary_search(set.pieces.begin(), set.pieces.end(), piece);
}

}  // namespace

void Elements::clear() {
  pieces_.clear();
  sets_.clear();
  index_.clear();
  heads_.clear();
  occurrences_.clear();
}

std::uint32_t Elements::last_occurrence(const Key& k) const {
  const std::uint32_t* head = index_.find(k);
  return head == nullptr ? kNoSet : heads_[*head];
}

bool Elements::contains(const ElementSet& set, const Key& k) const {
  for (std::uint32_t at = last_occurrence(k); at != kNoSet; at = occurrences_[at].next) {
    if (has(set, occurrences_[at].piece)) return true;
  }
  return false;
}

std::uint32_t Elements::make_piece(const ElementSet& set, std::span<const Element> elements) {
  const auto id = static_cast<std::uint32_t>(pieces_.size());
  Piece& piece = pieces_.emplace_back();
  piece.elements.reserve(elements.size());
  for (const Element& element : elements) {
    const Key k = element.identity;
    const std::uint32_t head = index_.insert(k, static_cast<std::uint32_t>(heads_.size())).first;
    if (head == heads_.size()) heads_.push_back(kNoSet);
    bool is_known = false;
    for (std::uint32_t at = heads_[head]; at != kNoSet && !is_known; at = occurrences_[at].next) {
      is_known = occurrences_[at].piece == id || has(set, occurrences_[at].piece);
    }
    if (is_known) continue;
    for (std::uint32_t at = heads_[head]; at != kNoSet; at = occurrences_[at].next) {
      pieces_[occurrences_[at].piece].is_shared = piece.is_shared = true;
    }
    occurrences_.push_back({id, heads_[head]});
    heads_[head] = static_cast<std::uint32_t>(occurrences_.size() - 1);
    piece.elements.push_back(element);
    piece.identity.low += element.identity.low;
    piece.identity.high += element.identity.high;
    const Residues &a = element.residues, square = mul(*modulus_, a, a);
    piece.sums[0] = field::add(*modulus_, piece.sums[0], a);
    piece.sums[1] = field::add(*modulus_, piece.sums[1], square);
    piece.sums[2] = field::add(*modulus_, piece.sums[2], mul(*modulus_, square, a));
  }
  return id;
}

void Elements::append(ElementSet& set, std::uint32_t piece) {
  if (pieces_[piece].elements.empty()) return;
  const bool is_last = set.pieces.empty() || set.pieces.back() < piece;
  set.pieces.insert(is_last ? set.pieces.end() : std::lower_bound(set.pieces.begin(), set.pieces.end(), piece), piece);
  set.count += static_cast<std::uint32_t>(pieces_[piece].elements.size());
}

void Elements::add(ElementSet& set, std::span<const Element> elements) {
  if (!elements.empty()) append(set, make_piece(set, elements));
}

void Elements::add(ElementSet& set, const ElementSet& other) {
  set.valid &= other.valid;
  set.has_exponential = set.has_exponential || other.has_exponential;
  const ElementSet before = set;  // the pieces of one set are disjoint among themselves
  for (const std::uint32_t id : other.pieces) {
    if (has(before, id)) continue;
    const std::vector<Element>& elements = pieces_[id].elements;
    const bool is_disjoint = before.count == 0 || !pieces_[id].is_shared ||
                             std::none_of(elements.begin(), elements.end(),
                                          [&](const Element& element) { return contains(before, element.identity); });
    append(set, is_disjoint ? id : make_piece(before, elements));
  }
}

void Elements::consolidate(ElementSet& set) {
  std::vector<Element> all;
  all.reserve(set.count);
  for_each(set, [&](const Element& element) { all.push_back(element); });
  ElementSet whole{{}, 0, set.valid, set.has_exponential};
  add(whole, all);
  set = std::move(whole);
}

bool Elements::contains(const ElementSet& set, const ElementSet& other) const {
  if (other.count > set.count) return false;  // no element of a set is there twice
  return std::all_of(other.pieces.begin(), other.pieces.end(), [&](std::uint32_t id) {
    if (has(set, id)) return true;
    if (!pieces_[id].is_shared) return pieces_[id].elements.empty();
    const std::vector<Element>& all = pieces_[id].elements;
    return std::all_of(all.begin(), all.end(), [&](const Element& element) { return contains(set, element.identity); });
  });
}

Key Elements::identity(const ElementSet& set) const {
  Key sum;
  for (const std::uint32_t id : set.pieces) {
    sum.low += pieces_[id].identity.low;
    sum.high += pieces_[id].identity.high;
  }
  return sum;
}

void Elements::power_sums(const ElementSet& set, Residues (&sums)[3]) const {
  for (const std::uint32_t id : set.pieces) {
    for (unsigned i = 0; i < 3; ++i) sums[i] = field::add(*modulus_, sums[i], pieces_[id].sums[i]);
  }
}

}  // namespace plumb::domain::field
