// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "prove/setup.h"
#include "prove/witness.h"
#include "session/value.h"

namespace plumb::session {
namespace {

using domain::Format;

// Unit roundoff: half a unit in the last place of 1.
double roundoff(Format format) {
  switch (format) {
    case Format::F64:
      return 0x1p-53;
    case Format::F32:
      return 0x1p-24;
    case Format::Tf32:
    case Format::F16:
      return 0x1p-11;
    case Format::BF16:
      return 0x1p-8;
    case Format::E4M3:
      return 0x1p-4;
    case Format::E5M2:
      return 0x1p-3;
  }
  return 0;
}

double smallest_normal(Format format) {
  switch (format) {
    case Format::F64:
      return 0x1p-1022;
    case Format::F16:
    case Format::E5M2:
      return 0x1p-14;
    case Format::E4M3:
      return 0x1p-6;
    default:
      return 0x1p-126;
  }
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t out = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++out;
  return out;
}

// How many terms a sum may have: the longest extent of a float input that is none of an output's leading ones.
double reduction_length(const task::Bound& bound) {
  std::set<std::int64_t> leading;
  for (const task::BoundArg& arg : bound.args) {
    if (!arg.is_tensor || arg.role == task::Role::In || arg.shape.size() < 2) continue;
    leading.insert(arg.shape.begin(), arg.shape.end() - 1);
  }
  std::int64_t longest = 1, any = 1;
  for (const task::BoundArg& arg : bound.args) {
    if (!arg.is_tensor || arg.role == task::Role::Out || !prove::float_format(arg.type)) continue;
    for (std::size_t i = 0; i < arg.shape.size(); ++i) {
      any = std::max(any, arg.shape[i]);
      const bool is_last = i + 1 == arg.shape.size();
      if (is_last || !leading.contains(arg.shape[i])) longest = std::max(longest, arg.shape[i]);
    }
  }
  return static_cast<double>(longest > 1 ? longest : any);
}

// How many representable numbers lie between two of a format.
double ulps(Format format, const std::byte* a, const std::byte* b) {
  const unsigned size = domain::byte_size(format);
  const auto ordered = [&](const std::byte* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, size);
    const std::uint64_t sign = 1ULL << (8 * size - 1);
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
  };
  return std::abs(static_cast<double>(ordered(a)) - static_cast<double>(ordered(b)));
}

class Judge {
 public:
  Judge(const GpuShape& shape, const task::BoundArg& arg, const ErrorModel& model, double largest_input,
        const Compared& compared)
      : shape_(shape), arg_(arg), model_(model), compared_(compared), size_(task::element_bytes(arg.type)) {
    format_ = prove::float_format(arg.type);
    length_ = model.has_reduction ? reduction_length(shape.bound) : 1;
    const double exponent = std::min(largest_input, 128.0);
    relative_ = model.functions + (model.has_exponential ? 8 * 0x1p-24 * exponent : 0);
    absolute_ = model.has_logarithm ? 8 * 0x1p-24 * largest_input : 0;
    // Where an exponential overflows, its reciprocal is zero in one form and tiny in another.
    if (model.has_exponential) absolute_ += 0x1p-114 * std::max(1.0, largest_input);
  }

  Judgement run() {
    out_.output = arg_.name;
    out_.elements = arg_.elements;
    const std::uint64_t row = arg_.shape.empty() ? arg_.elements : static_cast<std::uint64_t>(arg_.shape.back());
    for (std::uint64_t begin = 0; begin < arg_.elements; begin += row) {
      const std::uint64_t end = std::min(arg_.elements, begin + row);
      if (std::memcmp(at(compared_.candidate, begin), at(compared_.reference, begin), (end - begin) * size_) == 0 &&
          !compared_.is_partial) {
        out_.compared += end - begin;
        continue;
      }
      one_row(begin, end);
    }
    return std::move(out_);
  }

 private:
  const std::byte* at(const std::byte* base, std::uint64_t element) const { return base + element * size_; }

