// SPDX-License-Identifier: Apache-2.0
#include "prove/codes.h"

namespace plumb::prove {

extern constexpr Code kElementDiffers{
    "prove.element-differs", "an output element is another function of the inputs",
    "Both programs were run over residues of abstract inputs, and this element's values disagree. Equal functions "
    "never "
    "do. The notes say on which input elements the difference rests, and show it with concrete numbers."};
extern constexpr Code kElementMissing{
    "prove.element-missing", "an output element is not written",
    "The spec (the Triton source, or the PTX given with --spec) writes this element and the candidate leaves it. Look "
    "at the store's predicate and at the grid."};
extern constexpr Code kElementExtra{"prove.element-extra", "an element is written that the spec leaves alone",
                                    "The candidate writes where the spec does not: usually a lost tail mask."};
extern constexpr Code kInputChanged{
    "prove.input-changed", "an input is overwritten",
    "A buffer that the task gives as input holds other values after the candidate ran."};
extern constexpr Code kUndefinedOutput{
    "prove.undefined-output", "an output depends on bytes that were never written",
    "The value stored comes from uninitialised registers, shared memory or masked-off loads without `other`."};
extern constexpr Code kNoWitness{
    "prove.no-witness", "the residues differ, and no concrete inputs showed a difference",
    "Over the reals the two functions differ as plumb models them, but concrete runs agreed within rounding. Often a "
    "constant that was rounded, or an identity that plumb does not know. The answer is `unknown`."};
extern constexpr Code kProbability{
    "prove.probability", "the bound on a wrong `proved` is too weak",
    "Degrees or the number of atoms are too large for the primes in use, so that the chance "
    "of an accidental agreement is above the limit."};
extern constexpr Code kSelfCheck{
    "prove.self-check", "a planted difference was not found",
    "Before a verdict one output is changed on purpose, and the comparison must see it. It did "
    "not; please report this."};
extern constexpr Code kContractPrecision{
    "contract.precision", "the candidate rounds more coarsely than the source",
    "Equal over the reals, but a value goes through a narrower format, or through more roundings of a narrow format, "
    "than "
    "the Triton source has it (narrow accumulators, early casts, truncation), or through approximate instructions "
    "where "
    "the source's are correctly rounded (div.full for div_rn), or concrete runs lose digits that the source keeps "
    "(E[x^2] - E[x]^2)."};
extern constexpr Code kContractRange{
    "contract.range", "the candidate overflows where the source does not",
    "Equal over the reals, but an exponential, a reciprocal or a root is less guarded than in the Triton source (a "
    "softmax "
    "without its maximum; `rcp.approx` or `div.approx`, which lose divisors beyond 2^126 and tiny ones, of a divisor "
    "that "
    "is not known to be of middling size), or concrete runs gave infinities or NaN where the source gives numbers."};
extern constexpr Code kAddedSingularity{
    "prove.added-singularity", "the candidate divides by, or takes a root of, something that the source does not",
    "Where that value is zero or negative the candidate is undefined and the source may not be. Listed as an "
    "assumption."};
extern constexpr Code kSpecStopped{
    "prove.spec-stopped", "the Triton source itself does not run at this shape",
    "The source reads or writes out of bounds, or uses something plumb has no meaning for. "
    "The task, not the candidate, needs a look."};
extern constexpr Code kNoShapes{
    "prove.no-shapes", "there is no shape to prove at",
    "The task names no prove shapes, or the candidate's launch header claims none of them."};
extern constexpr Code kArgument{
    "prove.argument", "an argument cannot be set up",
    "Float tensors are abstract; integer tensors are concrete and must be declared `metadata = "
    "true` in the task, since a proof holds for the values drawn."};
extern constexpr Code kCancelled{"prove.cancelled", "the proof was cancelled", "Nothing was judged."};
extern constexpr Code kBudget{"prove.budget", "the step budget ran out", "Nothing was judged. Give a smaller shape."};
extern constexpr Code kCertificate{"prove.certificate", "a certificate does not hold",
                                   "The files are not those that the certificate names, or proving again gave another "
                                   "answer."};
extern constexpr Code kCheckpoint{
    "prove.checkpoint", "a proof in progress cannot be gone on with",
    "The file given with --resume is of another proof: of other files, shapes or options, or of another build of "
    "plumb."};
extern constexpr Code kSample{
    "prove.sample", "CTAs of this candidate cannot be run alone",
    "Some of a grid's CTAs can only be judged alone where none waits for another or adds to what another writes: no "
    "atomics on global memory, no fences, releases or acquires beyond the CTA or its cluster. Prove the whole grid, or "
    "a smaller one."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {
      &kElementDiffers, &kElementMissing, &kElementExtra,      &kInputChanged,  &kUndefinedOutput,  &kNoWitness,
      &kProbability,    &kSelfCheck,      &kContractPrecision, &kContractRange, &kAddedSingularity, &kSpecStopped,
      &kNoShapes,       &kArgument,       &kCancelled,         &kBudget,        &kCertificate,      &kCheckpoint,
      &kSample};
  return kAll;
}

}  // namespace plumb::prove
