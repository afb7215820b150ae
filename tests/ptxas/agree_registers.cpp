// SPDX-License-Identifier: Apache-2.0
// Compares plumb with ptxas on how many registers an instruction needs and on how many a kernel's directives leave:
// each instruction with one register too few and with just enough, and each set of directives with an instruction that
// just fits and with the next larger one.
//   agree_registers [--sample N]     one question in N
// Exit status: 0 when all agree, 1 when not, 2 wrong arguments, 77 no ptxas here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assembler.h"
#include "ptx/module.h"
#include "ptx/register_limit.h"

namespace {

using namespace plumb::agreement;
using plumb::ptx::Function;

std::string list(char letter, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, i);
  return out + "}";
}

struct Kernel {
  std::string target, instr;
  std::string text(std::string_view directives) const {
    return fmt::format(
        ".version 9.0\n.target {}\n.address_size 64\n.visible .entry k() {} {{\n.reg .f32 %f<128>;\n"
        ".reg .b32 %r<128>, %a<4>;\n.reg .b64 %d<2>;\n{}\nret;\n}}\n",
        target, directives, instr);
  }
};

struct Product {
  const char *accumulator, *types;
  unsigned k;
  bool has_scales, has_transposes;
};
constexpr Product kProducts[] = {
    {"f32", "f16.f16", 16, true, true},   {"f16", "f16.f16", 16, true, true},    {"f32", "bf16.bf16", 16, true, true},
    {"f32", "tf32.tf32", 8, true, false}, {"f32", "e4m3.e5m2", 32, true, false}, {"f16", "e5m2.e4m3", 32, true, false},
    {"s32", "s8.u8", 32, false, false},   {"s32", "u8.u8", 32, false, false},
};

Kernel wgmma(const Product& product, unsigned n, bool is_a_register, bool is_sparse) {
  const std::string_view accumulator = product.accumulator;
  const unsigned count = accumulator == "f16" ? n / 4 : n / 2;
  std::string rest = is_sparse ? ", %a0, 0, 1" : ", 1";
  if (product.has_scales) rest += ", 1, 1";
  if (product.has_transposes) rest += is_a_register ? ", 0" : ", 0, 0";
  return {"sm_90a",
          fmt::format("wgmma.fence.sync.aligned;\nwgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{} {}, {}, %d1{};",
                      is_sparse ? ".sp" : "", n, product.k * (is_sparse ? 2 : 1), accumulator, product.types,
                      list(accumulator == "f32" ? 'f' : 'r', count), is_a_register ? list('a', 4) : "%d0", rest)};
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> out;
  for (const Product& product : kProducts) {
    for (const unsigned n : {8u, 16u, 32u, 64u, 96u, 128u, 192u, 256u}) {
      for (const bool is_a_register : {false, true}) {
        for (const bool is_sparse : {false, true}) out.push_back(wgmma(product, n, is_a_register, is_sparse));
      }
    }
  }
  out.push_back({"sm_90a", fmt::format("wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {}, %d0, %d1, 1;",
                                       list('r', 64))});
  struct Shape {
    const char* name;
    unsigned registers;  // of x1
    bool is_split, has_reduction;
  };
  for (const Shape shape : {Shape{"32x32b", 1, false, true},
                            {"16x64b", 1, false, false},
                            {"16x128b", 2, false, false},
                            {"16x256b", 4, false, false},
                            {"16x32bx2", 1, true, true}}) {
    const std::string split = shape.is_split ? ", 4" : "";
    for (unsigned count = 8; count <= 128; count *= 2) {
      const std::string words = fmt::format("sync.aligned.{}.x{}", shape.name, count / shape.registers);
      const std::string values = list('r', count);
      out.push_back({"sm_100a", fmt::format("tcgen05.ld.{}.b32 {}, [%a0]{};", words, values, split)});
      out.push_back({"sm_110f", fmt::format("tcgen05.ld.{}.pack::16b.b32 {}, [%a0]{};", words, values, split)});
      out.push_back({"sm_103a", fmt::format("tcgen05.st.{}.b32 [%a0]{}, {};", words, split, values)});
      if (!shape.has_reduction) continue;
      out.push_back({"sm_103a", fmt::format("tcgen05.ld.red.{}.min.u32 {}, %a1, [%a0]{};", words, values, split)});
    }
  }
  return out;
}

