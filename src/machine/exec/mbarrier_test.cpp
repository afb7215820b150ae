// SPDX-License-Identifier: Apache-2.0
#include "machine/mbarrier.h"

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

// Thread 0 runs `body` on the mbarrier `bar` (its address in %r1); %r20.. are free. Words go to %out.
Kernel one_thread(const std::string& body) {
  return {.body = "mov.u32 %r1, bar;\nsetp.ne.u32 %p7, %t, 0;\n@%p7 bra DONE;\n" + body + "\nDONE:\n",
          .before = ".shared .align 8 .b64 bar;\n.shared .align 8 .b64 other;\n",
          .target = "sm_90a"};
}

std::string mbarrier_word(const std::string& operations) {
  return operations + "\nmbarrier.inval.shared.b64 [%r1];\nld.shared.b64 %rd1, [%r1];\nst.global.b64 [%out], %rd1;";
}

std::uint64_t word_after(const std::string& operations) {
  const Ran ran = run_both(one_thread(mbarrier_word(operations)));
  EXPECT_EQ(ran.message(), "") << operations;
  return ran.out[0] | std::uint64_t{ran.out[1]} << 32;
}

// The words are those that an H200 leaves.
TEST(Mbarrier, ItsWordIsTheHardwares) {
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 1;"), 0x7FFFF800001FFFFEu);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 128;"), 0x7FFC0000001FFF00u);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 3;\nmbarrier.arrive.shared.b64 _, [%r1];"),
            0x7FFFF000001FFFFAu);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 2;\nmbarrier.expect_tx.shared.b64 [%r1], 16;"),
            0x7FFFF3FFFE1FFFFCu);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 2;\nmbarrier.complete_tx.shared.b64 [%r1], 16;"),
            0x7FFFF000021FFFFCu);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.arrive.shared.b64 _, [%r1];"),
            0xFFFFF800001FFFFEu);
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.arrive_drop.shared.b64 _, [%r1];"),
            0x8000000000000000u);
}

TEST(Mbarrier, AnIdleOneMayBeginAnew) {
  EXPECT_EQ(word_after("mbarrier.init.shared.b64 [%r1], 2;\nmbarrier.arrive.shared.b64 _, [%r1];\n"
                       "mbarrier.init.shared.b64 [%r1], 1;"),
            0x7FFFF800001FFFFEu);
}

// Each operation in turn, with what parity 0 and 1 then tell: bit 0 and bit 1 of a word.
std::vector<std::uint32_t> parities_after(const std::vector<std::string>& operations, std::uint32_t count) {
  std::string body = "mbarrier.init.shared.b64 [%r1], " + std::to_string(count) + ";\n";
  for (std::size_t i = 0; i < operations.size(); ++i) {
    body += operations[i] + R"(
      mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;
      mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 1;
      selp.b32 %r2, 1, 0, %p1;
      selp.b32 %r3, 2, 0, %p2;
      or.b32 %r2, %r2, %r3;
      st.global.b32 [%out+)" +
            std::to_string(4 * i) + "], %r2;\n";
  }
  const Ran ran = run_both(one_thread(body));
  EXPECT_EQ(ran.message(), "");
  return {ran.out.begin(), ran.out.begin() + static_cast<std::ptrdiff_t>(operations.size())};
}

