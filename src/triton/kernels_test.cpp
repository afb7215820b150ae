// SPDX-License-Identifier: Apache-2.0
// The kernels of the corpus against their formulas in double, at sizes that no tile divides, and their evaluation over
// abstract values.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/file.h"
#include "domain/stored_tag.h"
#include "triton/lab_test.h"

namespace plumb::triton {
namespace {

std::string corpus(const std::string& task) {
  Findings findings;
  return read_file(std::string(PLUMB_SOURCE_DIR) + "/tests/corpus/" + task + "/kernel.py", findings).value_or("");
}

// Half a unit in the last place of a result, relative, with room for the rounding inside.
double unit(DType type) {
  switch (type) {
    case DType::BF16:
      return 0x1p-8;
    case DType::Fp16:
      return 0x1p-10;
    default:
      return 0x1p-19;
  }
}

// Runs in both domains: the IEEE result must be `expected`, the field run must write the same elements.
void check(Lab& lab, const std::string& output, const std::vector<double>& expected, double slack = 0) {
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  const Result result = lab.run();
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  const Lab::Tensor& tensor = lab.tensors.at(output);
  ASSERT_EQ(tensor.values.size(), expected.size());
  double largest = 0;
  for (const double each : expected) largest = std::max(largest, std::fabs(each));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = unit(tensor.type) * std::fabs(expected[i]) + slack * largest + largest * 0x1p-20;
    ASSERT_NEAR(tensor.values[i], expected[i], allowed) << output << " element " << i;
  }

  domain::FieldContext context({.seed = 5, .sentinels = true});
  domain::Field field(context);
  domain::Memory memory(true);
  const Result abstract = lab.run(memory, field);
  ASSERT_FALSE(abstract.stop) << render(abstract.stop->finding, false);
  domain::Buffer& buffer = *memory.find(output);
  for (std::uint64_t at = 0; at < buffer.size; ++at) {
    ASSERT_NE(domain::stored_tag(buffer.init, buffer.tags[at]), domain::kUndefinedTag)
        << output << " byte " << at << " was not written";
  }
}

TEST(Kernels, VectorAddAddsUpToTheLastElement) {
  Lab lab(corpus("vector_add"), "vector_add");
  lab.in("x_ptr", DType::Fp32, noise(1001, 3, 1));
  lab.in("y_ptr", DType::Fp32, noise(1001, 3, 2));
  lab.out("out_ptr", DType::Fp32, 1001);
  lab.integers({{"n", 1001}});
  lab.constants({{"BLOCK", 256}});
  lab.grid(4);
  std::vector<double> expected;
  for (int i = 0; i < 1001; ++i) expected.push_back(lab["x_ptr"][i] + lab["y_ptr"][i]);
  check(lab, "out_ptr", expected);
}

TEST(Kernels, SwigluGatesBySigmoid) {
  Lab lab(corpus("swiglu"), "swiglu");
  lab.in("gate_ptr", DType::BF16, noise(700, 6, 1));
  lab.in("up_ptr", DType::BF16, noise(700, 3, 2));
  lab.out("out_ptr", DType::BF16, 700);
  lab.integers({{"n", 700}});
  lab.constants({{"BLOCK", 256}});
  lab.grid(3);
  std::vector<double> expected;
  for (int i = 0; i < 700; ++i) {
    const double g = lab["gate_ptr"][i];
    expected.push_back(g / (1 + std::exp(-g)) * lab["up_ptr"][i]);
  }
  check(lab, "out_ptr", expected);
}

TEST(Kernels, SoftmaxNormalisesEachRow) {
  constexpr int rows = 3, columns = 77, stride = 80;
  Lab lab(corpus("softmax"), "softmax");
  lab.in("x_ptr", DType::BF16, noise(rows * stride, 5, 1));
  lab.out("out_ptr", DType::BF16, rows * stride);
  lab.integers({{"stride", stride}, {"n_cols", columns}});
  lab.constants({{"BLOCK", 128}});
  lab.grid(rows);
  ASSERT_TRUE(lab.kernel);
  const Result result = lab.run();
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(lab["x_ptr"][r * stride + c]);
    for (int c = 0; c < columns; ++c) {
      const double expected = std::exp(lab["x_ptr"][r * stride + c]) / sum;
      ASSERT_NEAR(lab["out_ptr"][r * stride + c], expected, expected * 0x1p-8);
    }
    for (int c = columns; c < stride; ++c) {
      ASSERT_TRUE(std::isnan(lab["out_ptr"][r * stride + c])) << "padding was written";
    }
  }
}

