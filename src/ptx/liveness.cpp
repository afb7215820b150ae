// SPDX-License-Identifier: Apache-2.0
#include "ptx/liveness.h"

#include <algorithm>
#include <utility>

namespace plumb::ptx {
namespace {

constexpr std::size_t kMostBits = std::size_t{1} << 30;

// Merges `from` into `to`; true when that changed it.
bool unite(std::uint64_t* to, const std::uint64_t* from, std::size_t words) {
  bool is_changed = false;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t sum = to[i] | from[i];
    is_changed |= sum != to[i];
    to[i] = sum;
  }
  return is_changed;
}

bool intersect(std::uint64_t* to, const std::uint64_t* from, std::size_t words) {
  bool is_changed = false;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t both = to[i] & from[i];
    is_changed |= both != to[i];
    to[i] = both;
  }
  return is_changed;
}

}  // namespace

std::optional<Liveness> Liveness::of(const Function& function, const Flow& flow) {
  // The last block that wrote a register, to tell a block's own values from those that come from outside.
  std::vector<std::uint32_t> written_in(function.registers.size(), kNone), number(function.registers.size(), kNone);
  std::vector<RegId> crossing;
  for (std::uint32_t b = 0; b < flow.blocks().size(); ++b) {
    for (std::uint32_t i = flow.blocks()[b].first; i < flow.blocks()[b].last; ++i) {
      const Uses& uses = flow.uses(i);
      const auto read = [&](RegId reg) {
        if (written_in[reg] == b || number[reg] != kNone) return;
        number[reg] = static_cast<std::uint32_t>(crossing.size());
        crossing.push_back(reg);
      };
      std::for_each(uses.reads.begin(), uses.reads.end(), read);
      std::for_each(uses.updates.begin(), uses.updates.end(), read);
      if (function.instrs[i].guard) continue;
      for (const RegId reg : uses.writes) written_in[reg] = b;
    }
  }
  if (!crossing.empty() && flow.blocks().size() > kMostBits / crossing.size()) return std::nullopt;
  return Liveness(function, flow, std::move(number), std::move(crossing));
}

Liveness::Liveness(const Function& function, const Flow& flow, std::vector<std::uint32_t> numbers,
                   std::vector<RegId> crossing)
    : number_(std::move(numbers)),
      crossing_(std::move(crossing)),
      live_out_(flow.blocks().size(), crossing_.size(), false),
      some_in_(flow.blocks().size(), crossing_.size(), false),
      all_in_(flow.blocks().size(), crossing_.size(), true) {
  run_backwards(function, flow);
  run_forwards(flow);
}

void Liveness::run_backwards(const Function& function, const Flow& flow) {
  const std::size_t count = flow.blocks().size();
  BitRows needed(count, crossing_.size(), false), killed(count, crossing_.size(), false);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::uint32_t i = flow.blocks()[b].first; i < flow.blocks()[b].last; ++i) {
      const auto read = [&](RegId reg) {
        if (number_[reg] != kNone && !killed.test(b, number_[reg])) needed.set(b, number_[reg]);
      };
      const Uses& uses = flow.uses(i);
      std::for_each(uses.reads.begin(), uses.reads.end(), read);
      std::for_each(uses.updates.begin(), uses.updates.end(), read);
      if (function.instrs[i].guard) continue;
      for (const RegId reg : uses.writes) {
        if (number_[reg] != kNone) killed.set(b, number_[reg]);
      }
    }
  }
  const std::size_t words = live_out_.words();
  std::vector<std::uint64_t> live(words);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::size_t b = count; b-- > 0;) {
      for (const std::uint32_t next : flow.blocks()[b].successors) {
        for (std::size_t w = 0; w < words; ++w) {
          live[w] = needed.row(next)[w] | (live_out_.row(next)[w] & ~killed.row(next)[w]);
        }
        is_changed |= unite(live_out_.row(b), live.data(), words);
      }
    }
  }
}

void Liveness::run_forwards(const Flow& flow) {
  const std::size_t count = flow.blocks().size();
  if (count == 0) return;
  const std::size_t words = some_in_.words();
  BitRows written(count, crossing_.size(), false);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::uint32_t i = flow.blocks()[b].first; i < flow.blocks()[b].last; ++i) {
      for (const RegId reg : flow.uses(i).writes) {
        if (number_[reg] != kNone) written.set(b, number_[reg]);
      }
    }
  }
  std::fill_n(all_in_.row(0), words, 0);  // nothing is written at the function's start
  std::vector<std::uint64_t> out(words);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::size_t b = 0; b < count; ++b) {
      if (!flow.reached()[b]) continue;
      for (const std::uint32_t next : flow.blocks()[b].successors) {
        for (std::size_t w = 0; w < words; ++w) out[w] = some_in_.row(b)[w] | written.row(b)[w];
        is_changed |= unite(some_in_.row(next), out.data(), words);
        for (std::size_t w = 0; w < words; ++w) out[w] = all_in_.row(b)[w] | written.row(b)[w];
        is_changed |= intersect(all_in_.row(next), out.data(), words);
      }
    }
  }
}

}  // namespace plumb::ptx
