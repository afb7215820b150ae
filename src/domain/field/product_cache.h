// SPDX-License-Identifier: Apache-2.0
// Matrix products that both sides of a proof make of the same values: the Triton program's block is kept, and the
// candidate's steps, whatever their shape, look their results up. A row or column is known by a fingerprint of its
// values' ids; fingerprints are polynomials at points drawn with the primes, so that two different lines of length k
// meet with a probability below (k / 2^61)^3. Trailing zeros do not count. Only permanent values have ids that say what
// they are on both sides; lines with others have no fingerprint.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/field/residue.h"
#include "domain/word.h"

namespace plumb::domain::field {

// Arithmetic modulo 2^61 - 1.
struct Fingerprint {
  static constexpr unsigned kPoints = 3;
  std::uint64_t at[kPoints] = {};  // the polynomial's values
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

class ProductCache {
 public:
  void seed(std::uint64_t key);

  // Of a line's values, the first one at power zero; the number zero counts as nothing.
  Fingerprint fingerprint(std::span<const ValueId> line) const;
  // The power of the points by which a part that starts at `place` is raised.
  Fingerprint power(std::uint64_t place) const;
  static void add(Fingerprint& sum, const Fingerprint& part, const Fingerprint& power);

  // Products of all rows with all columns, when they are those of a block kept or of its part.
  bool find(std::span<const Fingerprint> rows, std::span<const Fingerprint> columns, Residues* out) const;
  void keep(std::span<const Fingerprint> rows, std::span<const Fingerprint> columns,
            std::span<const Residues> products);

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 25;  // products: a gibibyte

  struct Hash {
    std::size_t operator()(const Fingerprint& f) const {
      return static_cast<std::size_t>(f.at[0] * 0x9e3779b97f4a7c15ULL);
    }
  };
  struct Place {
    std::uint32_t group = 0, index = 0;
  };
  // Lines that were multiplied together, and where each line lies.
  struct Side {
    std::map<std::vector<Fingerprint>, std::uint32_t> groups;
    std::unordered_map<Fingerprint, Place, Hash> places;
    std::uint32_t group(std::span<const Fingerprint> lines);
    // The group that all lines are of; false: none.
    bool find(std::span<const Fingerprint> lines, std::uint32_t& group, std::vector<std::uint32_t>& indices) const;
  };
  struct Block {
    std::uint32_t columns = 0;
    std::vector<Residues> products;
  };

  std::array<std::uint64_t, Fingerprint::kPoints> points_{};
  mutable std::shared_mutex mutex_;
  Side rows_, columns_;
  std::unordered_map<std::uint64_t, Block> blocks_;  // by both groups
  std::size_t kept_ = 0;
};

}  // namespace plumb::domain::field
