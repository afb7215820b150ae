// SPDX-License-Identifier: Apache-2.0
#include "machine/profile.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "machine/coalescing.h"
#include "machine/lanes.h"
#include "machine/step_observer.h"
#include "machine/warpgroup.h"

namespace plumb::machine {

namespace {

constexpr std::uint64_t kCellBytes = 4, kPieceBytes = 16;
constexpr std::uint32_t kRowBytes = 16;  // of a matrix of ldmatrix

ProfiledSpace profiled(MemorySpace space) {
  switch (space) {
    case MemorySpace::Shared:
      return ProfiledSpace::Shared;
    case MemorySpace::Local:
      return ProfiledSpace::Local;
    case MemorySpace::Param:
      return ProfiledSpace::Param;
    case MemorySpace::Const:
      return ProfiledSpace::Const;
    case MemorySpace::Global:
      break;
  }
  return ProfiledSpace::Global;
}

void add_sectors(Traffic& traffic, std::span<const ByteRange> ranges) {
  const SectorCount sectors = count_sectors(ranges);
  traffic.sectors = sectors.touched, traffic.least_sectors = sectors.least;
}

}  // namespace

void Traffic::add(const Traffic& other) {
  requests += other.requests, bytes += other.bytes;
  sectors += other.sectors, least_sectors += other.least_sectors;
  wavefronts += other.wavefronts, least_wavefronts += other.least_wavefronts;
}

void InstrProfile::add(const Traffic& more) {
  const auto found =
      std::find_if(traffic.begin(), traffic.end(), [&](const Traffic& each) { return each.is_like(more); });
  if (found == traffic.end()) {
    traffic.push_back(more);
  } else {
    found->add(more);
  }
}

void InstrProfile::add(const InstrProfile& more) {
  warps += more.warps, lanes += more.lanes, macs += more.macs;
  for (const Traffic& each : more.traffic) add(each);
}

// Of one block.
class Profile::Counter : public StepObserver {
 public:
  explicit Counter(Profile& profile) : profile_(profile) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() override {
    const std::lock_guard lock(profile_.mutex_);
    std::vector<InstrProfile>& all = profile_.instrs_;
    if (all.size() < instrs_.size()) all.resize(instrs_.size());
    for (std::size_t i = 0; i < instrs_.size(); ++i) all[i].add(instrs_[i]);
  }

  void stepped(std::uint32_t instr, WarpMask who, std::uint64_t macs) override {
    InstrProfile& at = of(instr);
    ++at.warps;
    at.lanes += static_cast<unsigned>(std::popcount(who.mask));
    at.macs += macs;
    source_lane_.reset();
  }

  void access(const Access& access) override { count(access, profiled(access.space)); }
  void remote_access(const Access& access, std::uint32_t) override { count(access, ProfiledSpace::Cluster); }

  void async_copy_issued(std::uint64_t, std::uint32_t instr, WarpMask who, const std::uint64_t*,
                         const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) override {
    Traffic read{ProfiledSpace::Global, Mover::Lanes, AccessKind::Read, 1};
    std::vector<ByteRange> ranges;
    for_lanes(who.mask, [&](unsigned lane) {
      ranges.push_back({global[lane], source_size[lane]});
      read.bytes += source_size[lane];
    });
    add_sectors(read, ranges);
    if (read.bytes != 0) of(instr).add(read);
    Traffic write{ProfiledSpace::Shared, Mover::Lanes, AccessKind::Write, 1};
    write.bytes = std::uint64_t{size} * static_cast<unsigned>(std::popcount(who.mask));
    of(instr).add(write);
  }

  void async_issued(const AsyncIssue& issue) override {
    // An instruction of a lane that is told again has one more destination for what it reads once: a multicast.
    if (source_lane_ != issue.lane) count(issue.reads, issue, AccessKind::Read);
    source_lane_ = issue.lane;
    const bool is_reduction = issue.kind == AsyncKind::BulkReduce || issue.kind == AsyncKind::TensorReduce ||
                              issue.kind == AsyncKind::RemoteReduce;
    count(issue.writes, issue, is_reduction ? AccessKind::Atomic : AccessKind::Write);
  }

