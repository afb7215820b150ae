// SPDX-License-Identifier: Apache-2.0
// The comparison is what every verdict hangs on: planted errors of each kind, and numbers that must pass.
#include "session/gpu_compare.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "session/gpu_bench.h"
#include "session/gpu_testing.h"

namespace plumb::session {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

task::BoundArg tensor(std::string name, std::vector<std::int64_t> shape, task::Role role, std::string type = "*fp32") {
  task::BoundArg out;
  out.name = std::move(name);
  out.type = std::move(type);
  out.is_tensor = true;
  out.is_float = true;
  out.role = role;
  out.elements = 1;
  for (const std::int64_t extent : shape) out.elements *= static_cast<std::uint64_t>(extent);
  out.shape = std::move(shape);
  return out;
}

GpuShape shape_of(std::vector<task::BoundArg> args) {
  GpuShape out;
  out.bound.args = std::move(args);
  return out;
}

std::vector<float> poisoned(std::vector<float> values, std::initializer_list<std::size_t> left) {
  for (const std::size_t i : left) std::memset(&values[i], 0xff, sizeof(float));
  return values;
}

Judgement judge_floats(const std::vector<float>& candidate, const std::vector<float>& reference,
                       const ErrorModel& model = {}, bool is_partial = false,
                       const std::vector<float>* before = nullptr) {
  const auto rows = static_cast<std::int64_t>(reference.size());
  const task::BoundArg arg = tensor("out", {rows}, before != nullptr ? task::Role::InOut : task::Role::Out);
  const GpuShape shape = shape_of({tensor("x", {rows}, task::Role::In), arg});
  Compared compared;
  compared.candidate = reinterpret_cast<const std::byte*>(candidate.data());
  compared.reference = reinterpret_cast<const std::byte*>(reference.data());
  compared.before = before != nullptr ? reinterpret_cast<const std::byte*>(before->data()) : nullptr;
  compared.is_partial = is_partial;
  return judge(shape, arg, model, 4, compared);
}

TEST(Judge, EqualNumbersHoldAndAreCounted) {
  const Judgement out = judge_floats({1, 2, 3}, {1, 2, 3});
  EXPECT_TRUE(out.holds());
  EXPECT_EQ(out.compared, 3u);
}

TEST(Judge, OneUlpOfAnElementwiseSumPassesAndAHundredDoNot) {
  EXPECT_TRUE(judge_floats({std::nextafter(1.0F, 2.0F)}, {1}).holds());
  const Judgement out = judge_floats({2, 1 + 100 * 0x1p-23F}, {2, 1});
  EXPECT_EQ(out.wrong, 1u);
  EXPECT_EQ(out.largest_ulps, 100);
  EXPECT_NE(out.worst.find("out[1]"), std::string::npos) << out.worst;
}

TEST(Judge, ZerosForSmallAnswersAreWrong) {
  EXPECT_EQ(judge_floats({0, 0}, {1e-6F, 2e-6F}).wrong, 2u);
  EXPECT_EQ(judge_floats({0}, {1e-30F}).wrong, 1u);
}

TEST(Judge, AnElementThatOnlyTheCandidateLeavesIsUnwritten) {
  const Judgement out = judge_floats(poisoned({1, 2, 3}, {1}), {1, 2, 3});
  EXPECT_EQ(out.unwritten, 1u);
  EXPECT_EQ(out.first_unwritten, "out[1]");
}

TEST(Judge, AnElementThatOnlyTheSourceLeavesIsOverwritten) {
  EXPECT_EQ(judge_floats({1, 2, 3}, poisoned({1, 2, 3}, {2})).overwritten, 1u);
  EXPECT_TRUE(judge_floats(poisoned({1, 2, 3}, {2}), poisoned({1, 2, 3}, {2})).holds());
}

TEST(Judge, WhatNoProgramWasEvaluatedForIsNotCompared) {
  const Judgement out = judge_floats({1, 7, 3}, poisoned({1, 2, 3}, {1}), {}, true);
  EXPECT_TRUE(out.holds());
  EXPECT_EQ(out.compared, 2u);
  EXPECT_EQ(judge_floats({1, 7, 4}, poisoned({1, 2, 3}, {1}), {}, true).wrong, 1u);
}

TEST(Judge, ClassesAreComparedBeforeNumbers) {
  EXPECT_EQ(judge_floats({kNan}, {1}).special, 1u);
  EXPECT_EQ(judge_floats({1}, {kNan}).special, 1u);
  EXPECT_EQ(judge_floats({kInfinity}, {-kInfinity}).special, 1u);
  EXPECT_EQ(judge_floats({kInfinity}, {kNan}).special, 1u);
  EXPECT_EQ(judge_floats({1e30F}, {kInfinity}).special, 1u);
  EXPECT_TRUE(judge_floats({-kNan}, {kNan}).holds());
  EXPECT_TRUE(judge_floats({std::numeric_limits<float>::max()}, {kInfinity}).holds());
}

TEST(Judge, ASumMayOverflowOnOneSideWhereItMayDifferByThatMuch) {
  ErrorModel coarse;
  coarse.has_reduction = true;
  coarse.accumulate = 0x1p-13;
  const float edge = std::numeric_limits<float>::max() * (1 - 0x1p-11F);
  const auto verdict = [](float got, float wanted, const ErrorModel& model) {
    std::vector<float> candidate(64, 1.0F), reference(64, 1.0F);
    candidate[5] = got;
    reference[5] = wanted;
    return judge_floats(candidate, reference, model);
  };
  EXPECT_TRUE(verdict(edge, kInfinity, coarse).holds());
  EXPECT_TRUE(verdict(kInfinity, edge, coarse).holds());
  EXPECT_EQ(verdict(-edge, kInfinity, coarse).special, 1u);
  EXPECT_EQ(verdict(edge * 0.9F, kInfinity, coarse).special, 1u);
  EXPECT_EQ(verdict(edge, kInfinity, {}).special, 1u);
}

TEST(Judge, AnInOutTensorKeepsWhatTheSourceKeeps) {
  const std::vector<float> before = {5, 6, 7};
  EXPECT_TRUE(judge_floats({1, 6, 3}, {1, 6, 3}, {}, false, &before).holds());
  EXPECT_EQ(judge_floats({1, 2, 3}, {1, 6, 3}, {}, false, &before).overwritten, 1u);
  EXPECT_EQ(judge_floats({5, 6, 3}, {1, 6, 3}, {}, false, &before).unwritten, 1u);
  // An answer that is by chance what was there before, and a candidate that rounds otherwise.
  EXPECT_TRUE(judge_floats({1, std::nextafter(6.0F, 7.0F), 3}, {1, 6, 3}, {}, false, &before).holds());
}

TEST(Judge, TheToleranceGrowsWithTheReductionAndOnlyThen) {
  ErrorModel sum;
  sum.has_reduction = true;
  const std::vector<float> reference(4096, 1.0F);
  std::vector<float> off = reference;
  off[17] += 0x1p-17F;
  EXPECT_FALSE(judge_floats(off, reference).holds());
  EXPECT_TRUE(judge_floats(off, reference, sum).holds());
  off[17] += 0x1p-8F;
  EXPECT_FALSE(judge_floats(off, reference, sum).holds());
}

TEST(Judge, IntegersMustBeEqual) {
  task::BoundArg arg = tensor("out", {2}, task::Role::Out, "*i32");
  arg.is_float = false;
  const GpuShape shape = shape_of({arg});
  const std::int32_t candidate[] = {1000000, -5}, reference[] = {1000001, -5};
  Compared compared;
  compared.candidate = reinterpret_cast<const std::byte*>(candidate);
  compared.reference = reinterpret_cast<const std::byte*>(reference);
  EXPECT_EQ(judge(shape, arg, {}, 0, compared).wrong, 1u);
  compared.candidate = compared.reference;
  EXPECT_TRUE(judge(shape, arg, {}, 0, compared).holds());
}

TEST(ErrorModel, KnowsAccumulatorsByTheOperandsOfProducts) {
  task::Task task;
  const auto model = [&](std::string type, std::string_view source) {
    return error_model(task, shape_of({tensor("a", {8, 8}, task::Role::In, std::move(type))}), source);
  };
  EXPECT_FALSE(model("*fp32", "tl.store(p, a + b)").has_reduction);
  EXPECT_TRUE(model("*fp32", "tl.sum(a)").has_reduction);
  EXPECT_EQ(model("*bf16", "tl.dot(a, b)").accumulate, 0x1p-22);
  EXPECT_EQ(model("*fp8e4nv", "tl.dot(a, b)").accumulate, 0x1p-13);
  EXPECT_EQ(model("*fp32", "tl.dot(a, b)").operands, 0x1p-10);
  EXPECT_EQ(model("*fp32", "tl.dot(a, b, input_precision=\"ieee\")").operands, 0);
}

task::Task two_sizes() {
  task::Task task;
  const auto shape = [](std::int64_t cols, std::int64_t stride) {
    task::Shape out;
    out.sizes = {{"cols", cols}, {"stride", stride}};
    out.label = task::label_of(out.sizes);
    return out;
  };
  task.prove_shapes = {shape(3, 3), shape(100, 120), shape(1000, 1000)};
  task.test_shapes = {shape(64, 777)};
  return task;
}

TEST(KnownRate, IsAnUpperBoundWhateverTheScalesAre) {
  using enum task::Role;
  const auto rate = [](std::vector<task::BoundArg> args) {
    return known_rate("NVIDIA H200", shape_of(std::move(args)));
  };
  const double half = rate({tensor("a", {8}, In, "*fp16"), tensor("out", {8}, Out)});
  EXPECT_EQ(rate({tensor("a", {8}, In, "*fp16"), tensor("signs", {1}, In, "*i32"), tensor("alpha", {1}, In)}), half);
  EXPECT_EQ(rate({tensor("a", {8}, In, "*fp8e4nv"), tensor("scale", {1}, In)}), 2 * half);
  EXPECT_EQ(rate({tensor("a", {8}, In)}), half / 2);
  EXPECT_EQ(known_rate("some card", shape_of({tensor("a", {8}, In)})), 0);
}

TEST(HiddenShapes, StayWithinTheRangesAndKeepTheOrderOfSizes) {
  const task::Task task = two_sizes();
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto shapes = draw_hidden_shapes(task, 3, seed);
    EXPECT_EQ(shapes.size(), 3u);
    for (const task::Shape& shape : shapes) {
      const std::int64_t cols = shape.sizes.at("cols"), stride = shape.sizes.at("stride");
      EXPECT_LE(cols, stride);
      EXPECT_GE(cols, 3);
      EXPECT_LE(stride, 1000);
    }
  }
}

