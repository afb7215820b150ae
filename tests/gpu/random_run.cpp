// SPDX-License-Identifier: Apache-2.0
#include "random_run.h"

#include <cstring>
#include <memory>

#include "domain/ieee/ieee.h"
#include "domain/memory.h"
#include "machine/machine.h"
#include "ptx/module.h"

namespace plumb::random_program {

Left run(const Program& program, std::optional<std::uint64_t> schedule) {
  Left left;
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>(program.entry, header() + program.text), findings);
  const auto decoded = module ? machine::Program<domain::Ieee>::decode(*module, program.entry, findings) : std::nullopt;
  if (!decoded) {
    left.stop = render(findings, false);
    return left;
  }
  const std::vector<std::uint32_t> words = inputs();
  domain::Memory memory(false);
  domain::Buffer& in = memory.add("in", words.size() * 4, domain::Init::Concrete, domain::Format::F32);
  domain::Buffer& out = memory.add("out", program.out_words() * 4, domain::Init::Concrete, domain::Format::F32);
  std::memcpy(in.bytes.get(), words.data(), in.size);
  std::memset(out.bytes.get(), 0, out.size);
  machine::Launch launch;
  launch.entry = program.entry, launch.grid.x = kBlocks, launch.block.x = program.threads;
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &in.address, 8);
  std::memcpy(launch.params.data() + 8, &out.address, 8);
  domain::Ieee ieee;
  machine::Options options;
  options.workers = 1, options.step_budget = 1 << 24, options.schedule = schedule;
  const machine::Result result = decoded->run(launch, {&ieee}, memory, options);
  if (result.stop) left.stop = render(result.stop->finding, false);
  left.words.resize(program.out_words());
  std::memcpy(left.words.data(), out.bytes.get(), out.size);
  return left;
}

}  // namespace plumb::random_program
