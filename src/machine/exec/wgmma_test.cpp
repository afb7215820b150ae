// SPDX-License-Identifier: Apache-2.0
// wgmma against plain matrix products of small integers, which every format holds exactly. Where an element lies in
// shared memory and in registers is written here apart from the meaning, as the manual's layouts say: a core matrix is
// eight rows of 16 bytes; a swizzled atom is eight rows of 32, 64 or 128 bytes whose 16-byte units are exchanged.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

using test::Kernel;
using test::Ran;

std::uint32_t bits_of_small(int x, unsigned mantissa, int bias, unsigned width) {
  if (x == 0) return 0;
  const std::uint32_t sign = x < 0 ? 1u << (width - 1) : 0;
  const int magnitude = std::abs(x);
  int exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  const auto fraction = static_cast<std::uint32_t>(magnitude - (1 << exponent)) << mantissa >> exponent;
  return sign | static_cast<std::uint32_t>(exponent + bias) << mantissa | fraction;
}

struct Type {
  const char* name;
  unsigned bytes;
  unsigned mantissa;  // 0: an integer
  int bias;
  std::uint32_t encode(int x) const {
    return mantissa == 0 ? static_cast<std::uint32_t>(x) & 0xff : bits_of_small(x, mantissa, bias, 8 * bytes);
  }
};
constexpr Type kF16{"f16", 2, 10, 15}, kBF16{"bf16", 2, 7, 127}, kTf32{"tf32", 4, 23, 127}, kE4M3{"e4m3", 1, 3, 7},
    kE5M2{"e5m2", 1, 2, 15}, kS8{"s8", 1, 0, 0}, kU8{"u8", 1, 0, 0};

struct Case {
  Type a, b;
  const char* sum;  // "f32", "f16", "s32"
  unsigned n;
  unsigned swizzle;  // bytes of a row: 16 (none), 32, 64, 128
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
  int scale_a = 1, scale_b = 1;
  bool adds = true;
  unsigned repeats = 1;  // products that follow each other on the accumulators
};

// Byte offset of an element of an operand tile from the tile's start, which lies at a multiple of 1024: `line` runs
// over M or N, `k` over K. The strides are those that the descriptor below gives.
struct Placement {
  unsigned swizzle;
  bool transposed;
  unsigned bytes;
  unsigned leading, stride;
};
unsigned offset_of(const Placement& p, unsigned line, unsigned k) {
  unsigned at = 0;
  const unsigned per_row = p.swizzle / p.bytes;
  if (!p.transposed) {
    const unsigned along = k * p.bytes;
    at = line / 8 * p.stride + line % 8 * p.swizzle + (p.swizzle == 16 ? along / 16 * p.leading + along % 16 : along);
  } else if (p.swizzle == 16) {
    at = line / per_row * p.stride + line % per_row * p.bytes + k / 8 * p.leading + k % 8 * 16;
  } else {
    at = line / per_row * p.leading + line % per_row * p.bytes + k / 8 * p.stride + k % 8 * p.swizzle;
  }
  // Rows of 128 bytes: unit u of row r goes to u xor r; narrower atoms look at every second or fourth row.
  const unsigned row128 = at / 128 % 8;
  if (p.swizzle == 128) at ^= row128 << 4;
  if (p.swizzle == 64) at ^= (row128 & 3) << 4;
  if (p.swizzle == 32) at ^= (row128 & 1) << 4;
  return at;
}
Placement placement_of(const Case& c, unsigned bytes, bool transposed, unsigned lines, unsigned k) {
  Placement p{c.swizzle, transposed, bytes, 0, 0};
  if (!transposed) {
    p.stride = 8 * c.swizzle;
    p.leading = c.swizzle == 16 ? p.stride * ((lines + 7) / 8) : 16;
    if (c.swizzle != 16 && k * bytes > c.swizzle) ADD_FAILURE() << "the test places no such tile";
  } else if (c.swizzle == 16) {
    p.leading = 128;
    p.stride = 128 * (k / 8);
  } else {
    p.stride = 8 * c.swizzle;
    p.leading = p.stride * (k / 8);
  }
  return p;
}
std::string descriptor(const Placement& p, unsigned start) {
  const std::uint64_t code = p.swizzle == 128 ? 1 : p.swizzle == 64 ? 2 : p.swizzle == 32 ? 3 : 0;
  return std::to_string(code << 62 | std::uint64_t{p.stride / 16} << 32 | std::uint64_t{p.leading / 16} << 16 |
                        start / 16);
}