TEST(HiddenShapes, KeepRowsWithinTheirStrides) {
  task::Task task;
  for (const auto& [columns, step, stride] : {std::array{4L, 2L, 9L}, {10L, 3L, 40L}, {7L, 1L, 7L}}) {
    task::Shape shape;
    shape.sizes = {{"columns", columns}, {"step", step}, {"stride", stride}};
    shape.label = task::label_of(shape.sizes);
    task.prove_shapes.push_back(std::move(shape));
  }
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    for (const task::Shape& shape : draw_hidden_shapes(task, 3, seed)) {
      EXPECT_LE(shape.sizes.at("columns") * shape.sizes.at("step"), shape.sizes.at("stride"));
    }
  }
}

// A product whose outputs lie with rows, or with columns, side by side: by no drawn pair of strides are two of them
// one.
TEST(HiddenShapes, KeepElementsApart) {
  task::Task task;
  for (const auto& [m, n, row, column] :
       {std::array{64L, 48L, 48L, 1L}, {5L, 9L, 2L, 11L}, {33L, 20L, 90L, 4L}, {80L, 70L, 1L, 80L}}) {
    task::Shape shape;
    shape.sizes = {{"M", m}, {"N", n}, {"scm", row}, {"scn", column}};
    shape.label = task::label_of(shape.sizes);
    task.prove_shapes.push_back(std::move(shape));
  }
  unsigned drawn = 0;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    for (const task::Shape& shape : draw_hidden_shapes(task, 3, seed)) {
      std::set<std::int64_t> places;
      const auto at = [&](const char* name) { return shape.sizes.at(name); };
      for (std::int64_t i = 0; i < at("M"); ++i) {
        for (std::int64_t j = 0; j < at("N"); ++j) places.insert(i * at("scm") + j * at("scn"));
      }
      EXPECT_EQ(places.size(), static_cast<std::size_t>(at("M") * at("N"))) << shape.label;
      ++drawn;
    }
  }
  EXPECT_GT(drawn, 60u);
}

TEST(HiddenShapes, AreOthersWithAnotherSeed) {
  const task::Task task = two_sizes();
  EXPECT_NE(draw_hidden_shapes(task, 3, 1)[0].label, draw_hidden_shapes(task, 3, 2)[0].label);
  EXPECT_EQ(draw_hidden_shapes(task, 3, 1)[0].label, draw_hidden_shapes(task, 3, 1)[0].label);
}

}  // namespace
}  // namespace plumb::session
