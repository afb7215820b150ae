// SPDX-License-Identifier: Apache-2.0
#include "reasons.h"

#include <algorithm>

namespace plumb::agreement {
namespace {

// The first row that fits says the reason. `opcodes`: beginnings of the text, separated by blanks; empty: any.
struct Kind {
  std::string_view opcodes, plumb, ptxas, reason;
};

constexpr std::string_view kExpanded =
    "ptxas expands the instruction before it is checked and does not look at the operand; what it would do is "
    "undefined";
constexpr std::string_view kTexture =
    "ptxas looks at a texture's or surface's operands by number and size only; a geometry has so many coordinates";

constexpr Kind kStricter[] = {
    {"", "it takes no `", "", "ptxas does not separate the word from one that may stand there; it means nothing there"},
    {"", "the address of a function is taken with", "",
     "a function's name is an address, which only mov and cvta take"},
    {"", "`mbar` is missing", "",
     "the manual's syntax has the mbarrier, and without it nobody learns of the completion"},
    {"cvt.", "needs sm_90", "", "the manual has these roundings to bf16 from sm_90 on"},
    {"mma.", "needs sm_120f", "", "the manual has the kind for the family of sm_120 only"},
    {"testp.", "`.class` is missing", "", "a test without a class tests nothing"},
    {"ld. st.", "`.global` is missing", "", "the manual has vectors of 256 bits in .global space only"},
    {"fence.", "not in this order", "", "the manual has the word before the spaces"},
    {"tcgen05.", "operands and takes", "",
     "the scale of the input is for the kinds f16 and tf32 without a collector's word"},
    {"min. max. atom.", "operands and takes", "", "the surplus operand is that of another form of the instruction"},
    {"bar. barrier.", "operand-range", "", "ptxas looks at the low 32 bits; it is no number of a barrier"},
    {"shfl.", "no real constant can stand here", "", "the operand is the number of a lane"},
    {"add. sub.", "at the end of the instruction was expected", "",
     "the manual has register+constant in addresses only"},
    {"tex. tld4. txq. sust. suld. sured. suq. istypep.", "", "", kTexture},
    {"vavrg v", "a whole register is needed", "", "a result is a whole register; its parts are named by a mask"},
    {"setp. set.", "a register is read or written here", "", "a comparison of which no result is kept is none"},
    {"", "special registers are read with", "", "a special register is read by mov"},
    {"mov.", "", "", "ptxas does not look at what is moved into or out of the pair; a pair is two registers"},
    {"createpolicy.", "a result needs a register", "", kExpanded},
    {"", "only a predicate takes `!`", "", kExpanded},
    {"", "is one register, not a", "", kExpanded},
    {"", "which does not go with", "", kExpanded},
    {"", "is an address `[a", "", kExpanded},
    {"", "registers in braces", "", kExpanded},
    {"", "is a vector", "", kExpanded},
};

constexpr Kind kLaxer[] = {
    {"", "", "non-zero positive", "a count is a value, which a run is held to; ptxas looks at constants"},
    {"", "", "Unknown modifier", "the order of the words carries no meaning"},
    {"", "", "Unexpected instruction types", "the order of the words carries no meaning"},
    {"txq. tex. tld4. sust.", "", "", "a texture is not executed; its operands are looked at by size only"},
    {"tcgen05.", "", "must be register", "ptxas expands the instruction and gives no reason in its terms"},
    {"mov.", "", "Arguments mismatch",
     "a special register's vector is moved by its width; the pair is of the same size"},
    {"set.", "", "Arguments mismatch",
     "an integer constant as the third operand of a packed comparison is refused by ptxas alone"},
    {"shfl.", "", "Arguments mismatch", "a pair is moved as 32 bits"},
};

bool begins(std::string_view text, std::string_view opcodes) {
  if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  while (!opcodes.empty()) {
    const std::size_t end = std::min(opcodes.find(' '), opcodes.size());
    if (text.starts_with(opcodes.substr(0, end))) return true;
    opcodes.remove_prefix(std::min(end + 1, opcodes.size()));
  }
  return false;
}

template <std::size_t n>
std::string_view first(const Kind (&kinds)[n], std::string_view text, std::string_view plumb, std::string_view ptxas) {
  for (const Kind& kind : kinds) {
    const bool is_opcode = kind.opcodes.empty() || begins(text, kind.opcodes);
    if (is_opcode && plumb.find(kind.plumb) != plumb.npos && ptxas.find(kind.ptxas) != ptxas.npos) return kind.reason;
  }
  return {};
}

}  // namespace

std::string_view reason_of(std::string_view text, std::string_view plumb, std::string_view ptxas) {
  return plumb.empty() ? first(kLaxer, text, plumb, ptxas) : first(kStricter, text, plumb, ptxas);
}

}  // namespace plumb::agreement
