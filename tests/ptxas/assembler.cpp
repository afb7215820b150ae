// SPDX-License-Identifier: Apache-2.0
#include "assembler.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace plumb::agreement {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) out.append(buffer, n);
  return out;
}

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("plumb-agree-" + std::to_string(getpid()) + ".ptx")) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path_.c_str(), "w"), fclose);
    fwrite(text.data(), 1, text.size(), file.get());
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Message {
  int line = 0;
  bool is_fatal = false;
  std::string text;
};

// "ptxas FILE, line N; error   : TEXT"
std::optional<Message> read_message(std::string_view line) {
  const bool is_error = line.find("; error") != std::string_view::npos;
  const bool is_fatal = line.find("; fatal") != std::string_view::npos;
  const std::size_t at = line.find(", line ");
  if ((!is_error && !is_fatal) || at == std::string_view::npos) return std::nullopt;
  Message out;
  out.is_fatal = is_fatal;
  std::from_chars(line.data() + at + 7, line.data() + line.size(), out.line);
  const std::size_t colon = line.find(": ", at);
  out.text = colon == std::string_view::npos ? std::string(line) : std::string(line.substr(colon + 2));
  return out;
}

}  // namespace

std::optional<Assembler> Assembler::find() {
  const std::string text = output_of("ptxas --version 2>/dev/null");
  const std::size_t at = text.find("release ");
  if (at == std::string::npos) return std::nullopt;
  const std::string version = text.substr(at + 8, text.find(',', at) - at - 8);
  if (version != "13.0") return std::nullopt;
  return Assembler(version);
}

// Some instructions are expanded before they are checked, and a message about the expansion names no line of ours:
// halves are asked until one line is left.
std::map<int, std::string> Assembler::halves(const Batch& batch) const {
  std::map<int, std::string> out;
  const std::size_t middle = batch.lines.size() / 2;
  Batch half{batch.arch, batch.head, {}, batch.tail};
  half.lines.assign(batch.lines.begin(), batch.lines.begin() + static_cast<std::ptrdiff_t>(middle));
  out = rejected(half);
  half.lines.assign(batch.lines.begin() + static_cast<std::ptrdiff_t>(middle), batch.lines.end());
  for (auto& [index, message] : rejected(half)) {
    out.emplace(index < 0 ? index : index + static_cast<int>(middle), std::move(message));
  }
  return out;
}

std::map<int, std::string> Assembler::rejected(const Batch& batch) const {
  std::map<int, std::string> out;
  std::string arch = batch.arch;
  if (arch.starts_with("sm_")) arch = "compute_" + arch.substr(3);
  const auto head_lines = static_cast<int>(std::count(batch.head.begin(), batch.head.end(), '\n'));
  std::vector<bool> is_dropped(batch.lines.size());
  while (true) {
    std::string text = batch.head;
    for (std::size_t i = 0; i < batch.lines.size(); ++i) text += (is_dropped[i] ? "" : batch.lines[i]) + '\n';
    text += batch.tail;
    const ScratchFile file(text);
    const std::string messages = output_of("ptxas -arch=" + arch + " -o /dev/null " + file.path() + " 2>&1");
    bool again = false, any = false;
    for (std::string_view rest = messages; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      std::optional<Message> message = read_message(line);
      if (!message) {
        if (line.find("fatal") != std::string_view::npos && !any) out.emplace(-1, std::string(line));
        continue;
      }
      any = true;
      int index = message->line - head_lines - 1;
      // A statement whose end is missing is noticed at the next one.
      const bool is_inside = index >= 0 && index < static_cast<int>(batch.lines.size());
      if (message->is_fatal && index == static_cast<int>(batch.lines.size())) --index;
      while (message->is_fatal && index > 0 && index < static_cast<int>(batch.lines.size()) &&
             is_dropped[static_cast<std::size_t>(index)]) {
        --index;
      }
      if (line.find("<macro util>") != std::string_view::npos) {
        if (batch.lines.size() > 1) return halves(batch);
        index = 0;
      } else if (!is_inside && !message->is_fatal) {
        out.emplace(-1, std::string(line));
        continue;
      }
      if (index < 0 || index >= static_cast<int>(batch.lines.size())) {
        out.emplace(-1, std::string(line));
        return out;
      }
      out.emplace(index, message->text);
      if (message->is_fatal) {
        is_dropped[static_cast<std::size_t>(index)] = true;  // it hides what follows: ask again without it
        again = true;
      }
    }
    if (!again) return out;
  }
}

}  // namespace plumb::agreement