TEST(Mbarrier, APhaseEndsWhenItsArrivalsAndItsBytesAreThere) {
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [%r1];";
  const std::string expect = "mbarrier.expect_tx.shared.b64 [%r1], 16;";
  const std::string complete = "mbarrier.complete_tx.shared.b64 [%r1], 16;";
  // A fresh barrier has completed the phase of parity 1.
  EXPECT_EQ(parities_after({"", arrive, arrive}, 1), (std::vector<std::uint32_t>{2, 1, 2}));
  EXPECT_EQ(parities_after({arrive, arrive, arrive}, 2), (std::vector<std::uint32_t>{2, 1, 1}));
  EXPECT_EQ(parities_after({expect, arrive, complete}, 1), (std::vector<std::uint32_t>{2, 2, 1}));
  EXPECT_EQ(parities_after({expect, complete, arrive}, 1), (std::vector<std::uint32_t>{2, 2, 1}));
  // Bytes may come before they are announced, and an announcement may be what ends the phase.
  EXPECT_EQ(parities_after({complete, arrive, expect}, 1), (std::vector<std::uint32_t>{2, 2, 1}));
  EXPECT_EQ(parities_after({"mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;", complete}, 1),
            (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(parities_after({"mbarrier.arrive.shared.b64 _, [%r1], 3;"}, 3), (std::vector<std::uint32_t>{1}));
}

TEST(Mbarrier, ADropLastsForThePhasesToCome) {
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [%r1];";
  EXPECT_EQ(parities_after({"mbarrier.arrive_drop.shared.b64 _, [%r1];", arrive, arrive, arrive}, 2),
            (std::vector<std::uint32_t>{2, 1, 2, 1}));
}

TEST(Mbarrier, ATokenStandsForItsPhase) {
  const Ran ran = run_both(one_thread(R"(
    mbarrier.init.shared.b64 [%r1], 2;
    mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1;
    mbarrier.pending_count.b64 %r2, %rd1;
    mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;
    mbarrier.arrive.shared.b64 %rd2, [%r1];
    mbarrier.pending_count.b64 %r3, %rd2;
    mbarrier.test_wait.shared.b64 %p2, [%r1], %rd1;
    mbarrier.try_wait.shared.b64 %p3, [%r1], %rd2;
    selp.b32 %r4, 1, 0, %p1;
    selp.b32 %r5, 1, 0, %p2;
    selp.b32 %r6, 1, 0, %p3;
    st.global.v4.b32 [%out], {%r2, %r3, %r4, %r5};
    st.global.b32 [%out+16], %r6;
  )"));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 5),
            (std::vector<std::uint32_t>{2, 1, 0, 1, 1}));
}

// What the hardware ends the kernel for, and what it does not define.
TEST(Mbarrier, WrongUsesAreFindings) {
  const std::string init = "mbarrier.init.shared.b64 [%r1], 1;\n";
  const std::string wrong[] = {
      "mbarrier.arrive.shared.b64 _, [%r1];",                         // not initialised
      "mbarrier.init.shared.b64 [%r1], 0;",                           // no arrivals
      "mov.u32 %r2, 1048576;\nmbarrier.init.shared.b64 [%r1], %r2;",  // too many
      init + "mbarrier.arrive.shared.b64 _, [%r1], 2;",               // above pending
      init + "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 8;\nmbarrier.arrive.shared.b64 _, [%r1];",
      init + "mov.u32 %r2, 1048576;\nmbarrier.expect_tx.shared.b64 [%r1], %r2;",  // too many bytes
      init +
          "mov.u32 %r2, 1048575;\nmbarrier.expect_tx.shared.b64 [%r1], %r2;\nmbarrier.expect_tx.shared.b64 [%r1], 1;",
      init + "mbarrier.arrive_drop.shared.b64 _, [%r1];\nmbarrier.arrive.shared.b64 _, [%r1];",
      init + "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1;",  // completes
      init + "mbarrier.inval.shared.b64 [%r1];\nmbarrier.arrive.shared.b64 _, [%r1];",
      init + "ld.shared.b32 %r2, [%r1];",  // plain accesses
      "mbarrier.init.shared.b64 [%r1], 2;\nmbarrier.arrive.shared.b64 _, [%r1];\nst.shared.b32 [%r1+4], 0;",  // in use
      init + "st.shared.b32 [%r1+4], 0;\nmbarrier.arrive.shared.b64 _, [%r1];",  // over with the store
      init + "atom.shared.add.u32 %r2, [%r1], 1;",
      // A token two phases old.
      init +
          "mbarrier.arrive.shared.b64 %rd1, [%r1];\nmbarrier.arrive.shared.b64 _, [%r1];\n"
          "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;",
  };
  for (const std::string& body : wrong) {
    const Ran ran = run_both(one_thread(body));
    EXPECT_EQ(ran.code(), "machine.mbarrier") << body << "\n" << ran.message();
  }
  EXPECT_EQ(run_both(one_thread(init + "st.shared.b32 [%r1+4], 0;")).code(), "");  // an idle one may be overwritten
  EXPECT_EQ(run_both(one_thread("mbarrier.init.shared.b64 [%r1+4], 1;")).code(), "machine.misaligned");
  EXPECT_EQ(run_both(one_thread("mbarrier.init.shared.b64 [%r1+16384], 1;")).code(), "machine.out-of-bounds");
  EXPECT_EQ(run_both(one_thread("mbarrier.init.b64 [%out], 1;")).code(), "machine.out-of-bounds");
}

TEST(Mbarrier, GenericAddressesReachIt) {
  const Ran ran = run_both(one_thread(R"(
    cvta.shared.u64 %rd1, bar;
    mbarrier.init.b64 [%rd1], 1;
    mbarrier.arrive.b64 %rd2, [%rd1];
    mbarrier.try_wait.b64 %p1, [%rd1], %rd2;
    selp.b32 %r2, 7, 0, %p1;
    st.global.b32 [%out], %r2;
  )"));
  EXPECT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 7u);
}

// Warp 0 waits; warp 1, after long work, writes and arrives with all its lanes.
std::string hand_over(const std::string& wait) {
  return R"(
    mov.u32 %r1, bar;
    setp.ne.u32 %p1, %t, 0;
    @!%p1 mbarrier.init.shared.b64 [%r1], 32;
    bar.sync 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra WORK;
  LOOP:
    )" + wait +
         R"(
    @!%p3 bra LOOP;
    ld.shared.b32 %r4, [data];
    st.global.b32 [%mine], %r4;
    bra END;
  WORK:
    mov.u32 %r5, 0;
  SPIN:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p4, %r5, 40000;
    @%p4 bra SPIN;
    st.shared.b32 [data], 77;
    mbarrier.arrive.shared.b64 _, [%r1];
  END:
  )";
}

