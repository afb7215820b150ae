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
extern constexpr Code kProviderSetting{"agent.provider-setting", "a provider lacks a setting",
                                       "A service needs the name of a model (`--model`); `plumb lower --help` has the "
                                       "rest."};
extern constexpr Code kProviderKey{"agent.provider-key", "the key of a service is missing or not safe to send",
                                   "Keys come from the environment alone: ANTHROPIC_API_KEY, OPENAI_API_KEY. They are "
                                   "sent over https or to this\n"
                                   "machine, and stand in no log and no message."};
extern constexpr Code kProviderFailed{"agent.provider-failed", "a service gives no answer",
                                      "What the server said last stands in the message; every try stands in the run "
                                      "log as a `retry` event. The best\n"
                                      "candidate so far is judged all the same, and `--resume` goes on with the run."};
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

extern constexpr Code kProposal{
    "agent.proposal", "a proposed entry is not kept",
    "An entry for the knowledge base names passages of the lowering that show what it says. "
    "The lowering that the run ended in does not have all of them."};
extern constexpr Code kBudget{"agent.budget", "a budget that cannot be read, or cannot be held",
                              "`--budget turns=40,tokens=2000000,usd=5,minutes=60`, any of them, each a number above "
                              "0. A limit in dollars needs the\n"
                              "prices of the model (`--prices`), since plumb knows none."};
extern constexpr Code kPrices{"agent.prices", "a price table that cannot be read",
                              "TOML with one table a model, in dollars for a million tokens:\n"
                              "  [\"MODEL\"]\n  input = 3.0\n  output = 15.0\n  cache_read = 0.3\n"
                              "  cache_write = 3.75\n"
                              "`cache_read` and `cache_write` are `input` where they are left out."};
extern constexpr Code kArguments{"agent.arguments", "a call of a model that is not executed",
                                 "What the model sent as arguments is not a JSON object, or longer than any candidate. "
                                 "It is told so, and may call again."};
extern constexpr Code kRunOther{"agent.run-other", "the run to resume is of something else",
                                "`--resume` goes on with the run in the folder of --out: the same task in the same "
                                "state, the same target, provider,\nmodel, number of lanes and beginning. `plumb mcp` "
                                "goes on with a run of the same task and target that began alike."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {&kRunLog,      &kRunLogCut,      &kProviderUnknown, &kProviderSetting,
                                         &kProviderKey, &kProviderFailed, &kReplayDiffers,   &kReplayTask,
                                         &kReplayTools, &kNoCandidate,    &kNotProved,       &kBudget,
                                         &kPrices,      &kArguments,      &kRunInUse,        &kMcpToken,
                                         &kMcpListen,   &kRunOther,       &kProposal};
  return kAll;
}

}  // namespace plumb::agent
