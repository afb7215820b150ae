// SPDX-License-Identifier: Apache-2.0
// The Triton evaluator in both domains, beside the same arithmetic as a plain loop on one core (the ratio `of_loop`),
// and the time from a source to a kernel. bench/triton_bench.py compares with Triton's own interpreter.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "triton/kernel.h"

namespace {

using namespace plumb;

triton::Kernel load(const std::string& task, const std::string& function) {
  Findings findings;
  const SourcePtr source =
      read_source(std::string(PLUMB_SOURCE_DIR) + "/tests/corpus/" + task + "/kernel.py", findings);
  std::optional<triton::Kernel> kernel = triton::Kernel::load(source, function, {}, findings);
  return std::move(*kernel);
}

triton::Argument integer(std::uint64_t value) { return {"i32", value, {}}; }
triton::Argument constant(std::int64_t value) { return {"constexpr", 0, value}; }

void fill(domain::Buffer& buffer, unsigned width) {
  for (std::uint64_t at = 0; at < buffer.size; at += width) {
    const float value = static_cast<float>(at * 2654435761U % 1000) / 500.0F - 1.0F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (width == 2) bits >>= 16;
    std::memcpy(buffer.bytes.get() + at, &bits, width);
  }
}

constexpr std::uint64_t kElements = 1 << 20;

struct VectorAdd {
  explicit VectorAdd(bool has_tags) : kernel(load("vector_add", "vector_add")), memory(has_tags) {
    const domain::Init init = has_tags ? domain::Init::Abstract : domain::Init::Concrete;
    for (const char* name : {"x_ptr", "y_ptr", "out_ptr"}) {
      domain::Buffer& buffer = memory.add(name, kElements * 4, init, domain::Format::F32);
      if (!has_tags) fill(buffer, 4);
      call.arguments[name] = {"*fp32", buffer.address, {}};
    }
    call.arguments["n"] = integer(kElements);
    call.arguments["BLOCK"] = constant(1024);
    call.grid[0] = kElements / 1024;
  }
  triton::Kernel kernel;
  domain::Memory memory;
  triton::Call call;
};

double loop_seconds() {
  std::vector<float> x(kElements, 1.5F), y(kElements, 2.5F), out(kElements);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kElements; ++i) out[i] = x[i] + y[i];
  benchmark::DoNotOptimize(out.data());
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void elementwise_ieee(benchmark::State& state) {
  VectorAdd add(false);
  domain::Ieee domain;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) add.kernel.evaluate<domain::Ieee>(add.call, {&domain}, add.memory, {.workers = 1});
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kElements));
  state.counters["of_loop"] = loop_seconds() / (all.count() / static_cast<double>(state.iterations()));
}
BENCHMARK(elementwise_ieee)->Unit(benchmark::kMillisecond);

void elementwise_field(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    VectorAdd add(true);
    domain::FieldContext context({.seed = 1});
    domain::Field domain(context);
    state.ResumeTiming();
    add.kernel.evaluate<domain::Field>(add.call, {&domain}, add.memory, {.workers = 1});
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kElements));
}
BENCHMARK(elementwise_field)->Unit(benchmark::kMillisecond)->Iterations(2);

// One 128x128 tile of a bf16 product with K = 4096.
template <class D>
void tile(benchmark::State& state) {
  constexpr std::uint64_t size = 128, depth = 4096;
  const triton::Kernel kernel = load("matmul_bf16", "matmul");
  for (auto _ : state) {
    state.PauseTiming();
    domain::Memory memory(D::kHasTags);
    triton::Call call;
    for (const char* name : {"a_ptr", "b_ptr", "c_ptr"}) {
      const std::uint64_t elements = std::string(name) == "c_ptr" ? size * size : size * depth;
      const domain::Init init = D::kHasTags ? domain::Init::Abstract : domain::Init::Concrete;
      domain::Buffer& buffer = memory.add(name, elements * 2, init, domain::Format::BF16);
      if (!D::kHasTags) fill(buffer, 2);
      call.arguments[name] = {"*bf16", buffer.address, {}};
    }
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::uint64_t>>{{"M", size},
                                                                                                  {"N", size},
                                                                                                  {"K", depth},
                                                                                                  {"sam", depth},
                                                                                                  {"sak", 1},
                                                                                                  {"sbk", size},
                                                                                                  {"sbn", 1},
                                                                                                  {"scm", size},
                                                                                                  {"scn", 1}}) {
      call.arguments[name] = integer(value);
    }
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::int64_t>>{
             {"BM", 128}, {"BN", 128}, {"BK", 64}, {"GROUP", 8}}) {
      call.arguments[name] = constant(value);
    }
    domain::FieldContext context({.seed = 1});
    auto domain = [&] {
      if constexpr (D::kHasTags) {
        return domain::Field(context);
      } else {
        return domain::Ieee();
      }
    }();
    state.ResumeTiming();
    const triton::Result result = kernel.evaluate<D>(call, {&domain}, memory, {.workers = 1});
    if (result.stop) state.SkipWithError(result.stop->finding.message.c_str());
  }
  state.counters["MAC/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * size * size * depth), benchmark::Counter::kIsRate);
}
BENCHMARK(tile<domain::Ieee>)->Unit(benchmark::kMillisecond);
BENCHMARK(tile<domain::Field>)->Unit(benchmark::kMillisecond)->Iterations(3);

void source_to_kernel(benchmark::State& state) {
  for (auto _ : state) {
    const triton::Kernel kernel = load("flash_attention", "flash_attention");
    benchmark::DoNotOptimize(&kernel);
  }
}
BENCHMARK(source_to_kernel)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
