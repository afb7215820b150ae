// SPDX-License-Identifier: Apache-2.0
// Workers share inputs, literals, classes and normal forms.
#include <gtest/gtest.h>

#include <thread>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Field::Real;

TEST(FieldThreads, WorkersOnDisjointUnitsAgreeWithOneWorker) {
  constexpr Format kF = Format::F32;
  constexpr unsigned kUnits = 64, kWorkers = 4;
  FieldContext context({.seed = 5, .constants = Constants::Ideal});
  const auto unit = [](Field& f, Buffer& in, Buffer& out, unsigned index) {
    f.begin_unit();
    std::vector<Real> x;
    for (unsigned i = 0; i < 16; ++i) x.push_back(f.read(in, 4 * (16 * (index / 2) + i), kF));
    Real most = x[0];
    for (const Real& v : x) most = f.max(kF, most, v, {});
    Real total = f.constant(kF, 0);
    for (const Real& v : x) total = f.add(kF, total, f.exp(kF, f.sub(kF, v, most, {})), {});
    const Real relu = f.max(kF, f.sub(kF, x[0], x[1], {}), f.constant(kF, 0), {});
    const Real chosen = f.select(kF, f.compare(kF, Compare::Lt, x[2], x[3], {}), relu, x[4]);
    const Real result = f.add(kF, f.add(kF, most, f.log(kF, total), {}), chosen, {});
    const Word word = f.to_word(kF, result);
    const std::byte bytes[4] = {};
    f.store(out, 4 * index, 4, bytes, word.tags);
    f.end_unit();
  };
  Memory one(true), many(true);
  for (Memory* memory : {&one, &many}) {
    memory->add("in", 4 * 16 * kUnits, Init::Abstract, kF);
    memory->add("out", 4 * kUnits, Init::Undefined, kF);
  }
  std::vector<Field> fields;
  for (unsigned w = 0; w < kWorkers; ++w) fields.emplace_back(context);
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      for (unsigned i = w; i < kUnits; i += kWorkers) unit(fields[w], *many.find("in"), *many.find("out"), i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Field single(context);
  for (unsigned i = 0; i < kUnits; ++i) unit(single, *one.find("in"), *one.find("out"), i);
  for (unsigned i = 0; i < kUnits; ++i) {
    const Real a = single.read(*one.find("out"), 4 * i, kF), b = single.read(*many.find("out"), 4 * i, kF);
    EXPECT_EQ(single.compare_outputs(kF, a, b), Comparison::Equal) << i;
    const Real other = single.read(*many.find("out"), 4 * ((i + 2) % kUnits), kF);
    EXPECT_EQ(single.compare_outputs(kF, a, other), Comparison::Different) << i;
  }
}

}  // namespace
}  // namespace plumb::domain
