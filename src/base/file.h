// SPDX-License-Identifier: Apache-2.0
// Files as whole texts. Failures are findings with the path in them; writing replaces a file in one step, so that a
// crash or a full disk loses nothing that was there before.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace plumb {

std::optional<std::string> read_file(const std::filesystem::path& path, Findings& findings);
SourcePtr read_source(const std::filesystem::path& path, Findings& findings);  // null on failure
bool write_file(const std::filesystem::path& path, std::string_view text, Findings& findings);
bool append_line(const std::filesystem::path& path, std::string_view line, Findings& findings);  // flushed

namespace file_codes {
extern const Code kUnreadable;
extern const Code kUnwritable;
}  // namespace file_codes

}  // namespace plumb
