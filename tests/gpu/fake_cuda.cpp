// SPDX-License-Identifier: Apache-2.0
// A CUDA driver without a card, for tests of everything around one: device memory is host memory, and a kernel does
// what the comment `// fake: WORD` in its PTX says. The words:
//   add      out[i] = x[i] + y[i] for float arrays, parameters (x, y, out, n)
//   nothing  returns
//   wrong    as `add`, one more in element 0
//   mutate   as `add`, then x[0] = 0
//   before   as `add`, then writes the four bytes before `out`
//   hang     never ends
//   fault    stops with an illegal address
//   refuse   the launch itself fails
//   abort    ends the process
//   map      as `add`, where x is a tensor map; then the words of the map, as floats, go to `out`
//   spam     as `add`, then prints a line on standard output
// A kernel with a line `// fake-us: N` takes N microseconds on the card's clock, and the graphs that it is captured
// into do its work each time that buffers have been filled anew. Where nothing takes time, two events are a millisecond
// apart.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalid = 1, kNotFound = 500, kNotReady = 600, kIllegal = 700, kBadPtx = 218;
constexpr std::size_t kPage = 2 << 20, kMapBytes = 128;

struct Function {
  std::string name, word;
  std::vector<std::size_t> params;
  double microseconds = 0;
};
struct Launch {
  Function function;
  std::vector<std::vector<char>> params;
  bool operator==(const Launch& other) const { return function.name == other.function.name && params == other.params; }
};
struct Graph {
  std::vector<Launch> launches;  // of kernels that take time, each once
  double microseconds = 0;
};
struct Event {
  double at = 0;
};
struct Module {
  std::string text;
  std::map<std::string, Function> functions;
  std::map<std::string, std::vector<char>> variables;
};

// The whole state of the driver; a process has one.
struct State {
  bool is_hung = false, is_dead = false, is_capturing = false;
  bool is_fresh = false;  // buffers were filled since a graph did its work
  double clock = 0;       // microseconds
  Graph captured;
} state;

Function find_entry(const std::string& text, const std::string& name) {
  Function out;
  const std::size_t at = text.find(".entry " + name + "(");
  if (at == std::string::npos) return out;
  out.name = name;
  const std::size_t end = text.find(')', at);
  for (std::size_t param = text.find(".param .", at); param < end; param = text.find(".param .", param + 1)) {
    const bool is_map = text.compare(param + 8, 5, "align") == 0;  // .align 64 .b8 NAME[128]
    out.params.push_back(is_map ? kMapBytes : text.compare(param + 9, 2, "64") == 0 ? 8 : 4);
  }
  const std::size_t word = text.find("// fake: ");
  const std::size_t time = text.find("// fake-us: ");
  if (time != std::string::npos) out.microseconds = std::strtod(text.c_str() + time + 12, nullptr);
  if (word != std::string::npos) out.word = text.substr(word + 9, text.find('\n', word) - word - 9);
  return out;
}

template <class T>
T read_param(void** params, int index) {
  T out;
  std::memcpy(&out, params[index], sizeof out);
  return out;
}

void add(void** params) {
  const auto* x = read_param<const float*>(params, 0);
  const auto* y = read_param<const float*>(params, 1);
  auto* out = read_param<float*>(params, 2);
  const auto n = read_param<std::uint32_t>(params, 3);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuGetErrorName(int status, const char** text) {
  *text = status == kIllegal   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == kInvalid ? "CUDA_ERROR_INVALID_VALUE"
                               : "CUDA_ERROR";
  return kSuccess;
}
int cuGetErrorString(int, const char** text) { return *text = "as the fake driver was told", kSuccess; }
int cuDeviceGetCount(int* count) { return *count = std::getenv("FAKE_NO_CARD") == nullptr ? 1 : 0, kSuccess; }
int cuDeviceGet(int* device, int) { return *device = 0, kSuccess; }
int cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<std::size_t>(size), "fake card"), kSuccess;
}
int cuDeviceGetUuid_v2(void* uuid, int) { return std::memset(uuid, 7, 16), kSuccess; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> kValues = {{16, 4}, {38, 1 << 20}, {39, 2048}, {75, 9},
                                             {76, 0}, {97, 232448},  {102, 1}};
  const auto at = kValues.find(attribute);
  *value = at == kValues.end() ? 0 : at->second;
  return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = 1U << 30, kSuccess; }
int cuCtxCreate_v2(void** context, unsigned, int) { return *context = &state, kSuccess; }
int cuCtxSetLimit(int, std::size_t) { return kSuccess; }
int cuCtxSynchronize() { return kSuccess; }
int cuCtxResetPersistingL2Cache() { return kSuccess; }
int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* all) {
  return *free_bytes = 64U << 20, *all = 1U << 30, kSuccess;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t address) { return std::free(reinterpret_cast<void*>(address)), kSuccess; }
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  state.is_fresh = true;
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), kSuccess;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), kSuccess;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), kSuccess;
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), kSuccess;
}
int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) { return *bytes = kPage, kSuccess; }
int cuMemAddressReserve(std::uint64_t* address, std::size_t bytes, std::size_t, std::uint64_t, unsigned long long) {
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<std::uint64_t>(at);
  return at == MAP_FAILED ? 2 : kSuccess;
}
int cuMemAddressFree(std::uint64_t address, std::size_t bytes) {
  return ::munmap(reinterpret_cast<void*>(address), bytes) == 0 ? kSuccess : kInvalid;
}
int cuMemCreate(unsigned long long* handle, std::size_t, const void*, unsigned long long) {
  return *handle = 1, kSuccess;
}
int cuMemRelease(unsigned long long) { return kSuccess; }
int cuMemMap(std::uint64_t address, std::size_t bytes, std::size_t, unsigned long long, unsigned long long) {
  return ::mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) == 0 ? kSuccess : kInvalid;
}
int cuMemUnmap(std::uint64_t address, std::size_t bytes) {
  return ::mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE) == 0 ? kSuccess : kInvalid;
}
int cuMemSetAccess(std::uint64_t, std::size_t, const void*, std::size_t) { return kSuccess; }
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  std::string text = static_cast<const char*>(image);
  if (text.find("// fake: invalid") != std::string::npos) return kBadPtx;
  *module = new Module{std::move(text), {}, {}};
  return kSuccess;
}
int cuModuleUnload(void* module) { return delete static_cast<Module*>(module), kSuccess; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto& own = *static_cast<Module*>(module);
  Function found = find_entry(own.text, name);
  if (found.name.empty()) return kNotFound;
  *function = &(own.functions[name] = std::move(found));
  return kSuccess;
}
int cuModuleGetGlobal_v2(std::uint64_t*, std::size_t*, void*, const char*) { return kNotFound; }
int cuFuncGetAttribute(int* value, int, void*) { return *value = 32, kSuccess; }
int cuFuncSetAttribute(void*, int, int) { return kSuccess; }
int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const auto& own = *static_cast<Function*>(function);
  if (index >= own.params.size()) return kInvalid;
  *offset = 8 * index;
  *bytes = own.params[index];
  return kSuccess;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) { return *blocks = 8, kSuccess; }
