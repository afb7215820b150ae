// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "gpu/card.h"
#include "gpu/shared_memory.h"
#include "gpu/worker.h"

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;

constexpr double kGraphSeconds = 1e-3;  // what one graph launch should last at least
constexpr unsigned kMostLaunches = 2048, kMostSets = 1024, kLeastRounds = 12, kMostRounds = 300;
constexpr double kWarmUpSeconds = 0.2;
constexpr unsigned char kPoison = 0xff;
constexpr std::uint64_t kUnit = 256;  // alignment of buffers in a set
constexpr int kCaptureThread = 1;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Device memory that ends with its owner.
class Slab {
 public:
  explicit Slab(const Driver& driver) : driver_(driver) {}
  ~Slab() {
    if (address != 0) driver_.memory_free(address);
  }
  Slab(const Slab&) = delete;  // owns device memory
  Slab& operator=(const Slab&) = delete;
  Status allocate(std::uint64_t bytes) { return bytes == 0 ? kSuccess : driver_.memory_alloc(&address, bytes); }
  DevicePtr address = 0;

 private:
  const Driver& driver_;
};

struct Side {
  const KernelLaunch* launch = nullptr;
  Loaded loaded;
  std::unique_ptr<Slab> workspace;
  double seconds = 0;  // of one launch, roughly
  GraphExec cold = nullptr, warm = nullptr;
};

class BenchRun {
 public:
  BenchRun(Card& card, const BenchJob& job)
      : card_(card), driver_(card.driver()), job_(job), sets_slab_(driver_), sweep_slab_(driver_) {}

  ~BenchRun() {
    if (is_dead_) return;  // the process ends
    for (Side& side : sides_) {
      if (side.cold != nullptr) driver_.graph_exec_destroy(side.cold);
      if (side.warm != nullptr) driver_.graph_exec_destroy(side.warm);
      card_.unload(side.loaded);
    }
    for (const Event event : {begin_, end_}) {
      if (event != nullptr) driver_.event_destroy(event);
    }
  }
  BenchRun(const BenchRun&) = delete;  // owns graphs and events
  BenchRun& operator=(const BenchRun&) = delete;

  Json run() {
    const Outcome bad = measure();
    answer_["status"] = bad ? bad->kind : "done";
    if (bad) {
      answer_["message"] = bad->message;
      answer_["dead"] = is_dead_ = bad->is_dead;
      answer_["side"] = side_;
    }
    return std::move(answer_);
  }

 private:
  Outcome measure() {
    if (card_.nvml() != nullptr) answer_["processes"] = card_.nvml()->process_count();
    for (Event* event : {&begin_, &end_}) {
      if (auto bad = card_.check(driver_.event_create(event, 0), "cuEventCreate")) return bad;
    }
    if (auto bad = ceilings()) return bad;
    if (auto bad = allocate()) return bad;
    if (auto bad = fill_sets()) return bad;
    if (auto bad = open_sides()) return bad;
    if (auto bad = capture_all()) return bad;
    if (auto bad = warm_up()) return bad;
    if (auto bad = rounds(true, "cold")) return bad;
    if (auto bad = rounds(false, "warm")) return bad;
    return check_outputs();
  }

  // The floor of a launch, and what a copy over the card's memory reaches.
  Outcome ceilings() {
    constexpr unsigned kLaunches = 200, kCopies = 6;
    constexpr std::uint64_t kLargest = 1ULL << 30;
    GraphExec graph = nullptr;
    if (auto bad = capture(graph, [&]() -> Outcome {
          for (unsigned i = 0; i < kLaunches; ++i) {
            if (auto failed = card_.nothing()) return failed;
          }
          return std::nullopt;
        })) {
      return bad;
    }
    double least = 0;
    for (unsigned i = 0; i < kCopies; ++i) {
      double seconds = 0;
      if (auto bad =
              timed(seconds, [&] { return card_.check(driver_.graph_launch(graph, card_.stream()), "a graph"); })) {
        return bad;
      }
      least = i == 0 ? seconds : std::min(least, seconds);
    }
    driver_.graph_exec_destroy(graph);
    answer_["empty_launch_ns"] = least / kLaunches * 1e9;
    std::size_t free_bytes = 0, all = 0;
    driver_.memory_info(&free_bytes, &all);
    const std::uint64_t bytes = std::min<std::uint64_t>(kLargest, free_bytes / 8) / kUnit * kUnit;
    Slab from(driver_), to(driver_);
    if (auto bad = card_.check(from.allocate(bytes), "cuMemAlloc")) return bad;
    if (auto bad = card_.check(to.allocate(bytes), "cuMemAlloc")) return bad;
    for (unsigned i = 0; i < kCopies; ++i) {
      double seconds = 0;
      if (auto bad = timed(seconds, [&] {
            return card_.check(driver_.copy_on_device(to.address, from.address, bytes, card_.stream()), "a copy");
          })) {
        return bad;
      }
      least = i == 0 ? seconds : std::min(least, seconds);
    }
    answer_["copy_bytes_per_second"] = least > 0 ? 2.0 * static_cast<double>(bytes) / least : 0.0;
    return std::nullopt;
  }

