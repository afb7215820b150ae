// SPDX-License-Identifier: Apache-2.0
// The field domain's scalar operations and matrix products. Each rate stands beside a plain loop of eight 32-bit
// modular products (`BM_PlainResidues`), what the arithmetic would cost without a domain around it.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "domain/field/field.h"

namespace {

using namespace plumb::domain;
using Real = Field::Real;

struct Bench {
  explicit Bench(Format element = Format::F32)
      : context({.seed = 1}), memory(true), buffer(memory.add("x", 8 << 20, Init::Abstract, element)), field(context) {
    field.begin_unit();
    const unsigned size = byte_size(element);
    for (std::uint64_t i = 0; i < 1 << 16; ++i) x.push_back(field.read(buffer, i * size, element));
  }
  FieldContext context;
  Memory memory;
  Buffer& buffer;
  Field field;
  std::vector<Real> x;
};

constexpr Format kF = Format::F32;
constexpr std::size_t kCount = 1 << 16;

void BM_PlainResidues(benchmark::State& state) {
  std::vector<std::uint32_t> a(8 * kCount), b(8 * kCount), c(8 * kCount);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] = static_cast<std::uint32_t>(i * 2654435761U >> 4);
  const std::uint32_t primes[8] = {536870909, 536870879, 536870869, 536870849,
                                   268435399, 268435367, 268435361, 268435337};
  for (auto _ : state) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      c[i] = static_cast<std::uint32_t>(std::uint64_t{a[i]} * b[i] % primes[i % 8]);
    }
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK(BM_PlainResidues);

template <class Operation>
void elementwise(benchmark::State& state, Operation&& operation) {
  Bench bench;
  for (auto _ : state) {
    bench.field.begin_unit();
    for (std::size_t i = 0; i < kCount; ++i) {
      benchmark::DoNotOptimize(operation(bench.field, bench.x[i], bench.x[(i + 1) % kCount]));
    }
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

void BM_Add(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real b) { return f.add(kF, a, b, {}); });
}
BENCHMARK(BM_Add);
void BM_Mul(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real b) { return f.mul(kF, a, b, {}); });
}
BENCHMARK(BM_Mul);
void BM_Fma(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real b) { return f.fma(kF, a, b, a, {}); });
}
BENCHMARK(BM_Fma);
void BM_MulConstant(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real) { return f.mul(kF, a, {kNoValue, 0x3fb8aa3b}, {}); });
}
BENCHMARK(BM_MulConstant);
void BM_Div(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real b) { return f.div(kF, a, b, {}); });
}
BENCHMARK(BM_Div);
void BM_Exp2(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real) { return f.ex2(kF, a, {}); });
}
BENCHMARK(BM_Exp2);
void BM_Relu(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real) { return f.add(kF, f.max(kF, a, {kNoValue, 0}, {}), a, {}); });
}
BENCHMARK(BM_Relu);
void BM_Select(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real b) {
    return f.select(kF, f.compare(kF, Compare::Lt, a, b, {}), a, {kNoValue, 0});
  });
}
BENCHMARK(BM_Select);
void BM_WordRoundTrip(benchmark::State& state) {
  elementwise(state, [](Field& f, Real a, Real) { return f.from_word(kF, f.to_word(kF, a)); });
}
BENCHMARK(BM_WordRoundTrip);

