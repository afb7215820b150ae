// SPDX-License-Identifier: Apache-2.0
#include "agent/providers.h"

#include <fmt/format.h>

#include "agent/codes.h"

namespace plumb::agent {

bool complete(std::string_view name, const ServiceEnvironment& environment, ChatConfig& config, Findings& findings) {
  const bool is_anthropic = name == "anthropic";
  if (!is_anthropic && name != "openai") {
    findings.add(kProviderUnknown, fmt::format("there is no provider `{}`", name)).hint =
        "there are: replay, anthropic, openai (and servers that speak like it, with --base-url); an agent outside "
        "drives "
        "`plumb mcp`";
    return false;
  }
  if (config.model.empty()) {
    findings.add(kProviderSetting, fmt::format("the provider `{}` needs a model", name)).hint = "name it with --model";
    return false;
  }
  if (config.base_url.empty()) {
    config.base_url = is_anthropic ? environment.anthropic_base_url : environment.openai_base_url;
  }
  const std::string_view variable = is_anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
  config.key = is_anthropic ? environment.anthropic_key : environment.openai_key;
  // Servers of one's own mostly want no key; the services do.
  if (config.base_url.empty()) {
    config.base_url = is_anthropic ? "https://api.anthropic.com" : "https://api.openai.com/v1";
    if (config.key.empty()) {
      findings.add(kProviderKey, fmt::format("there is no key for the provider `{}`", name)).hint =
          fmt::format("set {} in the environment", variable);
      return false;
    }
  }
  while (config.base_url.ends_with('/')) config.base_url.pop_back();
  if (config.key.find_first_of("\r\n") != std::string::npos) {
    findings.add(kProviderKey, fmt::format("the key in {} has a line end in it", variable));
    return false;
  }
  if (!config.key.empty() && !is_private(config.base_url)) {
    findings.add(kProviderKey, fmt::format("the key in {} would travel unprotected to `{}`", variable, config.base_url))
        .hint = "use https, or unset the key for a server that needs none";
    return false;
  }
  return true;
}

std::unique_ptr<Provider> make_live(std::string_view name, const ChatConfig& config) {
  return std::make_unique<Chat>(name == "anthropic" ? anthropic_wire() : chat_completions_wire(), config);
}

}  // namespace plumb::agent
