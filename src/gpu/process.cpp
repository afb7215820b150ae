// SPDX-License-Identifier: Apache-2.0
#include "gpu/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, int input, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

int milliseconds_left(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1000));
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::vector<std::string> own_worker_command(const std::filesystem::path& driver) {
  std::error_code error;
  std::vector<std::string> out = {std::filesystem::read_symlink("/proc/self/exe", error).string(), "worker"};
  if (!driver.empty()) {
    out.push_back("--driver");
    out.push_back(driver.string());
  }
  return out;
}

bool WorkerProcess::start() {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return false;
  if (::pipe2(up, O_CLOEXEC) != 0) {
    ::close(down[0]);
    ::close(down[1]);
    return false;
  }
  std::vector<char*> arguments;
  for (const std::string& word : command_) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(arguments.data(), down[0], up[1], parent);
  ::close(down[0]);
  ::close(up[1]);
  to_ = down[1];
  from_ = up[0];
  ::fcntl(to_, F_SETFL, O_NONBLOCK);
  rest_.clear();
  ++starts_;
  if (process_ > 0) return true;
  end(false);
  return false;
}

void WorkerProcess::end(bool is_killed) {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  to_ = from_ = -1;
  if (process_ <= 0) return;
  if (is_killed) ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

WorkerProcess::~WorkerProcess() { end(true); }

// False when the worker ended, or does not read.
bool WorkerProcess::send(const std::string& text, double seconds) {
  const Clock::time_point deadline = after(seconds);
  std::size_t done = 0;
  while (done < text.size()) {
    pollfd waiting{to_, POLLOUT, 0};
    const int wait = milliseconds_left(deadline);
    if (wait == 0 || (::poll(&waiting, 1, wait) < 0 && errno != EINTR) || (waiting.revents & POLLERR) != 0)
      return false;
    const ssize_t put = ::write(to_, text.data() + done, text.size() - done);
    if (put < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return true;
}

std::string WorkerProcess::how_it_ended() {
  constexpr unsigned kPauseMicroseconds = 10000;
  int status = 0;
  // It has closed its pipe or stopped reading; it gets a second to end by itself.
  for (int i = 0; i < 100 && ::waitpid(process_, &status, WNOHANG) == 0; ++i) {
    if (i == 99) {
      end(true);
      return "took no more input and was killed";
    }
    ::usleep(kPauseMicroseconds);
  }
  process_ = -1;
  end(false);
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) return fmt::format("`{}` cannot be started", command_.front());
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

Json WorkerProcess::ask(const Json& job, double seconds) {
  // Writing to a worker that has just ended must not end this process.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  if (process_ <= 0 && !start()) return {{"status", "worker"}, {"message", "no process could be started"}};
  const Clock::time_point deadline = after(seconds);
  if (!send(job.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", seconds)) {
    return {{"status", "worker"}, {"message", how_it_ended()}};
  }
  char block[1 << 16];
  while (true) {
    const std::size_t line = rest_.find('\n');
    if (line != std::string::npos) {
      Json answer = Json::parse(rest_.substr(0, line), nullptr, false);
      rest_.erase(0, line + 1);
      if (!answer.is_object() || !answer.contains("status")) {
        end(true);
        return {{"status", "worker"}, {"message", "the answer is no JSON object with a status"}};
      }
      // A worker with a dead context, or without a card, ends by itself.
      if (answer.value("dead", false) || answer["status"] == "none") end(true);
      return answer;
    }
    const int wait = milliseconds_left(deadline);
    if (wait == 0) {
      end(true);
      return {{"status", "timeout"}, {"message", fmt::format("no answer after {:.3g} s", seconds)}};
    }
    pollfd waiting{from_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, wait);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = ::read(from_, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {{"status", "worker"}, {"message", how_it_ended()}};
    rest_.append(block, static_cast<std::size_t>(got));
  }
}

}  // namespace plumb::gpu
