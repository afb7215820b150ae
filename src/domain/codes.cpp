// SPDX-License-Identifier: Apache-2.0
#include "domain/codes.h"

#include <array>

namespace plumb::domain {

constexpr Code kFieldBitView{
    "field.bit-view", "bits of an abstract float used as an integer",
    "Data is abstract while a proof runs: a float has no bits. Its bytes may be moved, packed and merged with zero "
    "bytes, its "
    "sign bit cleared, set or flipped, a bf16 widened by sixteen zero bits below and an f32 cut to its upper half. "
    "Other integer "
    "arithmetic on its bits has no meaning over the reals, and the proof ends as unknown at this instruction."};

constexpr Code kFieldMixedBytes{"field.mixed-bytes", "bytes of several values read as one float",
                                "A float is read from bytes that are not, in order, all the bytes of one abstract "
                                "value. This is mostly a wrong offset, a "
                                "wrong access size or a wrong lane of a fragment."};

constexpr Code kFieldUndefined{
    "field.undefined", "a value that was never written decides something",
    "Bytes that no one has written, or a value that is not a number by construction (0/0), reached a comparison."};

constexpr Code kFieldInfinity{"field.infinity", "an infinity met an abstract value whose sign is not known",
                              "Infinities are concrete while a proof runs. Times a value of unknown sign, or chosen by "
                              "a predicate on data, the result is "
                              "not one value for all inputs."};

constexpr Code kFieldInteger{
    "field.integer", "integer data went through an operation that is not modelled",
    "Integers of data are kept as bits, each a function of the input's bits, and, where that is too much, as sums of "
    "products of such. Logic, shifts by known amounts and permutations of bytes are exact on any word, sums where each "
    "bit of the result depends on few bits, any operation on words of at most twelve bits of data between them. A sum "
    "of products may be added to, multiplied, stored, and made a float while it cannot have wrapped. Indices belong in "
    "tensors that the task declares metadata."};

constexpr Code kFieldToInteger{"field.to-integer", "an abstract float became an integer",
                               "Integers, addresses and predicates on them are concrete while a proof runs. A "
                               "conversion of data to an integer would make "
                               "them depend on data. Declare the tensor as metadata if it holds indices."};

constexpr Code kFieldPredicate{
    "field.predicate", "too many predicates on data",
    "Predicates on abstract data and the bits of integer data are kept as decision diagrams, of at most four million "
    "nodes in one CTA or program."};

constexpr Code kFieldMemory{
    "field.memory", "the store of abstract values is full",
    "A proof holds at most 2^29 abstract values of 64 bytes, and no more than `--memory` allows (by default three\n"
    "quarters of the machine's). Prove a smaller shape, use fewer workers, or allow more."};

std::span<const Code* const> codes() {
  static constexpr std::array kAll = {&kFieldBitView, &kFieldMixedBytes, &kFieldUndefined, &kFieldInfinity,
                                      &kFieldInteger, &kFieldToInteger,  &kFieldPredicate, &kFieldMemory};
  return kAll;
}

}  // namespace plumb::domain
