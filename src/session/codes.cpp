// SPDX-License-Identifier: Apache-2.0
#include "session/codes.h"

#include <algorithm>

#include "base/file.h"
#include "base/toml.h"
#include "check/codes.h"
#include "domain/codes.h"
#include "gpu/codes.h"
#include "machine/codes.h"
#include "prove/codes.h"
#include "ptx/codes.h"
#include "task/codes.h"
#include "triton/codes.h"

namespace plumb::session {

extern constexpr Code kTool{"session.tool", "a tool that does not exist", "`plumb tool --list` shows every tool."};
extern constexpr Code kInput{"session.input", "the input of a tool does not suit its schema",
                             "A field is missing, unknown or of the wrong type; `plumb tool NAME --schema` shows the\n"
                             "schema."};
extern constexpr Code kFileName{"session.file-name", "a file name that tools do not take",
                                "Tools read and write inside one run folder. A name is letters, digits, `_`, `-` and "
                                "`.`, does not start with `.`,\n"
                                "has no folders, and ends in .ptx for candidates and .npy for arrays."};
extern constexpr Code kPatch{"session.patch", "a patch does not apply",
                             "A patch names the sha256 of the text that it was made for, and each `search` must stand "
                             "in that text exactly once.\n"
                             "Read the candidate again and send the patch for what it holds now. Nothing was changed."};
extern constexpr Code kTarget{"session.target", "a candidate is for another target than asked for",
                              "The `.target` line must name the target of the lowering or an earlier one of the same\n"
                              "line; `a` and `f` targets only run where they were made for."};
extern constexpr Code kEntry{
    "session.entry", "the entry that the launch header names is not in the PTX",
    "Set `entry` in the launch header to the name of an `.entry`, or leave it out when there is\n"
    "only one."};
extern constexpr Code kArray{
    "session.array", "an array file cannot be read",
    "Arrays are .npy files of version 1 or 2, little-endian, in C order, of integers or floats.\n"
    "bf16 is held as uint16 bits, fp8 as uint8 bits."};
extern constexpr Code kArrayType{"session.array-type", "an array does not suit the argument",
                                 "The element type and the extents of the array must be those of the argument at this\n"
                                 "shape; `plumb tool task` shows them."};
extern constexpr Code kNoTask{"session.no-task", "a tool needs a task and there is none", "Name the task with --task."};
extern constexpr Code kUnknownCode{"session.unknown-code", "no finding has this code",
                                   "Codes stand in brackets at the end of each message."};
extern constexpr Code kUnknownForm{
    "session.unknown-form", "no instruction matches",
    "Search by opcode (`cp.async`), by a part of the syntax line, or by the form's name."};

extern constexpr Code kNewTask{"session.new-task", "a description of a call makes no task",
                               "Every parameter of the kernel without a default is described once: tensors as "
                               "NAME='*bf16[M, K] out', scalars as\n"
                               "NAME='i32 n', constexprs by their value. Nothing was written."};
extern constexpr Code kSuite{"session.suite", "the suite cannot be run as asked",
                             "A suite is a folder of tasks, NAME/task.toml, with lowerings in NAME/TARGET/*.ptx; its "
                             "results are a file that `plumb suite --results` wrote."};
extern constexpr Code kKnowledge{
    "session.knowledge", "an entry of the knowledge base that there is not, or that does not read",
    "An entry is a head in TOML between lines of `+++`, with `targets` and `evidence`, and then Markdown with a title. "
    "`plumb tool knowledge` lists the entries that are built in."};
extern constexpr Code kScaffold{
    "session.scaffold", "a scaffold that there is not, or that cannot be written there",
    "`plumb scaffold` lists the skeletons and the targets that they are for. What stands in a "
    "folder already is not replaced."};
extern constexpr Code kPtxasError{
    "session.ptxas-error", "ptxas refuses the text",
    "The message is ptxas's own. Where plumb takes the text, that is a difference between "
    "the two worth reporting."};
extern constexpr Code kMutationOperator{
    "session.mutation-operator", "a kind of fault that `mutate` does not know",
    "`plumb mutate --operators` lists the kinds; without `--operator` all are used."};
extern constexpr Code kMutationOfUnproved{"session.mutation-of-unproved", "mutants of a candidate that is not proved",
                                          "A mutant that is not proved shows that the prover found the fault only "
                                          "where the candidate itself is proved at the\n"
                                          "same shape. Prove the candidate first: `plumb prove TASK FILE`."};
extern constexpr Code kPtxasWarning{"session.ptxas-warning", "ptxas warns of something",
                                    "The message is ptxas's own. A \"potential performance loss\" names an instruction "
                                    "that it made slower than it was written."};
extern constexpr Code kSpills{"session.spills", "registers are spilled to local memory",
                              "The function needs more registers than its bound allows, and ptxas keeps some values in "
                              "memory. Fewer live values, or a smaller block with a larger bound, end it."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {
      &kTool,         &kInput,     &kFileName, &kPatch,       &kTarget,           &kEntry,
      &kArray,        &kArrayType, &kNoTask,   &kUnknownCode, &kUnknownForm,      &kNewTask,
      &kSuite,        &kKnowledge, &kScaffold, &kPtxasError,  &kMutationOperator, &kMutationOfUnproved,
      &kPtxasWarning, &kSpills};
  return kAll;
}

std::vector<const Code*> all_codes() {
  std::vector<const Code*> out = {&file_codes::kUnreadable, &file_codes::kUnwritable, &toml_codes::kSyntax};
  for (const auto list : {codes(), prove::codes(), check::codes(), task::codes(), machine::codes(), triton::codes(),
                          ptx::codes(), domain::codes(), gpu::codes()}) {
    out.insert(out.end(), list.begin(), list.end());
  }
  std::sort(out.begin(), out.end(), [](const Code* a, const Code* b) { return a->id < b->id; });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace plumb::session
