// SPDX-License-Identifier: Apache-2.0
// Directives of functions: linkage, performance and cluster directives, `.pragma`, `.alias`, `.attribute`, prototypes
// and lists of targets. What each may stand with, and the version and target it needs, is what ptxas 13.0 takes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptx/codes.h"
#include "ptx/parser.h"

namespace plumb::ptx {
namespace {

constexpr std::string_view kBlocksAreClusters = ".blocksareclusters";

bool is_linkage(const Token& token) {
  return token.is_dot("visible") || token.is_dot("extern") || token.is_dot("weak") || token.is_dot("common");
}

}  // namespace

bool Parser::needs(std::string_view what, Version version, int sm, Span span) {
  if (module_.version < version) {
    return fail(kVersion,
                fmt::format("`{}` needs PTX {}.{}, and the version is {}.{}", what, version.major, version.minor,
                            module_.version.major, module_.version.minor),
                span);
  }
  if (module_.target.sm >= sm) return true;
  return fail(kTarget, fmt::format("`{}` needs sm_{} or later, and the target is {}", what, sm, module_.target.text),
              span);
}

bool Parser::linkage(Linkage& out) {
  out.span = peek().span;
  out.is_visible = accept_dot("visible");
  out.is_extern = !out.any() && accept_dot("extern");
  out.is_weak = !out.any() && accept_dot("weak");
  out.is_common = !out.any() && accept_dot("common");
  if (!out.any() || !is_linkage(peek())) return true;
  fail(kSyntax, fmt::format("`.{}` after another linkage directive: there is one at most", peek().text), peek().span);
  while (is_linkage(peek())) take();
  return false;
}

// .attribute(.managed) or (.unified(n, n)), several with commas; not kept, as nothing here reads them.
bool Parser::attribute(bool is_function) {
  take();
  if (!expect('(', "after `.attribute`")) return false;
  do {
    const Token word = peek();
    if (!is_function && accept_dot("managed")) {
      if (!needs(".managed", {4, 0}, 30, word.span)) return false;
    } else if (accept_dot("unified")) {
      if (!needs(".unified", {9, 0}, 90, word.span)) return false;
      if (!expect('(', "after `.unified`") || !expect_integer("an integer") || !expect(',', "between two integers") ||
          !expect_integer("an integer") || !expect(')', "after two integers")) {
        return false;
      }
    } else {
      return unexpected(is_function ? "`.unified`" : "`.managed` or `.unified`");
    }
  } while (accept(','));
  return expect(')', "at the end of the attributes");
}

// -- .pragma ---------------------------------------------------------------------------------------------------------
bool Parser::pragma_string(const Token& text, bool is_in_body) {
  const std::string_view all = text.text.substr(1, text.text.size() - 2);
  const std::string_view word = all.substr(0, all.find(' '));
  struct Scoped {
    std::string_view word;
    Version since;
  };
  static constexpr Scoped kScoped[] = {
      {"used_bytes_mask", {8, 3}}, {"enable_smem_spilling", {8, 7}}, {"frequency", {9, 0}}};
  for (const Scoped& one : kScoped) {
    if (one.word != word) continue;
    if (!is_in_body) return fail(kSyntax, fmt::format("the pragma `{}` stands in a body only", word), text.span);
    if (!needs(word, one.since, 0, text.span)) return false;
  }
  if (word != "frequency") return true;
  const std::string_view count = all.size() > word.size() ? all.substr(word.size() + 1) : std::string_view();
  if (!count.empty() && read_integer(count)) return true;
  return fail(kSyntax, "the pragma `frequency` takes a number, as in \"frequency 4\"", text.span);
}

bool Parser::pragma_strings(bool is_in_body, std::vector<std::string>* out) {
  do {
    if (peek().kind != Token::Kind::String) return unexpected("a string");
    const Token text = take();
    if (!pragma_string(text, is_in_body)) return false;
    if (out != nullptr) out->emplace_back(text.text);
  } while (accept(','));
  return true;
}

bool Parser::pragma_item() {
  const std::uint32_t begin = take().span.begin;
  if (!pragma_strings(false, nullptr)) return false;
  const std::string text = normalised(begin);
  if (!expect(';', "at the end of the directive")) return false;
  raw_item(Item::Kind::Pragma, text + ";");
  return true;
}

bool Parser::pragma_statement() {
  const Span span = take().span;
  if (!pragma_strings(true, nullptr)) return false;
  const std::string text = normalised(span.begin);
  if (!expect(';', "at the end of the directive")) return false;
  add(Statement::Kind::Pragma, static_cast<std::uint32_t>(function_->texts.size()), span);
  function_->texts.push_back(text);
  return true;
}

// -- .alias ----------------------------------------------------------------------------------------------------------
const Function* Parser::last_function(std::string_view name) const {
  const auto found = std::find_if(module_.functions.rbegin(), module_.functions.rend(),
                                  [&](const Function& one) { return one.name == name; });
  return found == module_.functions.rend() ? nullptr : &*found;
}

// .alias name, function;
bool Parser::alias_item() {
  const Span span = take().span;
  std::array<Token, 2> names;
  std::array<const Function*, 2> functions{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (i == 1 && !expect(',', "between the two functions")) return false;
    if (peek().kind != Token::Kind::Word) return unexpected("a function's name");
    names[i] = take();
  }
  const std::string text = normalised(span.begin);
  if (!expect(';', "at the end of the directive")) return false;
  if (!needs(".alias", {6, 3}, 30, span)) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    functions[i] = last_function(names[i].text);
    const bool is_variable = globals_.contains(names[i].text);
    if (functions[i] == nullptr && !is_variable) return undeclared(names[i]);
    if (is_variable || functions[i]->is_entry) {
      return fail(kOperandKind, fmt::format("`{}` is no `.func`, and only such have aliases", names[i].text),
                  names[i].span);
    }
  }
  if (!functions[0]->is_declaration) {
    return fail(kRedeclared, fmt::format("`{}` is a function of its own, not an alias", names[0].text), names[0].span);
  }
  if (functions[1]->is_weak) {
    return fail(kOperandKind, fmt::format("`{}` is `.weak`, and has no aliases", names[1].text), names[1].span);
  }
  if (std::string why; !is_same_signature(*functions[0], *functions[1], why)) {
    return fail(kOperandType, fmt::format("`{}` and `{}` differ in {}", names[0].text, names[1].text, why),
                names[0].span);
  }
  if (!aliases_.insert(names[0].text).second) {
    return fail(kRedeclared, fmt::format("`{}` is an alias already", names[0].text), names[0].span);
  }
  raw_item(Item::Kind::Alias, text + ";");
  return true;
}

