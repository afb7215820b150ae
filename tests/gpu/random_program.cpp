// SPDX-License-Identifier: Apache-2.0
#include "random_program.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "random_statements.h"

namespace plumb::random_program {

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() >> 32) % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

// How many registers of a program hold values from statement to statement.
constexpr unsigned kWords = 12, kLongs = 5, kHalves = 6, kPreds = 5;
constexpr unsigned kLocalWords = 16, kSharedBytes = 4096;
constexpr unsigned kMaxDepth = 3;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed), seed_(seed) {}

  Program write() {
    static constexpr unsigned kThreads[] = {32, 64, 96, 64, 48, 40};
    Program program;
    program.entry = "k" + std::to_string(seed_);
    program.threads = kThreads[random_.below(6)];
    is_whole_ = program.threads % 32 == 0;
    const unsigned functions = random_.below(4);
    std::string before;
    for (unsigned i = 0; i < functions; ++i) before += function(i);
    callees_ = functions;
    prologue();
    const unsigned statements = 12 + random_.below(28);
    for (unsigned i = 0; i < statements; ++i) statement(0);
    epilogue();
    program.text = before + ".visible .entry " + program.entry + "(.param .u64 in, .param .u64 out) .reqntid " +
                   std::to_string(program.threads) + ", 1, 1 {\n" + registers() +
                   ".local .align 16 .b8 local[64];\n.shared .align 16 .b8 shared[" + std::to_string(kSharedBytes) +
                   "];\n" + out_ + "}\n";
    return program;
  }

 private:
  static std::string registers() {
    return ".reg .b32 %r<12>, %t<8>, %m<6>, %m, %n, %own, %size, %loc, %tile, %cnt<4>;\n.reg .b64 %x<5>, %u<8>, %in, "
           "%scratch, "
           "%out;\n.reg .b16 %h<6>, %v<4>;\n.reg .pred %p<5>, %q<8>;\n";
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  template <std::size_t N>
  std::string_view pick(const std::string_view (&rows)[N]) {
    return rows[random_.below(N)];
  }
  std::string reg(char kind, unsigned count) { return std::string("%") + kind + std::to_string(random_.below(count)); }
  std::string hex(std::uint64_t value) {
    std::string out = "0x";
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = value >> shift & 15;
      if (digit != 0 || out.size() > 2 || shift == 0) out += "0123456789abcdef"[digit];
    }
    return out;
  }
  std::string constant() {
    static constexpr std::uint32_t kSpecial[] = {0,          1,          2,          31,         32,         255,
                                                 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x7f800000, 0x00800000,
                                                 0x33800000, 0x3c003c00, 0xffff,     0xc0490fdb};
    return random_.chance(60) ? hex(kSpecial[random_.below(16)]) : hex(random_.next() >> 32);
  }

  // The operand that a letter stands for; what it needs before and after the statement goes there.
  std::string operand(char letter, std::string& before, std::string& after) {
    const auto temporary = [&](char kind) { return std::string("%") + kind + std::to_string(4 + temporaries_++ % 4); };
    switch (letter) {
      case 'R':
      case 'r':
      case 'w':
        return letter == 'r' && random_.chance(8) ? constant() : reg('r', kWords);
      case 'X':
      case 'x':
        return reg('x', kLongs);
      case 'H':
      case 'h':
        return reg('h', kHalves);
      case 'P':
      case 'p':
        return reg('p', kPreds);
      case 'D': {
        const std::string to = reg('x', kLongs);
        after +=
            "setp.nan.f64 %q7, " + to + ", " + to + "; selp.b64 " + to + ", 0x7ff8000000000000, " + to + ", %q7;\n";
        return to;
      }
      case 'd': {
        const std::string from = reg('x', kLongs), to = temporary('u');
        if (random_.chance(60)) {  // an exponent near that of 1
          before += "and.b64 " + to + ", " + from + ", 0x83ffffffffffffff; or.b64 " + to + ", " + to +
                    ", 0x3c00000000000000;\n";
        } else {
          before += "setp.nan.f64 %q7, " + from + ", " + from + "; selp.b64 " + to + ", 0x7ff8000000000000, " + from +
                    ", %q7;\n";
        }
        return to;
      }
      case 'f': {
        const std::string from = reg('r', kWords);
        if (random_.chance(45)) return from;
        const std::string to = temporary('t');
        before += "lop3.b32 " + to + ", " + from + ", 0x87ffffff, 0x38000000, 0xea;\n";
        return to;
      }
      case 'e':
        return reg('h', kHalves);
      case 'g': {
        const std::string from = reg('r', kWords);
        if (random_.chance(45)) return from;
        const std::string to = temporary('t');
        before += "lop3.b32 " + to + ", " + from + ", 0x8fff8fff, 0x30003000, 0xea;\n";
        return to;
      }
      case 'n': {
        const std::string to = temporary('t');
        before += "max.u32 " + to + ", " + reg('r', kWords) + ", 1;\n";
        return to;
      }
      case 'N': {
        const std::string to = temporary('u');
        before += "max.u64 " + to + ", " + reg('x', kLongs) + ", 1;\n";
        return to;
      }
      case 'q':
        before += "max.u16 %v3, " + reg('h', kHalves) + ", 1;\n";
        return "%v3";
      case 'y': {
        const std::string to = temporary('t');
        before += "and.b32 " + to + ", " + reg('r', kWords) + ", 255;\n";
        return to;
      }
      case 's': {
        if (random_.chance(15)) return reg('r', kWords);
        const std::string to = temporary('t');
        before += "and.b32 " + to + ", " + reg('r', kWords) + ", 63;\n";
        return to;
      }
      case 'i':
        return hex(random_.next() >> 32);
      case 'k':
        return hex(random_.next() >> 56);
      default:  // 'c'
        return std::to_string(random_.below(32));
    }
  }

  // One of the statements that a template stands for; `mask` for %m.
  std::string expand(std::string_view row, const std::string& mask = "%m0") {
    std::string body, before, after;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '[' && row.substr(i).find('|') < row.substr(i).find(']')) {
        const std::size_t end = row.find(']', i);
        std::vector<std::string_view> words;
        for (std::size_t at = i + 1; at <= end;) {
          const std::size_t stop = std::min(row.find('|', at), end);
          words.push_back(row.substr(at, stop - at));
          at = stop + 1;
        }
        body += words[random_.below(static_cast<unsigned>(words.size()))];
        i = end;
      } else if (row[i] == '[' && row.find(']', i) != row.npos &&
                 is_word(row.substr(i + 1, row.find(']', i) - i - 1))) {
        const std::size_t end = row.find(']', i);
        body += row.substr(i + 1, end - i - 1);
        i = end;
      } else if (row[i] == '$') {
        body += operand(row[++i], before, after);
      } else if (row.substr(i, 2) == "%m" && (i + 2 == row.size() || row[i + 2] < '0' || row[i + 2] > '9')) {
        body += mask;
        ++i;
      } else {
        body += row[i];
        if (row[i] == ';') body += i + 1 < row.size() ? "" : "\n";
      }
    }
    return before + body + after;
  }
  // `[b32]`, a choice of one, as against an address.
  static bool is_word(std::string_view text) {
    return !text.empty() && text.find('%') == text.npos && text.find('$') == text.npos;
  }

  std::string simple() {
    const unsigned kind = random_.below(100);
    if (kind < 26) return expand(pick(kInteger));
    if (kind < 38) return expand(pick(kBits));
    if (kind < 62) return expand(pick(kFloat));
    if (kind < 78) return expand(pick(kConvert));
    return expand(pick(kCompare));
  }

  // The same with a guard before every instruction of it.
  std::string guarded(const std::string& text) {
    const std::string guard = std::string(random_.chance(50) ? "@" : "@!") + "%q6 ";
    std::string out = "not.pred %q6, " + reg('p', kPreds) + ";\n";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find(';', at);
      if (end == text.npos) break;
      std::size_t begin = at;
      while (text[begin] == ' ' || text[begin] == '\n') ++begin;
      out += guard + text.substr(begin, end - begin) + ";\n";
      at = end + 1;
    }
    return out;
  }

  void statement(unsigned depth) {
    const unsigned kind = random_.below(100);
    const std::string mask = "%m" + std::to_string(depth);
    if (kind < 52) return append(random_.chance(20) ? guarded(simple()) : simple());
    if (kind < 62) return append(expand(pick(kMemory)));
    if (kind < 72) return append(expand(pick(kWarp), mask));
    if (kind < 84) {
      if (depth > 0) return append(expand(pick(kWarp), mask));
      if (random_.chance(45) && is_whole_) return append(expand(pick(kShuffle)));
      // `bar` is for warps whose lanes stand together, which ptxas does not see to after a branch.
      return append("bar.warp.sync %m0;\n" + expand(pick(kBlock)));
    }
    if (kind < 88 && callees_ > 0) return call();
    if (depth == kMaxDepth) return append(simple());
    if (kind < 94) return branch(depth);
    if (kind < 98) return loop(depth);
    // Deeper ones ptxas refuses now and then.
    return depth == 0 ? table(depth) : branch(depth);
  }
  void append(const std::string& text) { out_ += text; }

  void body(unsigned depth) {
    const unsigned statements = 1 + random_.below(5);
    for (unsigned i = 0; i < statements; ++i) statement(depth);
  }

  void branch(unsigned depth) {
    const std::string id = std::to_string(labels_++), p = reg('p', kPreds);
    const std::string mask = "%m" + std::to_string(depth), inner = "%m" + std::to_string(depth + 1);
    // The condition is kept: the branches may write its register, and so may inner ones this.
    line("vote.sync.ballot.b32 " + inner + ", " + p + ", " + mask + ";");
    line("@!" + p + " bra ELSE" + id + ";");
    body(depth + 1);
    line("bra.uni JOIN" + id + ";");
    line("ELSE" + id + ":");
    line("xor.b32 " + inner + ", " + inner + ", " + mask + ";");
    if (random_.chance(70)) body(depth + 1);
    line("JOIN" + id + ":");
  }

  // Up to four rounds, as many as a register of each lane says.
  void loop(unsigned depth) {
    const std::string id = std::to_string(labels_++), count = "%cnt" + std::to_string(depth);
    const std::string mask = "%m" + std::to_string(depth), inner = "%m" + std::to_string(depth + 1);
    line("and.b32 " + count + ", " + reg('r', kWords) + ", 3;");
    line("mov.b32 " + inner + ", " + mask + ";");
    line("LOOP" + id + ":");
    body(depth + 1);
    line("setp.ne.u32 %q5, " + count + ", 0;");
    line("vote.sync.ballot.b32 " + inner + ", %q5, " + inner + ";");
    line("sub.u32 " + count + ", " + count + ", 1;");
    line("@%q5 bra LOOP" + id + ";");
  }

  // An indexed branch to one of three places.
  void table(unsigned depth) {
    const std::string id = std::to_string(labels_++), mask = "%m" + std::to_string(depth);
    const std::string inner = "%m" + std::to_string(depth + 1);
    line("rem.u32 %t0, " + reg('r', kWords) + ", 3;");
    line("match.any.sync.b32 " + inner + ", %t0, " + mask + ";");
    line("TABLE" + id + ": .branchtargets CASE_A" + id + ", CASE_B" + id + ", CASE_C" + id + ";");
    line("brx.idx %t0, TABLE" + id + ";");
    // ptxas takes `A7` for no label.
    for (const char* place : {"CASE_A", "CASE_B", "CASE_C"}) {
      line(place + id + ":");
      append(random_.chance(50) ? simple() : expand(pick(kWarp), inner));
      line("bra JOIN" + id + ";");
    }
    line("JOIN" + id + ":");
  }

  // -- Functions: (a, b, c) -> r, of two words and a long; one calls itself a few times. ------------------------------
  std::string function_name(unsigned index) const { return "f" + std::to_string(seed_) + "_" + std::to_string(index); }

  std::string function(unsigned index) {
    const std::string name = function_name(index);
    const std::string saved = std::exchange(out_, {});
    const bool is_recursive = random_.chance(40);
    line(".func (.param .b32 r) " + name + "(.param .b32 a, .param .b32 b, .param .b64 c) {");
    out_ += registers();
    set_up_values("%r10", "%x3", "ld.param.b32 %r10, [a];\nld.param.b32 %r11, [b];\nld.param.b64 %x3, [c];\n");
    line("mov.b32 %r0, %r11;");
    const unsigned count = 2 + random_.below(6);
    for (unsigned i = 0; i < count; ++i) append(random_.chance(25) ? guarded(simple()) : simple());
    if (random_.chance(50)) {
      const std::string p = reg('p', kPreds);
      line("st.param.b32 [r], " + reg('r', kWords) + ";");
      line("@" + p + " ret;");
      append(simple());
    }
    if (is_recursive) {
      // The lowest two bits of `b` count down.
      line(
          "ld.param.b32 %t0, [b];\nand.b32 %t0, %t0, 3;\nsetp.eq.u32 %q4, %t0, 0;\n@%q4 bra LEAF;\nsub.u32 %t0, %t0, "
          "1;");
      line("{\n.param .b32 x, y, z;\n.param .b64 w;\nst.param.b32 [x], " + reg('r', kWords) +
           ";\nst.param.b32 [y], %t0;\nst.param.b64 [w], " + reg('x', kLongs) + ";\ncall (z), " + name +
           ", (x, y, w);\nld.param.b32 %t1, [z];\n}");
      line("mad.lo.u32 " + reg('r', kWords) + ", %t1, 3, " + reg('r', kWords) + ";\nLEAF:");
    }
    line("st.param.b32 [r], " + reg('r', kWords) + ";\nret;\n}");
    return std::exchange(out_, saved);
  }

  void call() {
    const std::string id = std::to_string(labels_++);
    const std::string arguments = "st.param.b32 [x], " + reg('r', kWords) + ";\nst.param.b32 [y], " + reg('r', kWords) +
                                  ";\nst.param.b64 [w], " + reg('x', kLongs) + ";\n";
    const unsigned first = random_.below(callees_), second = random_.below(callees_);
    line("{\n.param .b32 x, y, z;\n.param .b64 w;\n" + arguments);
    if (random_.chance(60)) {
      line("call (z), " + function_name(first) + ", (x, y, w);");
    } else {
      line("mov.u64 %u0, " + function_name(first) + ";\nmov.u64 %u1, " + function_name(second) +
           ";\nselp.b64 %u0, %u0, %u1, " + reg('p', kPreds) + ";");
      line("P" + id + ": .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b64 _);");
      line("call (z), %u0, (x, y, w), P" + id + ";");
    }
    line("ld.param.b32 " + reg('r', kWords) + ", [z];\n}");
  }

  // Gives every register a value that depends on a word and a long.
  void set_up_values(const std::string& word, const std::string& wide, const std::string& loads) {
    append(loads);
    for (unsigned i = 0; i < 10; ++i) {
      line("mad.lo.u32 %r" + std::to_string(i) + ", " + word + ", " + hex(random_.next() >> 40 | 1) + ", " +
           hex(random_.next() >> 32) + ";");
    }
    for (unsigned i = 0; i < kLongs; ++i) {
      if (i != 3) line("mad.lo.u64 %x" + std::to_string(i) + ", " + wide + ", " + hex(random_.next() | 1) + ", 77;");
    }
    for (unsigned i = 0; i < kHalves; ++i) {
      line("cvt.u16.u32 %h" + std::to_string(i) + ", %r" + std::to_string(i) + ";");
    }
    for (unsigned i = 0; i < kPreds; ++i) {
      line("setp.gt.s32 %p" + std::to_string(i) + ", %r" + std::to_string(i) + ", 0;");
    }
    clear_temporaries();
  }

  void clear_temporaries() {
    for (unsigned i = 0; i < 8; ++i)
      line("mov.b32 %t" + std::to_string(i) + ", 0; mov.b64 %u" + std::to_string(i) + ", 0;");
    for (unsigned i = 0; i < 4; ++i) line("mov.b16 %v" + std::to_string(i) + ", 0;");
    for (unsigned i = 0; i < 8; ++i) line("setp.ne.u32 %q" + std::to_string(i) + ", %t0, 0;");
  }

  void prologue() {
    append(
        "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %own, %tid.x;\nmov.u32 %tile, shared;\n"
        "mov.u32 %loc, local;\nmov.u32 %size, %ntid.x;\nmov.u32 %t0, %ctaid.x;\nmad.lo.u32 %t0, %t0, %size, %own;\n");
    line("mad.wide.u32 %out, %t0, " + std::to_string(4 * kWordsPerThread) + ", %out;");
    line("add.u64 %scratch, %out, " + std::to_string(4 * (kWordsPerThread - 4)) + ";");
    // The lanes of the warp: 32, or what is left of the block.
    append("and.b32 %n, %own, 0xffffffe0;\nsub.u32 %n, %size, %n;\nmin.u32 %n, %n, 32;\nbmsk.clamp.b32 %m0, 0, %n;\n");
    line("mul.lo.u32 %t1, %t0, 37;");
    for (unsigned i = 0; i < kWords; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4095; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b32 %r" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kLongs; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4094; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b64 %x" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kHalves; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4095; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b16 %h" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kPreds; ++i) {
      line("setp.lt.s32 %p" + std::to_string(i) + ", %r" + std::to_string(i) + ", %r" + std::to_string(i + 1) + ";");
    }
    for (unsigned i = 0; i < kLocalWords; ++i) {
      line("st.local.b32 [%loc+" + std::to_string(4 * i) + "], %r" + std::to_string(i % kWords) + ";");
    }
    clear_temporaries();
  }

  void epilogue() {
    unsigned at = 0;
    const auto store = [&](const std::string& type, const std::string& value, unsigned size) {
      line("st.global." + type + " [%out+" + std::to_string(at) + "], " + value + ";");
      at += size;
    };
    for (unsigned i = 0; i < kWords; ++i) store("b32", "%r" + std::to_string(i), 4);
    for (unsigned i = 0; i < kLongs; ++i) store("b64", "%x" + std::to_string(i), 8);
    for (unsigned i = 0; i < kHalves; ++i) store("b16", "%h" + std::to_string(i), 2);
    line("mov.b32 %t0, 0;");
    for (unsigned i = 0; i < kPreds; ++i) {
      line("selp.b32 %t1, " + std::to_string(1u << i) + ", 0, %p" + std::to_string(i) + "; or.b32 %t0, %t0, %t1;");
    }
    at = (at + 3) / 4 * 4;
    store("b32", "%t0", 4);
    for (unsigned i = 0; i < 6; ++i) {
      line("ld.local.b32 %t0, [%loc+" + std::to_string(8 * i) + "];");
      store("b32", "%t0", 4);
    }
    line("ret;");
  }

  Random random_;
  std::uint64_t seed_;
  std::string out_;
  unsigned labels_ = 0, temporaries_ = 0, callees_ = 0;
  bool is_whole_ = true;
};

}  // namespace

