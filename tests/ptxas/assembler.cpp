// SPDX-License-Identifier: Apache-2.0
#include "assembler.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

namespace plumb::agreement {
namespace {

std::string output_of(const std::string& command, bool& is_good) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  is_good = pipe != nullptr;
  if (!is_good) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  is_good = pclose(pipe) == 0;
  return out;
}

// A virtual architecture ends ptxas after its front end.
std::string command(std::string arch, const std::string& path) {
  if (arch.starts_with("sm_")) arch = "compute_" + arch.substr(3);
  return "ptxas -arch=" + arch + " -o /dev/null " + path + " 2>&1";
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

// Messages about lines, and whether there were others that name none of ours.
struct Answer {
  std::map<int, std::string> by_line;
  std::string unplaced;
};

// A syntax error at a line's first word is the fault of the statement before it, where that has no end.
int culprit(const Batch& batch, const std::vector<bool>& is_dropped, int index, std::string_view text) {
  const std::size_t quote = text.find("near '");
  if (index <= 0 || quote == std::string_view::npos) return index;
  const std::string_view near = text.substr(quote + 6, text.find('\'', quote + 6) - quote - 6);
  std::string_view line = batch.lines[static_cast<std::size_t>(index)];
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (near.empty() || !line.starts_with(near)) return index;
  for (int i = index - 1; i >= 0; --i) {
    std::string_view before = batch.lines[static_cast<std::size_t>(i)];
    before.remove_prefix(std::min(before.find_first_not_of(" \t"), before.size()));
    before = before.substr(0, before.find_last_not_of(" \t\r") + 1);
    if (before.empty() || is_dropped[static_cast<std::size_t>(i)]) continue;
    const bool is_ended =
        before.front() == '.' || before.starts_with("//") || before.find_first_of(";{}:") != before.npos;
    return is_ended ? index : i;
  }
  return index;
}

Answer ask(const Batch& batch, const std::vector<bool>& is_dropped) {
  Answer out;
  const auto head_lines = static_cast<int>(std::count(batch.head.begin(), batch.head.end(), '\n'));
  const auto count = static_cast<int>(batch.lines.size());
  std::string text = batch.head;
  for (std::size_t i = 0; i < batch.lines.size(); ++i) text += (is_dropped[i] ? "" : batch.lines[i]) + '\n';
  text += batch.tail;
  const ScratchFile file(text);
  bool is_good = true;
  const std::string messages = output_of(command(batch.arch, file.path()), is_good);
  for (std::string_view rest = messages; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::optional<Message> message = read_message(line);
    const bool is_ours = line.find(file.path()) != std::string_view::npos;
    if (!message || !is_ours) {
      const bool is_summary = line.find("aborted due to errors") != std::string_view::npos;
      const bool is_bad = message || (line.find("fatal") != std::string_view::npos && !is_summary);
      if (is_bad && out.unplaced.empty()) out.unplaced = line;
      continue;
    }
    int index = message->line - head_lines - 1;
    if (message->is_fatal) {
      // A statement whose end is missing is noticed at the next one.
      index = std::min(index, count - 1);
      while (index > 0 && is_dropped[static_cast<std::size_t>(index)]) --index;
      index = culprit(batch, is_dropped, index, message->text);
    }
    if (index < 0 || index >= count || is_dropped[static_cast<std::size_t>(index)]) {
      out.unplaced = line;
    } else {
      out.by_line.emplace(index, message->text);
    }
  }
  if (!is_good && out.by_line.empty() && out.unplaced.empty()) out.unplaced = kNoAnswer;
  return out;
}

}  // namespace

std::optional<Assembler> Assembler::find() {
  bool is_good = true;
  const std::string text = output_of("ptxas --version 2>/dev/null", is_good);
  const std::size_t at = text.find("release ");
  if (at == std::string::npos) return std::nullopt;
  const std::string version = text.substr(at + 8, text.find(',', at) - at - 8);
  if (version != "13.0") return std::nullopt;
  return Assembler(version);
}

bool Assembler::takes(const std::string& arch, const std::string& text, std::string& why) const {
  const ScratchFile file(text);
  bool is_good = true;
  const std::string said = output_of(command(arch, file.path()), is_good);
  // The front end alone refuses `.unified`, which a whole run takes.
  if (!is_good) output_of("ptxas -c -arch=" + arch + " -o /dev/null " + file.path() + " 2>&1", is_good);
  why = is_good ? "" : said.substr(0, said.find('\n'));
  return is_good;
}

bool Assembler::assembles(const std::string& arch, const std::string& text, std::string& why) const {
  const ScratchFile file(text);
  bool is_good = true;
  const std::string said = output_of("ptxas -arch=" + arch + " -o /dev/null " + file.path() + " 2>&1", is_good);
  why = is_good ? "" : said.substr(0, said.find('\n'));
  return is_good;
}

std::string Assembler::words(const std::string& arch, const std::string& text) const {
  const ScratchFile file(text);
  bool is_good = true;
  std::istringstream lines(output_of(command(arch, file.path()), is_good));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("aborted due to errors") != line.npos) continue;
    const std::optional<Message> message = read_message(line);
    out += message ? std::to_string(message->line) + ": " + message->text : line;
    if (const std::size_t at = out.find(file.path()); at != out.npos) out.replace(at, file.path().size(), "FILE");
    out += '\n';
  }
  return out;
}

// A syntax error hides what follows, and an error hides those of instructions that are expanded before they are
// checked; so the rejected lines are left out and the rest is asked again until nothing is said. A message about an
// expansion names no line of ours: then halves are asked until one line is left.
std::map<int, std::string> Assembler::rejected(const Batch& batch) const {
  std::map<int, std::string> out;
  std::vector<bool> is_dropped(batch.lines.size());
  while (true) {
    Answer answer = ask(batch, is_dropped);
    for (auto& [index, message] : answer.by_line) {
      is_dropped[static_cast<std::size_t>(index)] = true;
      out.emplace(index, std::move(message));
    }
    if (!answer.by_line.empty()) continue;
    if (answer.unplaced.empty()) return out;
    std::vector<int> left;
    for (std::size_t i = 0; i < batch.lines.size(); ++i) {
      if (!is_dropped[i]) left.push_back(static_cast<int>(i));
    }
    if (left.size() <= 1) {
      out.emplace(left.empty() ? -1 : left[0], answer.unplaced);
      return out;
    }
    const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
    for (const auto& [first, last] : {std::pair(left.begin(), middle), std::pair(middle, left.end())}) {
      Batch half{batch.arch, batch.head, {}, batch.tail};
      for (auto i = first; i != last; ++i) half.lines.push_back(batch.lines[static_cast<std::size_t>(*i)]);
      for (auto& [index, message] : rejected(half)) {
        out.emplace(index < 0 ? index : *(first + index), std::move(message));
      }
    }
    return out;
  }
}

}  // namespace plumb::agreement