// -- directives of a head --------------------------------------------------------------------------------------------
// Up to three counts.
bool Parser::counts(std::array<std::uint32_t, 3>& out) {
  out = {1, 1, 1};
  for (std::uint32_t& one : out) {
    if (!count(one)) return false;
    if (!accept(',')) return true;
  }
  return unexpected("a directive or a body after three counts");
}

bool Parser::count(std::uint32_t& out) {
  const Span span = peek().span;
  if (!expect_word32(out, "a count")) return false;
  return out != 0 || fail(kOperandRange, "a count of zero", span);
}

bool Parser::entry_directive() {
  Function& function = *function_;
  const Token word = peek();
  const auto cluster = [&] { return needs("." + std::string(word.text), {7, 8}, 90, word.span); };
  const auto clash = [&](bool is_clash, std::string_view other) {
    return !is_clash || fail(kSyntax, fmt::format("`.{}` and `.{}` exclude each other", word.text, other), word.span);
  };
  if (accept_dot("reqntid")) return clash(function.maxntid[0] != 0, "maxntid") && counts(function.reqntid);
  if (accept_dot("maxntid")) return clash(function.reqntid[0] != 0, "reqntid") && counts(function.maxntid);
  if (accept_dot("minnctapersm")) return count(function.minnctapersm);
  if (accept_dot("maxnreg")) return count(function.maxnreg);
  if (accept_dot("reqnctapercluster")) {
    has_cluster_shape_ = true;
    return cluster() && clash(function.maxclusterrank != 0, "maxclusterrank") && counts(function.reqnctapercluster);
  }
  if (accept_dot("maxclusterrank")) {
    return cluster() && clash(has_cluster_shape_, "reqnctapercluster") && count(function.maxclusterrank);
  }
  if (accept_dot("explicitcluster")) {
    function.explicit_cluster = true;
    return cluster();
  }
  if (accept_dot("blocksareclusters")) {
    function.pragmas.emplace_back(kBlocksAreClusters);
    return needs(".blocksareclusters", {9, 0}, 90, word.span);
  }
  if (!accept_dot("pragma")) return unexpected("a performance directive or a body");
  return pragma_strings(false, &function.pragmas) && expect(';', "after the pragma");
}