TEST(Mbarrier, AWaitLastsUntilTheLastArrival) {
  for (const char* wait :
       {"mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;", "mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0, 100;",
        "mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 0;"}) {
    const Ran ran = run_both({.body = hand_over(wait),
                              .before = ".shared .align 8 .b64 bar;\n.shared .b32 data;\n",
                              .block = {64, 1, 1},
                              .target = "sm_90a"});
    ASSERT_EQ(ran.message(), "") << wait;
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 77u) << wait;
  }
}

TEST(Mbarrier, LanesOfOneWarpMayWaitForEachOther) {
  for (const char* wait : {"try_wait", "test_wait"}) {
    const Ran ran = run_both({.body = std::string(R"(
      mov.u32 %r1, bar;
      setp.eq.u32 %p1, %t, 0;
      @%p1 mbarrier.init.shared.b64 [%r1], 1;
      bar.warp.sync 0xffffffff;
      setp.eq.u32 %p2, %t, 31;
      @%p2 bra ARRIVE;
    LOOP:
      mbarrier.)") + wait + R"(.parity.shared.b64 %p3, [%r1], 0;
      @!%p3 bra LOOP;
      bra END;
    ARRIVE:
      mbarrier.arrive.shared.b64 _, [%r1];
    END:
      st.global.b32 [%mine], 1;
    )",
                              .before = ".shared .align 8 .b64 bar;\n",
                              .target = "sm_90a"});
    ASSERT_EQ(ran.message(), "") << wait;
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 1u);
  }
}