constexpr unsigned kAStart = 0, kBStart = 32768, kShared = 98304;

std::string list(const char* prefix, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i == 0 ? "%" : ", %") + std::string(prefix) + std::to_string(i);
  return out + "}";
}

struct Problem {
  Kernel kernel;
  std::vector<std::int64_t> expected;  // [64 * n]
};

unsigned k_of(const Case& c) { return 32 / c.a.bytes; }
unsigned results_of(const Case& c) { return std::string(c.sum) == "f16" ? c.n / 4 : c.n / 2; }

// in: the image of shared memory, then A's registers (thread by thread), then the accumulators (likewise).
Problem make(const Case& c, unsigned seed) {
  const unsigned k = k_of(c), results = results_of(c);
  std::mt19937 random(seed);
  const bool is_signed_a = c.a.name[0] != 'u', is_signed_b = c.b.name[0] != 'u';
  const auto draw = [&](bool is_signed) { return static_cast<int>(random() % 7) - (is_signed ? 3 : 0); };
  std::vector<int> a(64 * k), b(k * c.n);
  for (int& x : a) x = draw(is_signed_a);
  for (int& x : b) x = draw(is_signed_b);
  std::vector<std::uint8_t> image(kShared, 0);
  const auto put = [&](const Placement& p, const Type& t, unsigned start, unsigned line, unsigned i, int x) {
    const std::uint32_t bits = t.encode(x);
    std::memcpy(image.data() + start + offset_of(p, line, i), &bits, t.bytes);
  };
  const Placement at_a = placement_of(c, c.a.bytes, c.a_transposed, 64, k);
  const Placement at_b = placement_of(c, c.b.bytes, c.b_transposed, c.n, k);
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned j = 0; j < k; ++j) put(at_a, c.a, kAStart, i, j, a[i * k + j]);
  }
  for (unsigned i = 0; i < c.n; ++i) {
    for (unsigned j = 0; j < k; ++j) put(at_b, c.b, kBStart, i, j, b[j * c.n + i]);
  }
  Problem problem;
  problem.kernel.in.resize(kShared / 4);
  std::memcpy(problem.kernel.in.data(), image.data(), kShared);
  // A's fragment: thread g * 4 + t of warp w; register r holds row 16w + g + 8 (r mod 2) and 4 / bytes elements of k.
  const unsigned per = 4 / c.a.bytes;
  for (unsigned thread = 0; thread < 128; ++thread) {
    const unsigned w = thread / 32, g = thread % 32 / 4, t = thread % 4;
    for (unsigned r = 0; r < 4; ++r) {
      std::uint32_t word = 0;
      for (unsigned i = 0; i < per; ++i) {
        const unsigned row = 16 * w + g + 8 * (r % 2), column = t * per + i + k / 2 * (r / 2);
        word |= c.a.encode(a[row * k + column]) << (8 * c.a.bytes * i);
      }
      problem.kernel.in.push_back(word);
    }
  }
  std::vector<std::int64_t> sums(64 * c.n);
  for (std::int64_t& x : sums) x = draw(true);
  const bool is_packed = std::string(c.sum) == "f16", is_int = std::string(c.sum) == "s32";
  const auto place = [&](unsigned thread, unsigned i) {
    return (16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2)) * c.n + 8 * (i / 4) + 2 * (thread % 4) + i % 2;
  };
  const auto encode = [&](std::int64_t x) {
    return is_int      ? static_cast<std::uint32_t>(x)
           : is_packed ? bits_of_small(static_cast<int>(x), 10, 15, 16)
                       : bits_of_small(static_cast<int>(x), 23, 127, 32);
  };
  for (unsigned thread = 0; thread < 128; ++thread) {
    for (unsigned r = 0; r < results; ++r) {
      problem.kernel.in.push_back(is_packed ? encode(sums[place(thread, 2 * r)]) |
                                                  encode(sums[place(thread, 2 * r + 1)]) << 16
                                            : encode(sums[place(thread, r)]));
    }
  }
  std::vector<std::int64_t> full(64 * c.n);
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned j = 0; j < c.n; ++j) {
      std::int64_t dot = 0;
      for (unsigned l = 0; l < k; ++l) dot += a[i * k + l] * b[l * c.n + j];
      full[i * c.n + j] = (c.adds ? sums[i * c.n + j] : 0) + dot * c.scale_a * c.scale_b * (c.adds ? c.repeats : 1);
    }
  }
  for (unsigned thread = 0; thread < 128; ++thread) {
    for (unsigned r = 0; r < results; ++r) {
      problem.expected.push_back(is_packed
                                     ? encode(full[place(thread, 2 * r)]) | encode(full[place(thread, 2 * r + 1)]) << 16
                                     : encode(full[place(thread, r)]));
    }
  }
  Kernel& kernel = problem.kernel;
  kernel.block = {128, 1, 1};
  kernel.target = "sm_90a";
  kernel.out_words = 128 * results;
  kernel.dynamic_shared = kShared;
  kernel.before = ".extern .shared .align 1024 .b8 tile[];\n";
  const std::string after = std::to_string(kShared), a_words = std::to_string(kShared + 128 * 16);
  std::string body = ".reg .b32 %a<4>, %d<" + std::to_string(results) + ">;\n";
  body +=
      "mov.u32 %r0, tile;\nmov.u32 %r1, %t;\nCOPY:\nmul.wide.u32 %rd0, %r1, 4;\nadd.u64 %rd0, %rd0, %in;\n"
      "ld.global.b32 %r2, [%rd0];\nmad.lo.u32 %r3, %r1, 4, %r0;\nst.shared.b32 [%r3], %r2;\nadd.u32 %r1, %r1, 128;\n"
      "setp.lt.u32 %p0, %r1, " +
      std::to_string(kShared / 4) +
      ";\n@%p0 bra COPY;\n"
      "fence.proxy.async;\nbar.sync 0;\n";
  body += "mad.wide.u32 %rd1, %t, 16, %in;\nld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd1+" + after + "];\n";
  body += "mad.wide.u32 %rd2, %t, " + std::to_string(4 * results) + ", %in;\n";
  for (unsigned r = 0; r < results; ++r) {
    body += "ld.global.b32 %d" + std::to_string(r) + ", [%rd2+" + std::to_string(kShared + 128 * 16 + 4 * r) + "];\n";
  }
  body += "setp.ne.u32 %p1, 0, " + std::string(c.adds ? "1" : "0") + ";\n";
  body += "mov.b64 %rd3, " + descriptor(at_a, kAStart) + ";\nmov.b64 %rd4, " + descriptor(at_b, kBStart) + ";\n";
  body += "wgmma.fence.sync.aligned;\n";
  for (unsigned i = 0; i < c.repeats; ++i) {
    body += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(c.n) + "k" + std::to_string(k) + "." + c.sum + "." +
            c.a.name + "." + c.b.name + " " + list("d", results) + ", " + (c.a_in_registers ? list("a", 4) : "%rd3") +
            ", %rd4, %p1";
    if (!is_int) body += ", " + std::to_string(c.scale_a) + ", " + std::to_string(c.scale_b);
    if (c.a.bytes == 2) {
      if (!c.a_in_registers) body += c.a_transposed ? ", 1" : ", 0";
      body += c.b_transposed ? ", 1" : ", 0";
    }
    body += ";\n";
  }
  body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  body += "mad.wide.u32 %rd5, %t, " + std::to_string(4 * results) + ", %out;\n";
  for (unsigned r = 0; r < results; ++r) {
    body += "st.global.b32 [%rd5+" + std::to_string(4 * r) + "], %d" + std::to_string(r) + ";\n";
  }
  kernel.body = body;
  return problem;
}

