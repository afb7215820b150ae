// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API, as far as plumb uses it, loaded at run time: the declarations are plumb's own, so that no CUDA
// header is needed to build and no library to run. Names are the driver's without `cu`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/finding.h"

namespace plumb::gpu {

using Status = int;  // CUresult
using Device = int;
using DevicePtr = std::uint64_t;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using GraphNode = struct GraphNodeTag*;
struct TensorMapImage;
using AllocationHandle = unsigned long long;

inline constexpr Status kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotReady = 600;

struct Uuid {
  unsigned char bytes[16];
};

struct LaunchAttribute {
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64];
    std::uint32_t cluster[3];
  } value = {};
};
inline constexpr int kAttributeCluster = 4;

struct LaunchConfig {
  std::uint32_t grid[3], block[3];
  std::uint32_t shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  std::uint32_t attribute_count = 0;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

struct MemoryLocation {
  int type = 1;  // a device
  int id = 0;
};
struct AllocationProperties {
  int type = 1;  // pinned
  int handle_types = 0;
  MemoryLocation location;
  void* win32 = nullptr;
  struct {
    unsigned char compression = 0, rdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
struct AccessDescriptor {
  MemoryLocation location;
  int flags = 3;  // read and write
};
static_assert(sizeof(AllocationProperties) == 32 && sizeof(AccessDescriptor) == 12);

// One pointer per entry point; all are set in a loaded driver.
#define PLUMB_DRIVER_CALLS(X)                                                                                         \
  X(init, "cuInit", (unsigned flags))                                                                                 \
  X(driver_version, "cuDriverGetVersion", (int* version))                                                             \
  X(error_name, "cuGetErrorName", (Status status, const char** text))                                                 \
  X(error_string, "cuGetErrorString", (Status status, const char** text))                                             \
  X(device_count, "cuDeviceGetCount", (int* count))                                                                   \
  X(device_get, "cuDeviceGet", (Device * device, int ordinal))                                                        \
  X(device_name, "cuDeviceGetName", (char* name, int size, Device device))                                            \
  X(device_uuid, "cuDeviceGetUuid_v2", (Uuid * uuid, Device device))                                                  \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, Device device))                             \
  X(device_memory, "cuDeviceTotalMem_v2", (std::size_t * bytes, Device device))                                       \
  X(context_create, "cuCtxCreate_v2", (Context * context, unsigned flags, Device device))                             \
  X(context_limit, "cuCtxSetLimit", (int limit, std::size_t value))                                                   \
  X(context_synchronize, "cuCtxSynchronize", ())                                                                      \
  X(reset_persisting, "cuCtxResetPersistingL2Cache", ())                                                              \
  X(memory_info, "cuMemGetInfo_v2", (std::size_t * free_bytes, std::size_t * all))                                    \
  X(memory_alloc, "cuMemAlloc_v2", (DevicePtr * address, std::size_t bytes))                                          \
  X(memory_free, "cuMemFree_v2", (DevicePtr address))                                                                 \
  X(copy_to_device, "cuMemcpyHtoD_v2", (DevicePtr to, const void* from, std::size_t bytes))                           \
  X(copy_to_host, "cuMemcpyDtoH_v2", (void* to, DevicePtr from, std::size_t bytes))                                   \
  X(copy_on_device, "cuMemcpyDtoDAsync_v2", (DevicePtr to, DevicePtr from, std::size_t bytes, Stream stream))         \
  X(fill, "cuMemsetD8Async", (DevicePtr to, unsigned char value, std::size_t bytes, Stream stream))                   \
  X(granularity, "cuMemGetAllocationGranularity",                                                                     \
    (std::size_t * bytes, const AllocationProperties* properties, int option))                                        \
  X(address_reserve, "cuMemAddressReserve",                                                                           \
    (DevicePtr * address, std::size_t bytes, std::size_t alignment, DevicePtr hint, unsigned long long flags))        \
  X(address_free, "cuMemAddressFree", (DevicePtr address, std::size_t bytes))                                         \
  X(memory_create, "cuMemCreate",                                                                                     \
    (AllocationHandle * handle, std::size_t bytes, const AllocationProperties* properties, unsigned long long flags)) \
  X(memory_release, "cuMemRelease", (AllocationHandle handle))                                                        \
  X(memory_map, "cuMemMap",                                                                                           \
    (DevicePtr address, std::size_t bytes, std::size_t offset, AllocationHandle handle, unsigned long long flags))    \
  X(memory_unmap, "cuMemUnmap", (DevicePtr address, std::size_t bytes))                                               \
  X(memory_access, "cuMemSetAccess",                                                                                  \
    (DevicePtr address, std::size_t bytes, const AccessDescriptor* access, std::size_t count))                        \
  X(module_load, "cuModuleLoadDataEx",                                                                                \
    (ModuleHandle * module, const void* image, unsigned count, int* options, void** values))                          \
  X(module_unload, "cuModuleUnload", (ModuleHandle module))                                                           \
  X(module_function, "cuModuleGetFunction", (FunctionHandle * function, ModuleHandle module, const char* name))       \
  X(module_global, "cuModuleGetGlobal_v2",                                                                            \
    (DevicePtr * address, std::size_t * bytes, ModuleHandle module, const char* name))                                \
  X(function_attribute, "cuFuncGetAttribute", (int* value, int attribute, FunctionHandle function))                   \
  X(function_set, "cuFuncSetAttribute", (FunctionHandle function, int attribute, int value))                          \
  X(function_param, "cuFuncGetParamInfo",                                                                             \
    (FunctionHandle function, std::size_t index, std::size_t * offset, std::size_t * bytes))                          \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                                         \
    (int* blocks, FunctionHandle function, int threads, std::size_t shared_bytes))                                    \
  X(launch, "cuLaunchKernelEx", (const LaunchConfig* config, FunctionHandle function, void** params, void** extra))   \
  X(stream_create, "cuStreamCreate", (Stream * stream, unsigned flags))                                               \
  X(stream_query, "cuStreamQuery", (Stream stream))                                                                   \
  X(stream_synchronize, "cuStreamSynchronize", (Stream stream))                                                       \
  X(capture_begin, "cuStreamBeginCapture_v2", (Stream stream, int mode))                                              \
  X(capture_end, "cuStreamEndCapture", (Stream stream, Graph * graph))                                                \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphExec * exec, Graph graph, unsigned long long flags))      \
  X(graph_launch, "cuGraphLaunch", (GraphExec exec, Stream stream))                                                   \
  X(graph_exec_destroy, "cuGraphExecDestroy", (GraphExec exec))                                                       \
  X(graph_destroy, "cuGraphDestroy", (Graph graph))                                                                   \
  X(encode_tiled, "cuTensorMapEncodeTiled",                                                                           \
    (TensorMapImage * map, int type, std::uint32_t rank, DevicePtr address, const std::uint64_t* dims,                \
     const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,    \
     int swizzle, int promotion, int fill))                                                                           \
  X(encode_im2col, "cuTensorMapEncodeIm2col",                                                                         \
    (TensorMapImage * map, int type, std::uint32_t rank, DevicePtr address, const std::uint64_t* dims,                \
     const std::uint64_t* strides, const std::int32_t* lower, const std::int32_t* upper, std::uint32_t channels,      \
     std::uint32_t pixels, const std::uint32_t* element_strides, int interleave, int swizzle, int promotion,          \
     int fill))                                                                                                       \
  X(event_create, "cuEventCreate", (Event * event, unsigned flags))                                                   \
  X(event_record, "cuEventRecord", (Event event, Stream stream))                                                      \
  X(event_elapsed, "cuEventElapsedTime", (float* milliseconds, Event from, Event to))                                 \
  X(event_destroy, "cuEventDestroy_v2", (Event event))