int cuLaunchKernelEx(const void*, void* function, void** params, void**) {
  const auto& own = *static_cast<Function*>(function);
  if (own.microseconds > 0 && state.is_capturing) {
    Launch launch{own, {}};
    for (std::size_t i = 0; i < own.params.size(); ++i) {
      launch.params.emplace_back(static_cast<char*>(params[i]), static_cast<char*>(params[i]) + own.params[i]);
    }
    auto& launches = state.captured.launches;
    if (std::find(launches.begin(), launches.end(), launch) == launches.end()) launches.push_back(std::move(launch));
    state.captured.microseconds += own.microseconds;
    return kSuccess;
  }
  state.clock += own.microseconds;
  if (own.name.rfind("plumb_", 0) == 0) return kSuccess;
  if (own.word == "refuse") return kInvalid;
  if (own.word == "hang") return state.is_hung = true, kSuccess;
  if (own.word == "fault") return state.is_dead = true, kSuccess;
  if (own.word == "abort") std::abort();
  if (own.word == "nothing") return kSuccess;
  add(params);  // of a map, the first word is the tensor's address
  auto* out = read_param<float*>(params, 2);
  if (own.word == "map") {
    for (std::size_t i = 1; i < kMapBytes / 8; ++i) {
      out[i] = static_cast<float>(static_cast<const std::uint64_t*>(params[0])[i]);
    }
  }
  if (own.word == "wrong") out[0] += 1;
  if (own.word == "mutate") read_param<float*>(params, 0)[0] = 0;
  if (own.word == "before") out[-1] = 1;
  if (own.word == "spam") std::puts("{\"status\": \"done\", \"steps\": []}");
  std::fflush(stdout);
  return kSuccess;
}
int cuStreamCreate(void** stream, unsigned) { return *stream = &state, kSuccess; }
int cuStreamQuery(void*) { return state.is_hung ? kNotReady : state.is_dead ? kIllegal : kSuccess; }
int cuStreamSynchronize(void*) { return kSuccess; }
// What takes no time does its work while it is captured, once, and nothing when the graph is launched.
int cuStreamBeginCapture_v2(void*, int) { return state.captured = {}, state.is_capturing = true, kSuccess; }
int cuStreamEndCapture(void*, void** graph) {
  state.is_capturing = false;
  return *graph = new Graph(state.captured), kSuccess;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Graph(*static_cast<Graph*>(graph)), kSuccess;
}
int cuGraphLaunch(void* exec, void*) {
  const Graph& graph = *static_cast<Graph*>(exec);
  state.clock += graph.microseconds;
  for (const Launch& launch : graph.launches) {
    if (!state.is_fresh || launch.function.word == "nothing") continue;
    std::vector<void*> params;
    for (const std::vector<char>& param : launch.params) params.push_back(const_cast<char*>(param.data()));
    add(params.data());
  }
  return state.is_fresh = false, kSuccess;
}
int cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), kSuccess; }
int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), kSuccess; }
// A map holds the address, then what it was made of; an address that is no multiple of 16 is refused.
int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* dims,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                           int interleave, int swizzle, int promotion, int fill) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  if (at % 16 != 0) return kInvalid;
  std::uint64_t words[kMapBytes / 8] = {at, static_cast<std::uint64_t>(type), rank};
  for (std::uint32_t i = 0; i < rank && i < 2; ++i) {
    words[3 + i] = dims[i];
    words[5 + i] = box[i];
    words[7 + i] = steps[i];
  }
  if (rank > 1) words[9] = strides[0];
  const int options[] = {interleave, swizzle, promotion, fill};
  for (int i = 0; i < 4; ++i) words[10 + i] = static_cast<std::uint64_t>(options[i]);
  return std::memcpy(map, words, kMapBytes), kSuccess;
}
int cuTensorMapEncodeIm2col(void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                            const std::int32_t*, const std::int32_t*, std::uint32_t, std::uint32_t,
                            const std::uint32_t*, int, int, int, int) {
  return kInvalid;
}
int cuEventCreate(void** event, unsigned) { return *event = new Event, kSuccess; }
int cuEventRecord(void* event, void*) { return static_cast<Event*>(event)->at = state.clock, kSuccess; }
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const double passed = static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at;
  return *milliseconds = passed > 0 ? static_cast<float>(passed * 1e-3) : 1, kSuccess;
}
int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), kSuccess; }
}
