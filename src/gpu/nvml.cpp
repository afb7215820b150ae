// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <dlfcn.h>

#include <utility>

namespace plumb::gpu {

struct Nvml::Calls {
  void* library = nullptr;
  void* device = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, void**) = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*throttle)(void*, unsigned long long*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*processes)(void*, unsigned*, void*) = nullptr;
};

namespace {

template <class Call>
bool resolve(void* library, const char* symbol, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, symbol));
  return call != nullptr;
}

constexpr int kSmClock = 1, kMemoryClock = 2, kGpuSensor = 0;
constexpr int kTooSmall = 7;  // the list of processes was longer than the room for it

}  // namespace

Nvml::Nvml() : calls_(std::make_unique<Calls>()) {}

std::unique_ptr<Nvml> Nvml::open(const std::string& pci) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  std::unique_ptr<Nvml> out(new Nvml());
  Calls& calls = *out->calls_;
  const bool is_whole = resolve(library, "nvmlInit_v2", calls.init) &&
                        resolve(library, "nvmlShutdown", calls.shutdown) &&
                        resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", calls.by_pci) &&
                        resolve(library, "nvmlSystemGetDriverVersion", calls.version) &&
                        resolve(library, "nvmlDeviceGetClockInfo", calls.clock) &&
                        resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", calls.throttle) &&
                        resolve(library, "nvmlDeviceGetTemperature", calls.temperature) &&
                        resolve(library, "nvmlDeviceGetPowerUsage", calls.power) &&
                        resolve(library, "nvmlDeviceGetComputeRunningProcesses_v3", calls.processes);
  if (!is_whole || calls.init() != 0) {
    ::dlclose(library);
    return nullptr;
  }
  calls.library = library;
  if (calls.by_pci(pci.c_str(), &calls.device) != 0) return nullptr;
  return out;
}

Nvml::~Nvml() {
  if (calls_->library == nullptr) return;
  calls_->shutdown();
  ::dlclose(calls_->library);
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  return calls_->version(text, sizeof text) == 0 ? text : "";
}

CardState Nvml::state() const {
  CardState out;
  unsigned value = 0;
  unsigned long long bits = 0;
  if (calls_->clock(calls_->device, kSmClock, &value) == 0) out.sm_mhz = value;
  if (calls_->clock(calls_->device, kMemoryClock, &value) == 0) out.memory_mhz = value;
  if (calls_->temperature(calls_->device, kGpuSensor, &value) == 0) out.celsius = value;
  if (calls_->power(calls_->device, &value) == 0) out.watts = value / 1000.0;
  if (calls_->throttle(calls_->device, &bits) == 0) out.throttle = bits;
  return out;
}

int Nvml::process_count() const {
  unsigned count = 0;
  const int status = calls_->processes(calls_->device, &count, nullptr);
  return status == 0 || status == kTooSmall ? static_cast<int>(count) : -1;
}

std::string slowdown_names(std::uint64_t throttle) {
  static constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {0x4, "power cap"},    {0x8, "hardware slow-down"}, {0x20, "software heat limit"}, {0x40, "hardware heat limit"},
      {0x80, "power brake"},
  };
  std::string out;
  for (const auto& [bit, name] : kNames) {
    if ((throttle & bit) == 0) continue;
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

}  // namespace plumb::gpu
