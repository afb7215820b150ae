// SPDX-License-Identifier: Apache-2.0
#include "check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "check/cluster_member.h"
#include "check/codes.h"
#include "check/facts.h"
#include "check/log.h"
#include "check/message.h"
#include "check/race.h"

namespace plumb::check {

struct Collector::Inner {
  ptx::CheckedModule module;  // findings point into its source
  std::vector<InstrFacts> facts;
  machine::Launch launch;
  const domain::Memory* memory = nullptr;

  std::mutex mutex;  // guards what follows
  Conflicts conflicts;
  std::vector<CtaFootprint> footprints;
  bool has_fence = false, has_strong = false, has_release = false;
  std::map<std::uint32_t, const char*> unfollowed;  // by instruction: what it does that is not followed
  // Clusters of which some CTAs have their observers and others not yet, by their first CTA.
  struct Gathering {
    std::shared_ptr<RaceChecker> checker;
    std::size_t missing = 0;
  };
  std::map<std::uint64_t, Gathering> gathering;

  void take(CtaLog log) {
    const std::lock_guard lock(mutex);
    unfollowed.insert(log.unfollowed.begin(), log.unfollowed.end());
    conflicts.merge(log.conflicts);
    std::move(log.footprints.begin(), log.footprints.end(), std::back_inserter(footprints));
    has_fence |= log.has_fence;
    has_strong |= log.has_strong;
    has_release |= log.has_release;
  }
  bool may_be_ordered_otherwise() const { return has_release || (has_fence && has_strong) || !unfollowed.empty(); }
};

namespace {

// A checker that hands its log over when its CTA, or its cluster, is done.
class Watch final : public RaceChecker {
 public:
  using Take = std::function<void(CtaLog)>;
  Watch(const std::vector<InstrFacts>& facts, unsigned threads, std::vector<std::uint64_t> ctas, Take take)
      : RaceChecker(facts, threads, std::move(ctas)), take_(std::move(take)) {}
  ~Watch() override { take_(finish()); }
  Watch(const Watch&) = delete;  // a log is handed over once
  Watch& operator=(const Watch&) = delete;

 private:
  Take take_;
};

// The CTAs of the cluster that a CTA is in, by rank, and its own rank.
struct ClusterPlace {
  std::vector<std::uint64_t> ctas;
  std::uint32_t rank = 0;
};

ClusterPlace cluster_of(std::uint64_t cta, const machine::Dim3& grid, const machine::Dim3& cluster) {
  const std::uint64_t x = cta % grid.x, y = cta / grid.x % grid.y, z = cta / grid.x / grid.y;
  ClusterPlace place;
  place.rank = static_cast<std::uint32_t>(x % cluster.x + cluster.x * (y % cluster.y + cluster.y * (z % cluster.z)));
  for (std::uint64_t dz = 0; dz < cluster.z; ++dz) {
    for (std::uint64_t dy = 0; dy < cluster.y; ++dy) {
      for (std::uint64_t dx = 0; dx < cluster.x; ++dx) {
        const std::uint64_t row = y - y % cluster.y + dy + grid.y * (z - z % cluster.z + dz);
        place.ctas.push_back(x - x % cluster.x + dx + grid.x * row);
      }
    }
  }
  return place;
}

// What flags, mbarriers and barriers of a cluster can order; mbarriers also make copies complete.
bool could_be_ordered_otherwise(const Code* code, bool has_unfollowed) {
  const bool is_race = code == &kRaceShared || code == &kRaceGlobal || code == &kRaceCluster ||
                       code == &kRaceCrossCta || code == &kAtomicMix;
  return is_race || (has_unfollowed && code != &kRaceSameInstr && code != &kBarrierReentry);
}

// Instructions whose results differ from one schedule to the next.
void add_unstable_values(const std::vector<InstrFacts>& facts, const std::vector<bool>& executed, Report& report) {
  std::set<std::string> atomics;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (i < executed.size() && !executed[i]) continue;
    const InstrFacts& instr = facts[i];
    if (instr.is_schedule_value) {
      report.unknowns
          .add(kScheduleValue,
               fmt::format("`{}` reads a value that depends on the schedule or the machine", instr.opcode), instr.place)
          .hint =
          "repeat a poll until it is true (`@!p bra` back to it); derive other numbers from `%tid` and `%ctaid`";
    }
    if (instr.is_result_used) {
      report.unknowns.add(
          kAtomicResult,
          fmt::format("the result of `{}` is used, and it depends on the order of arrival", instr.opcode), instr.place);
    }
    if (instr.is_float_atomic) atomics.insert(fmt::format("`{}` at line {}", instr.opcode, instr.line));
  }
  for (const std::string& atomic : atomics) {
    report.nondeterminism.push_back(atomic + " adds floats in any order: the rounding differs from run to run");
  }
}

}  // namespace

