// SPDX-License-Identifier: Apache-2.0
#include "check/message.h"

#include <fmt/format.h>

#include "check/clock.h"
#include "check/codes.h"
#include "check/race.h"

namespace plumb::check {

namespace {

using machine::Dim3;

std::string position(std::uint64_t linear, const Dim3& extent) {
  if (extent.y == 1 && extent.z == 1) return fmt::format("{}", linear);
  return fmt::format("({}, {}, {})", linear % extent.x, linear / extent.x % extent.y, linear / extent.x / extent.y);
}

std::string cta_name(const Scene& scene, const Site& site) { return "CTA " + position(site.cta, scene.grid); }

std::string thread_name(const Scene& scene, const Site& site) {
  const std::string thread = "thread " + position(site.thread, scene.block);
  return scene.is_cluster ? thread + " of " + cta_name(scene, site) : thread;
}

std::string shared_name(const Scene& scene, std::uint64_t address) {
  const std::uint64_t offset = address & ((1U << kWindowBits) - 1);
  if (!scene.is_cluster) return fmt::format("shared offset {}", offset);
  return fmt::format("shared offset {} of rank {}", offset, address >> kWindowBits);
}

std::string bytes_name(const Scene& scene, const Conflict& conflict) {
  const std::string count = conflict.bytes == 1 ? "the byte" : fmt::format("the {} bytes", conflict.bytes);
  if (conflict.space == machine::MemorySpace::Shared) {
    return fmt::format("{} at {}", count, shared_name(scene, conflict.address));
  }
  if (scene.memory != nullptr) {
    if (const domain::Buffer* buffer = scene.memory->find(conflict.address, 1)) {
      return fmt::format("{} at byte {} of `{}`", count, conflict.address - buffer->address, buffer->name);
    }
  }
  return fmt::format("{} at global address {:#x}", count, conflict.address);
}

// "cp.async.bulk.tensor" of the whole opcode.
std::string short_name(const InstrFacts& facts) {
  constexpr std::string_view kNames[] = {"cp.async.bulk.tensor", "cp.reduce.async.bulk", "cp.async.bulk",
                                         "wgmma.mma_async", "cp.async"};
  for (const std::string_view name : kNames) {
    if (facts.opcode.starts_with(name)) return std::string(name);
  }
  return facts.opcode;
}

std::string does(bool is_read) { return is_read ? "reads" : "writes"; }

// The wait that should have covered the copy: the nearest one before the access in the text.
const InstrFacts* last_wait(const Scene& scene, std::uint32_t instr) {
  for (std::uint32_t at = instr; at-- > 0;) {
    if (scene.facts[at].is_copy_wait) return &scene.facts[at];
  }
  return nullptr;
}

std::string barrier_hint(const Scene& scene, const Conflict& conflict) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  const InstrFacts& later = scene.facts[conflict.later.instr];
  const bool is_one_cta = conflict.earlier.cta == conflict.later.cta;
  const bool is_one_warp = conflict.earlier.thread / kWarpLanes == conflict.later.thread / kWarpLanes;
  const char* barrier = !is_one_cta   ? "`barrier.cluster.arrive` and `barrier.cluster.wait`"
                        : is_one_warp ? "a `bar.warp.sync` or `bar.sync 0`"
                                      : "a `bar.sync 0`";
  if (earlier.line < later.line) {
    return fmt::format("put {} between line {} and line {}", barrier, earlier.line, later.line);
  }
  if (earlier.line > later.line && (earlier.loop_line == 0 || earlier.loop_line > later.line)) {
    // The thread that comes later in the text was the first here: nothing had it wait.
    return fmt::format("put {} between line {} and line {}", barrier, later.line, earlier.line);
  }
  if (earlier.line > later.line) {
    return fmt::format("put {} on the way from line {} back to line {}", barrier, earlier.line, later.line);
  }
  return fmt::format("let one thread own each place at line {}", later.line);
}

void describe_race(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  const InstrFacts& later = scene.facts[conflict.later.instr];
  finding.message =
      fmt::format("`{}` of {} {} {} that {} {} with `{}` at line {}, and nothing orders the two", later.opcode,
                  thread_name(scene, conflict.later), does(conflict.is_later_read), bytes_name(scene, conflict),
                  thread_name(scene, conflict.earlier), does(conflict.is_earlier_read), earlier.opcode, earlier.line);
  finding.hint = barrier_hint(scene, conflict);
}

void describe_unwaited(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& copy = scene.facts[conflict.earlier.instr];
  const InstrFacts& later = scene.facts[conflict.later.instr];
  finding.message =
      fmt::format("`{}` of {} {} {} while the `{}` that {} issued at line {} may still be in flight", later.opcode,
                  thread_name(scene, conflict.later), does(conflict.is_later_read), bytes_name(scene, conflict),
                  short_name(copy), thread_name(scene, conflict.earlier), copy.line);
  if (copy.is_async_proxy) {
    finding.hint = fmt::format(
        "let the thread wait for the phase of the copy's mbarrier before line {}, or be told by one that waited",
        later.line);
    return;
  }
  const InstrFacts* wait = last_wait(scene, conflict.later.instr);
  if (wait == nullptr) {
    finding.hint =
        fmt::format("put a `cp.async.wait_group` and a barrier between line {} and line {}", copy.line, later.line);
    return;
  }
  finding.notes.push_back(
      {fmt::format("the last wait before it in the text, at line {}, does not cover the copy", wait->line),
       wait->place});
  finding.hint =
      fmt::format("let the wait at line {} leave fewer groups pending, or commit the copy's group earlier", wait->line);
}

void describe_missing_fence(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  finding.message = fmt::format(
      "`{}` uses {} by the async proxy; {} wrote them with `{}` at line {}, and no proxy fence came between",
      scene.facts[conflict.later.instr].opcode, bytes_name(scene, conflict), thread_name(scene, conflict.earlier),
      earlier.opcode, earlier.line);
  const bool is_global = conflict.space == machine::MemorySpace::Global;
  finding.hint = fmt::format("put `fence.proxy.async.{}` after line {}, before the barrier that hands the bytes over",
                             is_global ? "global" : "shared::cta", earlier.line);
}

void describe_mbarrier(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  const std::string later =
      fmt::format("`{}` of {}", scene.facts[conflict.later.instr].opcode, thread_name(scene, conflict.later));
  const std::string barrier = "the mbarrier at " + shared_name(scene, conflict.address);
  const std::string other =
      fmt::format("`{}` of {} at line {}", earlier.opcode, thread_name(scene, conflict.earlier), earlier.line);
  if (conflict.code == &kMapFence) {
    finding.message = fmt::format("{} reads a tensor map that {} wrote, and has not acquired it", later, other);
    finding.hint = "put `fence.proxy.tensormap::generic.acquire.gpu [map], 128` before it, after the write is known";
  } else if (conflict.code == &kMbarrierInit) {
    finding.message =
        fmt::format("{} and {} use {}, one begins or ends it, and nothing orders the two", later, other, barrier);
    finding.hint = "put a `bar.sync 0` between the two";
  } else if (conflict.code == &kMbarrierPhase) {
    finding.message = fmt::format(
        "nothing tells {} that the phase before is complete at {}: in another schedule it counts for an earlier phase",
        later, barrier);
    finding.hint = "wait for each phase before the next is used, and expect as many bytes as are copied";
  } else if (conflict.code == &kMbarrierExpect) {
    finding.message =
        fmt::format("{} may complete the phase of {} before {} announces its bytes", later, barrier, other);
    finding.hint = "announce the bytes with the arrival: `mbarrier.arrive.expect_tx`";
  } else {
    finding.message =
        fmt::format("{} completes a phase of {} while {} may still wait for the one before", later, barrier, other);
    finding.hint = "let the waiting thread arrive somewhere that this phase depends on";
  }
}

void describe_cross_cta(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  const InstrFacts& later = scene.facts[conflict.later.instr];
  finding.message =
      fmt::format("`{}` of {} {} {} that {} {} with `{}` at line {}, and CTAs are not ordered", later.opcode,
                  cta_name(scene, conflict.later), does(conflict.is_later_read), bytes_name(scene, conflict),
                  cta_name(scene, conflict.earlier), does(conflict.is_earlier_read), earlier.opcode, earlier.line);
  finding.hint = "let each CTA write its own elements; look at the offsets made from `%ctaid` and the tail predicates";
}

void describe_window(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const std::string later =
      fmt::format("`{}` of {}", scene.facts[conflict.later.instr].opcode, thread_name(scene, conflict.later));
  if (conflict.code == &kClusterStart) {
    finding.message = fmt::format("{} uses {}, and nothing tells it that this CTA has started", later,
                                  shared_name(scene, conflict.address));
    finding.hint = "put `barrier.cluster.arrive` and `barrier.cluster.wait` before the first use";
  } else {
    finding.message = fmt::format("{} uses shared memory of {}, which nothing keeps from leaving before that", later,
                                  cta_name(scene, conflict.earlier));
    finding.hint = "put `barrier.cluster.arrive` and `barrier.cluster.wait` after the last use, in every CTA";
  }
}

std::string columns_name(const Scene& scene, const Conflict& conflict) {
  const std::uint64_t column = conflict.address & ((1U << kWindowBits) - 1);
  const std::string columns = fmt::format("columns {} to {} of tensor memory", column, column + conflict.bytes - 1);
  return scene.is_cluster ? fmt::format("{} of rank {}", columns, conflict.address >> kWindowBits) : columns;
}

std::string tensor_hint(const Conflict& conflict, const InstrFacts& earlier) {
  if (earlier.opcode.starts_with("tcgen05.ld"))
    return "put `tcgen05.wait::ld` before the threads tell that they have read";
  if (earlier.opcode.starts_with("tcgen05.st"))
    return "put `tcgen05.wait::st` before the threads tell that they have written";
  if (conflict.code == &kTensorWrite) {
    return "wait for a commit of the earlier operation's thread, or use the same accumulator and shape";
  }
  return "wait for the mbarrier of a `tcgen05.commit` of that thread after the operation";
}

void describe_tensor(const Scene& scene, const Conflict& conflict, Finding& finding) {
  const InstrFacts& earlier = scene.facts[conflict.earlier.instr];
  const std::string later =
      fmt::format("`{}` of {}", scene.facts[conflict.later.instr].opcode, thread_name(scene, conflict.later));
  const std::string other =
      fmt::format("`{}` of {} at line {}", earlier.opcode, thread_name(scene, conflict.earlier), earlier.line);
  const std::string columns = columns_name(scene, conflict);
  if (conflict.code == &kTensorLifetime) {
    finding.message = fmt::format("{} uses {}, and nothing orders it with {}", later, columns, other);
    finding.hint = "put a barrier after the allocation; before the release, waits for every operation and a barrier";
  } else if (conflict.code == &kTensorFence) {
    finding.severity = Severity::Note;
    finding.message = fmt::format(
        "{} uses {} after another operation, with no `tcgen05.fence` between; the strict "
        "reading of the manual asks for one",
        later, columns);
    finding.hint =
        "put `tcgen05.fence::before_thread_sync;` before the barrier that tells of the earlier operation (a commit "
        "needs none), and `tcgen05.fence::after_thread_sync;` behind the wait, before this";
  } else if (conflict.code == &kTensorShift) {
    finding.severity = Severity::Note;
    finding.message = fmt::format(
        "{} moves rows of tensor memory: each gets what the row after it has, as one published measurement of "
        "`.ashift` "
        "says; the manual leaves the direction open",
        later);
  } else {
    finding.message =
        fmt::format("{} {} {} that {} may still be {}", later, conflict.code == &kTensorRead ? "reads" : "writes",
                    columns, other, conflict.code == &kTensorOverwrite ? "reading" : "writing");
    finding.hint = tensor_hint(conflict, earlier);
  }
}

void describe_reentry(const Scene& scene, const Conflict& conflict, Finding& finding) {
  finding.message = fmt::format(
      "`{}` of {} arrives at barrier {}, but nothing tells it that the barrier's previous round, in which {} took "
      "part, is over",
      scene.facts[conflict.later.instr].opcode, thread_name(scene, conflict.later), conflict.address % kCtaBarriers,
      thread_name(scene, conflict.earlier));
  finding.hint = "use another barrier number, or synchronise with those who waited before arriving again";
}

}  // namespace