void BM_LoadFirst(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto* bench = new Bench;
    state.ResumeTiming();
    for (std::uint64_t i = kCount; i < 2 * kCount; ++i) {
      benchmark::DoNotOptimize(bench->field.read(bench->buffer, 4 * i, kF));
    }
    state.PauseTiming();
    delete bench;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK(BM_LoadFirst)->Iterations(20);

// Softmax rows of 4096 with their maximum.
void BM_SoftmaxRow(benchmark::State& state) {
  constexpr std::size_t kRow = 4096;
  Bench bench;
  Field& f = bench.field;
  for (auto _ : state) {
    f.begin_unit();
    std::vector<Real> x(bench.x.begin(), bench.x.begin() + kRow);
    std::vector<Real> tree = x;
    while (tree.size() > 1) {
      for (std::size_t i = 0; i < tree.size() / 2; ++i) tree[i] = f.max(kF, tree[2 * i], tree[2 * i + 1], {});
      tree.resize(tree.size() / 2);
    }
    for (Real& v : x) v = f.exp(kF, f.sub(kF, v, tree[0], {}));
    const Real total = f.sum(kF, x.data(), x.size());
    for (Real& v : x) v = f.div(kF, v, total, {});
    benchmark::DoNotOptimize(x.data());
  }
  state.SetItemsProcessed(state.iterations() * kRow);
}
BENCHMARK(BM_SoftmaxRow);

// One 128 x 128 tile over K = 4096 in steps of the shape given: all operands are distinct inputs. Each round has a
// context of its own: products of the same operands are made once in one context.
struct TileOperands {
  static constexpr std::uint32_t kM = 128, kN = 128, kK = 4096;
  TileOperands() : context({.seed = 1}), memory(true), field(context), x(kM * kK), y(kK * kN) {
    Buffer& a = memory.add("a", kM * kK * 2, Init::Abstract, Format::BF16);
    Buffer& b = memory.add("b", kK * kN * 2, Init::Abstract, Format::BF16);
    field.begin_unit();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = field.read(a, 2 * i, Format::BF16);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = field.read(b, 2 * i, Format::BF16);
  }
  FieldContext context;
  Memory memory;
  Field field;
  std::vector<Real> x, y;
};

double multiply(TileOperands& tile, const DotShape& shape) {
  const std::uint32_t m = shape.m, n = shape.n, k = shape.k, columns = TileOperands::kN;
  std::vector<Real> left(m * k), right(k * n), part(m * n);
  std::vector<Real> sums(TileOperands::kM * columns);
  for (std::uint32_t l = 0; l < TileOperands::kK; l += k) {
    for (std::uint32_t i = 0; i < TileOperands::kM; i += m) {
      for (std::uint32_t j = 0; j < columns; j += n) {
        for (std::uint32_t s = 0; s < m; ++s) {
          std::copy_n(&tile.x[(i + s) * TileOperands::kK + l], k, &left[s * k]);
          std::copy_n(&sums[(i + s) * columns + j], n, &part[s * n]);
        }
        for (std::uint32_t s = 0; s < k; ++s) std::copy_n(&tile.y[(l + s) * columns + j], n, &right[s * n]);
        tile.field.dot(shape, left.data(), right.data(), part.data(), part.data());
        for (std::uint32_t s = 0; s < m; ++s) std::copy_n(&part[s * n], n, &sums[(i + s) * columns + j]);
      }
    }
  }
  double degrees = 0;  // reading the results computes them
  for (const Real& sum : sums) degrees += tile.field.degree(sum);
  return degrees;
}

void product(benchmark::State& state, std::uint32_t m, std::uint32_t n, std::uint32_t k, DotKind kind) {
  const DotShape shape{.m = m, .n = n, .k = k, .a = Format::BF16, .b = Format::BF16, .kind = kind};
  for (auto _ : state) {
    state.PauseTiming();
    auto tile = std::make_unique<TileOperands>();
    state.ResumeTiming();
    benchmark::DoNotOptimize(multiply(*tile, shape));
    state.PauseTiming();
    tile.reset();
    state.ResumeTiming();
  }
  const double products = double{TileOperands::kM} * TileOperands::kN * TileOperands::kK;
  state.counters["residue MAC/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * products * kLanes, benchmark::Counter::kIsRate);
}
void BM_TileByMma(benchmark::State& state) { product(state, 16, 8, 16, DotKind::MmaSync); }
BENCHMARK(BM_TileByMma)->Unit(benchmark::kMillisecond);
void BM_TileByBlocks(benchmark::State& state) { product(state, 128, 128, 64, DotKind::TritonDot); }
BENCHMARK(BM_TileByBlocks)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
