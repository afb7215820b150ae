// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_gate.h"

#include <algorithm>
#include <cstdint>

namespace plumb::agent {
namespace {

// "host:port" and "[host]:port" without their port; empty where what follows the host is none.
std::string_view without_port(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  const std::string_view port = host.substr(end);
  const bool is_port = port.empty() || (port.size() > 1 && port[0] == ':' &&
                                        port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return is_port ? host.substr(0, end) : std::string_view();
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

bool is_loopback(std::string_view address) {
  const auto is_number_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  const bool is_v4 = address.starts_with("127.") && std::all_of(address.begin(), address.end(), is_number_part);
  return is_v4 || address == "localhost" || address == "::1" || address == "[::1]";
}

bool is_own_host(std::string_view host_header) { return is_loopback(without_port(host_header)); }

bool is_allowed_origin(std::string_view origin, const std::vector<std::string>& more) {
  if (std::find(more.begin(), more.end(), origin) != more.end()) return true;
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (origin.starts_with(scheme)) return is_own_host(origin.substr(scheme.size()));
  }
  return false;
}

bool holds_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme) || token.empty()) return false;
  const std::string_view given = authorization.substr(kScheme.size());
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
  }
  return difference == 0;
}

std::optional<std::string> header_text(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?", kEnd = "?=";
  if (!value.starts_with(kBegin) || !value.ends_with(kEnd) || value.size() < kBegin.size() + kEnd.size()) {
    return std::string(value);
  }
  value = value.substr(kBegin.size(), value.size() - kBegin.size() - kEnd.size());
  while (value.ends_with('=')) value.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : value) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

}  // namespace plumb::agent