Program make(std::uint64_t seed) { return Writer(seed).write(); }

std::string header() {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n// " + std::to_string(kBlocks) + " blocks, " +
         std::to_string(kWordsPerThread) + " words a thread\n";
}

std::vector<std::uint32_t> inputs() {
  static constexpr std::uint32_t kFloats[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                              0x3f800000, 0xbf800000, 0x33800000, 0x7f7fffff, 0x7f800000, 0xff800000,
                                              0x7fc00000, 0x7f800001, 0xffc12345, 0x40490fdb};
  static constexpr std::uint32_t kHalfs[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                                             0x1000, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3f80, 0xff80, 0x4248};
  Random random(0x706c756d62);
  std::vector<std::uint32_t> out;
  for (unsigned i = 0; i < kInWords; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next() >> 32);
    switch (random.below(8)) {
      case 0:
        out.push_back(kFloats[bits % 16]);
        break;
      case 1:
        out.push_back(kHalfs[bits % 16] << 16 | kHalfs[bits / 16 % 16]);
        break;
      case 2:
        out.push_back(bits % 512 - 256);
        break;
      case 3:
      case 4:  // an f32 near 1
        out.push_back((bits & 0x81ffffff) | 0x3e000000);
        break;
      case 5:  // the upper half of an f64 near 1, two f16 near 1
        out.push_back(bits % 2 == 0 ? (bits & 0x800fffff) | 0x3ff00000 : (bits & 0x83ff83ff) | 0x3c003800);
        break;
      default:
        out.push_back(bits);
    }
  }
  return out;
}

std::uint32_t checksum(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int k = 0; k < 8; ++k) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t checksum(const std::vector<std::uint32_t>& words) {
  return checksum(std::string_view(reinterpret_cast<const char*>(words.data()), 4 * words.size()));
}

}  // namespace plumb::random_program