std::string text_of(const Case& c) {
  return std::string("m64n") + std::to_string(c.n) + "." + c.sum + "." + c.a.name + "." + c.b.name + " swizzle " +
         std::to_string(c.swizzle) + (c.a_in_registers ? " A in registers" : "") +
         (c.a_transposed ? " A transposed" : "") + (c.b_transposed ? " B transposed" : "");
}

void check(const Case& c, unsigned seed) {
  const Problem problem = make(c, seed);
  for (const bool is_field : {false, true}) {
    const Ran ran = is_field ? test::run_field(problem.kernel) : test::run(problem.kernel);
    ASSERT_FALSE(ran.result.stop) << text_of(c) << ": " << ran.message() << " at " << ran.place();
    if (is_field && std::string(c.sum) != "s32") continue;  // floats are abstract there: prove's tests compare them
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < problem.expected.size(); ++i) wrong += ran.out[i] != problem.expected[i] ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << text_of(c) << " of " << problem.expected.size();
  }
}

TEST(Wgmma, MultipliesEverySwizzleAndMajor) {
  unsigned seed = 1;
  for (const unsigned swizzle : {16U, 32U, 64U, 128U}) {
    check({kF16, kF16, "f32", 64, swizzle}, seed++);
    check({kBF16, kBF16, "f32", 24, swizzle, true}, seed++);
    if (swizzle != 32 || true) check({kF16, kF16, "f32", 64, swizzle, false, true, true}, seed++);
    check({kF16, kF16, "f16", 128, swizzle, false, false, true}, seed++);
    check({kBF16, kBF16, "f32", 64, swizzle, true, false, true}, seed++);
    check({kTf32, kTf32, "f32", 40, swizzle}, seed++);
    check({kE4M3, kE5M2, "f32", 16, swizzle}, seed++);
    check({kS8, kU8, "s32", 32, swizzle}, seed++);
  }
}

