// SPDX-License-Identifier: Apache-2.0
// Decoding, and the checks of a launch.
#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/codes.h"
#include "machine/dispatch.h"
#include "machine/exec/control.h"
#include "machine/grid.h"
#include "machine/layout.h"
#include "machine/machine.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

constexpr std::uint64_t kMaxThreads = 1024;
constexpr std::uint64_t kMaxLocal = std::uint64_t{1} << 28;  // bytes of one block

template <class D>
void step_unmodelled(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  w.unmodelled(w.layout().reasons[op.aux]);
}

// Bytes of shared memory that one CTA of the target may have; targets that we do not know get the most that any has.
std::uint64_t shared_limit(int sm) {
  switch (sm) {
    case 70:
    case 72:
      return 98304;
    case 75:
      return 65536;
    case 80:
    case 87:
      return 166912;
    case 86:
    case 89:
    case 120:
    case 121:
      return 101376;
    default:
      return 232448;
  }
}

std::string text_of(const Dim3& dim) {
  return "(" + std::to_string(dim.x) + "," + std::to_string(dim.y) + "," + std::to_string(dim.z) + ")";
}

// The blocks of one cluster: what the launch says, or what the entry requires.
Dim3 cluster_shape(const ptx::Function& entry, const Launch& launch) {
  const auto& required = entry.reqnctapercluster;
  if (required[0] == 0 || launch.cluster.count() != 1) return launch.cluster;
  return {required[0], std::max(1u, required[1]), std::max(1u, required[2])};
}

// What is wrong with a launch's clusters; empty when nothing is.
std::string cluster_error(const ptx::Module& module, const ptx::Function& entry, const Launch& launch) {
  constexpr int kFirstTarget = 90;
  if (std::find(entry.pragmas.begin(), entry.pragmas.end(), ".blocksareclusters") != entry.pragmas.end()) {
    return "a grid of clusters, as `.blocksareclusters` of `" + entry.name + "` wants; plumb launches grids of blocks";
  }
  const Dim3 shape = cluster_shape(entry, launch);
  const auto& required = entry.reqnctapercluster;
  if (shape.x == 0 || shape.y == 0 || shape.z == 0 || shape.x > kMaxClusterSize || shape.y > kMaxClusterSize ||
      shape.z > kMaxClusterSize || shape.count() > kMaxClusterSize) {
    return "clusters of " + text_of(shape) + " blocks; a cluster has 1 to 16";
  }
  if (shape.count() == 1) return {};
  if (module.target.sm < kFirstTarget) return "clusters, which `" + module.target.text + "` does not have";
  if (required[0] != 0) {
    const Dim3 wanted{required[0], std::max(1u, required[1]), std::max(1u, required[2])};
    if (wanted.x != shape.x || wanted.y != shape.y || wanted.z != shape.z) {
      return "clusters of " + text_of(shape) + " blocks; `.reqnctapercluster` of `" + entry.name + "` wants " +
             text_of(wanted);
    }
  }
  if (entry.maxclusterrank != 0 && shape.count() > entry.maxclusterrank) {
    return "clusters of " + std::to_string(shape.count()) + " blocks; `.maxclusterrank` of `" + entry.name +
           "` allows " + std::to_string(entry.maxclusterrank);
  }
  if (launch.grid.x % shape.x != 0 || launch.grid.y % shape.y != 0 || launch.grid.z % shape.z != 0) {
    return "a grid of " + text_of(launch.grid) + ", which clusters of " + text_of(shape) + " do not divide";
  }
  return {};
}

// What is wrong with a launch; empty when nothing is.
std::string launch_error(const Layout& layout, const ptx::Module& module, const ptx::Function& entry,
                         const Launch& launch) {
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) {
    return "a grid of " + text_of(launch.grid) + " has no blocks";
  }
  if (launch.grid.x > 0x7fffffff || launch.grid.y > 0xffff || launch.grid.z > 0xffff) {
    return "a grid of " + text_of(launch.grid) + "; x is below 2^31, y and z below 65536";
  }
  const bool is_large = launch.block.x > kMaxThreads || launch.block.y > kMaxThreads || launch.block.z > 64;
  const std::uint64_t threads = is_large ? 0 : launch.block.count();
  if (threads == 0 || threads > kMaxThreads) {
    return "a block of " + text_of(launch.block) + " threads; a block has 1 to 1024, at most 64 of them in z";
  }
  const auto& required = entry.reqntid;
  if (required[0] != 0) {
    const Dim3 wanted{required[0], std::max(1u, required[1]), std::max(1u, required[2])};
    if (wanted.x != launch.block.x || wanted.y != launch.block.y || wanted.z != launch.block.z) {
      return "a block of " + text_of(launch.block) + "; `.reqntid` of `" + entry.name + "` wants " + text_of(wanted);
    }
  }
  if (entry.maxntid[0] != 0) {
    const Dim3 most{entry.maxntid[0], std::max(1u, entry.maxntid[1]), std::max(1u, entry.maxntid[2])};
    if (threads > most.count()) {
      return "a block of " + std::to_string(threads) + " threads; `.maxntid` of `" + entry.name + "` allows " +
             std::to_string(most.count());
    }
  }
  if (std::string error = cluster_error(module, entry, launch); !error.empty()) return error;
  if (launch.params.size() != layout.params.size) {
    return "a parameter block of " + std::to_string(launch.params.size()) + " bytes; `" + entry.name + "` takes " +
           std::to_string(layout.params.size);
  }
  const std::uint64_t shared = std::uint64_t{layout.static_shared} - layout.shared_start + launch.dynamic_shared;
  const std::uint64_t limit = shared_limit(module.target.sm);
  if (shared > limit) {
    return std::to_string(shared) + " bytes of shared memory; `" + module.target.text + "` has " +
           std::to_string(limit) + " a block";
  }
  if (std::uint64_t{layout.local_bytes} * threads > kMaxLocal) {
    return std::to_string(layout.local_bytes) + " bytes of local memory in each of " + std::to_string(threads) +
           " threads; a block has at most " + std::to_string(kMaxLocal);
  }
  return {};
}