  // A warpgroup issues a product once by each of its warps.
  void product_issued(std::uint64_t, std::uint32_t instr, WarpMask who, std::span<const std::uint32_t> a,
                      std::span<const std::uint32_t> b) override {
    if (who.warp % kGroupWarps != 0) return;
    of(instr).add(
        {ProfiledSpace::Shared, Mover::TensorCores, AccessKind::Read, 1, kPieceBytes * (a.size() + b.size())});
  }

  void tensor_issued(const TensorIssue& issue) override {
    const Mover mover = issue.kind == TensorKind::Load || issue.kind == TensorKind::Store ? Mover::Lanes
                        : issue.kind == TensorKind::Mma                                   ? Mover::TensorCores
                                                                                          : Mover::Copies;
    Traffic shared{ProfiledSpace::Shared, mover, AccessKind::Read, 1};
    for (const TensorShared& each : issue.shared) shared.bytes += kPieceBytes * each.pieces.size();
    Traffic read{ProfiledSpace::Tensor, mover, AccessKind::Read, 1},
        write{ProfiledSpace::Tensor, mover, AccessKind::Write, 1};
    for (const TensorUse& use : issue.uses) {
      const std::uint64_t bytes = kCellBytes * use.lanes * use.columns;
      if (use.reads) read.bytes += bytes;
      if (use.writes) write.bytes += bytes;
    }
    for (const Traffic& traffic : {shared, read, write}) {
      if (traffic.bytes != 0) of(issue.instr).add(traffic);
    }
  }

  void async_copy_waited(std::uint64_t, WarpMask) override {}
  void barrier_arrived(std::uint32_t, std::uint32_t, WarpMask) override {}
  void barrier_completed(std::uint32_t, std::span<const WarpMask>) override {}
  void warp_synchronized(std::uint32_t, WarpMask) override {}
  void fence(std::uint32_t, WarpMask, Scope) override {}
  void exited(WarpMask) override {}

 private:
  InstrProfile& of(std::uint32_t instr) {
    if (instr >= instrs_.size()) instrs_.resize(instr + 1);
    return instrs_[instr];
  }

  bool loads_matrix(const Access& access) const {
    return access.size == kRowBytes && profile_.loads_matrix_ && profile_.loads_matrix_(access.instr);
  }

  void count(const Access& access, ProfiledSpace space) {
    Traffic traffic{space, Mover::Lanes, access.kind, 1};
    traffic.bytes = std::uint64_t{access.size} * static_cast<unsigned>(std::popcount(access.mask));
    if (space == ProfiledSpace::Global) {
      std::vector<ByteRange> ranges;
      for_lanes(access.mask, [&](unsigned lane) { ranges.push_back({access.address[lane], access.size}); });
      add_sectors(traffic, ranges);
    } else if (space == ProfiledSpace::Shared && access.kind != AccessKind::Atomic) {
      const bool is_load = access.kind == AccessKind::Read && !loads_matrix(access);
      const WavefrontCount count = count_wavefronts(access.address, access.mask, access.size, is_load);
      traffic.wavefronts = count.needed, traffic.least_wavefronts = count.least;
    }
    of(access.instr).add(traffic);
  }

  void count(std::span<const AsyncRange> ranges, const AsyncIssue& issue, AccessKind kind) {
    const bool is_remote = issue.kind == AsyncKind::RemoteStore || issue.kind == AsyncKind::RemoteReduce;
    Traffic global{ProfiledSpace::Global, Mover::Copies, kind, 1};
    Traffic shared{is_remote ? ProfiledSpace::Cluster : ProfiledSpace::Shared, Mover::Copies, kind, 1};
    std::vector<ByteRange> global_ranges;
    for (const AsyncRange& range : ranges) {
      if (range.space == MemorySpace::Global) global_ranges.push_back({range.address, range.size});
      (range.space == MemorySpace::Global ? global : shared).bytes += range.size;
    }
    add_sectors(global, global_ranges);
    if (global.bytes != 0) of(issue.instr).add(global);
    if (shared.bytes != 0) of(issue.instr).add(shared);
  }

  Profile& profile_;
  std::vector<InstrProfile> instrs_;
  std::optional<std::uint32_t> source_lane_;  // of the instruction that is being executed, the last to issue a copy
};

std::unique_ptr<Observer> Profile::observe() { return std::make_unique<Counter>(*this); }

}  // namespace plumb::machine
