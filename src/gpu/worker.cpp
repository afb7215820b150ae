// SPDX-License-Identifier: Apache-2.0
#include "gpu/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/card.h"
#include "gpu/codes.h"

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestJob = 256U << 20;

// The next line without its end; false when the input is over.
bool read_line(int input, std::string& rest, std::string& line) {
  char block[1 << 16];
  while (true) {
    const std::size_t end = rest.find('\n');
    if (end != std::string::npos) {
      line = rest.substr(0, end);
      rest.erase(0, end + 1);
      return true;
    }
    const ssize_t got = ::read(input, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || rest.size() > kLongestJob) return false;
    rest.append(block, static_cast<std::size_t>(got));
  }
}

void write_line(int output, const Json& answer) {
  const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(output, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    done += static_cast<std::size_t>(put);
  }
}

Json refusal(std::string_view status, const Findings& findings) {
  return {{"status", status}, {"message", findings.list().front().message}};
}

Json run_compile(Card& card, const KernelLaunch& launch) {
  Failure failure;
  std::optional<Loaded> loaded = card.load(launch, failure);
  if (!loaded) return {{"status", failure.kind}, {"message", failure.message}, {"dead", failure.is_dead}};
  Json answer = {{"status", "done"},
                 {"facts", card.facts(*loaded, launch)},
                 {"param_bytes", loaded->param_bytes},
                 {"log", card.compile_log(launch.ptx)}};
  card.unload(*loaded);
  return answer;
}

Json run_job(Card& card, const std::string& line) {
  Findings findings;
  const Json job = Json::parse(line, nullptr, false);
  const std::string op = job.is_object() && job.contains("op") && job["op"].is_string() ? job["op"] : Json("");
  if (op == "facts") return {{"status", "done"}, {"card", card.facts()}};
  if (op == "test") {
    if (const auto read = read_test_job(job, findings)) return run_test_job(card, *read);
  } else if (op == "bench") {
    if (const auto read = read_bench_job(job, findings)) return run_bench_job(card, *read);
  } else if (op == "compile") {
    if (const auto read = read_launch(job.value("launch", Json()), findings)) return run_compile(card, *read);
  } else {
    findings.add(kProtocol, "the job is no JSON object with an `op` of facts, compile, test or bench");
  }
  return refusal("protocol", findings);
}

}  // namespace

int serve(int input, int answers, const std::filesystem::path& driver) {
  // A kernel that prints does so on standard output, where it could forge an answer.
  const int output = ::fcntl(answers, F_DUPFD_CLOEXEC, 3);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (output < 0 || nowhere < 0) return kDeadExit;
  ::dup2(nowhere, answers);
  ::close(nowhere);
  std::unique_ptr<Card> card;
  std::string rest, line;
  while (read_line(input, rest, line)) {
    if (!card) {
      Findings findings;
      card = Card::open(driver, findings);
      if (!card) {
        write_line(output, refusal("none", findings));
        return kNoGpuExit;
      }
    }
    const Json answer = run_job(*card, line);
    write_line(output, answer);
    // Nothing that would wait for the card: the context goes with the process.
    if (answer.value("dead", false)) ::_exit(kDeadExit);
  }
  return 0;
}

}  // namespace plumb::gpu