TEST(Wgmma, MultipliesEveryType) {
  unsigned seed = 100;
  check({kTf32, kTf32, "f32", 8, 32, true}, seed++);
  check({kE4M3, kE4M3, "f16", 8, 128, true}, seed++);
  check({kE5M2, kE4M3, "f32", 256, 64, true}, seed++);
  check({kF16, kF16, "f16", 8, 128, true}, seed++);
  check({kU8, kS8, "s32", 48, 128, true}, seed++);
  check({kU8, kU8, "s32", 256, 16}, seed++);
  check({kS8, kS8, "s32", 8, 64}, seed++);
}

TEST(Wgmma, ScalesAndChains) {
  check({kF16, kF16, "f32", 16, 128, false, false, false, -1, 1}, 200);
  check({kF16, kF16, "f32", 16, 128, true, false, false, -1, -1}, 201);
  check({kE4M3, kE4M3, "f32", 16, 128, false, false, false, 1, -1}, 202);
  check({kF16, kF16, "f32", 16, 128, false, false, false, 1, 1, false}, 203);
  check({kS8, kS8, "s32", 16, 128, false, false, false, 1, 1, false}, 204);
  check({kBF16, kBF16, "f32", 16, 128, false, false, false, 1, 1, true, 3}, 205);
  check({kS8, kS8, "s32", 16, 64, true, false, false, 1, 1, true, 2}, 206);
}

