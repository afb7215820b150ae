// SPDX-License-Identifier: Apache-2.0
// When to ask a server again, and how long to wait before.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>

#include "agent/http.h"

namespace plumb::agent {

// Whether another try may go better: too many requests, overload, faults of the server, a connection that failed or
// broke. The server's own word (`x-should-retry`) goes first.
bool may_retry(const HttpResponse& response);

// What the server asks for (`retry-after-ms`, `retry-after` in seconds or as a date); empty where it asks for nothing.
std::optional<double> wanted_wait(const HttpResponse& response, std::time_t now);

// Before try number `tries` + 1: what the server asks for, else doubling from half a second up to a minute, less up to
// a quarter by chance so that many clients do not come back at once.
double wait_seconds(const HttpResponse& response, unsigned tries, std::time_t now, std::uint64_t chance);

// When all lanes of a run may ask next. A service counts the requests of a key, not of a conversation: where it asks
// one lane to wait, the others wait, too.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // At most so many requests a minute; 0: as many as come.
  explicit RateLimit(double per_minute = 0) : gap_(per_minute > 0 ? 60 / per_minute : 0) {}

  // Takes the next place: the seconds to wait for it.
  double take(Clock::time_point now);
  // No place comes before then.
  void hold(Clock::time_point now, double seconds);

 private:
  std::mutex mutex_;
  double gap_;
  Clock::time_point next_{};
};

}  // namespace plumb::agent