  bool is_same(const std::byte* a, const std::byte* b) const { return std::memcmp(a, b, size_) == 0; }

  bool is_before(const std::byte* value, std::uint64_t element) const {
    if (compared_.before != nullptr) return is_same(value, at(compared_.before, element));
    return std::all_of(value, value + size_,
                       [&](std::byte byte) { return std::to_integer<unsigned char>(byte) == compared_.poison; });
  }

  double number(const std::byte* value) const {
    return format_ ? prove::decode(*format_, value) : element_value(arg_.type, reinterpret_cast<const char*>(value));
  }

  std::string named(std::uint64_t element, std::string_view what) const {
    return fmt::format("{}: {}, the source gives {}{}", prove::element_name(shape_.bound, arg_.name, element),
                       number(at(compared_.candidate, element)), number(at(compared_.reference, element)), what);
  }

  void one_row(std::uint64_t begin, std::uint64_t end) {
    double largest = 0;
    bool has_overflow = false;
    if (format_) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::byte* reference = at(compared_.reference, i);
        const double value = number(reference);
        has_overflow = has_overflow || std::isinf(value);
        if (std::isfinite(value) && !is_before(reference, i)) largest = std::max(largest, std::abs(value));
      }
    }
    // Where neighbours overflow, sums may have been far larger than the finite ones that are left.
    constexpr double kBeyond = 1024;
    if (has_overflow && model_.has_reduction) largest *= kBeyond;
    for (std::uint64_t i = begin; i < end; ++i) one(i, largest);
  }

  void one(std::uint64_t element, double largest) {
    const std::byte* candidate = at(compared_.candidate, element);
    const std::byte* reference = at(compared_.reference, element);
    const bool is_left = is_before(reference, element);
    if (is_left && compared_.is_partial) return;
    ++out_.compared;
    if (is_same(candidate, reference)) return;
    const double got = number(candidate), wanted = number(reference);
    if (format_ && std::isnan(got) && std::isnan(wanted) && !is_left && !is_before(candidate, element)) return;
    const bool is_number = std::isfinite(got) && std::isfinite(wanted);
    if (compared_.before != nullptr && is_number && std::abs(got - wanted) <= tolerance(wanted, largest)) {
      // An answer may look like what an in-out tensor held before.
      finite(element, got, wanted, largest);
    } else if (is_left) {
      if (out_.overwritten++ == 0) out_.first_overwritten = named(element, " (leaves it as it was)");
    } else if (is_before(candidate, element)) {
      if (out_.unwritten++ == 0) out_.first_unwritten = prove::element_name(shape_.bound, arg_.name, element);
    } else if (format_ && (!std::isfinite(got) || !std::isfinite(wanted))) {
      if (std::isinf(got) != std::isinf(wanted) && !std::isnan(got) && !std::isnan(wanted) &&
          (ulps(*format_, candidate, reference) <= 2 || is_at_the_edge(got, wanted))) {
        return;
      }
      if (got != wanted && out_.special++ == 0) out_.first_special = named(element, "");
    } else {
      finite(element, got, wanted, largest);
    }
  }

  // Overflow to infinity on one side, and on the other a number that may differ by as much from the format's largest.
  bool is_at_the_edge(double got, double wanted) const {
    const double edge = prove::largest_number(*format_);
    return std::signbit(got) == std::signbit(wanted) &&
           std::min(std::abs(got), std::abs(wanted)) + tolerance(edge, edge) >= edge;
  }

  double tolerance(double wanted, double largest) const {
    if (!format_) return 0;
    const double scale = std::max(std::abs(wanted), model_.has_reduction ? largest : 0);
    const double sum = length_ > 1 ? 4 * std::sqrt(length_) * model_.accumulate + model_.operands : 0;
    const double own = 2 * (sum * scale + (roundoff(*format_) + relative_) * std::abs(wanted));
    return std::max(own + absolute_ + smallest_normal(*format_), model_.declared * std::abs(wanted));
  }

  void finite(std::uint64_t element, double got, double wanted, double largest) {
    const double difference = std::abs(got - wanted), allowed = tolerance(wanted, largest);
    const double apart =
        format_ ? ulps(*format_, at(compared_.candidate, element), at(compared_.reference, element)) : 0;
    out_.largest_ulps = std::max(out_.largest_ulps, apart);
    const double part = allowed > 0 ? difference / allowed : HUGE_VAL;
    if (difference > allowed) ++out_.wrong;
    if (part <= out_.worst_part) return;
    out_.worst_part = part;
    out_.worst =
        named(element, fmt::format(" (off by {:.3g}, {:.0f} ulps; tolerance {:.3g})", difference, apart, allowed));
  }

  const GpuShape& shape_;
  const task::BoundArg& arg_;
  const ErrorModel& model_;
  const Compared& compared_;
  unsigned size_;
  std::optional<Format> format_;
  double length_ = 1, relative_ = 0, absolute_ = 0;
  Judgement out_;
};

}  // namespace

