// SPDX-License-Identifier: Apache-2.0
// What is said when no thread of a cluster can go on: who waits where, and for what.
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/lanes.h"
#include "machine/mend.h"

namespace plumb::machine {

namespace {

// "lanes 0-3, 7"
std::string lane_list(std::uint32_t mask) {
  if (mask == kFullMask) return "all lanes";
  std::string out = std::popcount(mask) == 1 ? "lane " : "lanes ";
  bool is_first = true;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kLanes && (mask >> (last + 1) & 1) != 0) ++last;
    if (!is_first) out += ", ";
    is_first = false;
    out += std::to_string(lane);
    if (last != lane) out += "-" + std::to_string(last);
    lane = last;
  }
  return out;
}

template <class D>
std::string barrier_text(Cta<D>& cta, const Split<D>& split) {
  const Barrier& barrier = cta.barrier(split.barrier);
  const std::string text = " wait at barrier " + std::to_string(split.barrier) + ": ";
  if (barrier.expected != 0) {
    return text + std::to_string(barrier.threads) + " of " + std::to_string(barrier.expected) + " threads arrived";
  }
  std::uint32_t missing = 0;
  for (const auto& other : cta.warps()) {
    missing += static_cast<std::uint32_t>(std::popcount(other->live() & ~barrier.arrived[other->index()]));
  }
  return text + std::to_string(missing) + " threads have not arrived";
}

}  // namespace

template <class D>
Stop Cluster<D>::deadlock() {
  constexpr std::size_t kNotes = 8;
  Finding finding{&kDeadlock, Severity::Error, {}, {}, {}, {}};
  const bool is_cluster = size() > 1;
  const auto add = [&](WarpRun<D>& warp, std::uint32_t mask, const std::string& what, std::uint32_t pc) {
    std::string text = lane_list(mask) + " of warp " + std::to_string(warp.index());
    if (is_cluster) text += " of " + warp.cta().name();
    text += what;
    if (finding.message.empty()) {
      finding.message = "no thread of " + (is_cluster ? "the cluster of " + ctas_[0]->name() : ctas_[0]->name()) +
                        " can go on: " + text;
      finding.place = program_.place(pc);
    } else if (finding.notes.size() < kNotes) {
      finding.notes.push_back({text, program_.place(pc)});
    }
  };
  for (auto& cta : ctas_) {
    for (const auto& warp : cta->warps()) {
      for (const Split<D>& split : warp->splits()) {
        const auto pc = static_cast<std::uint32_t>(split.op - program_.ops.data());
        if (split.state == Split<D>::State::Barrier) {
          add(*warp, split.mask, barrier_text(*cta, split), pc);
        } else if (split.state == Split<D>::State::Collective) {
          finding.code = &kCollective;
          add(*warp, split.mask,
              " wait here for " + lane_list(split.member & warp->live() & ~split.mask) + " of the same warp", pc);
        }
      }
      warp->explain_waits(
          [&](const Split<D>& split, const WaitPicture& picture) {
            add(*warp, split.mask, " wait " + picture.text, split.pc);
          },
          true);
      if (const auto polled = warp->polled(); polled && warp->is_idle() && !warp->is_done()) {
        add(*warp, warp->live(), " test " + describe_mbarrier(*cta, *polled) + " again and again", warp->pc());
      }
    }
  }
  finding.hint = mend_of(*finding.code);
  return Stop{Stop::Kind::Defect, std::move(finding)};
}

template <class D>
std::string describe_mbarrier(Cta<D>& cta, std::uint32_t offset) {
  const std::string name = "the mbarrier at shared address " + std::to_string(offset);
  const Mbarrier* barrier = cta.mbarrier(offset);
  if (barrier == nullptr) return name;
  const std::size_t in_flight = cta.cluster().in_flight_for(cta.rank(), offset);
  return name + ", whose phase " + std::to_string(barrier->phase) + " needs " + std::to_string(barrier->pending) +
         " of " + std::to_string(barrier->expected) + " arrivals and " + std::to_string(barrier->tx) + " bytes; " +
         std::to_string(in_flight) + " operations that signal it are in flight";
}

template Stop Cluster<domain::Ieee>::deadlock();
template Stop Cluster<domain::Field>::deadlock();
template std::string describe_mbarrier(Cta<domain::Ieee>&, std::uint32_t);
template std::string describe_mbarrier(Cta<domain::Field>&, std::uint32_t);

}  // namespace plumb::machine
