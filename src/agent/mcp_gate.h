// SPDX-License-Identifier: Apache-2.0
// Who may come in over HTTP, and whether the headers of a request say what its body says.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::agent {

bool is_loopback(std::string_view address);  // 127.0.0.0/8, ::1, localhost

// A page of another site can make a browser send requests here, under a name of its own that points here as well.
bool is_own_host(std::string_view host_header);
bool is_allowed_origin(std::string_view origin, const std::vector<std::string>& more);
// Takes as long whatever is wrong.
bool holds_token(std::string_view authorization, std::string_view token);

// The text of a header value that may be written as =?base64?...?=; empty where that does not read.
std::optional<std::string> header_text(std::string_view value);

}  // namespace plumb::agent