// [.noreturn] [.abi_preserve n] [.abi_preserve_control n], the last two in any order. Of a prototype, too.
bool Parser::call_directives(bool& is_noreturn, std::vector<std::string>& out) {
  const Token first = peek();
  if (accept_dot("noreturn")) {
    if (!needs(".noreturn", {6, 4}, 30, first.span)) return false;
    is_noreturn = true;
  }
  bool has_count = false, has_control = false;
  while (peek().is_dot("abi_preserve") || peek().is_dot("abi_preserve_control")) {
    const Token word = take();
    const bool is_control = word.text == "abi_preserve_control";
    const Span span = peek().span;
    if (std::exchange(is_control ? has_control : has_count, true)) {
      return fail(kSyntax, fmt::format("`.{}` stands once", word.text), word.span);
    }
    std::uint32_t value = 0;
    if (!needs("." + std::string(word.text), {9, 0}, 80, word.span) || !expect_word32(value, "a count")) return false;
    constexpr std::uint32_t kMostControl = 11;
    if (is_control && value > kMostControl) {
      return fail(kOperandRange, fmt::format("{} control registers, and there are {}", value, kMostControl), span);
    }
    out.push_back(fmt::format(".{} {}", word.text, value));
  }
  return true;
}

bool Parser::directives() {
  Function& function = *function_;
  const Span begin = peek().span;
  has_cluster_shape_ = false;
  if (!function.is_entry) {
    if (!call_directives(function.noreturn, function.pragmas)) return false;
    if (function.noreturn && !function.results.empty()) {
      return fail(kSyntax, "a function with results returns, and is not `.noreturn`", begin);
    }
    if (!accept_dot("pragma")) return true;
    return pragma_strings(false, &function.pragmas) && (peek().is(';') || unexpected("`;` after the pragma"));
  }
  while (peek().kind == Token::Kind::Dot) {
    if (!entry_directive()) return false;
  }
  const bool is_whole = function.reqntid[0] != 0 && has_cluster_shape_;
  const bool has_clusters =
      std::find(function.pragmas.begin(), function.pragmas.end(), kBlocksAreClusters) != function.pragmas.end();
  if (has_clusters && !is_whole) {
    return fail(kSyntax, "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`", begin);
  }
  if (peek().is(';') && peek().span.begin != begin.begin) {
    return fail(kSyntax, "the declaration of a kernel takes no directives: its definition has them", begin);
  }
  return true;
}

// -- prototypes ------------------------------------------------------------------------------------------------------
bool Parser::prototype_list(std::vector<Variable>& out, bool is_result) {
  if (!accept('(') || accept(')')) return true;
  do {
    Variable one;
    unsigned lanes = 1;
    if (!parameter_words(one, lanes, is_result)) return false;
    out.push_back(std::move(one));
  } while (accept(','));
  return expect(')', "at the end of the parameters");
}

