// SPDX-License-Identifier: Apache-2.0
#include "session/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace plumb::session {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

using Clock = std::chrono::steady_clock;

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, int output) {
  ::setpgid(0, 0);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

// Reads until the program closes its end or the time is over.
bool drain(int pipe, Clock::time_point deadline, std::string& output) {
  char block[1 << 14];
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1000)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t got = ::read(pipe, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    const std::size_t room = kMostOutput - std::min(kMostOutput, output.size());
    output.append(block, std::min(room, static_cast<std::size_t>(got)));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, double seconds) {
  ProcessResult result;
  int ends[2];
  if (command.empty() || ::pipe2(ends, O_CLOEXEC) != 0) return result;
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) become(arguments.data(), ends[1]);
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return result;
  }
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  result.is_timeout = !drain(ends[0], deadline, result.output);
  ::close(ends[0]);
  if (result.is_timeout) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && !result.is_timeout) result.exit_code = WEXITSTATUS(status);
  result.has_started = result.exit_code != 127;
  return result;
}

std::filesystem::path find_program(std::string_view name, std::string_view search_path) {
  std::size_t at = 0;
  while (at <= search_path.size()) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    if (end > at) {
      std::filesystem::path path = std::filesystem::path(search_path.substr(at, end - at)) / name;
      std::error_code error;
      if (std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
    }
    at = end + 1;
  }
  return {};
}

}  // namespace plumb::session