TEST(Kernels, SoftmaxRunsOverAbstractValues) {
  Lab lab(corpus("softmax"), "softmax");
  lab.in("x_ptr", DType::BF16, noise(3 * 77, 5, 1));
  lab.out("out_ptr", DType::BF16, 3 * 77);
  lab.integers({{"stride", 77}, {"n_cols", 77}});
  lab.constants({{"BLOCK", 128}});
  lab.grid(3);
  std::vector<double> expected;
  for (int r = 0; r < 3; ++r) {
    double sum = 0;
    for (int c = 0; c < 77; ++c) sum += std::exp(lab["x_ptr"][r * 77 + c]);
    for (int c = 0; c < 77; ++c) expected.push_back(std::exp(lab["x_ptr"][r * 77 + c]) / sum);
  }
  check(lab, "out_ptr", expected);
}

TEST(Kernels, RmsnormScalesByTheRootMeanSquare) {
  constexpr int rows = 2, columns = 100;
  Lab lab(corpus("rmsnorm"), "rmsnorm");
  lab.in("x_ptr", DType::BF16, noise(rows * columns, 2, 1));
  lab.in("w_ptr", DType::BF16, noise(columns, 2, 2));
  lab.out("out_ptr", DType::BF16, rows * columns);
  lab.integers({{"n_cols", columns}});
  lab.scalar("eps", "fp32", 1e-6);
  lab.constants({{"BLOCK", 128}});
  lab.grid(rows);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int c = 0; c < columns; ++c) squares += std::pow(lab["x_ptr"][r * columns + c], 2);
    for (int c = 0; c < columns; ++c) {
      expected.push_back(lab["x_ptr"][r * columns + c] / std::sqrt(squares / columns + 1e-6) * lab["w_ptr"][c]);
    }
  }
  check(lab, "out_ptr", expected);
}

TEST(Kernels, LayernormCentresAndScales) {
  constexpr int rows = 2, columns = 100;
  Lab lab(corpus("layernorm"), "layernorm");
  lab.in("x_ptr", DType::BF16, noise(rows * columns, 2, 1));
  lab.in("w_ptr", DType::BF16, noise(columns, 2, 2));
  lab.in("b_ptr", DType::BF16, noise(columns, 2, 3));
  lab.out("out_ptr", DType::BF16, rows * columns);
  lab.integers({{"n_cols", columns}});
  lab.scalar("eps", "fp32", 1e-6);
  lab.constants({{"BLOCK", 128}});
  lab.grid(rows);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int c = 0; c < columns; ++c) mean += lab["x_ptr"][r * columns + c] / columns;
    for (int c = 0; c < columns; ++c) variance += std::pow(lab["x_ptr"][r * columns + c] - mean, 2) / columns;
    for (int c = 0; c < columns; ++c) {
      const double d = lab["x_ptr"][r * columns + c] - mean;
      expected.push_back(d / std::sqrt(variance + 1e-6) * lab["w_ptr"][c] + lab["b_ptr"][c]);
    }
  }
  check(lab, "out_ptr", expected);
}

// a[m][k] * b[k][n] with steps in elements.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, int m, int n, int k, int a_row,
                            int a_column, int b_row, int b_column) {
  std::vector<double> out;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
      out.push_back(sum);
    }
  }
  return out;
}

