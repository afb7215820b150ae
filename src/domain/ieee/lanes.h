// SPDX-License-Identifier: Apache-2.0
// The commonest f32 operations on whole registers, compiled for several x86-64 levels. Each element is what the
// function of `Ieee` with that name gives, to nearest without modifiers, or with subnormals flushed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumb::domain::ieee {

// `out` may be one of the sources.
void add_lanes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, bool ftz);
void sub_lanes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, bool ftz);
void mul_lanes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, bool ftz);
void min_lanes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, bool ftz);
void max_lanes(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, bool ftz);
void fma_lanes(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* out,
               std::size_t count, bool ftz);
void ex2_lanes(const std::uint32_t* a, std::uint32_t* out, std::size_t count, bool ftz);  // approximate

}  // namespace plumb::domain::ieee
