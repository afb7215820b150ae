// SPDX-License-Identifier: Apache-2.0
// Providers by name. `replay` is in replay.h, since it comes from a log and not from a service.
#pragma once

#include <memory>
#include <string_view>

#include "agent/chat.h"
#include "agent/provider.h"

namespace plumb::agent {

// What the environment has for a service; empty fields where it has nothing.
struct ServiceEnvironment {
  std::string anthropic_key, anthropic_base_url, openai_key, openai_base_url;
};
// Sets the key, and the address where none is set. False with a finding for a name that is unknown, a model that is not
// named, a key that is missing or would travel unprotected.
bool complete(std::string_view name, const ServiceEnvironment& environment, ChatConfig& config, Findings& findings);
// Of a complete config.
std::unique_ptr<Provider> make_live(std::string_view name, const ChatConfig& config);

}  // namespace plumb::agent