void check_matmul(DType type, DType out, bool b_is_transposed, double slack) {
  constexpr int m = 37, n = 45, k = 41;
  Lab lab(corpus("matmul_bf16"), "matmul");
  lab.in("a_ptr", type, noise(m * k, 1, 1));
  lab.in("b_ptr", type, noise(k * n, 1, 2));
  lab.out("c_ptr", out, m * n);
  const int b_row = b_is_transposed ? 1 : n, b_column = b_is_transposed ? k : 1;
  lab.integers({{"M", m},
                {"N", n},
                {"K", k},
                {"sam", k},
                {"sak", 1},
                {"sbk", b_row},
                {"sbn", b_column},
                {"scm", n},
                {"scn", 1}});
  lab.constants({{"BM", 16}, {"BN", 16}, {"BK", 16}, {"GROUP", 2}});
  lab.grid(9);
  check(lab, "c_ptr", product(lab["a_ptr"], lab["b_ptr"], m, n, k, k, 1, b_row, b_column), slack);
}

TEST(Kernels, MatmulInBf16) { check_matmul(DType::BF16, DType::BF16, false, 0); }
TEST(Kernels, MatmulInF16) { check_matmul(DType::Fp16, DType::Fp16, false, 0); }
TEST(Kernels, MatmulInTf32) { check_matmul(DType::Fp32, DType::Fp32, false, 0x1p-9); }
TEST(Kernels, MatmulInFp8) { check_matmul(DType::Fp8E4Nv, DType::BF16, true, 0); }

void check_descriptors(const char* task, const char* function, bool is_persistent) {
  constexpr int m = 37, n = 48, k = 40;
  Lab lab(corpus(task), function);
  lab.in("a_ptr", DType::BF16, noise(m * k, 1, 1));
  lab.in("b_ptr", DType::BF16, noise(n * k, 1, 2));
  lab.out("c_ptr", DType::BF16, m * n);
  lab.integers({{"M", m}, {"N", n}, {"K", k}});
  lab.constants({{"BM", 16}, {"BN", 32}, {"BK", 16}});
  lab.grid(3, 2);
  if (is_persistent) {
    lab.constants({{"NUM_SMS", 4}, {"GROUP", 2}});
    lab.grid(4);
  }
  check(lab, "c_ptr", product(lab["a_ptr"], lab["b_ptr"], m, n, k, k, 1, 1, k));
}

TEST(Kernels, PersistentMatmulOverDescriptors) { check_descriptors("matmul_desc", "matmul_desc", true); }
TEST(Kernels, MatmulOverDescriptors) { check_descriptors("matmul_desc_ws", "matmul_desc_ws", false); }

TEST(Kernels, IntegerMatmulIsExact) {
  constexpr int m = 20, n = 19, k = 33;
  Lab lab(corpus("matmul_i8"), "matmul_i8");
  std::vector<double> a = noise(m * k, 127, 1), b = noise(n * k, 127, 2);
  for (std::vector<double>* each : {&a, &b})
    std::ranges::transform(*each, each->begin(), [](double x) { return std::trunc(x); });
  lab.in("a_ptr", DType::Int8, a);
  lab.in("b_ptr", DType::Int8, b);
  lab.out("c_ptr", DType::Int32, m * n);
  lab.integers({{"M", m}, {"N", n}, {"K", k}});
  lab.constants({{"BM", 16}, {"BN", 16}, {"BK", 16}});
  lab.grid(2, 2);
  check(lab, "c_ptr", product(a, b, m, n, k, k, 1, 1, k));
}