struct Driver {
#define PLUMB_DECLARE(name, symbol, parameters) Status(*name) parameters = nullptr;
  PLUMB_DRIVER_CALLS(PLUMB_DECLARE)
#undef PLUMB_DECLARE

  // Loads the library and its entry points; an empty path means the system's libcuda.so.1. Null with a finding when it
  // is not there or too old.
  static std::unique_ptr<const Driver> load(const std::filesystem::path& library, Findings& findings);

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string text(Status status) const;
  std::string name_of(Status status) const;
};

// Whether the context is dead after this status: nothing more can be done in this process.
bool is_sticky(Status status);

// Device attributes and function attributes, by the driver's numbers.
enum class DeviceFact : int {
  SmCount = 16,
  PciBus = 33,
  PciDevice = 34,
  L2Bytes = 38,
  ThreadsPerSm = 39,
  PciDomain = 50,
  ComputeMajor = 75,
  ComputeMinor = 76,
  SharedPerSm = 81,
  SharedPerBlock = 97,
  HasVirtualMemory = 102,
};
enum class FunctionFact : int {
  MostThreads = 0,
  StaticShared = 1,
  Constant = 2,
  Local = 3,
  Registers = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  DynamicSharedLimit = 8,
  LargeClusters = 14,
};

}  // namespace plumb::gpu
