// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/memory_access.h"

namespace plumb::triton {

std::string element_text(const Shape& shape, std::size_t index) {
  if (shape.rank == 0) return "";
  std::string out;
  for (unsigned axis = shape.rank; axis-- > 0;) {
    const std::string at = std::to_string(index % shape[axis]);
    out = out.empty() ? at : at + ", " + out;
    index /= shape[axis];
  }
  return fmt::format(" of element [{}]", out);
}

std::string describe_address(const domain::Memory& memory, std::uint64_t address, unsigned size) {
  const domain::Buffer* buffer = memory.find(address, 1);
  const std::string bytes = fmt::format("{} byte{}", size, size == 1 ? "" : "s");
  if (buffer != nullptr) return fmt::format("{} at offset {} of `{}`", bytes, address - buffer->address, buffer->name);
  buffer = memory.nearest(address);
  if (buffer == nullptr) return fmt::format("{} at address {:#x}", bytes, address);
  if (address < buffer->address) {
    return fmt::format("{} at {} before the start of `{}`", bytes, buffer->address - address, buffer->name);
  }
  return fmt::format("{} at {} past the end of `{}`", bytes, address - buffer->address - buffer->size, buffer->name);
}

}  // namespace plumb::triton
