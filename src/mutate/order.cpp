// SPDX-License-Identifier: Apache-2.0
// Faults of order: what a race checker, and an asynchronous machine, are there for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "mutate/table.h"

namespace plumb::mutate {
namespace {

using Kind = ptx::Operand::Kind;

bool is_barrier(const Site& site) { return site.is({"bar", "barrier"}) && !site.has("warp"); }
bool is_mbarrier_wait(const Site& site) {
  return site.is({"mbarrier"}) && (site.has("try_wait") || site.has("test_wait"));
}
bool is_group_wait(const Site& site) {
  return site.has("wait_group") || site.has("wait_all") || site.has("wait::ld") || site.has("wait::st") ||
         (site.is({"griddepcontrol"}) && site.has("wait"));
}
bool is_commit(const Site& site) { return site.has("commit_group") || site.has("commit"); }
bool is_proxy_fence(const Site& site) { return site.is({"fence", "membar"}) && site.has("proxy"); }
bool is_fence(const Site& site) {
  return site.is({"fence", "membar"}) || (site.is({"wgmma"}) && site.has("fence")) ||
         site.has("fence::before_thread_sync") || site.has("fence::after_thread_sync");
}
bool is_order(const Site& site) {
  return is_barrier(site) || is_group_wait(site) || is_commit(site) || is_fence(site) ||
         (site.is({"mbarrier"}) && (site.has("arrive") || site.has("init")));
}

// A whole number in the place of `operand` that differs by `by`; registers are added to in a block.
void changed(const Site& site, const ptx::Operand& operand, std::int64_t by, Edits& out) {
  if (operand.kind == Kind::Int) {
    out.push_back(site.replaced(operand.span, fmt::format("{}", operand.integer + by)));
  } else if (operand.kind == Kind::Reg && ptx::byte_size(site.type(operand.reg)) == 4) {
    const std::string before = fmt::format(".reg .b32 plumb_changed; add.s32 plumb_changed, {}, {};",
                                           site.function().registers[operand.reg].name, by);
    out.push_back(site.in_block(before, operand.span, "plumb_changed"));
  }
}

void barrier_drop(const Site& site, Edits& out) {
  if (is_barrier(site)) out.push_back(site.dropped());
}

void barrier_name(const Site& site, Edits& out) {
  if (!is_barrier(site) || site.operands().empty()) return;
  const ptx::Operand& name = site.operands()[site.has("red") ? 1 : 0];
  if (name.kind == Kind::Int) out.push_back(site.replaced(name.span, fmt::format("{}", (name.integer + 1) % 16)));
}

void barrier_threads(const Site& site, Edits& out) {
  if (!is_barrier(site) || site.has("red") || site.operands().size() != 2) return;
  const ptx::Operand& threads = site.operands()[1];
  if (threads.kind != Kind::Int) return;
  out.push_back(site.replaced(threads.span, fmt::format("{}", threads.integer + 32)));
  out.push_back(site.replaced(threads.span, fmt::format("{}", threads.integer - 32)));
}

void barrier_arrive(const Site& site, Edits& out) {
  if (is_barrier(site) && !site.has("cluster")) site.with_word(out, "sync", "arrive");
}

void warp_barrier_drop(const Site& site, Edits& out) {
  if (site.is({"bar"}) && site.has("warp")) out.push_back(site.dropped());
}

void mbarrier_wait_drop(const Site& site, Edits& out) {
  if (!is_mbarrier_wait(site) || site.operands().empty()) return;
  const std::string done(site.text(site.operands()[0].span));
  out.push_back(site.replaced({site.instr().opcode_span.begin, site.instr().span.end},
                              fmt::format("setp.eq.u32 {}, 0, 0;", done)));
}

void mbarrier_parity(const Site& site, Edits& out) {
  if (!is_mbarrier_wait(site) || !site.has("parity") || site.operands().size() < 3) return;
  const ptx::Operand& parity = site.operands()[2];
  if (parity.kind == Kind::Int) {
    out.push_back(site.replaced(parity.span, parity.integer == 0 ? "1" : "0"));
  } else if (parity.kind == Kind::Reg) {
    const std::string before =
        fmt::format(".reg .b32 plumb_parity; xor.b32 plumb_parity, {}, 1;", site.function().registers[parity.reg].name);
    out.push_back(site.in_block(before, parity.span, "plumb_parity"));
  }
}

void mbarrier_arrive_drop(const Site& site, Edits& out) {
  if (site.is({"mbarrier"}) && (site.has("arrive") || site.has("arrive_drop"))) out.push_back(site.dropped());
}

void mbarrier_count(const Site& site, Edits& out) {
  if (!site.is({"mbarrier"}) || !site.has("init") || site.operands().size() != 2) return;
  changed(site, site.operands()[1], 1, out);
  if (site.operands()[1].kind != Kind::Int || site.operands()[1].integer > 1)
    changed(site, site.operands()[1], -1, out);
}

void expect_tx_count(const Site& site, Edits& out) {
  if (!site.is({"mbarrier"}) || (!site.has("expect_tx") && !site.has("complete_tx")) || site.operands().empty()) return;
  changed(site, site.operands().back(), 16, out);
  changed(site, site.operands().back(), -16, out);
}

void wait_drop(const Site& site, Edits& out) {
  if (is_group_wait(site)) out.push_back(site.dropped());
}

void wait_count(const Site& site, Edits& out) {
  if (!site.has("wait_group") || site.operands().empty() || site.operands()[0].kind != Kind::Int) return;
  out.push_back(site.replaced(site.operands()[0].span, fmt::format("{}", site.operands()[0].integer + 1)));
}

void commit_drop(const Site& site, Edits& out) {
  if (is_commit(site)) out.push_back(site.dropped());
}

void fence_drop(const Site& site, Edits& out) {
  if (is_fence(site) && !is_proxy_fence(site)) out.push_back(site.dropped());
}

void proxy_fence_drop(const Site& site, Edits& out) {
  if (is_proxy_fence(site)) out.push_back(site.dropped());
}

void proxy_kind(const Site& site, Edits& out) {
  if (!is_proxy_fence(site)) return;
  for (const char* from : {"async.shared::cta", "async.shared::cluster", "async.global", "async"}) {
    Edits edits;
    site.with_word(edits, from, "alias");
    if (edits.empty()) continue;
    out.push_back(std::move(edits.front()));
    return;
  }
}

void scope_narrow(const Site& site, Edits& out) {
  site.with_word(out, "sys", "cta");
  site.with_word(out, "gpu", "cta");
  if (!site.is({"barrier", "mapa"})) site.with_word(out, "cluster", "cta");
}

void semantics_relax(const Site& site, Edits& out) {
  for (const char* strong : {"acquire", "release", "acq_rel", "sc"}) site.with_word(out, strong, "relaxed");
}

void atomic_split(const Site& site, Edits& out) {
  if (!site.is({"red"}) || site.has("async") || site.operands().size() != 2) return;
  Edits store;
  site.with_word(store, "add", "");
  if (store.empty()) return;
  const Span head{site.instr().opcode_span.begin, site.instr().span.end};
  std::string text = "st";
  text += site.text({site.instr().opcode_span.end, store[0].span.begin});
  text += site.text({store[0].span.end, site.instr().span.end});
  out.push_back(site.replaced(head, std::move(text)));
}

// What has a place in the order of memory: to go before or after anything else changes nothing.
bool is_ordered(const ptx::Instr& instr) {
  constexpr std::string_view kOpcodes[] = {"ld",       "st",       "cp",    "red",     "atom",  "ldmatrix",
                                           "stmatrix", "mbarrier", "wgmma", "tcgen05", "fence", "bar"};
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), instr.opcode) != std::end(kOpcodes);
}