void check_attention(bool is_causal) {
  constexpr int heads = 2, s = 64, d = 16;
  Lab lab(corpus("flash_attention"), "flash_attention");
  lab.in("q_ptr", DType::BF16, noise(heads * s * d, 2, 1));
  lab.in("k_ptr", DType::BF16, noise(heads * s * d, 2, 2));
  lab.in("v_ptr", DType::BF16, noise(heads * s * d, 2, 3));
  lab.out("o_ptr", DType::BF16, heads * s * d);
  lab.scalar("sm_scale", "fp32", 0.25);
  lab.integers({{"S", s}});
  lab.constant("CAUSAL", is_causal);
  lab.constants({{"D", d}, {"BM", 32}, {"BN", 16}});
  lab.grid(s / 32, heads);
  std::vector<double> expected;
  for (int h = 0; h < heads; ++h) {
    const auto at = [&](const char* name, int i, int j) { return lab[name][(h * s + i) * d + j]; };
    for (int i = 0; i < s; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (int j = 0; j < (is_causal ? i + 1 : s); ++j) {
        double dot = 0;
        for (int l = 0; l < d; ++l) dot += at("q_ptr", i, l) * at("k_ptr", j, l);
        weights.push_back(std::exp(dot * 0.25));
        sum += weights.back();
      }
      for (int l = 0; l < d; ++l) {
        double value = 0;
        for (std::size_t j = 0; j < weights.size(); ++j)
          value += weights[j] / sum * at("v_ptr", static_cast<int>(j), l);
        expected.push_back(value);
      }
    }
  }
  check(lab, "o_ptr", expected, 0x1p-7);  // probabilities are rounded to bf16 before the second product
}

TEST(Kernels, FlashAttention) { check_attention(false); }
TEST(Kernels, CausalFlashAttention) { check_attention(true); }

TEST(Kernels, CausalConvolutionLooksBackOnly) {
  constexpr int batch = 2, t = 11, c = 20, width = 4;
  Lab lab(corpus("conv1d_causal"), "conv1d_causal");
  lab.in("x_ptr", DType::BF16, noise(batch * t * c, 2, 1));
  lab.in("w_ptr", DType::BF16, noise(width * c, 2, 2));
  lab.out("out_ptr", DType::BF16, batch * t * c);
  lab.integers({{"T", t}, {"C", c}});
  lab.constants({{"WIDTH", width}, {"BT", 8}, {"BC", 16}});
  lab.grid(2, 2, batch);
  std::vector<double> expected;
  for (int b = 0; b < batch; ++b) {
    for (int i = 0; i < t; ++i) {
      for (int j = 0; j < c; ++j) {
        double sum = 0;
        for (int l = 0; l < width; ++l) {
          const int at = i - (width - 1) + l;
          if (at >= 0) sum += lab["x_ptr"][(b * t + at) * c + j] * lab["w_ptr"][l * c + j];
        }
        expected.push_back(sum);
      }
    }
  }
  check(lab, "out_ptr", expected);
}

TEST(Kernels, CrossEntropyReadsTheLabel) {
  constexpr int rows = 3, v = 150;
  Lab lab(corpus("cross_entropy"), "cross_entropy");
  lab.in("x_ptr", DType::BF16, noise(rows * v, 4, 1));
  lab.in("label_ptr", DType::Int64, {7, 149, 0});
  lab.out("loss_ptr", DType::Fp32, rows);
  lab.integers({{"V", v}});
  lab.constants({{"BLOCK", 64}});
  lab.grid(rows);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < v; ++i) sum += std::exp(lab["x_ptr"][r * v + i]);
    expected.push_back(std::log(sum) - lab["x_ptr"][r * v + static_cast<int>(lab["label_ptr"][r])]);
  }
  check(lab, "loss_ptr", expected);
}

TEST(Kernels, RopeRotatesPairs) {
  constexpr int s = 3, h = 2, d = 16;
  Lab lab(corpus("rope"), "rope");
  lab.in("x_ptr", DType::BF16, noise(s * h * d, 2, 1));
  lab.in("cos_ptr", DType::BF16, noise(s * d / 2, 1, 2));
  lab.in("sin_ptr", DType::BF16, noise(s * d / 2, 1, 3));
  lab.out("out_ptr", DType::BF16, s * h * d);
  lab.integers({{"S", s}, {"H", h}});
  lab.constants({{"D", d}});
  lab.grid(s, h);
  std::vector<double> expected;
  for (int i = 0; i < s * h * d; ++i) {
    const int at = i % d, row = i / d / h, half = d / 2;
    const double cosine = lab["cos_ptr"][row * half + at % half], sine = lab["sin_ptr"][row * half + at % half];
    const double first = lab["x_ptr"][i - at + at % half], second = lab["x_ptr"][i - at + at % half + half];
    expected.push_back(at < half ? first * cosine - second * sine : second * cosine + first * sine);
  }
  check(lab, "out_ptr", expected, 0x1p-16);
}