// On abstract data wgmma and mma.sync make the same values of the same fragments, plain and negated.
TEST(Wgmma, EqualsMmaOnAbstractData) {
  for (const bool is_negated : {false, true}) {
    // in: A [64][16], then B by columns [8][16]. B's core matrices: eight columns of 16 bytes, 128 bytes apart along K.
    std::string body =
        ".reg .b32 %a<4>, %n<4>, %b<2>;\n.reg .f32 %d<4>, %e<4>;\n"
        "mov.u32 %r0, tile;\nadd.u64 %rd1, %in, 2048;\nsetp.ge.u32 %p0, %t, 64;\n@%p0 bra FILLED;\n"
        "mad.wide.u32 %rd2, %t, 4, %rd1;\nld.global.b32 %r1, [%rd2];\nshr.u32 %r2, %t, 3;\nand.b32 %r3, %t, 7;\n"
        "shr.u32 %r4, %r3, 2;\nand.b32 %r3, %r3, 3;\nmad.lo.u32 %r0, %r2, 16, %r0;\nmad.lo.u32 %r0, %r4, 128, %r0;\n"
        "mad.lo.u32 %r0, %r3, 4, %r0;\nst.shared.b32 [%r0], %r1;\nFILLED:\nfence.proxy.async;\nbar.sync 0;\n"
        "shr.u32 %r5, %t, 5;\nand.b32 %r6, %t, 31;\nshr.u32 %r7, %r6, 2;\nand.b32 %r8, %r6, 3;\n"
        "mad.lo.u32 %r9, %r5, 16, %r7;\nmad.lo.u32 %r9, %r9, 8, %r8;\nmad.wide.u32 %rd3, %r9, 4, %in;\n"
        "ld.global.b32 %a0, [%rd3];\nld.global.b32 %a1, [%rd3+256];\nld.global.b32 %a2, [%rd3+16];\n"
        "ld.global.b32 %a3, [%rd3+272];\nmad.lo.u32 %r9, %r7, 8, %r8;\nmad.wide.u32 %rd4, %r9, 4, %rd1;\n"
        "ld.global.b32 %b0, [%rd4];\nld.global.b32 %b1, [%rd4+16];\n";
    for (const char* i : {"0", "1", "2", "3"}) {
      body += std::string("mov.f32 %d") + i + ", 0f00000000;\nmov.f32 %e" + i + ", 0f00000000;\n";
      body += std::string(is_negated ? "neg.bf16x2" : "mov.b32") + " %n" + i + ", %a" + i + ";\n";
    }
    const std::string product =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %rd5, %p1, " +
        std::string(is_negated ? "-1" : "1") + ", 1, 0;\n";
    const std::string step =
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%e0, %e1, %e2, %e3}, {%n0, %n1, %n2, %n3}, {%b0, %b1}, "
        "{%e0, %e1, %e2, %e3};\n";
    body += "mov.b64 %rd5, " + descriptor({16, false, 2, 128, 256}, 0) +
            ";\nsetp.eq.u32 %p1, 0, 0;\nwgmma.fence.sync.aligned;\n" + product + product +
            "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" + step + step +
            "mad.wide.u32 %rd6, %t, 32, %out;\nst.global.v4.f32 [%rd6], {%d0, %d1, %d2, %d3};\n"
            "st.global.v4.f32 [%rd6+16], {%e0, %e1, %e2, %e3};\n";
    Kernel kernel;
    kernel.body = body, kernel.target = "sm_90a", kernel.before = ".shared .align 1024 .b8 tile[1024];\n";
    Findings findings;
    const auto module = ptx::load(std::make_shared<Source>("kernel.ptx", test::kernel_text(kernel)), findings);
    ASSERT_TRUE(module) << render(findings, false);
    const auto program = Program<domain::Field>::decode(*module, "k", findings);
    domain::FieldContext context({.seed = 5});
    domain::Field field(context);
    domain::Memory memory(true);
    domain::Buffer& in = memory.add("in", 2304, domain::Init::Abstract, domain::Format::BF16);
    domain::Buffer& out = memory.add("out", 4096, domain::Init::Undefined, domain::Format::F32);
    Launch launch;
    launch.entry = "k", launch.block.x = 128, launch.params.resize(16);
    std::memcpy(launch.params.data(), &in.address, 8);
    std::memcpy(launch.params.data() + 8, &out.address, 8);
    const Result result = program->run(launch, {&field}, memory, {.workers = 1});
    ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
    const auto value = [&](std::uint64_t offset) {
      std::byte bytes[4];
      domain::Word word;
      field.load(out, offset, 4, bytes, word.tags);
      std::memcpy(&word.bits, bytes, 4);
      return field.from_word(domain::Format::F32, word);
    };
    for (unsigned i = 0; i < 512; ++i) {
      const std::uint64_t at = i / 4 * 32 + i % 4 * 4;
      EXPECT_EQ(field.compare_outputs(domain::Format::F32, value(at), value(at + 16)), domain::Comparison::Equal) << i;
      const std::uint64_t other = (i / 4 + 1) % 128 * 32 + i % 4 * 4;
      EXPECT_NE(field.compare_outputs(domain::Format::F32, value(at), value(other)), domain::Comparison::Equal) << i;
    }
  }
}

