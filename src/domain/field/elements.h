// SPDX-License-Identifier: Apache-2.0
// Sets of values under a maximum or minimum: lists of shared pieces, each with a hash index and its power sums, so that
// a running maximum grows by a piece at a time and membership is a look-up.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "domain/field/flat_map.h"
#include "domain/field/residue.h"

namespace plumb::domain::field {

inline constexpr std::uint32_t kNoSet = ~0U;

struct Element {
  Residues residues;
  Key identity;
};

struct ElementSet {
  std::vector<std::uint32_t> pieces;
  std::uint32_t count = 0;
  std::uint8_t valid = 0xff;  // lanes that are meaningful in all elements
  bool has_exponential = false;
};

class Elements {
 public:
  explicit Elements(const Modulus& modulus) : modulus_(&modulus) {}

  void clear();
  bool is_empty() const { return pieces_.empty() && sets_.empty(); }
  // Adds the elements that are not in the set yet.
  void add(ElementSet& set, std::span<const Element> elements);
  void add(ElementSet& set, const ElementSet& other);
  // One piece of many small ones, for sets that grew an element at a time.
  void consolidate(ElementSet& set);
  bool contains(const ElementSet& set, const Key& k) const;
  bool contains(const ElementSet& set, const ElementSet& other) const;
  // Sums of the elements' first, second and third powers.
  void power_sums(const ElementSet& set, Residues (&sums)[3]) const;
  Key identity(const ElementSet& set) const;
  template <class Visit>
  void for_each(const ElementSet& set, Visit&& visit) const {
    for (const std::uint32_t piece : set.pieces) {
      for (const Element& element : pieces_[piece].elements) visit(element);
    }
  }

  std::uint32_t keep(ElementSet set) {
    sets_.push_back(std::move(set));
    return static_cast<std::uint32_t>(sets_.size() - 1);
  }
  const ElementSet& at(std::uint32_t set) const { return sets_[set]; }

 private:
  struct Piece {
    std::vector<Element> elements;
    Residues sums[3];
    Key identity;            // the sum of the elements'
    bool is_shared = false;  // some element is in another piece too
  };
  struct Occurrence {
    std::uint32_t piece = 0;
    std::uint32_t next = kNoSet;  // the same element in another piece
  };
  // Makes a piece of the elements that are not in the set.
  std::uint32_t make_piece(const ElementSet& set, std::span<const Element> elements);
  void append(ElementSet& set, std::uint32_t piece);
  // The last occurrence of the element, or kNoSet.
  std::uint32_t last_occurrence(const Key& k) const;

  const Modulus* modulus_;
  std::deque<Piece> pieces_;
  std::deque<ElementSet> sets_;  // references stay good while sets are made
  FlatMap<Key, KeyHash> index_;  // of an element's head: where its list of occurrences is kept
  std::vector<std::uint32_t> heads_;
  std::vector<Occurrence> occurrences_;
};

}  // namespace plumb::domain::field
