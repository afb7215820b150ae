// SPDX-License-Identifier: Apache-2.0
// The judge's side of a worker: starts it, asks it, kills it when an answer is late, and starts a new one after it
// ended. Nothing of a worker outlives this object, nor the process that holds it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace plumb::gpu {

class WorkerProcess {
 public:
  // `command` starts a worker, program first.
  explicit WorkerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;  // owns a process
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The worker's answer. Where it gave none: {"status": "timeout"} after it was killed, or {"status": "worker",
  // "message": how it ended}. The next call starts a new one.
  nlohmann::json ask(const nlohmann::json& job, double seconds);
  unsigned starts() const { return starts_; }

 private:
  bool start();
  void end(bool is_killed);
  bool send(const std::string& text, double seconds);
  std::string how_it_ended();

  std::vector<std::string> command_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  unsigned starts_ = 0;
  std::string rest_;
};

// The command that starts this very program as a worker; `driver` as in Driver::load.
std::vector<std::string> own_worker_command(const std::filesystem::path& driver);

}  // namespace plumb::gpu
