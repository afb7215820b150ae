// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: versions 1 and 2, little-endian, C order, integers and floats. An array is its bytes; what they
// mean is the business of the argument that they are for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace plumb::session {

struct Array {
  char kind = 'f';  // 'f' float, 'i' signed, 'u' unsigned, 'b' boolean
  unsigned item_bytes = 4;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

// `name` stands in messages.
std::optional<Array> parse_npy(std::string_view file, std::string_view name, Findings& findings);
std::string format_npy(const Array& array);

// "f4", "u2": how an element of Triton's type is held; bf16 and fp8 are held as bits.
struct Held {
  char kind;
  unsigned bytes;
};
Held held_as(std::string_view type);

}  // namespace plumb::session
