// SPDX-License-Identifier: Apache-2.0
#include "domain/format.h"

namespace plumb::domain {

std::string_view name(Format format) {
  switch (format) {
    case Format::F16:
      return "f16";
    case Format::BF16:
      return "bf16";
    case Format::Tf32:
      return "tf32";
    case Format::F32:
      return "f32";
    case Format::F64:
      return "f64";
    case Format::E4M3:
      return "e4m3";
    case Format::E5M2:
      return "e5m2";
  }
  return "?";
}

}  // namespace plumb::domain
