// SPDX-License-Identifier: Apache-2.0
#include "gpu/card.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "gpu/codes.h"
#include "gpu/own_kernels.h"

namespace plumb::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLogBytes = 1 << 16;
constexpr int kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6, kIsVerbose = 12;
constexpr int kLimitHeap = 2, kLimitPersistingL2 = 6;
constexpr unsigned kNonBlocking = 1;

// The driver takes numbers as pointers here.
void* as_value(std::size_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

int Card::fact(DeviceFact which) const {
  int value = 0;
  return driver_->device_attribute(&value, static_cast<int>(which), device_) == kSuccess ? value : 0;
}

Outcome Card::check(Status status, std::string_view what) const {
  if (status == kSuccess) return std::nullopt;
  const char* kind = status == kOutOfMemory ? "memory" : is_sticky(status) ? "fault" : "driver";
  return Failure{kind, fmt::format("{}: {}", what, driver_->text(status)), is_sticky(status)};
}

std::unique_ptr<Card> Card::open(const std::filesystem::path& library, Findings& findings) {
  std::unique_ptr<Card> card(new Card());
  card->driver_ = Driver::load(library, findings);
  if (!card->driver_) return nullptr;
  const Driver& driver = *card->driver_;
  const auto none = [&](std::string_view what, Status status) {
    findings.add(kNoGpu, fmt::format("no usable card: {} says {}", what, driver.text(status)));
    return nullptr;
  };
  if (const Status status = driver.init(0); status != kSuccess) return none("cuInit", status);
  int count = 0;
  if (const Status status = driver.device_count(&count); status != kSuccess || count == 0) {
    findings.add(kNoGpu, "the driver sees no card");
    return nullptr;
  }
  if (const Status status = driver.device_get(&card->device_, 0); status != kSuccess)
    return none("cuDeviceGet", status);
  Context context = nullptr;
  if (const Status status = driver.context_create(&context, 0, card->device_); status != kSuccess) {
    return none("cuCtxCreate", status);
  }
  // Neither device-side malloc nor lines that outlive a cache flush are part of what a kernel is given.
  driver.context_limit(kLimitHeap, 0);
  driver.context_limit(kLimitPersistingL2, 0);
  if (const Status status = driver.stream_create(&card->stream_, kNonBlocking); status != kSuccess) {
    return none("cuStreamCreate", status);
  }
  card->has_virtual_memory_ = card->fact(DeviceFact::HasVirtualMemory) != 0;
  card->nvml_ = Nvml::open(fmt::format("{:08x}:{:02x}:{:02x}.0", card->fact(DeviceFact::PciDomain),
                                       card->fact(DeviceFact::PciBus), card->fact(DeviceFact::PciDevice)));
  if (const Outcome failure = card->open_own_kernels()) {
    findings.add(kDriverError, failure->message);
    return nullptr;
  }
  return card;
}

Outcome Card::open_own_kernels() {
  Failure failure;
  if (!load_module(kOwnKernels, own_, failure)) return failure;
  for (const auto& [slot, name] :
       {std::pair{&scrub_, "plumb_scrub"}, {&sweep_, "plumb_sweep"}, {&nothing_, "plumb_nothing"}}) {
    if (auto bad = check(driver_->module_function(slot, own_, name), name)) return bad;
  }
  return check(driver_->function_set(scrub_, static_cast<int>(FunctionFact::DynamicSharedLimit),
                                     fact(DeviceFact::SharedPerBlock)),
               "cuFuncSetAttribute");
}

nlohmann::json Card::facts() const {
  char name[256] = {};
  driver_->device_name(name, sizeof name, device_);
  Uuid uuid{};
  driver_->device_uuid(&uuid, device_);
  int version = 0;
  driver_->driver_version(&version);
  std::size_t bytes = 0;
  driver_->device_memory(&bytes, device_);
  return {{"name", name},
          {"uuid", to_hex(std::string(reinterpret_cast<const char*>(uuid.bytes), sizeof uuid.bytes))},
          {"compute", fmt::format("{}.{}", fact(DeviceFact::ComputeMajor), fact(DeviceFact::ComputeMinor))},
          {"sm_count", fact(DeviceFact::SmCount)},
          {"l2_bytes", fact(DeviceFact::L2Bytes)},
          {"memory_bytes", bytes},
          {"shared_per_block", fact(DeviceFact::SharedPerBlock)},
          {"threads_per_sm", fact(DeviceFact::ThreadsPerSm)},
          {"cuda", fmt::format("{}.{}", version / 1000, version % 1000 / 10)},
          {"driver", nvml_ ? nvml_->driver_version() : ""},
          {"guard", has_virtual_memory_ ? "unmapped" : "pattern"}};
}

// A whole program, and not by the linker's calls: code that may be linked with other code keeps one number of
// registers, and `setmaxnreg` is ignored.
bool Card::load_module(const std::string& ptx, ModuleHandle& module, Failure& failure) {
  std::string info(kLogBytes, '\0'), error(kLogBytes, '\0');
  int options[] = {kInfoLog, kInfoLogBytes, kErrorLog, kErrorLogBytes, kIsVerbose};
  void* values[] = {info.data(), as_value(kLogBytes), error.data(), as_value(kLogBytes), as_value(1)};
  const Status status = driver_->module_load(&module, ptx.c_str(), std::size(options), options, values);
  if (status != kSuccess) {
    failure = {"compile", fmt::format("{}\n{}", driver_->text(status), error.c_str()), is_sticky(status)};
    return false;
  }
  // Code that comes from the driver's cache has no remarks: those of its compilation stay.
  std::string& log = logs_[sha256(ptx)];
  if (info[0] != '\0') log.assign(info.data());
  return true;
}

std::string Card::compile_log(const std::string& ptx) const {
  const auto known = logs_.find(sha256(ptx));
  return known == logs_.end() ? "" : known->second;
}

std::optional<Loaded> Card::load(const KernelLaunch& launch, Failure& failure) {
  Loaded out;
  if (!load_module(launch.ptx, out.module, failure)) return std::nullopt;
  const auto refused = [&](std::string kind, std::string message) {
    failure = {std::move(kind), std::move(message), false};
    unload(out);
    return std::nullopt;
  };
  if (const Status status = driver_->module_function(&out.function, out.module, launch.entry.c_str());
      status != kSuccess) {
    return refused("params", fmt::format("entry `{}`: {}", launch.entry, driver_->text(status)));
  }
  std::size_t offset = 0, bytes = 0;
  while (driver_->function_param(out.function, out.param_bytes.size(), &offset, &bytes) == kSuccess) {
    out.param_bytes.push_back(bytes);
  }
  if (out.param_bytes.size() != launch.params.size()) {
    return refused("params", fmt::format("the compiled entry has {} parameters, the launch gives {}",
                                         out.param_bytes.size(), launch.params.size()));
  }
  for (std::size_t i = 0; i < launch.params.size(); ++i) {
    const ParamValue& param = launch.params[i];
    const bool is_bytes = param.kind == ParamValue::Kind::Bytes;
    const std::size_t have = is_bytes                                    ? param.bytes.size()
                             : param.kind == ParamValue::Kind::TensorMap ? kTensorMapBytes
                                                                         : sizeof(DevicePtr);
    if (is_bytes ? have >= out.param_bytes[i] : have == out.param_bytes[i]) continue;
    return refused("params",
                   fmt::format("parameter {} has {} bytes, the launch gives {}", i, out.param_bytes[i], have));
  }
  if (launch.shared != 0) {
    const Status status = driver_->function_set(out.function, static_cast<int>(FunctionFact::DynamicSharedLimit),
                                                static_cast<int>(launch.shared));
    if (status != kSuccess) {
      return refused("launch",
                     fmt::format("{} bytes of dynamic shared memory: {}", launch.shared, driver_->text(status)));
    }
  }
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8) {
    driver_->function_set(out.function, static_cast<int>(FunctionFact::LargeClusters), 1);
  }
  return out;
}