void order_late(const Site& site, Edits& out) {
  const ptx::Instr* next = site.next();
  if (!is_order(site) || next == nullptr || !is_ordered(*next)) return;
  std::string both(site.text(next->span));
  both += site.text({site.instr().span.end, next->span.begin});
  both += site.text(site.instr().span);
  out.push_back(site.replaced({site.instr().span.begin, next->span.end}, std::move(both)));
}

constexpr Row kRows[] = {
    {{"barrier-drop", "a CTA or cluster barrier is left out"}, barrier_drop},
    {{"barrier-name", "a barrier of another number"}, barrier_name},
    {{"barrier-threads", "a barrier for a warp more or less"}, barrier_threads},
    {{"barrier-arrive", "arrives at a barrier without waiting"}, barrier_arrive},
    {{"warp-barrier-drop", "`bar.warp.sync` is left out"}, warp_barrier_drop},
    {{"mbarrier-wait-drop", "a wait at an mbarrier succeeds at once"}, mbarrier_wait_drop},
    {{"mbarrier-parity", "a wait for the phase of the other parity"}, mbarrier_parity},
    {{"mbarrier-arrive-drop", "an arrival at an mbarrier is left out"}, mbarrier_arrive_drop},
    {{"mbarrier-count", "an mbarrier for one arrival more or less"}, mbarrier_count},
    {{"expect-tx-count", "16 bytes more or less are expected"}, expect_tx_count},
    {{"wait-drop", "a wait for an asynchronous group, load or store is left out"}, wait_drop},
    {{"wait-count", "one more group may be pending"}, wait_count},
    {{"commit-drop", "a commit is left out"}, commit_drop},
    {{"fence-drop", "a fence is left out"}, fence_drop},
    {{"proxy-fence-drop", "a fence between proxies is left out"}, proxy_fence_drop},
    {{"proxy-kind", "a fence of another proxy"}, proxy_kind},
    {{"scope-narrow", "a scope of one CTA"}, scope_narrow},
    {{"semantics-relax", "relaxed instead of acquire or release"}, semantics_relax},
    {{"atomic-split", "a store instead of an atomic addition"}, atomic_split},
    {{"order-late", "a wait, fence, commit or arrival after the next instruction"}, order_late},
};

}  // namespace

std::span<const Row> order_rows() { return kRows; }

}  // namespace plumb::mutate
