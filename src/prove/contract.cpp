// SPDX-License-Identifier: Apache-2.0
#include "prove/contract.h"

#include <fmt/format.h>

#include "prove/codes.h"

namespace plumb::prove {
namespace {

using domain::RoundingClass;
using domain::Signature;

constexpr std::string_view kNames[] = {
    "fp8", "bf16", "f16", "tf32 or the 13 bits of an fp8 `wgmma`", "tensor-core sums", "f32"};
// Where the source rounds to a narrow format at every step of a long chain, the order of the chain is free: up to this
// many times as many roundings are the same contract. Otherwise each rounding more is a weaker one.
constexpr unsigned kChain = 5, kAllowedRatio = 4;

bool is_weaker(unsigned spec, unsigned candidate) { return candidate > (spec < kChain ? spec : kAllowedRatio * spec); }

}  // namespace

std::vector<Finding> contract_findings(const ShapeResult& result, std::string_view spec_name, const std::string& label,
                                       const Place& place) {
  std::vector<Finding> out;
  const auto weaker = [&](const Code& code, std::string text) {
    out.push_back(Finding{&code, Severity::Error, fmt::format("{}, at {}", text, label), place, {}, {}});
  };
  for (const BufferSignature& buffer : result.signatures) {
    // The classes above tensor-core sums are the narrow formats; the order of sums in f32 is no part of the contract.
    for (const RoundingClass narrow :
         {RoundingClass::Fp8, RoundingClass::BF16, RoundingClass::F16, RoundingClass::Tf32}) {
      const unsigned spec = buffer.spec.count(narrow), candidate = buffer.candidate.count(narrow);
      if (!is_weaker(spec, candidate)) continue;
      const std::string_view format = kNames[static_cast<unsigned>(narrow)];
      if (spec == 0) {
        weaker(kContractPrecision, fmt::format("`{}` is rounded to {} in the candidate only", buffer.buffer, format));
      } else {
        weaker(kContractPrecision,
               fmt::format("`{}` goes through up to {} roundings to {} in the candidate and {} in {}", buffer.buffer,
                           candidate, format, spec, spec_name));
      }
    }
    const auto has = [](const Signature& signature, Signature::Flag flag) { return (signature.flags & flag) != 0; };
    const auto worsens = [&](Signature::Flag flag) { return has(buffer.candidate, flag) && !has(buffer.spec, flag); };
    if (worsens(Signature::kTruncated)) {
      weaker(kContractPrecision, fmt::format("`{}` is truncated in the candidate only", buffer.buffer));
    }
    if (worsens(Signature::kApproximate)) {
      weaker(kContractPrecision,
             fmt::format("`{}` goes through approximate instructions in the candidate only: those of {} are "
                         "correctly rounded",
                         buffer.buffer, spec_name));
    }
    if (worsens(Signature::kNarrowDivision)) {
      weaker(
          kContractRange,
          fmt::format("`{}` is a quotient by `rcp.approx` or `div.approx` in the candidate: they lose divisors beyond "
                      "2^126, and tiny ones, which the division of {} does not",
                      buffer.buffer, spec_name));
    }
    if (worsens(Signature::kUnguardedExp)) {
      weaker(kContractRange,
             fmt::format("an exponential behind `{}` may overflow in the candidate only: its argument is "
                         "bounded above in {}",
                         buffer.buffer, spec_name));
    }
  }
  return out;
}

}  // namespace plumb::prove