void Card::unload(Loaded& loaded) const {
  if (loaded.module != nullptr) driver_->module_unload(loaded.module);
  loaded.module = nullptr;
}

nlohmann::json Card::facts(const Loaded& loaded, const KernelLaunch& launch) const {
  const auto attribute = [&](FunctionFact which) {
    int value = 0;
    driver_->function_attribute(&value, static_cast<int>(which), loaded.function);
    return value;
  };
  const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  int ctas = 0;
  driver_->occupancy(&ctas, loaded.function, threads, launch.shared);
  const int most = fact(DeviceFact::ThreadsPerSm);
  return {{"registers", attribute(FunctionFact::Registers)},
          {"local_bytes", attribute(FunctionFact::Local)},
          {"static_shared", attribute(FunctionFact::StaticShared)},
          {"dynamic_shared", launch.shared},
          {"most_threads", attribute(FunctionFact::MostThreads)},
          {"binary_version", attribute(FunctionFact::BinaryVersion)},
          {"threads", threads},
          {"ctas_per_sm", ctas},
          {"occupancy", most == 0 ? 0.0 : static_cast<double>(ctas * threads) / most}};
}

Outcome Card::enqueue(const Loaded& loaded, const KernelLaunch& launch, const std::vector<DevicePtr>& addresses,
                      DevicePtr workspace) const {
  std::vector<std::array<char, sizeof(DevicePtr)>> words(launch.params.size());
  std::vector<TensorMapImage> maps(launch.params.size());
  std::vector<void*> params(launch.params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ParamValue& param = launch.params[i];
    params[i] = words[i].data();
    if (param.kind == ParamValue::Kind::Bytes) {
      // A value wider than eight bytes stands in its own string.
      if (param.bytes.size() > words[i].size()) params[i] = const_cast<char*>(param.bytes.data());
      else std::copy(param.bytes.begin(), param.bytes.end(), words[i].begin());
      continue;
    }
    if (param.kind == ParamValue::Kind::TensorMap) {
      params[i] = maps[i].bytes.data();
      const Status status = encode(*driver_, param.map, addresses[param.buffer], maps[i]);
      if (status == kSuccess) continue;
      return Failure{"launch", fmt::format("the tensor map of parameter {}: {}", i, driver_->text(status)), false};
    }
    const DevicePtr address = param.kind == ParamValue::Kind::Buffer ? addresses[param.buffer] : workspace;
    std::copy_n(reinterpret_cast<const char*>(&address), sizeof address, words[i].begin());
  }
  LaunchAttribute cluster;
  cluster.id = kAttributeCluster;
  std::copy(std::begin(launch.cluster), std::end(launch.cluster), std::begin(cluster.value.cluster));
  LaunchConfig config{};
  std::copy(std::begin(launch.grid), std::end(launch.grid), std::begin(config.grid));
  std::copy(std::begin(launch.block), std::end(launch.block), std::begin(config.block));
  config.shared_bytes = launch.shared;
  config.stream = stream_;
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
    config.attributes = &cluster;
    config.attribute_count = 1;
  }
  const Status status = driver_->launch(&config, loaded.function, params.data(), nullptr);
  if (status == kSuccess) return std::nullopt;
  return Failure{is_sticky(status) ? "fault" : "launch", driver_->text(status), is_sticky(status)};
}

