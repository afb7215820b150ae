// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

// Fills shared memory with 16-bit elements: element e of the tiles (row-major, 8 columns) is e + 1.
const char* const kFill = R"(
    mov.u32 %r20, tile;
    mul.lo.u32 %r21, %t, 16;
    add.u32 %r22, %r20, %r21;
    mul.lo.u32 %r23, %t, 8;
    add.u32 %r24, %r23, 1;
    mov.u32 %r25, 0;
FILL:
    st.shared.u16 [%r22], %r24;
    add.u32 %r22, %r22, 2;
    add.u32 %r24, %r24, 1;
    add.u32 %r25, %r25, 1;
    setp.lt.u32 %p1, %r25, 8;
    @%p1 bra FILL;
    bar.sync 0;
    add.u32 %r26, %r20, %r21;
)";
const char* const kTile = ".shared .align 16 .b8 tile[512];\n";

std::uint32_t element(unsigned tile, unsigned row, unsigned column) { return tile * 64 + row * 8 + column + 1; }

TEST(Ldmatrix, GivesEachLaneTheElementsOfItsRowOrColumn) {
  for (const bool is_transposed : {false, true}) {
    const Ran ran =
        run_both({.body = std::string(kFill) + "ldmatrix.sync.aligned.m8n8.x4" + (is_transposed ? ".trans" : "") +
                          ".shared.b16 {%r1, %r2, %r3, %r4}, [%r26];\n"
                          "mad.wide.u32 %rd2, %t, 16, %out;\n"
                          "st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};",
                  .before = kTile,
                  .out_words = 128});
    ASSERT_EQ(ran.message(), "");
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned group = lane / 4, pair = lane % 4 * 2;
      for (unsigned tile = 0; tile < 4; ++tile) {
        const std::uint32_t low = is_transposed ? element(tile, pair, group) : element(tile, group, pair);
        const std::uint32_t high = is_transposed ? element(tile, pair + 1, group) : element(tile, group, pair + 1);
        EXPECT_EQ(ran.out[lane * 4 + tile], low | high << 16) << lane << " " << tile;
      }
    }
  }
}

TEST(Ldmatrix, IgnoresTheAddressesOfLanesWithoutARow) {
  const Ran ran =
      run_both({.body = std::string(kFill) + "setp.ge.u32 %p2, %t, 8;\nselp.b32 %r26, 0x7fffffff, %r26, %p2;\n"
                                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r26];\n"
                                             "st.global.u32 [%mine], %r1;",
                .before = kTile});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[5], element(0, 1, 2) | element(0, 1, 3) << 16);
}

TEST(Ldmatrix, AMisalignedRowIsFound) {
  const Ran ran = run_both(
      {.body = std::string(kFill) + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r26+8];", .before = kTile});
  EXPECT_EQ(ran.code(), "machine.misaligned");
}

TEST(Ldmatrix, MissingLanesAreFound) {
  const Ran ran = run_both({.body = std::string(kFill) + "setp.eq.u32 %p2, %t, 3;\n@%p2 exit;\n"
                                                         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r26];",
                            .before = kTile});
  EXPECT_EQ(ran.code(), "machine.collective");
}

TEST(Stmatrix, IsTheInverseOfLdmatrix) {
  const Ran ran = run_both({.body = std::string(kFill) + R"(
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r26];
    stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r26], {%r2, %r1};
    bar.sync 0;
    add.u32 %r5, %r20, %r21;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%mine], %r6;
  )",
                            .before = kTile,
                            .target = "sm_90"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned row = 0; row < 16; ++row) {
    const unsigned tile = row < 8 ? 1 : 0;
    EXPECT_EQ(ran.out[row], element(tile, row % 8, 0) | element(tile, row % 8, 1) << 16);
  }
}

TEST(Movmatrix, TransposesATile) {
  const Ran ran = run_both({.body = std::string(kFill) + R"(
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r26];
    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
    st.global.u32 [%mine], %r2;
  )",
                            .before = kTile});
  ASSERT_EQ(ran.message(), "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned group = lane / 4, pair = lane % 4 * 2;
    EXPECT_EQ(ran.out[lane], element(0, pair, group) | element(0, pair + 1, group) << 16);
  }
}

}  // namespace
}  // namespace plumb::machine::test
