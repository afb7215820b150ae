// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <tuple>

#include "check/check.h"
#include "check/codes.h"
#include "check/facts.h"
#include "check/footprint.h"
#include "check/watcher.h"

namespace plumb::check {
namespace {

constexpr std::size_t kMostIncidents = 32;

std::string_view hint_of(const Code& code) {
  if (&code == &kRaceShared || &code == &kRaceGlobal) return "put `bar.sync 0;` between the two accesses";
  if (&code == &kUnwaitedRead || &code == &kUnwaitedWrite) {
    return "wait with a smaller `cp.async.wait_group`, then `bar.sync 0;`, before the bytes are used";
  }
  if (&code == &kCopyOverwrites) return "put `bar.sync 0;` between the reads of the buffer and the copy into it";
  if (&code == &kOverlappingCopies) return "wait for the first copy, or mend the offset";
  if (&code == &kUnwaitedExit) return "put `cp.async.wait_all;` before the end";
  return {};
}

}  // namespace

struct Collector::Inner {
  Inner(ptx::CheckedModule checked, const machine::Launch& at, const domain::Memory* named)
      : module(std::move(checked)), launch(at), memory(named) {}

  ptx::CheckedModule module;
  std::vector<InstrFacts> facts;
  machine::Launch launch;
  const domain::Memory* memory = nullptr;

  std::mutex mutex;  // guards what follows
  struct Seen {
    Incident incident;
    std::uint64_t cta = 0;
  };
  std::map<std::tuple<std::string_view, std::uint32_t, std::uint32_t, bool>, Seen> incidents;
  std::vector<Interval> reads, writes;

  void report(const Incident& incident, std::uint64_t cta) {
    const std::lock_guard lock(mutex);
    const auto key = std::tuple(incident.code->id, incident.instr, incident.other, incident.is_unknown);
    const auto found = incidents.find(key);
    if (found != incidents.end()) {
      if (cta < found->second.cta) found->second = {incident, cta};
    } else if (incidents.size() < kMostIncidents) {
      incidents.emplace(key, Seen{incident, cta});
    }
  }

  std::string where(const Incident& incident) const {
    if (incident.space == machine::MemorySpace::Shared) return fmt::format("shared byte {}", incident.address);
    return place_of(incident.address);
  }
  std::string place_of(std::uint64_t address) const {
    const domain::Buffer* buffer = memory != nullptr ? memory->find(address, 1) : nullptr;
    if (buffer == nullptr) return fmt::format("global address {:#x}", address);
    return fmt::format("byte {} of `{}`", address - buffer->address, buffer->name);
  }

  Finding finding(const Seen& seen) const {
    const Incident& incident = seen.incident;
    const InstrFacts& own = facts[incident.instr];
    const InstrFacts& other = facts[incident.other];
    Finding out{incident.code, Severity::Error, {}, own.place, {}, std::string(hint_of(*incident.code))};
    if (incident.code == &kUnwaitedExit) {
      out.severity = Severity::Note;
      out.message = fmt::format("thread {} of CTA {} exits while this copy is in flight", incident.thread, seen.cta);
      return out;
    }
    if (incident.code == &kBarrierReentry) {
      out.message = fmt::format("thread {} of CTA {} arrives without knowing that thread {} has left the last round",
                                incident.thread, seen.cta, incident.other_thread);
      return out;
    }
    if (incident.code == &kRaceSameInstr) {
      out.message = fmt::format("lanes of one `{}` write {}: threads {} and {} of CTA {}", own.opcode, where(incident),
                                incident.thread, incident.other_thread, seen.cta);
      return out;
    }
    out.message =
        fmt::format("`{}` of thread {} and `{}` of thread {} (line {}) touch {} in CTA {} without order", own.opcode,
                    incident.thread, other.opcode, incident.other_thread, other.line, where(incident), seen.cta);
    out.notes.push_back({fmt::format("the other access: {}", incident.code->summary), other.place});
    return out;
  }
};

Collector::Collector(ptx::CheckedModule module, const ptx::Function& entry, const machine::Launch& launch,
                     const domain::Memory* memory)
    : inner_(std::make_unique<Inner>(std::move(module), launch, memory)) {
  inner_->facts = facts_of(*inner_->module, entry);
}

Collector::~Collector() = default;

std::unique_ptr<machine::Observer> Collector::observe(std::uint64_t cta) {
  Inner& inner = *inner_;
  const auto threads = static_cast<unsigned>(inner.launch.block.count());
  return std::make_unique<Watcher>(
      threads, inner.facts, [&inner, cta](const Incident& incident) { inner.report(incident, cta); },
      [&inner, cta](Footprint& footprint) {
        const auto number = static_cast<std::uint32_t>(cta);
        std::vector<Interval> reads = footprint.take_reads(number), writes = footprint.take_writes(number);
        const std::lock_guard lock(inner.mutex);
        inner.reads.insert(inner.reads.end(), reads.begin(), reads.end());
        inner.writes.insert(inner.writes.end(), writes.begin(), writes.end());
      });
}

Report Collector::finish(const std::vector<bool>& executed) {
  Inner& inner = *inner_;
  Report report;
  for (const auto& [key, seen] : inner.incidents) {
    Finding finding = inner.finding(seen);
    if (!seen.incident.is_unknown) {
      report.findings.add(std::move(finding));
      continue;
    }
    finding.code = &kOrderUnmodelled;
    report.unknowns.add(std::move(finding));
  }
  bool has_commuting = false;
  for (const CrossConflict& conflict : cross_conflicts(inner.writes, inner.reads, has_commuting)) {
    const InstrFacts& first = inner.facts[conflict.first.instr];
    const InstrFacts& second = inner.facts[conflict.second.instr];
    const std::uint64_t address = std::max(conflict.first.begin, conflict.second.begin);
    Finding& finding =
        report.findings.add(kRaceCrossCta,
                            fmt::format("`{}` of CTA {} and `{}` of CTA {} touch {}", first.opcode, conflict.first.cta,
                                        second.opcode, conflict.second.cta, inner.place_of(address)),
                            first.place);
    finding.notes.push_back({"the other access", second.place});
    finding.hint = "check the offsets that come from `%ctaid`, and the tail predicates";
  }
  for (std::size_t i = 0; i < inner.facts.size() && i < executed.size(); ++i) {
    const InstrFacts& facts = inner.facts[i];
    if (!executed[i]) continue;
    if (facts.is_schedule_value) {
      report.unknowns.add(kScheduleValue, fmt::format("`{}` depends on the schedule", facts.opcode), facts.place);
    }
    if (facts.is_result_used) {
      report.unknowns.add(kAtomicResult, fmt::format("the result of `{}` is used", facts.opcode), facts.place);
    }
    if (facts.is_float_atomic) {
      report.nondeterminism.push_back(
          fmt::format("line {}: `{}` rounds in the order of arrival", facts.line, facts.opcode));
    }
  }
  return report;
}

}  // namespace plumb::check