Outcome Card::wait(double seconds) const {
  constexpr auto kEager = std::chrono::milliseconds(2);
  constexpr unsigned kPauseMicroseconds = 100;
  const Clock::time_point begin = Clock::now();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (true) {
    const Status status = driver_->stream_query(stream_);
    if (status == kSuccess) return std::nullopt;
    if (status != kNotReady) return Failure{"fault", driver_->text(status), true};
    const auto spent = Clock::now() - begin;
    if (spent > limit) return Failure{"timeout", fmt::format("still running after {:.3g} s", seconds), true};
    if (spent > kEager) ::usleep(kPauseMicroseconds);
  }
}

Outcome Card::start(FunctionHandle function, const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3],
                    std::uint32_t shared, void** params) const {
  LaunchConfig config{};
  std::copy(std::begin(grid), std::end(grid), std::begin(config.grid));
  std::copy(std::begin(block), std::end(block), std::begin(config.block));
  config.shared_bytes = shared;
  config.stream = stream_;
  return check(driver_->launch(&config, function, params, nullptr), "plumb's own launch");
}

Outcome Card::scrub(unsigned char pattern) const {
  std::uint32_t word = pattern * 0x01010101U;
  std::uint32_t bytes = static_cast<std::uint32_t>(fact(DeviceFact::SharedPerBlock));
  void* params[] = {&word, &bytes};
  // One CTA takes the whole of an SM's shared memory; twice as many as there are SMs reach every one of them.
  return start(scrub_, {2 * static_cast<std::uint32_t>(fact(DeviceFact::SmCount)), 1, 1}, {1024, 1, 1}, bytes, params);
}

Outcome Card::sweep(DevicePtr address, std::uint64_t bytes) const {
  std::uint64_t count = bytes / 16;
  void* params[] = {&address, &count};
  return start(sweep_, {4 * static_cast<std::uint32_t>(fact(DeviceFact::SmCount)), 1, 1}, {512, 1, 1}, 0, params);
}

Outcome Card::nothing() const { return start(nothing_, {1, 1, 1}, {32, 1, 1}, 0, nullptr); }

}  // namespace plumb::gpu