TEST(Wgmma, LeavesTheSameUnderEverySchedule) {
  Problem problem = make({kBF16, kBF16, "f32", 16, 128, true, false, false, 1, 1, true, 3}, 300);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    problem.kernel.options.schedule = seed;
    const Ran ran = test::run(problem.kernel);
    ASSERT_FALSE(ran.result.stop) << ran.message();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < problem.expected.size(); ++i) wrong += ran.out[i] != problem.expected[i] ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << "seed " << seed;
  }
}

// What a checker hears of products, each as 'i' (issued by a warp) or 'w' (waited for) in the order of the calls.
class ProductLog : public test::QuietObserver {
 public:
  struct Event {
    char kind;
    std::uint64_t id;
    std::uint32_t warp;
    std::size_t pieces;
  };
  explicit ProductLog(std::vector<Event>& events) : events_(events) {}
  void product_issued(std::uint64_t id, std::uint32_t, WarpMask who, std::span<const std::uint32_t> a,
                      std::span<const std::uint32_t> b) override {
    events_.push_back({'i', id, who.warp, a.size() + b.size()});
  }
  void product_waited(std::uint64_t id, WarpMask who) override { events_.push_back({'w', id, who.warp, 0}); }

 private:
  std::vector<Event>& events_;
};

// The last warp to issue a product ends the wait of the others, and with it the product.
TEST(Wgmma, TellsOfAProductBeforeAnyWaitForItEnds) {
  Problem problem = make({kF16, kF16, "f32", 8, 128}, 1);
  std::vector<ProductLog::Event> events;
  problem.kernel.options.observe = [&](std::uint64_t) { return std::make_unique<ProductLog>(events); };
  const Ran ran = test::run(problem.kernel);
  ASSERT_FALSE(ran.result.stop) << ran.message();
  ASSERT_EQ(events.size(), 8U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].kind, i < 4 ? 'i' : 'w') << i;
    if (i < 4) {
      EXPECT_EQ(events[i].pieces, 64U * 16 * 2 / 16 + 8U * 16 * 2 / 16) << i;
    }
  }
}

// -- Misuse
// ---------------------------------------------------------------------------------------------------------
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no `" << from << "` in the kernel";
    return text;
  }
  return text.replace(at, from.size(), to);
}

Ran run_changed(const std::string& from, const std::string& to, bool a_in_registers = true) {
  Problem problem = make({kF16, kF16, "f32", 8, 128, a_in_registers}, 1);
  problem.kernel.body = replaced(problem.kernel.body, from, to);
  return test::run_both(problem.kernel);
}

constexpr const char* kCommit = "wgmma.commit_group.sync.aligned;\n";
constexpr const char* kWait = "wgmma.wait_group.sync.aligned 0;\n";
constexpr const char* kFence = "wgmma.fence.sync.aligned;\n";

TEST(Wgmma, ReportsAMissingFence) {
  EXPECT_EQ(run_changed(kFence, "").code(), "machine.wgmma-fence");
  const Ran touched = run_changed(kFence, std::string(kFence) + "mov.b32 %d3, 0;\n");
  EXPECT_EQ(touched.code(), "machine.wgmma-fence");
  ASSERT_EQ(touched.result.stop->finding.notes.size(), 1U);
  EXPECT_EQ(run_changed(kFence, std::string(kFence) + "mov.b32 %a1, 0;\n").code(), "machine.wgmma-fence");
  EXPECT_EQ(run_changed(kFence, std::string(kFence) + "add.u32 %r5, %d0, 1;\n").code(), "machine.wgmma-fence");
}

