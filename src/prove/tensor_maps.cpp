// SPDX-License-Identifier: Apache-2.0
#include "prove/tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "machine/codes.h"

namespace plumb::prove {
namespace {

// Numbers that do not fit their field become ones that break its rule, too.
template <class T>
T narrow(std::int64_t value) {
  if (value < 0 && !std::is_signed_v<T>) return 0;
  return static_cast<T>(std::clamp<std::int64_t>(
      value, std::numeric_limits<T>::min(),
      std::min<std::uint64_t>(std::numeric_limits<T>::max(), std::numeric_limits<std::int64_t>::max())));
}

template <class T, std::size_t N>
void copy(const std::vector<std::int64_t>& from, std::array<T, N>& to) {
  for (std::size_t i = 0; i < from.size() && i < N; ++i) to[i] = narrow<T>(from[i]);
}

// The position of a word in a list of them, 0 when it is not there: the header's reader allows no others.
unsigned index_of(std::string_view word, std::initializer_list<std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? 0 : static_cast<unsigned>(found - words.begin());
}

machine::TensorMap map_of(const task::BoundTensorMap& bound, std::uint64_t address) {
  machine::TensorMap map;
  map.is_im2col = bound.is_im2col;
  map.type = machine::tensor_type_of(bound.type).value_or(machine::TensorType::U8);
  map.rank = static_cast<unsigned>(bound.dims.size());
  map.address = address + static_cast<std::uint64_t>(bound.offset);
  copy(bound.dims, map.dims);
  copy(bound.strides, map.strides);
  copy(bound.element_strides, map.element_strides);
  copy(bound.box, map.box);
  copy(bound.lower, map.lower);
  copy(bound.upper, map.upper);
  if (bound.is_im2col) {
    map.channels = narrow<std::uint32_t>(bound.channels), map.pixels = narrow<std::uint32_t>(bound.pixels);
  }
  map.swizzle = static_cast<machine::Swizzle>(index_of(bound.swizzle, {"none", "32B", "64B", "128B"}));
  map.interleave = static_cast<machine::Interleave>(index_of(bound.interleave, {"none", "16B", "32B"}));
  map.promotion = static_cast<std::uint8_t>(index_of(bound.promotion, {"none", "64B", "128B", "256B"}));
  map.fills_nan = bound.fill == "nan";
  return map;
}

}  // namespace

std::optional<machine::TensorMapImage> make_tensor_map(const task::BoundTensorMap& bound, std::uint64_t address,
                                                       const std::function<Place(const std::string&)>& place_of,
                                                       Findings& findings) {
  const machine::TensorMap map = map_of(bound, address);
  const auto problems = machine::problems_of(map);
  for (const machine::TensorMapProblem& problem : problems) {
    Finding& finding = findings.add(
        machine::kTensorMap,
        fmt::format("the driver refuses the tensor map `{}` of `{}`: {}", bound.name, bound.tensor, problem.text),
        place_of(fmt::format("/tensor_maps/{}/{}", bound.name, problem.field)));
    if (problem.field == "address") finding.hint = "promise `divisible_by_16 = true`: tensor maps need aligned tensors";
    if (problem.field == "strides") finding.hint = "promise with `requires` that the strides are multiples of 16 bytes";
  }
  if (!problems.empty()) return std::nullopt;
  return machine::encode(map);
}

}  // namespace plumb::prove