  Outcome allocate() {
    const std::uint64_t l2 =
        std::max<std::uint64_t>(1U << 20, static_cast<std::uint64_t>(card_.fact(DeviceFact::L2Bytes)));
    for (const BufferPlan& buffer : job_.buffers) {
      offsets_.push_back(set_bytes_);
      set_bytes_ += round_up(std::max<std::uint64_t>(buffer.bytes, 1), kUnit);
    }
    std::size_t free_bytes = 0, all = 0;
    driver_.memory_info(&free_bytes, &all);
    const std::uint64_t room = free_bytes / 4 * 3;
    const std::uint64_t wanted = std::clamp<std::uint64_t>(3 * l2 / set_bytes_ + 1, 2, kMostSets);
    if (set_bytes_ > room) return Failure{"memory", "one set of buffers is larger than the card's free memory", false};
    sets_ = static_cast<unsigned>(std::min(wanted, room / set_bytes_));
    answer_["sets"] = sets_;
    answer_["is_cold"] = sets_ >= 2 && sets_ * set_bytes_ >= 2 * l2;
    sweep_bytes_ = 2 * l2;
    if (auto bad = card_.check(sweep_slab_.allocate(sweep_bytes_), "cuMemAlloc")) return bad;
    return card_.check(sets_slab_.allocate(sets_ * set_bytes_), "cuMemAlloc");
  }

  DevicePtr address(unsigned set, std::size_t buffer) const {
    return sets_slab_.address + set * set_bytes_ + offsets_[buffer];
  }

  std::vector<DevicePtr> addresses(unsigned set) const {
    std::vector<DevicePtr> out;
    for (std::size_t i = 0; i < job_.buffers.size(); ++i) out.push_back(address(set, i));
    return out;
  }

  // Set 0 as given; each further one with its elements turned round by its share of the buffer.
  Outcome fill_sets() {
    if (!inputs_) inputs_ = SharedMemory::open(job_.inputs, input_bytes(job_.buffers));
    if (!inputs_) return Failure{"input", "the inputs cannot be read", false};
    const std::byte* from = inputs_->data();
    for (std::size_t i = 0; i < job_.buffers.size(); ++i) {
      const BufferPlan& plan = job_.buffers[i];
      if (plan.role == Role::Out) {
        for (unsigned set = 0; set < sets_; ++set) {
          if (auto bad = poison(set, i)) return bad;
        }
        continue;
      }
      const DevicePtr first = address(0, i);
      if (auto bad = card_.check(driver_.copy_to_device(first, from, plan.bytes), "cuMemcpyHtoD")) return bad;
      if (auto bad = card_.check(driver_.context_synchronize(), "cuMemcpyHtoD")) return bad;
      for (unsigned set = 1; set < sets_; ++set) {
        const std::uint64_t turn = job_.is_turned[i] ? plan.bytes / sets_ * set / 16 * 16 : 0;
        const DevicePtr to = address(set, i);
        if (auto bad = copy(to, first + turn, plan.bytes - turn)) return bad;
        if (auto bad = copy(to + plan.bytes - turn, first, turn)) return bad;
      }
      from += plan.bytes;
    }
    return card_.check(driver_.context_synchronize(), "filling the inputs");
  }

  Outcome copy(DevicePtr to, DevicePtr from, std::uint64_t bytes) const {
    if (bytes == 0) return std::nullopt;
    return card_.check(driver_.copy_on_device(to, from, bytes, card_.stream()), "cuMemcpyDtoD");
  }

  Outcome poison(unsigned set, std::size_t buffer) const {
    return card_.check(driver_.fill(address(set, buffer), kPoison, job_.buffers[buffer].bytes, card_.stream()),
                       "cuMemsetD8");
  }

