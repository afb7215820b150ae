// SPDX-License-Identifier: Apache-2.0
#include "agent/codes.h"

namespace plumb::agent {

extern constexpr Code kRunLog{
    "agent.run-log", "a run log cannot be read",
    "A run log is JSON lines: one event a line, the first one `start`. docs/run-log.md has the\n"
    "events."};
extern constexpr Code kRunLogCut{
    "agent.run-log-cut", "a line of a run log was cut off",
    "A remark: the program was killed while it wrote this line. What it would have said is lost; every line before it\n"
    "counts. Going on with the log marks the line with a `cut` event."};
extern constexpr Code kProviderUnknown{"agent.provider-unknown", "no provider has this name",
                                       "Providers answer as the model: replay, anthropic, openai."};
extern constexpr Code kProviderNotBuilt{"agent.provider-not-built", "this plumb was built without the provider",
                                        "Only `replay` is built in: it answers from a stored run log. Drive the tools "
                                        "yourself with `plumb tool NAME ... --log`\n"
                                        "and replay that log."};
extern constexpr Code kReplayDiffers{"agent.replay-differs", "a tool answers differently from the run log",
                                     "Every tool call of the log is executed again and the facts of its answer "
                                     "compared: verdicts, codes, places, counts,\n"
                                     "hashes, shapes (docs/run-log.md has the list). Wording, times, versions and what "
                                     "ptxas says are not. A difference\n"
                                     "means that plumb, the task or the log has changed since: record the run again."};
extern constexpr Code kReplayTask{
    "agent.replay-task", "the run log belongs to another task",
    "The first event of a run log names the task by name and content; target and content\n"
    "must be those that are lowered now."};
extern constexpr Code kReplayTools{"agent.replay-tools", "the tool table has changed since the log was recorded",
                                   "A remark: the calls are executed with today's tools, and their answers compared."};
extern constexpr Code kNoCandidate{"agent.no-candidate", "the run ended without a candidate",
                                   "No call of write_candidate succeeded."};
extern constexpr Code kRunInUse{"agent.run-in-use", "another program works in this run folder",
                                "A run has one log, and one program that writes it. Give another folder with --out."};
extern constexpr Code kMcpToken{"agent.mcp-token", "listening beyond this machine needs a bearer token",
                                "Whoever reaches the port of `plumb mcp --http` can drive the run. On an address that "
                                "other machines reach, each request\n"
                                "must carry the token that PLUMB_MCP_TOKEN holds, as `Authorization: Bearer TOKEN`."};
extern constexpr Code kMcpListen{"agent.mcp-listen", "the address cannot be listened on",
                                 "It is not one of this machine, or another program has the port."};
extern constexpr Code kNotProved{
    "agent.not-proved", "the final candidate is not a lowering",
    "At the end of a run the last candidate that `prove` accepted, or else the last one written, is proved again from\n"
    "scratch with a fresh seed. Only `proved` with the contract kept is written out as a lowering."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {&kRunLog,        &kRunLogCut,  &kProviderUnknown, &kProviderNotBuilt,
                                         &kReplayDiffers, &kReplayTask, &kReplayTools,     &kNoCandidate,
                                         &kRunInUse,      &kMcpToken,   &kMcpListen,       &kNotProved};
  return kAll;
}

}  // namespace plumb::agent