template <class D>
Op<D> decode_one(Decoder& decoder, const ptx::Instr& instr) {
  Op<D> op;
  op.step = select_step<D>(decoder, instr, op);
  const std::string reason = decoder.take_reason();
  if (op.step != nullptr && reason.empty()) return op;
  op = {};
  op.step = &step_unmodelled<D>;
  const std::string_view opcode = decoder.module().source->slice(instr.opcode_span);
  op.aux = decoder.add_reason("`" + std::string(opcode) + "` is not modelled here: " +
                              (reason.empty() ? std::string("these types and modifiers") : reason));
  return op;
}

// The operations of all functions, each followed by the return at its end.
template <class D>
std::vector<Op<D>> decode_all(Decoder& decoder) {
  std::vector<Op<D>> ops;
  for (const std::uint32_t function_index : decoder.reachable()) {
    const ptx::Function& function = decoder.module().functions[function_index];
    decoder.enter_function(function_index);
    const auto count = static_cast<std::uint32_t>(function.instrs.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const ptx::Instr& instr = function.instrs[i];
      decoder.enter_instr(i);
      Op<D> op = decode_one<D>(decoder, instr);
      op.watch = decoder.watch_list();
      op.instr = i;
      op.function = function_index;
      if (instr.guard) op.guard = {decoder.pred_slot(instr.guard->reg), instr.guard->is_negated};
      ops.push_back(op);
    }
    Op<D> end;
    end.step = &step_return<D>;
    end.instr = count;
    end.function = function_index;
    ops.push_back(end);
  }
  return ops;
}

}  // namespace

template <class D>
struct Program<D>::Inner {
  Decoded<D> decoded;
};

template <class D>
Program<D>::Program(std::unique_ptr<const Inner> inner) : inner_(std::move(inner)) {}
template <class D>
Program<D>::~Program() = default;
template <class D>
Program<D>::Program(Program&&) noexcept = default;
template <class D>
Program<D>& Program<D>::operator=(Program&&) noexcept = default;

template <class D>
std::optional<Program<D>> Program<D>::decode(ptx::CheckedModule module, std::string_view entry, Findings& findings,
                                             std::uint32_t shared_start) {
  std::optional<std::uint32_t> index;
  std::string entries;
  for (std::uint32_t i = 0; i < module->functions.size(); ++i) {
    const ptx::Function& function = module->functions[i];
    if (!function.is_entry || function.is_declaration) continue;
    if (function.name == entry) index = i;
    entries += (entries.empty() ? "`" : ", `") + function.name + "`";
  }
  if (!index) {
    findings.add(kEntry,
                 "there is no entry `" + std::string(entry) + "`; the module has " +
                     (entries.empty() ? std::string("none") : entries),
                 {module->source, {}});
    return std::nullopt;
  }
  Decoder survey(*module, *index, shared_start);
  decode_all<D>(survey);
  Decoder decoder(*module, *index, shared_start, &survey);
  auto inner = std::make_unique<Inner>(Inner{Decoded<D>{module, *index, {}, decode_all<D>(decoder)}});
  inner->decoded.layout = decoder.take_layout();
  return Program(std::move(inner));
}

template <class D>
Place Program<D>::place(std::uint32_t instr) const {
  return inner_->decoded.place(instr);
}

template <class D>
Result Program<D>::run(const Launch& launch, const std::vector<D*>& domains, domain::Memory& memory,
                       const Options& options) const {
  PLUMB_CHECK(!domains.empty());
  PLUMB_CHECK(memory.has_tags() == D::kHasTags);
  const Decoded<D>& decoded = inner_->decoded;
  const ptx::Function& entry = decoded.entry_function();
  Result result;
  result.counts.executed.resize(entry.instrs.size());
  const Place place{decoded.module->source, entry.span};
  if (std::string error = launch_error(decoded.layout, *decoded.module, entry, launch); !error.empty()) {
    result.stop = Stop{Stop::Kind::Defect, Finding{&kLaunch, Severity::Error, std::move(error), place, {}, {}}};
    return result;
  }
  RunShared shared;
  shared.launch = &launch, shared.options = &options, shared.memory = &memory, shared.params = launch.params;
  for (const GlobalImage& image : decoded.layout.globals) {
    auto buffer = std::make_unique<domain::Buffer>();
    buffer->name = image.name, buffer->address = image.address, buffer->size = image.bytes.size();
    buffer->bytes = std::make_unique<std::byte[]>(image.bytes.size());
    std::copy(image.bytes.begin(), image.bytes.end(), buffer->bytes.get());
    if constexpr (D::kHasTags) buffer->tags = std::make_unique<domain::Tag[]>(image.bytes.size());
    shared.globals.push_back(std::move(buffer));
  }
  const Clusters clusters(launch.grid, cluster_shape(entry, launch));
  const std::size_t workers = std::min<std::size_t>(worker_count(options.workers), domains.size());
  Grid<D> running(decoded, shared, clusters, clusters.from(options.first_cta), clusters.from(options.last_cta),
                  {domains.begin(), domains.begin() + static_cast<std::ptrdiff_t>(workers)});
  return running.run();
}

template class Program<domain::Ieee>;
template class Program<domain::Field>;

}  // namespace plumb::machine
