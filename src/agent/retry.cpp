// SPDX-License-Identifier: Apache-2.0
#include "agent/retry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace plumb::agent {
namespace {

std::string_view header(const HttpResponse& response, const char* name) {
  const auto found = response.headers.find(name);
  return found == response.headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

// "Wed, 21 Oct 2026 07:28:00 GMT"
std::optional<std::time_t> date(std::string_view text) {
  std::tm time{};
  const std::string whole(text);
  const char* end = ::strptime(whole.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&time);
}

}  // namespace

bool may_retry(const HttpResponse& response) {
  switch (response.end) {
    case HttpEnd::Unreachable:
    case HttpEnd::Broken:
    case HttpEnd::TimedOut:
    case HttpEnd::TooLong:
      return true;
    case HttpEnd::NoLibrary:
    case HttpEnd::BadUrl:
    case HttpEnd::BrokenOff:
      return false;
    case HttpEnd::Whole:
      break;
  }
  const std::string_view word = header(response, "x-should-retry");
  if (word == "true") return true;
  if (word == "false") return false;
  const int status = response.status;
  return status == 408 || status == 409 || status == 429 || status >= 500 || (status >= 200 && status < 300);
}

std::optional<double> wanted_wait(const HttpResponse& response, std::time_t now) {
  if (const auto milliseconds = number(header(response, "retry-after-ms"))) return *milliseconds * 1e-3;
  const std::string_view text = header(response, "retry-after");
  if (const auto seconds = number(text)) return seconds;
  if (const auto then = date(text)) return std::max(0.0, std::difftime(*then, now));
  return std::nullopt;
}

double wait_seconds(const HttpResponse& response, unsigned tries, std::time_t now, std::uint64_t chance) {
  if (const auto wanted = wanted_wait(response, now)) return *wanted;
  constexpr double kFirst = 0.5, kMost = 60;
  const double wait = std::min(kMost, std::ldexp(kFirst, static_cast<int>(std::min(tries, 30u))));
  return wait * (1 - 0.25 * static_cast<double>(chance % 1024) / 1024);
}

double RateLimit::take(Clock::time_point now) {
  const std::lock_guard hold(mutex_);
  const Clock::time_point at = std::max(now, next_);
  next_ = at + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(gap_));
  return std::chrono::duration<double>(at - now).count();
}

void RateLimit::hold(Clock::time_point now, double seconds) {
  const std::lock_guard hold(mutex_);
  next_ = std::max(next_, now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace plumb::agent