Collector::Collector(ptx::CheckedModule module, const ptx::Function& entry, const machine::Launch& launch,
                     const domain::Memory* memory, const std::function<Place(std::uint32_t)>& place) {
  std::vector<InstrFacts> facts = facts_of(*module, entry, place);
  inner_.reset(new Inner{std::move(module), std::move(facts), launch, memory, {}, {}, {}, false, false, false, {}, {}});
}

Collector::~Collector() = default;

std::unique_ptr<machine::Observer> Collector::observe(std::uint64_t cta) {
  Inner& inner = *inner_;
  const auto threads = static_cast<unsigned>(inner.launch.block.count());
  const auto take = [&inner](CtaLog log) { inner.take(std::move(log)); };
  if (inner.launch.cluster.count() <= 1) {
    return std::make_unique<Watch>(inner.facts, threads, std::vector<std::uint64_t>{cta}, take);
  }
  const ClusterPlace place = cluster_of(cta, inner.launch.grid, inner.launch.cluster);
  const std::lock_guard lock(inner.mutex);
  Inner::Gathering& cluster = inner.gathering[place.ctas.front()];
  if (!cluster.checker) {
    cluster = {std::make_shared<Watch>(inner.facts, threads, place.ctas, take), place.ctas.size()};
  }
  auto member = std::make_unique<ClusterMember>(cluster.checker, place.rank);
  if (--cluster.missing == 0) inner.gathering.erase(place.ctas.front());
  return member;
}

Report Collector::finish(const std::vector<bool>& executed) {
  Inner& inner = *inner_;
  const std::lock_guard lock(inner.mutex);
  std::sort(inner.footprints.begin(), inner.footprints.end(),
            [](const CtaFootprint& a, const CtaFootprint& b) { return a.cta < b.cta; });
  std::vector<std::uint64_t> ops;
  for (const InstrFacts& facts : inner.facts) ops.push_back(facts.commuting_op);
  inner.conflicts.merge(cross_cta_conflicts(inner.footprints, ops));

  Report report;
  const bool is_cluster = inner.launch.cluster.count() > 1;
  const Scene scene{inner.facts, inner.launch.grid, inner.launch.block, inner.memory, is_cluster};
  std::vector<Conflict> conflicts;
  std::size_t fences = 0;
  for (const auto& [key, conflict] : inner.conflicts.all()) {
    if (conflict.code == &kTensorFence && fences++ != 0) continue;  // one remark a kernel
    conflicts.push_back(conflict);
  }
  std::sort(conflicts.begin(), conflicts.end(), [](const Conflict& a, const Conflict& b) {
    return std::tie(a.later.instr, a.earlier.instr, a.code->id) < std::tie(b.later.instr, b.earlier.instr, b.code->id);
  });
  for (const Conflict& conflict : conflicts) {
    Finding finding = describe(scene, conflict);
    if (inner.may_be_ordered_otherwise() && could_be_ordered_otherwise(finding.code, !inner.unfollowed.empty())) {
      finding.message += "; other synchronisation might, but is not followed";
      finding.code = &kOrderUnmodelled;
      report.unknowns.add(std::move(finding));
    } else {
      report.findings.add(std::move(finding));
    }
  }
  for (const auto& [instr, what] : inner.unfollowed) {
    if (instr >= inner.facts.size()) continue;
    report.unknowns.add(kOrderUnmodelled,
                        fmt::format("`{}`: what {} order is not followed", inner.facts[instr].opcode, what),
                        inner.facts[instr].place);
  }
  add_unstable_values(inner.facts, executed, report);
  return report;
}

}  // namespace plumb::check
