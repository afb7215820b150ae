// SPDX-License-Identifier: Apache-2.0
#include "triton/frontend/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

extern char** environ;

namespace plumb::triton {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;  // owns the descriptor
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// A socket pair, not a pipe: writing to a child that is gone then fails instead of raising SIGPIPE.
bool make_channel(Descriptor& ours, Descriptor& theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  ours.reset(ends[0]);
  theirs.reset(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

int start(const std::vector<std::string>& argv, const std::array<Descriptor, 3>& theirs, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int fd = 0; fd < 3; ++fd) ::posix_spawn_file_actions_adddup2(&actions, theirs[fd].get(), fd);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Sends what the child takes; closes the channel when all is sent or the child is gone.
void feed(Descriptor& channel, std::string_view& input) {
  const ssize_t sent = ::send(channel.get(), input.data(), input.size(), MSG_NOSIGNAL);
  if (sent >= 0) input.remove_prefix(static_cast<std::size_t>(sent));
  const bool is_gone = sent < 0 && errno != EAGAIN && errno != EINTR;
  if (input.empty() || is_gone) channel.reset();
}

void drain(Descriptor& channel, std::string& text) {
  char block[1 << 16];
  const ssize_t got = ::read(channel.get(), block, sizeof block);
  if (got > 0) text.append(block, static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) channel.reset();
}

// True when the child closed its output in time and within bounds; otherwise `result.end` says why not.
bool exchange(std::array<Descriptor, 3>& ours, std::string_view input, Clock::time_point deadline,
              std::size_t output_limit, ChildResult& result) {
  if (input.empty()) ours[0].reset();
  while (ours[1].get() >= 0 || ours[2].get() >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return result.end = ChildResult::End::TimedOut, false;
    pollfd polled[3] = {{ours[0].get(), POLLOUT, 0}, {ours[1].get(), POLLIN, 0}, {ours[2].get(), POLLIN, 0}};
    if (::poll(polled, 3, static_cast<int>(left)) < 0 && errno != EINTR) break;
    if (polled[0].fd >= 0 && polled[0].revents != 0) feed(ours[0], input);
    if (polled[1].fd >= 0 && polled[1].revents != 0) drain(ours[1], result.output);
    if (polled[2].fd >= 0 && polled[2].revents != 0) drain(ours[2], result.errors);
    if (result.output.size() > output_limit || result.errors.size() > output_limit) {
      return result.end = ChildResult::End::TooMuchOutput, false;
    }
  }
  return true;
}

// A child that closed its output is about to end; one that does not is not waited for longer than the rest of its time.
bool await(pid_t pid, Clock::time_point deadline, int& status) {
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return true;
    if (ended < 0 && errno != EINTR) return true;
    if (Clock::now() >= deadline) return false;
    ::usleep(500);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, std::string_view input, const ChildLimits& limits) {
  ChildResult result;
  std::array<Descriptor, 3> ours, theirs;
  for (int fd = 0; fd < 3; ++fd) {
    if (!make_channel(ours[fd], theirs[fd])) return result.code = errno, std::move(result);
  }
  pid_t pid = 0;
  result.code = start(argv, theirs, pid);
  if (result.code != 0) return result;
  for (Descriptor& descriptor : theirs) descriptor.reset();
  const Clock::time_point deadline = Clock::now() + limits.time;
  const bool is_complete = exchange(ours, input, deadline, limits.output, result);
  for (Descriptor& descriptor : ours) descriptor.reset();
  int status = 0;
  if (!is_complete || !await(pid, deadline, status)) {
    if (is_complete) result.end = ChildResult::End::TimedOut;
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return result;
  }
  result.end = WIFSIGNALED(status) ? ChildResult::End::Signalled : ChildResult::End::Exited;
  result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace plumb::triton