TEST(Wgmma, ReportsRegistersTouchedInFlight) {
  for (const char* touch :
       {"mov.b32 %d3, 0;\n", "add.u32 %r5, %d0, 1;\n", "mov.b32 %a1, 0;\n", "add.u32 %r5, %a0, 1;\n"}) {
    const Ran ran = run_changed(kCommit, std::string(kCommit) + touch);
    EXPECT_EQ(ran.code(), "machine.wgmma-in-flight") << touch;
    EXPECT_NE(ran.message().find("no `wgmma.wait_group` has covered it"), std::string::npos) << ran.message();
  }
  EXPECT_EQ(run_changed(kWait, "").code(), "machine.wgmma-in-flight");
  EXPECT_EQ(run_changed(kWait, "wgmma.wait_group.sync.aligned 1;\n").code(), "machine.wgmma-in-flight");
  const Ran uncommitted = run_changed(kCommit, "");
  EXPECT_EQ(uncommitted.code(), "machine.wgmma-in-flight");
  EXPECT_NE(uncommitted.message().find("no committed group"), std::string::npos) << uncommitted.message();
}

TEST(Wgmma, ReportsAPartialWarpgroup) {
  const Ran three = run_changed(kFence, "setp.ge.u32 %p2, %t, 96;\n@%p2 exit;\n" + std::string(kFence));
  EXPECT_EQ(three.code(), "machine.deadlock") << three.message();
  EXPECT_NE(three.message().find("not by 3"), std::string::npos) << three.message();
  Problem problem = make({kF16, kF16, "f32", 8, 128, true}, 1);
  problem.kernel.block = {96, 1, 1};
  EXPECT_EQ(test::run(problem.kernel).code(), "machine.warpgroup");
  // Half a warp.
  const Ran half = run_changed(kFence, "setp.ge.u32 %p2, %t, 112;\n@%p2 exit;\n" + std::string(kFence));
  EXPECT_EQ(half.code(), "machine.collective") << half.message();
}

TEST(Wgmma, ReportsOperandsThatDiffer) {
  // The fourth warp's descriptor of B is another one.
  EXPECT_EQ(run_changed(kFence, "setp.ge.u32 %p2, %t, 96;\n@%p2 add.u64 %rd4, %rd4, 2;\n" + std::string(kFence)).code(),
            "machine.warpgroup");
  EXPECT_EQ(
      run_changed(kFence, "setp.ge.u32 %p2, %t, 100;\n@%p2 add.u64 %rd4, %rd4, 2;\n" + std::string(kFence)).code(),
      "machine.warpgroup");
  EXPECT_EQ(run_changed(kFence, "setp.ge.u32 %p1, %t, 64;\n" + std::string(kFence)).code(), "machine.warpgroup");
}

TEST(Wgmma, ReportsBadDescriptors) {
  const Ran far = run_changed(kFence, "mov.b64 %rd4, 0x4000004000013fff;\n" + std::string(kFence));
  EXPECT_EQ(far.code(), "machine.matrix-descriptor");
  EXPECT_NE(far.message().find("of B"), std::string::npos) << far.message();
  const Ran blackwell = run_changed(kFence, "or.b64 %rd3, %rd3, 0x400000000000;\n" + std::string(kFence), false);
  EXPECT_EQ(blackwell.code(), "machine.matrix-descriptor");
  EXPECT_NE(blackwell.message().find("tcgen05"), std::string::npos) << blackwell.message();
}

// Operands are read when the wait lets the product take effect, not when it is issued.
TEST(Wgmma, ReadsSharedMemoryAtTheWait) {
  Problem problem = make({kF16, kF16, "f32", 8, 128, true}, 1);
  problem.kernel.body = replaced(problem.kernel.body, kCommit,
                                 std::string(kCommit) + "add.u32 %r4, %r0, " + std::to_string(kBStart) +
                                     ";\nmad.lo.u32 %r4, %t, 16, %r4;\nmov.b32 %r5, 0;\n"
                                     "st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5};\nbar.sync 0;\n");
  const Ran ran = test::run(problem.kernel);
  ASSERT_FALSE(ran.result.stop) << ran.message();
  const unsigned accumulators = kShared / 4 + 128 * 4;
  EXPECT_EQ(ran.out, std::vector<std::uint32_t>(problem.kernel.in.begin() + accumulators, problem.kernel.in.end()));
}

}  // namespace
}  // namespace plumb::machine
