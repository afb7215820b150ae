// SPDX-License-Identifier: Apache-2.0
// Matrix products that are not computed yet. A product over a long K arrives as many small steps, each adding to the
// results of the one before, which no one else reads. A step only keeps its operands' ids and takes ids without memory
// for its results; when a result is read, its chain of steps is computed as one product. Everything here is one
// worker's and one unit's.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "domain/field/product.h"
#include "domain/field/product_cache.h"
#include "domain/field/value.h"
#include "domain/word.h"

namespace plumb::domain::field {

// What a row of the left operand, or a column of the right one, has at most.
struct Line {
  Value most;                  // counts, flags, valid, degrees; residues unused
  float all_denominators = 0;  // their sum, for lines that do not share one
  bool is_uniform = true;      // one denominator throughout
  bool is_empty = true;
};

// One operand of steps: its ids in rows of `k`; once described what its rows have, once packed its residues.
struct Panel {
  std::vector<ValueId> ids;
  std::uint32_t rows = 0, k = 0;
  std::uint32_t hash = 0;
  const Residues* packed = nullptr;
  std::vector<Line> lines;                // one per row, as the next
  std::vector<Fingerprint> fingerprints;  // empty: some value is temporary
};

class Deferred {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  struct Step {
    DotShape shape;
    std::uint32_t left = 0, right = 0;  // panels
    std::uint32_t previous = kNone;     // the step whose results are added
    std::vector<ValueId> addends;       // without a previous step; empty: zero
    ValueId first = kNoValue;           // deferred results: first + i * n + j
    std::vector<ValueId> made;          // the computed results
  };

  explicit Deferred(Arena& arena) : arena_(&arena) {}

  void clear();
  bool is_empty() const { return used_steps_ == 0 && used_panels_ == 0; }
  // The panel with these ids, rows of `k`.
  std::uint32_t panel(std::span<const ValueId> ids, std::uint32_t rows, std::uint32_t k);
  // The panel that registers with these tags held when last seen, or kNone; `note` says which. One warp multiplies a
  // fragment with many others in a row.
  std::uint32_t find_fragment(std::span<const Tag* const> registers, std::size_t tags_each, Format f) const;
  void note_fragment(std::span<const Tag* const> registers, std::size_t tags_each, Format f, std::uint32_t panel);
  // Index of the new step. `addends`: ids of the m * n values to add, or empty. Its `first` is kNoValue when it cannot
  // be deferred (or ids ran out): compute it at once.
  std::uint32_t add(const DotShape& shape, std::uint32_t left, std::uint32_t right, std::span<const ValueId> addends);

  std::uint32_t step_of(ValueId id) const;  // of a deferred id
  Step& step(std::uint32_t index) { return steps_[index]; }
  Panel& panel(std::uint32_t index) { return panels_[index]; }
  // Room for a panel's residues; it stays where it is until `clear`.
  Residues* room(std::size_t count);

 private:
  static constexpr std::uint32_t kGroup = 16;  // results of a step start at a multiple of this
  static constexpr std::size_t kBlock = 1 << 16;
  static constexpr std::size_t kCached = 1 << 12;
  struct Chunk {
    std::uint32_t number = 0;
    std::vector<std::uint32_t> steps;  // by group
  };

  struct SeenFragment {
    std::uint32_t panel = kNone;
    Format format = Format::F32;
    std::vector<Tag> tags;
  };
  static constexpr std::size_t kSeenFragments = 64;
  static std::size_t fragment_slot(std::span<const Tag* const> registers, std::size_t tags_each);

  bool continues(std::uint32_t step, const DotShape& shape, std::span<const ValueId> addends) const;
  ValueId take(std::uint32_t count, std::uint32_t step);

  Arena* arena_;
  std::vector<Step> steps_;
  std::vector<Panel> panels_;
  std::size_t used_steps_ = 0, used_panels_ = 0;  // the rest keeps its memory for the next unit
  std::vector<std::uint32_t> cache_ = std::vector<std::uint32_t>(kCached, kNone);
  std::vector<SeenFragment> fragments_ = std::vector<SeenFragment>(kSeenFragments);
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> chunk_of_ = std::vector<std::uint32_t>(Arena::kChunks, kNone);
  std::size_t chunk_ = 0;    // the one being filled
  std::uint32_t place_ = 0;  // next result in it
  struct Free {
    void operator()(Residues* block) const { std::free(block); }
  };
  std::vector<std::unique_ptr<Residues[], Free>> blocks_;
  std::size_t block_ = 0, block_place_ = 0;
};

}  // namespace plumb::domain::field
