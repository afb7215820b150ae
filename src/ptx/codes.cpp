// SPDX-License-Identifier: Apache-2.0
#include "ptx/codes.h"

namespace plumb::ptx {

extern constexpr Code kNotText{"ptx.not-text", "the file is not PTX text",
                               "The file holds bytes that no PTX text has (a NUL or other control byte). A cubin or an "
                               "object file is binary; give the PTX that it was assembled from."};
extern constexpr Code kEmpty{"ptx.empty", "the file holds no PTX",
                             "A PTX module begins with `.version`, `.target` and `.address_size`."};
extern constexpr Code kSyntax{"ptx.syntax", "the text does not follow PTX's grammar",
                              "The message says what was seen and what the grammar has there (PTX ISA, \"Syntax\")."};
extern constexpr Code kTruncated{
    "ptx.truncated", "the text ends in the middle of something",
    "A body, a list or a statement is still open where the file ends. The note shows where "
    "it began."};
extern constexpr Code kHeader{
    "ptx.header", "a module directive is missing or wrong",
    "A module begins with `.version MAJOR.MINOR`, then `.target sm_NN`, then `.address_size 64` "
    "(PTX ISA, \"PTX module directives\")."};
extern constexpr Code kUnknownInstr{
    "ptx.unknown-instruction", "there is no such instruction",
    "The first word of a statement is no opcode of PTX ISA 9.0. `plumb isa WORD` searches "
    "the instruction table."};
extern constexpr Code kModifier{"ptx.modifier", "an instruction does not take these modifiers",
                                "No form of the instruction has this set of dotted words. The notes show the nearest "
                                "legal forms; `plumb isa OPCODE` shows all."};
extern constexpr Code kUndeclared{"ptx.undeclared", "a name is used that is not declared",
                                  "Registers and variables are declared before their use, in the same or an enclosing "
                                  "scope: `.reg .b32 %r<10>;`. Labels are declared in the same function."};
extern constexpr Code kRedeclared{"ptx.redeclared", "a name is declared twice in one scope",
                                  "The note shows the first declaration."};
extern constexpr Code kOperandCount{"ptx.operand-count", "an instruction has too few or too many operands",
                                    "The note shows the form that was meant."};
extern constexpr Code kOperandKind{"ptx.operand-kind", "an operand is of a kind that the form does not take",
                                   "For example an immediate where a register is written, or a register where an "
                                   "address `[a]` stands."};
extern constexpr Code kOperandType{
    "ptx.operand-type", "an operand's type does not go with the instruction's",
    "An operand has the instruction's type or a type of the same size, as PTX ISA, "
    "\"Operand type checking\", lays down: `.bX` goes with every type of its size, signed "
    "and unsigned go together, float types only with themselves and `.bX`."};
extern constexpr Code kVectorLength{"ptx.vector-length", "a vector operand has the wrong number of elements",
                                    "The modifiers fix how many registers stand between the braces."};
extern constexpr Code kOperandRange{"ptx.operand-range", "a constant operand is out of range",
                                    "The form bounds the constants that stand here; a register is not checked."};
extern constexpr Code kTarget{"ptx.target", "the target does not have this instruction",
                              "The form needs a later or another `.target` than the module names."};
extern constexpr Code kVersion{"ptx.version", "the PTX version does not have this instruction",
                               "The form came with a later `.version` than the module names."};
extern constexpr Code kGuard{"ptx.guard", "a guard is no predicate", "`@p` and `@!p` take a `.pred` register."};
extern constexpr Code kTooFewRegisters{
    "ptx.too-few-registers", "an instruction needs more registers than its kernel's directives leave a thread",
    "An instruction has all its operands in registers at once, and some beside them. `.maxnreg` says how many a thread "
    "has; without it the size of the block does, as 65536 registers are shared. `setmaxnreg` does not help: what a "
    "thread begins with counts."};
extern constexpr Code kLimit{
    "ptx.limit", "the text is larger than plumb reads",
    "Nesting, register counts and array sizes are bounded so that no input can exhaust memory."};

extern constexpr Code kUnwritten{"ptx.unwritten", "a register is read that nothing has written",
                                 "No way from the function's start to this instruction writes the register, so its "
                                 "value is whatever was left there. Write it first; a typing error in the register's "
                                 "number is the usual cause."};
extern constexpr Code kMaybeUnwritten{
    "ptx.maybe-unwritten", "a register is read that is written on some ways only",
    "One way to this instruction writes the register and another does not. Where a predicate sees to it that the other "
    "is never taken, nothing is wrong; else write a value before the branch."};
extern constexpr Code kUnreachable{"ptx.unreachable", "instructions that no way leads to",
                                   "The instruction before always branches, returns or exits, and no branch names a "
                                   "label here. A missing label or a guard that was left out (`@p bra`) is the usual "
                                   "cause."};
extern constexpr Code kNoEnd{"ptx.no-end", "control runs past the end of a function",
                             "The last instruction is neither `ret` nor `exit` nor a branch without a guard."};
extern constexpr Code kUnusedResult{"ptx.unused-result", "an instruction's result is never read",
                                    "The instruction does nothing but write registers, and no way from it reads one "
                                    "of them before it is written again or the thread ends."};
extern constexpr Code kUnusedName{"ptx.unused-name", "something is declared and not used",
                                  "A register, variable, parameter or label that no instruction names. It costs "
                                  "nothing, but is often the trace of a name that was mistyped elsewhere."};
extern constexpr Code kRegisterPressure{
    "ptx.register-pressure", "more values live at once than a thread has registers",
    "The count is of 32-bit registers at one point of the text; the assembler reorders and may do better or worse. "
    "What does not fit is spilled to local memory. Fewer accumulators or more threads help."};
extern constexpr Code kSharedSize{
    "ptx.shared-size", "more static shared memory than a kernel can have",
    "Declared shared variables may take 48 KiB together; for a target with the suffix "
    "`a` the assembler takes as much as a block can have, but the driver that loads PTX "
    "refuses it. More is given at the launch, as dynamic shared memory: `.extern .shared .align 16 .b8 smem[];`."};

namespace {
constexpr const Code* kAll[] = {&kNotText,          &kEmpty,       &kSyntax,          &kTruncated,    &kHeader,
                                &kUnknownInstr,     &kModifier,    &kUndeclared,      &kRedeclared,   &kOperandCount,
                                &kOperandKind,      &kOperandType, &kVectorLength,    &kOperandRange, &kTarget,
                                &kVersion,          &kGuard,       &kTooFewRegisters, &kLimit,        &kUnwritten,
                                &kMaybeUnwritten,   &kUnreachable, &kNoEnd,           &kUnusedResult, &kUnusedName,
                                &kRegisterPressure, &kSharedSize};
}

std::span<const Code* const> codes() { return kAll; }

}  // namespace plumb::ptx