  Outcome launch(const Side& side, unsigned set) const {
    if (side.launch->workspace != 0) {
      if (auto bad = card_.check(driver_.fill(side.workspace->address, 0, side.launch->workspace, card_.stream()),
                                 "cuMemsetD8")) {
        return bad;
      }
    }
    return card_.enqueue(side.loaded, *side.launch, addresses(set), side.workspace->address);
  }

  template <class Work>
  Outcome timed(double& seconds, const Work& work) const {
    if (auto bad = card_.check(driver_.event_record(begin_, card_.stream()), "cuEventRecord")) return bad;
    if (auto bad = work()) return bad;
    if (auto bad = card_.check(driver_.event_record(end_, card_.stream()), "cuEventRecord")) return bad;
    if (auto bad = card_.wait(job_.launch_seconds)) return bad;
    float milliseconds = 0;
    if (auto bad = card_.check(driver_.event_elapsed(&milliseconds, begin_, end_), "cuEventElapsedTime")) return bad;
    seconds = milliseconds * 1e-3;
    return std::nullopt;
  }

  template <class Work>
  Outcome capture(GraphExec& out, const Work& work) const {
    if (auto bad = card_.check(driver_.capture_begin(card_.stream(), kCaptureThread), "cuStreamBeginCapture"))
      return bad;
    const Outcome failed = work();
    Graph graph = nullptr;
    const Status status = driver_.capture_end(card_.stream(), &graph);
    if (failed) return failed;
    if (auto bad = card_.check(status, "cuStreamEndCapture")) return bad;
    const Outcome bad = card_.check(driver_.graph_instantiate(&out, graph, 0), "cuGraphInstantiate");
    driver_.graph_destroy(graph);
    return bad;
  }

  Outcome open_sides() {
    constexpr unsigned kTries = 3;
    sides_.resize(job_.sides.size());
    Json facts = Json::array();
    for (side_ = 0; side_ < sides_.size(); ++side_) {
      Side& side = sides_[side_];
      side.launch = &job_.sides[side_];
      Failure failure;
      std::optional<Loaded> loaded = card_.load(*side.launch, failure);
      if (!loaded) return failure;
      side.loaded = std::move(*loaded);
      side.workspace = std::make_unique<Slab>(driver_);
      if (auto bad = card_.check(side.workspace->allocate(side.launch->workspace), "cuMemAlloc")) return bad;
      for (unsigned i = 0; i < kTries; ++i) {
        if (auto bad = timed(side.seconds, [&] { return launch(side, i % sets_); })) return bad;
      }
      facts.push_back(card_.facts(side.loaded, *side.launch));
    }
    answer_["facts"] = std::move(facts);
    return std::nullopt;
  }

  Outcome capture_all() {
    double quickest = sides_.front().seconds;
    for (const Side& side : sides_) quickest = std::min(quickest, side.seconds);
    const double wanted = std::ceil(kGraphSeconds / std::max(quickest, 1e-6));
    launches_ = static_cast<unsigned>(std::clamp<double>(wanted, sets_, kMostLaunches));
    launches_ = static_cast<unsigned>(round_up(launches_, sets_));
    answer_["launches_per_sample"] = launches_;
    for (side_ = 0; side_ < sides_.size(); ++side_) {
      Side& side = sides_[side_];
      for (const bool is_cold : {true, false}) {
        if (auto bad = capture(is_cold ? side.cold : side.warm, [&]() -> Outcome {
              for (unsigned i = 0; i < launches_; ++i) {
                if (auto failed = launch(side, is_cold ? i % sets_ : 0)) return failed;
              }
              return std::nullopt;
            })) {
          return bad;
        }
      }
    }
    return std::nullopt;
  }

  Outcome warm_up() {
    double spent = 0;
    while (spent < kWarmUpSeconds) {
      for (side_ = 0; side_ < sides_.size(); ++side_) {
        double seconds = 0;
        if (auto bad = sample(sides_[side_], true, seconds)) return bad;
        sides_[side_].seconds = seconds;
        spent += seconds;
      }
    }
    return std::nullopt;
  }

  // Seconds of one graph launch. The card is kept busy up to the begin event, so that no gap counts.
  Outcome sample(const Side& side, bool is_cold, double& seconds) const {
    const GraphExec graph = is_cold ? side.cold : side.warm;
    if (is_cold) {
      if (auto bad = card_.sweep(sweep_slab_.address, sweep_bytes_)) return bad;
    } else if (auto bad = card_.check(driver_.graph_launch(graph, card_.stream()), "cuGraphLaunch")) {
      return bad;
    }
    return timed(seconds, [&] { return card_.check(driver_.graph_launch(graph, card_.stream()), "cuGraphLaunch"); });
  }

