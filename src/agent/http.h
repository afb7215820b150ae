// SPDX-License-Identifier: Apache-2.0
// One HTTP POST whose answer comes in pieces. libcurl does the work; it is loaded when it is first needed, so that the
// binary runs without it wherever no model is asked. Redirects are not followed: a key goes to one host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::agent {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "name: value"
  std::string body;
  double connect_seconds = 30;
  double quiet_seconds = 300;  // without a byte
  double all_seconds = 3600;
  std::size_t most_bytes = std::size_t{64} << 20;
};

enum class HttpEnd : std::uint8_t {
  Whole,      // the server said all that it had to say
  NoLibrary,  // libcurl is not here
  BadUrl,
  Unreachable,  // no connection: name, host, TLS
  Broken,       // the connection ended in the middle
  TimedOut,
  TooLong,    // more bytes than are taken
  BrokenOff,  // by our side
};

struct HttpResponse {
  HttpEnd end = HttpEnd::Whole;
  std::string message;                         // of an end that is not Whole, for people
  int status = 0;                              // 0: none came
  std::map<std::string, std::string> headers;  // names in lower case; the last of several
};

// `take` gets the body's pieces and returns false to break off. `is_over` is asked a few times a second.
HttpResponse post(const HttpRequest& request, const std::function<bool(std::string_view)>& take,
                  const std::function<bool()>& is_over);

// Whether a key may be sent there: over TLS, or to this machine.
bool is_private(std::string_view url);

}  // namespace plumb::agent
