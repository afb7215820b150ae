// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tensor_operands.h"

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

namespace plumb::machine {

template <class D>
std::optional<std::uint32_t> peer_rank(WarpRun<D>& w) {
  Cluster<D>& cluster = w.cta().cluster();
  const std::uint32_t peer = w.cta().rank() ^ 1;
  if (peer >= cluster.size()) {
    w.fault(kCluster, "`cta_group::2` needs a pair of blocks, and " + w.cta().name() +
                          " has no other one of its pair: " + "the cluster has " + std::to_string(cluster.size()));
    return std::nullopt;
  }
  if (cluster.cta(peer).is_done()) {
    w.fault(kCluster, "`cta_group::2` needs both blocks of a pair, and " + cluster.cta(peer).name() + " has exited");
    return std::nullopt;
  }
  return peer;
}

template <class D>
std::optional<std::uint32_t> tensor_address(WarpRun<D>& w, Slot base, std::uint64_t offset, unsigned lane) {
  const std::optional<std::uint64_t> bits = w.concrete(base, 4, lane, "an address of tensor memory");
  if (!bits) return std::nullopt;
  return static_cast<std::uint32_t>(*bits + offset);
}

template <class D>
bool check_cells(WarpRun<D>& w, unsigned lane, const TensorUse& use, const char* verb) {
  const std::string error =
      w.cta().cluster().cta(use.rank).tensor_memory().why_not(use.lane, use.lanes, use.column, use.columns);
  if (error.empty()) return true;
  w.fault(kTensorMemory, w.thread_name(lane) + " " + verb + " tensor memory at " +
                             describe(TensorAddress{use.lane, use.column}) + ": " + error);
  return false;
}

#define PLUMB_INSTANTIATE_TENSOR_OPERANDS(D)                                                        \
  template std::optional<std::uint32_t> peer_rank(WarpRun<D>&);                                     \
  template std::optional<std::uint32_t> tensor_address(WarpRun<D>&, Slot, std::uint64_t, unsigned); \
  template bool check_cells(WarpRun<D>&, unsigned, const TensorUse&, const char*);

PLUMB_INSTANTIATE_TENSOR_OPERANDS(domain::Ieee)
PLUMB_INSTANTIATE_TENSOR_OPERANDS(domain::Field)

}  // namespace plumb::machine