TEST(Mbarrier, ATimedWaitGivesUpWhenNobodyElseCanGoOn) {
  // The thread that waits is the one that arrives, after its wait has failed.
  const Ran ran = run_both(one_thread(R"(
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;
    mbarrier.arrive.shared.b64 _, [%r1];
    mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
    selp.b32 %r2, 1, 0, %p1;
    selp.b32 %r3, 1, 0, %p2;
    st.global.v2.b32 [%out], {%r2, %r3};
  )"));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 0u);
  EXPECT_EQ(ran.out[1], 1u);
}

TEST(Mbarrier, ADeadlockSaysWhatIsMissing) {
  for (const char* wait : {"try_wait", "test_wait"}) {
    const Ran ran = run_both(one_thread(std::string("mbarrier.init.shared.b64 [%r1], 3;\n") +
                                        "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\nLOOP:\nmbarrier." + wait +
                                        ".parity.shared.b64 %p1, [%r1], 0;\n@!%p1 bra LOOP;"));
    EXPECT_EQ(ran.code(), "machine.deadlock");
    EXPECT_NE(ran.message().find("lane 0 of warp 0"), std::string::npos) << ran.message();
    EXPECT_NE(ran.message().find("phase 0 needs 2 of 3 arrivals and 64 bytes"), std::string::npos) << ran.message();
  }
}

TEST(Mbarrier, ATestWithPausesIsADeadlockTooAndOneBesideWorkIsNot) {
  Ran ran =
      run_both(one_thread("mbarrier.init.shared.b64 [%r1], 1;\nLOOP:\n"
                          "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\nnanosleep.u32 64;\n"
                          "@!%p1 bra LOOP;"));
  EXPECT_EQ(ran.code(), "machine.deadlock");
  // Lane 0 tests while lane 1 works for longer than tests alone may last, and then arrives.
  ran = run({.body = R"(
    mov.u32 %r1, bar;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 1;
    bar.warp.sync 0xffffffff;
    setp.gt.u32 %p2, %t, 1;
    @%p2 bra END;
    mov.u32 %r2, 0;
    @!%p1 bra WORK;
  LOOP:
    mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 0;
    @!%p3 bra LOOP;
    bra END;
  WORK:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p4, %r2, 3000000;
    @%p4 bra WORK;
    mbarrier.arrive.shared.b64 _, [%r1];
  END:
  )",
             .before = ".shared .align 8 .b64 bar;\n",
             .target = "sm_90a"});
  EXPECT_EQ(ran.message(), "");
}

TEST(Mbarrier, ManyCopiesThatOnlyItWaitsForAreForgotten) {
  const Ran ran = run({.body = R"(
    mov.u32 %r1, bar;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 4, %r2;
    mad.wide.u32 %rd1, %t, 4, %in;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 32;
    bar.warp.sync 0xffffffff;
    mov.u32 %r4, 0;
  LOOP:
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
    and.b32 %r5, %r4, 1;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r5;
    @!%p2 bra WAIT;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p3, %r4, 70000;
    @%p3 bra LOOP;
    ld.shared.b32 %r6, [%r3];
    st.global.b32 [%mine], %r6;
  )",
                       .before = ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[128];\n",
                       .in = std::vector<std::uint32_t>(32, 9),
                       .target = "sm_90a"});
  EXPECT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[31], 9u);
}

TEST(Mbarrier, CopiesOfAThreadArriveWhenTheyAreThere) {
  // Without `.noinc` the arrival counts itself; with it the barrier's count includes one a thread.
  for (const bool counts : {false, true}) {
    const Ran ran = run_both({.body = std::string(R"(
      mov.u32 %r1, bar;
      mov.u32 %r2, tile;
      mad.lo.u32 %r3, %t, 4, %r2;
      mad.wide.u32 %rd1, %t, 4, %in;
      setp.eq.u32 %p1, %t, 0;
      @%p1 mbarrier.init.shared.b64 [%r1], )") +
                                      (counts ? "64" : "32") + R"(;
      bar.warp.sync 0xffffffff;
      st.shared.b32 [%r3], 5;
      cp.async.ca.shared.global [%r3], [%rd1], 4;
      cp.async.mbarrier.arrive)" + (counts ? ".noinc" : "") +
                                      R"(.shared.b64 [%r1];
      ld.shared.b32 %r4, [%r3];
      mbarrier.arrive.shared.b64 %rd2, [%r1];
    LOOP:
      mbarrier.try_wait.shared.b64 %p2, [%r1], %rd2;
      @!%p2 bra LOOP;
      xor.b32 %r5, %r3, 4;
      ld.shared.b32 %r6, [%r5];
      st.global.b32 [%mine], %r4;
      st.global.b32 [%mine+128], %r6;
    )",
                              .before = ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[1024];\n",
                              .in = std::vector<std::uint32_t>(32, 9),
                              .target = "sm_90a"});
    ASSERT_EQ(ran.message(), "") << counts;
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(ran.out[i], 5u);
      EXPECT_EQ(ran.out[32 + i], 9u);
    }
  }
}

}  // namespace
}  // namespace plumb::machine::test
