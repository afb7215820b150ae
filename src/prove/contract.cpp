// SPDX-License-Identifier: Apache-2.0
#include "prove/contract.h"

#include <fmt/format.h>

#include "prove/codes.h"

namespace plumb::prove {
namespace {

using domain::RoundingClass;
using domain::Signature;

constexpr std::string_view kNames[] = {"fp8", "bf16", "f16", "tf32", "tensor-core sums", "f32"};
// A candidate may round through a narrow format this many times as often as the source does.
constexpr unsigned kAllowedRatio = 4;

}  // namespace

std::vector<Finding> contract_findings(const ShapeResult& result, const std::string& label, const Place& place) {
  std::vector<Finding> out;
  const auto weaker = [&](const Code& code, std::string text) {
    out.push_back(Finding{&code, Severity::Error, fmt::format("{}, at {}", text, label), place, {}, {}});
  };
  for (const BufferSignature& buffer : result.signatures) {
    // The classes above tensor-core sums are the narrow formats; the order of sums in f32 is no part of the contract.
    for (const RoundingClass narrow :
         {RoundingClass::Fp8, RoundingClass::BF16, RoundingClass::F16, RoundingClass::Tf32}) {
      const unsigned spec = buffer.spec.count(narrow), candidate = buffer.candidate.count(narrow);
      if (candidate > kAllowedRatio * spec) {
        weaker(kContractPrecision,
               fmt::format("`{}` goes through up to {} roundings to {} in the candidate and {} in the source",
                           buffer.buffer, candidate, kNames[static_cast<unsigned>(narrow)], spec));
      } else if (candidate > spec && spec == 0) {
        weaker(kContractPrecision, fmt::format("`{}` is rounded to {} in the candidate only", buffer.buffer,
                                               kNames[static_cast<unsigned>(narrow)]));
      }
    }
    const auto has = [](const Signature& signature, Signature::Flag flag) { return (signature.flags & flag) != 0; };
    const auto worsens = [&](Signature::Flag flag) { return has(buffer.candidate, flag) && !has(buffer.spec, flag); };
    if (worsens(Signature::kTruncated)) {
      weaker(kContractPrecision, fmt::format("`{}` is truncated in the candidate only", buffer.buffer));
    }
    if (worsens(Signature::kUnguardedExp)) {
      weaker(kContractRange,
             fmt::format("an exponential behind `{}` may overflow in the candidate only: its argument is "
                         "bounded above in the source",
                         buffer.buffer));
    }
  }
  return out;
}

}  // namespace plumb::prove