constexpr const char* kDirectives[] = {
    "",
    ".maxnreg 1",
    ".maxnreg 24",
    ".maxnreg 33",
    ".maxnreg 100",
    ".maxnreg 255",
    ".maxnreg 256",
    ".maxntid 32",
    ".maxntid 352",
    ".maxntid 384",
    ".maxntid 385",
    ".maxntid 416",
    ".maxntid 512",
    ".maxntid 513",
    ".maxntid 640",
    ".maxntid 641",
    ".maxntid 768",
    ".maxntid 800",
    ".maxntid 1000",
    ".maxntid 1024",
    ".maxntid 1025",
    ".maxntid 2048",
    ".maxntid 2049",
    ".maxntid 16, 32, 2",
    ".maxntid 1024, 1024",
    ".maxntid 65536, 65536, 65536",
    ".reqntid 384",
    ".reqntid 16, 32",
    ".reqntid 1024",
    ".reqntid 1025",
    ".minnctapersm 4",
    ".maxntid 128 .minnctapersm 1",
    ".maxntid 128 .minnctapersm 3",
    ".maxntid 128 .minnctapersm 4",
    ".reqntid 128 .minnctapersm 5",
    ".maxntid 128 .minnctapersm 16",
    ".maxntid 128 .minnctapersm 17",
    ".maxntid 96 .minnctapersm 5",
    ".maxntid 96 .minnctapersm 6",
    ".maxntid 33 .minnctapersm 16",
    ".maxntid 33 .minnctapersm 32",
    ".maxntid 65 .minnctapersm 22",
    ".maxntid 97 .minnctapersm 16",
    ".maxntid 97 .minnctapersm 20",
    ".maxntid 1 .minnctapersm 20",
    ".maxntid 1 .minnctapersm 32",
    ".maxntid 32 .minnctapersm 33",
    ".maxntid 512 .minnctapersm 33",
    ".maxntid 1024 .minnctapersm 2",
    ".maxntid 1024 .minnctapersm 3",
    ".maxntid 2049 .minnctapersm 1",
    ".maxntid 512 .maxnreg 200",
    ".maxntid 512 .maxnreg 100",
    ".reqntid 1024 .maxnreg 200",
    ".maxnreg 256 .maxntid 1024",
    ".maxntid 512 .minnctapersm 1 .maxnreg 200",
    ".maxntid 128 .minnctapersm 4 .maxnreg 100",
    ".maxntid 128 .minnctapersm 17 .maxnreg 100",
    ".maxntid 1024 .minnctapersm 3 .maxnreg 200",
    ".maxnreg 256 .maxntid 512 .minnctapersm 2",
    ".maxntid 2049 .maxnreg 100",
    ".maxnreg 20 .maxntid 1024 .minnctapersm 2",
};

struct Question {
  std::string arch, text;
};

plumb::ptx::Module read(const std::string& text) {
  plumb::Findings findings;
  auto module = plumb::ptx::parse(std::make_shared<plumb::Source>("registers.ptx", text), findings);
  if (!module || !plumb::ptx::check(*module, findings)) {
    fmt::print("plumb does not take\n{}{}", text, plumb::render(findings, false));
    std::exit(1);
  }
  return *plumb::ptx::check(std::move(*module), findings).value();
}

unsigned least(const Kernel& kernel) {
  unsigned out = 0;
  for (const auto& instr : read(kernel.text("")).functions[0].instrs) {
    out = std::max(out, plumb::ptx::least_registers(instr));
  }
  return out;
}

std::vector<Question> questions() {
  constexpr unsigned kFewest = 24;  // ptxas gives no thread fewer
  std::vector<Question> out;
  struct Step {
    unsigned least;
    Kernel kernel;
  };
  std::vector<Step> ladder;
  for (Kernel& kernel : kernels()) {
    const unsigned needed = least(kernel);
    out.push_back({kernel.target, kernel.text(fmt::format(".maxnreg {}", needed))});
    if (needed > kFewest) out.push_back({kernel.target, kernel.text(fmt::format(".maxnreg {}", needed - 1))});
    if (kernel.target == "sm_90a") ladder.push_back({needed, std::move(kernel)});
  }
  std::stable_sort(ladder.begin(), ladder.end(), [](const Step& a, const Step& b) { return a.least < b.least; });
  for (const char* const directives : kDirectives) {
    const unsigned limit = plumb::ptx::register_limit(read(Kernel{"sm_90a", ""}.text(directives)).functions[0]).count;
    const auto above = std::find_if(ladder.begin(), ladder.end(), [&](const Step& step) { return step.least > limit; });
    if (above != ladder.end()) out.push_back({"sm_90a", above->kernel.text(directives)});
    if (above != ladder.begin()) out.push_back({"sm_90a", std::prev(above)->kernel.text(directives)});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_sample = argc == 3 && std::string_view(argv[1]) == "--sample";
  const int step = is_sample ? std::atoi(argv[2]) : 1;
  if ((argc != 1 && !is_sample) || step < 1) return 2;
  const std::optional<Assembler> assembler = Assembler::find();
  if (!assembler) {
    fmt::print("skipped: there is no ptxas 13.0 on the path\n");
    return 77;
  }
  const std::vector<Question> all = questions();
  unsigned asked = 0, apart = 0, refused = 0;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(step)) {
    plumb::Findings findings;
    const bool ours =
        plumb::ptx::load(std::make_shared<plumb::Source>("registers.ptx", all[i].text), findings).has_value();
    std::string why;
    const bool theirs = assembler->assembles(all[i].arch, all[i].text, why);
    ++asked;
    refused += !theirs;
    if (ours == theirs) continue;
    ++apart;
    fmt::print("{}plumb {}\nptxas {}\n", all[i].text, ours ? "accepts" : plumb::render(findings, false),
               theirs ? "accepts" : why);
  }
  fmt::print("{} kernels, {} of them refused by ptxas: {} apart\n", asked, refused, apart);
  return apart == 0 && refused != 0 ? 0 : 1;
}