// label: .callprototype (results) _ (parameters) directives ;
bool Parser::call_prototype(LabelId label) {
  const Span span = take().span;
  Prototype out;
  out.label = label;
  if (!prototype_list(out.results, true)) return false;
  if (peek().kind != Token::Kind::Word || peek().text != "_") return unexpected("`_`, the function of a prototype");
  take();
  bool is_noreturn = false;
  std::vector<std::string> directives;  // kept in the statement's text
  if (!prototype_list(out.parameters, false) || !call_directives(is_noreturn, directives)) return false;
  add_text(Statement::Kind::CallPrototype, span);
  prototypes_.push_back(std::move(out));
  return expect(';', "at the end of the directive");
}

// label: .calltargets function, function ;
bool Parser::call_targets(LabelId label) {
  const Span span = take().span;
  do {
    if (peek().kind != Token::Kind::Word) return unexpected("a function's name");
    const Token name = take();
    const Function* const callee = name.text == function_->name ? function_ : last_function(name.text);
    if (callee == nullptr || callee->is_entry) {
      return fail(kOperandKind, fmt::format("`{}` is no `.func` that stands before", name.text), name.span);
    }
    Prototype out;
    out.label = label;
    for (const VarId id : callee->results) out.results.push_back(module_.variables[id]);
    for (const VarId id : callee->parameters) out.parameters.push_back(module_.variables[id]);
    prototypes_.push_back(std::move(out));
  } while (accept(','));
  add_text(Statement::Kind::CallTargets, span);
  return expect(';', "at the end of the directive");
}

void Parser::add_text(Statement::Kind kind, Span span) {
  add(kind, static_cast<std::uint32_t>(function_->texts.size()), span);
  function_->texts.push_back(normalised(span.begin));
}

// -- declarations of one function ------------------------------------------------------------------------------------
bool Parser::is_same_signature(const Function& a, const Function& b, std::string& why) const {
  const auto alignment = [](const Variable& one) { return std::max(one.alignment, byte_size(one.type)); };
  for (const auto& [left, right] : {std::pair(&a.results, &b.results), std::pair(&a.parameters, &b.parameters)}) {
    if (left->size() != right->size()) {
      why = "the number of parameters or results";
      return false;
    }
    for (std::size_t i = 0; i < left->size(); ++i) {
      const Variable &x = module_.variables[(*left)[i]], &y = module_.variables[(*right)[i]];
      if (x.space == y.space && x.type == y.type && x.dimensions == y.dimensions && alignment(x) == alignment(y)) {
        continue;
      }
      why = fmt::format("the parameter `{}`", x.name);
      return false;
    }
  }
  return true;
}

// What stood before under the name of the function being read, and that it goes with this.
bool Parser::goes_with_earlier(Span name, bool is_defined) {
  const Function& function = *function_;
  if (globals_.contains(function.name)) {
    return fail(kRedeclared, fmt::format("`{}` is a variable, too", function.name), name);
  }
  if (is_defined && function.is_extern) {
    return fail(kSyntax, fmt::format("`{}` is `.extern` and has a body", function.name), name);
  }
  const Function* const earlier = last_function(function.name);
  if (earlier == nullptr) return true;
  if (!earlier->is_declaration) {
    return fail(kRedeclared, fmt::format("the function `{}` is defined twice", function.name), name);
  }
  if (std::string why; !is_same_signature(*earlier, function, why)) {
    return fail(kRedeclared, fmt::format("the declarations of `{}` differ in {}", function.name, why), name);
  }
  const bool is_plain = !function.is_visible && !function.is_extern && !function.is_weak;
  const bool is_alike = function.is_visible == earlier->is_visible && function.is_extern == earlier->is_extern &&
                        function.is_weak == earlier->is_weak;
  if ((!is_alike && (!is_plain || earlier->is_extern)) || earlier->noreturn != function.noreturn ||
      earlier->is_entry != function.is_entry) {
    return fail(kRedeclared, fmt::format("the declarations of `{}` differ in linkage or directives", function.name),
                name);
  }
  return true;
}

}  // namespace plumb::ptx