TEST(Kernels, CumsumIsInclusive) {
  constexpr int rows = 2, columns = 90;
  Lab lab(corpus("cumsum"), "cumsum");
  lab.in("x_ptr", DType::Fp32, noise(rows * columns, 2, 1));
  lab.out("out_ptr", DType::Fp32, rows * columns);
  lab.integers({{"n_cols", columns}});
  lab.constants({{"BLOCK", 128}});
  lab.grid(rows);
  std::vector<double> expected;
  for (int i = 0; i < rows * columns; ++i) {
    expected.push_back(lab["x_ptr"][i] + (i % columns == 0 ? 0 : expected.back()));
  }
  check(lab, "out_ptr", expected);
}

TEST(Kernels, BitdeltaUnpacksSigns) {
  constexpr int m = 20, n = 32, k = 64;
  Lab lab(corpus("bitdelta"), "bitdelta");
  std::vector<double> packed = noise(k / 32 * n, 2147483000.0, 2);
  std::ranges::transform(packed, packed.begin(), [](double x) { return std::trunc(x); });
  lab.in("x_ptr", DType::BF16, noise(m * k, 1, 1));
  lab.in("packed_ptr", DType::Int32, packed);
  lab.out("out_ptr", DType::BF16, m * n);
  lab.scalar("alpha", "fp32", 0.03125);
  lab.integers({{"M", m}, {"N", n}, {"K", k}});
  lab.constants({{"BM", 16}, {"BN", 16}, {"BK", 32}});
  lab.grid(2, 2);
  std::vector<double> signs;
  for (int l = 0; l < k; ++l) {
    for (int j = 0; j < n; ++j) {
      const auto word = static_cast<std::uint32_t>(static_cast<std::int64_t>(packed[l / 32 * n + j]));
      signs.push_back((word >> l % 32 & 1) != 0 ? 0.03125 : -0.03125);
    }
  }
  check(lab, "out_ptr", product(lab["x_ptr"], signs, m, n, k, k, 1, n, 1));
}

TEST(Kernels, W4a16UnpacksNibbles) {
  constexpr int m = 20, n = 32, k = 64, group = 32;
  Lab lab(corpus("w4a16"), "w4a16");
  std::vector<double> packed = noise(k / 8 * n, 2147483000.0, 2);
  std::ranges::transform(packed, packed.begin(), [](double x) { return std::trunc(x); });
  lab.in("x_ptr", DType::Fp16, noise(m * k, 1, 1));
  lab.in("packed_ptr", DType::Int32, packed);
  lab.in("scale_ptr", DType::Fp16, noise(k / group * n, 1, 3));
  lab.out("out_ptr", DType::Fp16, m * n);
  lab.integers({{"M", m}, {"N", n}, {"K", k}});
  lab.constants({{"BM", 16}, {"BN", 16}, {"BK", 32}, {"G", group}});
  lab.grid(2, 2);
  std::vector<double> weights;
  for (int l = 0; l < k; ++l) {
    for (int j = 0; j < n; ++j) {
      const auto word = static_cast<std::uint32_t>(static_cast<std::int64_t>(packed[l / 8 * n + j]));
      const double nibble = static_cast<double>(word >> l % 8 * 4 & 15) - 8;
      weights.push_back(nibble * lab["scale_ptr"][l / group * n + j]);
    }
  }
  check(lab, "out_ptr", product(lab["x_ptr"], weights, m, n, k, k, 1, n, 1), 0x1p-11);  // weights are rounded to f16
}

}  // namespace
}  // namespace plumb::triton