ErrorModel error_model(const task::Task& task, const GpuShape& shape, std::string_view source) {
  ErrorModel out;
  out.declared = task.tolerance.relative;
  const std::size_t dots = count(source, "tl.dot");
  out.has_atomics = source.find("tl.atomic_") != std::string_view::npos;
  out.has_reduction = dots != 0 || out.has_atomics ||
                      has_any(source, {"tl.sum", "tl.max(", "tl.min(", "tl.cumsum", "tl.cumprod", "tl.reduce",
                                       "tl.associative_scan", "+="});
  out.has_exponential = has_any(source, {"exp(", "exp2(", "sigmoid(", "softmax(", "tanh(", "erf("});
  out.has_logarithm = has_any(source, {"log(", "log2("});
  if (out.has_exponential || out.has_logarithm || has_any(source, {"/", "sqrt", "sin(", "cos("})) {
    out.functions = 0x1p-20;
  }
  double narrowest = 0;
  bool has_single = false, is_double = true;
  for (const task::BoundArg& arg : shape.bound.args) {
    const auto format = arg.is_tensor ? prove::float_format(arg.type) : std::nullopt;
    if (!format) continue;
    is_double = is_double && *format == Format::F64;
    if (arg.role == task::Role::Out) continue;
    narrowest = std::max(narrowest, roundoff(*format));
    has_single = has_single || *format == Format::F32;
  }
  if (is_double) out.accumulate = 0x1p-53;
  if (dots == 0) return out;
  // Tensor cores cut what they add: 22 bits of a sum of halves, about 13 of one of fp8.
  out.accumulate = is_double ? 0x1p-53 : narrowest >= 0x1p-4 ? 0x1p-13 : 0x1p-22;
  if (has_single && source.find("ieee") == std::string_view::npos) out.operands += 2 * 0x1p-11;
  if (dots > 1) out.operands += narrowest;  // what the second product takes was rounded after the first
  return out;
}

Judgement judge(const GpuShape& shape, const task::BoundArg& arg, const ErrorModel& model, double largest_input,
                const Compared& compared) {
  return Judge(shape, arg, model, largest_input, compared).run();
}

double largest_magnitude(const GpuShape& shape, const gpu::SharedMemory& inputs) {
  double out = 0;
  const std::byte* at = inputs.data();
  for (const task::BoundArg& arg : shape.bound.args) {
    if (!arg.is_tensor || arg.role == task::Role::Out) continue;
    const unsigned size = task::element_bytes(arg.type);
    if (const auto format = prove::float_format(arg.type)) {
      for (std::uint64_t i = 0; i < arg.elements; ++i) {
        const double value = std::abs(prove::decode(*format, at + i * size));
        if (std::isfinite(value)) out = std::max(out, value);
      }
    }
    at += arg.elements * size;
  }
  return out;
}

}  // namespace plumb::session