  Outcome rounds(bool is_cold, const char* name) {
    double round = 0;
    for (const Side& side : sides_) round += (is_cold ? 2 : 4) * (side.seconds + 1e-4);
    const auto count = static_cast<unsigned>(std::clamp<double>(job_.seconds / round, kLeastRounds, kMostRounds));
    std::vector<std::vector<double>> nanoseconds(sides_.size());
    Json clocks = Json::array();
    std::uint64_t throttle = 0;
    std::mt19937_64 random(job_.seed);
    std::vector<std::size_t> order(sides_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (unsigned i = 0; i < count; ++i) {
      driver_.reset_persisting();
      std::vector<double> sums(sides_.size());
      std::shuffle(order.begin(), order.end(), random);
      // Forth and back: what drifts evenly hits every side alike.
      for (const bool is_back : {false, true}) {
        for (std::size_t at = 0; at < order.size(); ++at) {
          side_ = order[is_back ? order.size() - 1 - at : at];
          double seconds = 0;
          if (auto bad = sample(sides_[side_], is_cold, seconds)) return bad;
          sums[side_] += seconds;
        }
      }
      for (std::size_t side = 0; side < sums.size(); ++side) {
        nanoseconds[side].push_back(sums[side] / (2.0 * launches_) * 1e9);
      }
      if (card_.nvml() == nullptr) continue;
      const CardState state = card_.nvml()->state();
      clocks.push_back(state.sm_mhz);
      throttle |= state.throttle;
      state_ = state;
    }
    answer_[name] = {{"nanoseconds", nanoseconds}, {"sm_mhz", std::move(clocks)}, {"throttle", throttle}};
    if (card_.nvml() != nullptr) {
      answer_["memory_mhz"] = state_.memory_mhz;
      answer_["celsius"] = state_.celsius;
      answer_["watts"] = state_.watts;
    }
    return std::nullopt;
  }

  // Replays the very graphs that were timed over poisoned outputs and fresh inputs, and hands out what they leave.
  Outcome check_outputs() {
    const unsigned checked = std::min(job_.checked_sets, sets_);
    Json which = Json::array();
    for (unsigned i = 0; i < checked; ++i) which.push_back(checked_set(i, checked));
    answer_["checked_sets"] = std::move(which);
    for (side_ = 0; side_ < sides_.size(); ++side_) {
      if (job_.outputs[side_].empty()) continue;
      if (auto bad = fill_sets()) return bad;
      if (auto bad = card_.check(driver_.graph_launch(sides_[side_].cold, card_.stream()), "cuGraphLaunch")) return bad;
      if (auto bad = card_.wait(job_.launch_seconds)) return bad;
      const auto to = SharedMemory::open(job_.outputs[side_], job_.checked_sets * output_bytes(job_.buffers));
      if (!to) return Failure{"input", "there is no room for the outputs", false};
      std::byte* at = to->data();
      for (unsigned i = 0; i < checked; ++i) {
        for (std::size_t buffer = 0; buffer < job_.buffers.size(); ++buffer) {
          const BufferPlan& plan = job_.buffers[buffer];
          if (plan.role == Role::In) continue;
          const DevicePtr from = address(checked_set(i, checked), buffer);
          if (auto bad = card_.check(driver_.copy_to_host(at, from, plan.bytes), "cuMemcpyDtoH")) return bad;
          at += plan.bytes;
        }
      }
    }
    return std::nullopt;
  }

  unsigned checked_set(unsigned index, unsigned checked) const {
    return checked <= 1 ? sets_ - 1 : index * (sets_ - 1) / (checked - 1);
  }

  Card& card_;
  const Driver& driver_;
  const BenchJob& job_;
  Slab sets_slab_, sweep_slab_;
  std::unique_ptr<SharedMemory> inputs_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t set_bytes_ = 0, sweep_bytes_ = 0;
  unsigned sets_ = 0, launches_ = 1;
  std::vector<Side> sides_;
  std::size_t side_ = 0;  // at work: who is to blame for a failure
  Event begin_ = nullptr, end_ = nullptr;
  CardState state_;
  bool is_dead_ = false;
  Json answer_;
};

}  // namespace

Json run_bench_job(Card& card, const BenchJob& job) { return BenchRun(card, job).run(); }

}  // namespace plumb::gpu