Finding describe(const Scene& scene, const Conflict& conflict) {
  Finding finding;
  finding.code = conflict.code;
  finding.place = scene.facts[conflict.later.instr].place;
  const Code* code = conflict.code;
  if (code == &kBarrierReentry) {
    describe_reentry(scene, conflict, finding);
    return finding;
  }
  if (code == &kClusterStart || code == &kClusterExit) {
    describe_window(scene, conflict, finding);
    return finding;
  }
  if (code == &kUnwaitedExit) {
    finding.severity = Severity::Warning;
    finding.message = fmt::format("{} exits while its `cp.async` at line {} is in flight",
                                  thread_name(scene, conflict.later), scene.facts[conflict.later.instr].line);
    finding.hint = "put `cp.async.wait_all` before `ret`";
    return finding;
  }
  if (code == &kProxyFence) {
    describe_missing_fence(scene, conflict, finding);
  } else if (code == &kMapFence || code == &kMbarrierInit || code == &kMbarrierPhase || code == &kMbarrierExpect ||
             code == &kMbarrierLag) {
    describe_mbarrier(scene, conflict, finding);
  } else if (code == &kTensorRead || code == &kTensorWrite || code == &kTensorOverwrite || code == &kTensorLifetime ||
             code == &kTensorFence || code == &kTensorShift) {
    describe_tensor(scene, conflict, finding);
  } else if (code == &kUnwaitedRead || code == &kUnwaitedWrite || code == &kOverlappingCopies) {
    describe_unwaited(scene, conflict, finding);
  } else if (code == &kRaceCrossCta || (conflict.earlier.cta != conflict.later.cta && !scene.is_cluster)) {
    describe_cross_cta(scene, conflict, finding);
  } else {
    describe_race(scene, conflict, finding);
  }
  if (code == &kDuplicateWrite) {
    finding.severity = Severity::Note;
    finding.message += "; both write the same value";
    finding.hint.clear();
  }
  if (conflict.earlier.instr != conflict.later.instr) {
    finding.notes.insert(finding.notes.begin(),
                         {"the other access is here", scene.facts[conflict.earlier.instr].place});
  }
  if (conflict.count > 1) {
    finding.notes.push_back({fmt::format("seen {} times in this run; this is one example", conflict.count), {}});
  }
  return finding;
}

}  // namespace plumb::check
