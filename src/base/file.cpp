// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace plumb {

namespace file_codes {
extern constexpr Code kUnreadable{"file.unreadable", "a file cannot be read",
                                  "The named file does not exist, is a directory, or may not be read by this user."};
extern constexpr Code kUnwritable{"file.unwritable", "a file cannot be written",
                                  "The named file cannot be created or written; what was there before is unchanged."};
}  // namespace file_codes

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string reason() { return std::strerror(errno); }

}  // namespace

std::optional<std::string> read_file(const std::filesystem::path& path, Findings& findings) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    findings.add(file_codes::kUnreadable, fmt::format("cannot read `{}`: it is a directory", path.string()));
    return std::nullopt;
  }
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    findings.add(file_codes::kUnreadable, fmt::format("cannot read `{}`: {}", path.string(), reason()));
    return std::nullopt;
  }
  std::string text;
  char block[1 << 16];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, file.get())) > 0;) text.append(block, got);
  if (std::ferror(file.get()) != 0) {
    findings.add(file_codes::kUnreadable, fmt::format("cannot read `{}`: {}", path.string(), reason()));
    return std::nullopt;
  }
  return text;
}

SourcePtr read_source(const std::filesystem::path& path, Findings& findings) {
  std::optional<std::string> text = read_file(path, findings);
  if (!text) return nullptr;
  return std::make_shared<Source>(path.string(), std::move(*text));
}

bool write_file(const std::filesystem::path& path, std::string_view text, Findings& findings) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto fail = [&] {
    findings.add(file_codes::kUnwritable, fmt::format("cannot write `{}`: {}", path.string(), reason()));
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return false;
  };
  {
    File file(std::fopen(temporary.c_str(), "wb"));
    if (!file) return fail();
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return fail();
    if (std::fflush(file.get()) != 0) return fail();
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail();
  return true;
}

bool append_line(const std::filesystem::path& path, std::string_view line, Findings& findings) {
  const File file(std::fopen(path.c_str(), "ab"));
  const std::string whole = std::string(line) + "\n";
  if (!file || std::fwrite(whole.data(), 1, whole.size(), file.get()) != whole.size() || std::fflush(file.get()) != 0) {
    findings.add(file_codes::kUnwritable, fmt::format("cannot write `{}`: {}", path.string(), reason()));
    return false;
  }
  return true;
}

}  // namespace plumb
