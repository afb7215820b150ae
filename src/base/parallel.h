// SPDX-License-Identifier: Apache-2.0
// Independent jobs over the machine's cores.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace plumb {

// 0 means "as many as the machine has cores".
inline unsigned worker_count(unsigned asked) {
  if (asked != 0) return asked;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

// Calls job(worker, index) once for each index in [0, count), indices handed out in rising order; worker < workers.
// `job` must not throw. It stops early, without starting new indices, when `job` returns false.
inline void parallel_for(unsigned workers, std::size_t count, const std::function<bool(unsigned, std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_stopped{false};
  const auto work = [&](unsigned worker) {
    while (!is_stopped.load(std::memory_order_relaxed)) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      if (!job(worker, index)) is_stopped.store(true, std::memory_order_relaxed);
    }
  };
  const auto used = static_cast<unsigned>(count < workers ? count : workers);
  if (used <= 1) return work(0);
  std::vector<std::thread> threads;
  for (unsigned worker = 1; worker < used; ++worker) threads.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace plumb
