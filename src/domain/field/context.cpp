// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "domain/field/arithmetic.h"
#include "domain/field/number.h"
#include "domain/field/prime.h"
#include "domain/field/shared.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
// Variables of inputs that are held between units.
constexpr std::uint64_t kMostInputBytes = std::uint64_t{1} << 28;

// The two halves of a 128-bit product, folded.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint32_t below(std::uint64_t word, std::uint32_t limit) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint32_t>(static_cast<Wide>(word) * limit >> 64);
}

}  // namespace

Shared::Shared(FieldOptions given) : options(std::move(given)), arena(options.memory) {
  make_keys();
  make_generators();
  make_reserved_values();
  make_ideals();
  half = from_dyadic(modulus, 1, -1);
  note_scale(from_integer(modulus, 2));
  note_scale(kappa);
}

void Shared::make_keys() {
  std::uint64_t state = mix64(options.seed ^ 0x706c756d62ULL);
  const auto next = [&] { return state = mix64(state + kGolden); };
  for (std::uint64_t& k : keys) k = next();
  products.seed(next());
  std::uint32_t lanes[kLanes];
  for (unsigned r = 0; r < kRepetitions;) {
    const PrimePair pair = draw_primes(next());
    bool is_new = true;
    for (unsigned other = 0; other < r; ++other) is_new = is_new && lanes[other] != pair.p;
    if (!is_new) continue;
    lanes[r] = pair.p;
    lanes[r + kRepetitions] = pair.q;
    ++r;
  }
  modulus = make_modulus(lanes);
  std::copy(std::begin(lanes), std::end(lanes), primes.begin());
}

void Shared::make_generators() {
  for (unsigned r = 0; r < kRepetitions; ++r) {
    const std::uint32_t p = primes[r];
    std::uint64_t word = keys[0] + r;
    std::uint32_t w = 1;
    // Squares form the group of prime order q, in which everything but one is a generator.
    while (w <= 1) {
      const std::uint64_t root = 2 + below(word = mix64(word), p - 2);
      w = static_cast<std::uint32_t>(root * root % p);
    }
    generator[r] = w;
    logarithms.set(r, p, w);
    std::uint64_t base = w;
    for (unsigned position = 0; position < kWindows; ++position) {
      std::uint64_t power_of_base = 1;
      for (auto& entry : powers[position]) {
        entry[r] = static_cast<std::uint32_t>((power_of_base << 32) % p);
        power_of_base = power_of_base * base % p;
      }
      base = power_of_base;  // base^(2^kWindowBits)
    }
  }
}

void Shared::make_reserved_values() {
  ValueId id = kNoValue;
  constants.allocate(id);  // the first chunk, with the reserved ids
  for (ValueId reserved = 0; reserved < kFirstValue; ++reserved) arena.at(reserved) = Value{};
  arena.at(id) = Value{};
  const auto set = [&](ValueId reserved, const Residues& residues, double approximation) {
    Value& v = arena.at(reserved);
    v.residues = residues;
    v.kind = static_cast<std::uint8_t>(Kind::Constant);
    v.set_approximation(approximation);
    v.set(Format::F32, sign_of(approximation));
  };
  kappa = random_of(1, Purpose::Symbol);
  kappa_inverse = inverse(modulus, kappa);
  set(kZeroId, Residues{}, 0);
  set(kOneId, modulus.one, 1);
  set(kKappaId, kappa, 1 / std::log(2.0));
  set(kKappaInverseId, kappa_inverse, std::log(2.0));
  arena.at(kKappaId).numerator = 1;
  arena.at(kKappaInverseId).denominator = 1;
  arena.at(kUndefined).kind = static_cast<std::uint8_t>(Kind::Undefined);
  arena.at(kPristine).kind = static_cast<std::uint8_t>(Kind::Undefined);
  arena.at(kPoisonId).kind = static_cast<std::uint8_t>(Kind::Poison);
}

Residues Shared::random(const Key& k, Purpose purpose) const {
  const std::uint64_t tweak = static_cast<std::uint64_t>(purpose) * kGolden;
  const std::uint64_t a = fold(k.low ^ keys[0], k.high ^ keys[1]) + tweak;
  const std::uint64_t b = fold(k.low ^ keys[2], k.high ^ keys[3]) + tweak;
  Residues r;
  for (unsigned i = 0; i < kLanes; ++i) {
    // Odd multipliers: keys that agree in one half of the digest still differ on every lane.
    r.lane[i] = below(mix64((a ^ b * (2 * i + 1)) + i * kGolden), primes[i]);
  }
  return r;
}

Residues Shared::random_of(std::uint64_t word, Purpose purpose) const {
  return random({mix64(word ^ keys[4]), mix64(word + keys[5])}, purpose);
}

Key Shared::identity(const Residues& a, bool has_exponential) const {
  const auto finish = [](std::uint64_t x) {
    x *= kGolden;
    return x ^ x >> 32;
  };
  const Key p = key(a);
  Key digest{fold(p.low ^ keys[0], p.high ^ keys[1]), fold(p.low ^ keys[2], p.high ^ keys[3])};
  if (!has_exponential) {
    const Key q = lower_key(a);
    digest.low += fold(q.low ^ keys[4], q.high ^ keys[5]);
    digest.high += fold(q.low ^ keys[6], q.high ^ keys[7]);
  }
  return {finish(digest.low), finish(digest.high)};
}

Residues Shared::exponential(const Residues& exponent) const {
  const Residues plain = from_form(modulus, exponent);
  Residues result;
  const std::uint32_t(&e)[kLaneCount] = plain.lane;
  const auto window = [&](unsigned position) {
    constexpr std::uint32_t kMask = (1U << kWindowBits) - 1;
    const unsigned shift = position * kWindowBits;
    const auto& table = powers[position];
    return _mm_set_epi32(
        static_cast<int>(table[e[7] >> shift & kMask][3]), static_cast<int>(table[e[6] >> shift & kMask][2]),
        static_cast<int>(table[e[5] >> shift & kMask][1]), static_cast<int>(table[e[4] >> shift & kMask][0]));
  };
  static_assert(kWindows == 4 && kWindows * kWindowBits >= 28);
  const __m128i prime = detail::load(modulus.prime, 0), inverses = detail::load(modulus.inverse, 0);
  const __m128i low = detail::mul(window(0), window(1), prime, inverses);
  const __m128i high = detail::mul(window(2), window(3), prime, inverses);
  detail::store(result, 0, detail::mul(low, high, prime, inverses));
  return result;
}

Shared::Inputs* Shared::add_inputs(std::uint32_t tensor, std::uint64_t count, Format f) {
  const std::lock_guard lock(mutex);
  Inputs* const newest = inputs[tensor].load(std::memory_order_acquire);
  for (Inputs* view = newest; view != nullptr; view = view->next) {
    if (view->format == f && view->count == count) return view;
  }
  if (count > std::uint64_t{Arena::kChunkSize} * Arena::kChunks) return nullptr;
  if (count > end_of_inputs - free_input) {
    const auto chunks = static_cast<std::uint32_t>((count + Arena::kChunkSize - 1) / Arena::kChunkSize);
    const std::uint32_t first = arena.add_chunks(chunks, ChunkKind::Input, false);
    if (first == Arena::kNoChunk) return nullptr;
    free_input = first << Arena::kChunkBits;
    end_of_inputs = free_input + chunks * Arena::kChunkSize;
  }
  auto made = std::make_unique<Inputs>();
  made->count = count;
  made->format = f;
  made->first = free_input;
  made->groups = std::make_unique<std::atomic<std::uint8_t>[]>((count + kInputGroup - 1) / kInputGroup);
  made->tensor = tensor;
  made->next = newest;
  free_input += static_cast<ValueId>(count);
  inputs[tensor].store(made.get(), std::memory_order_release);
  owned_inputs.push_back(std::move(made));
  return owned_inputs.back().get();
}

void Shared::make_integer(Value& v, ValueId id) const {
  const unsigned bits = 8 * integer_bytes(v.format());
  set_bound(v, std::ldexp(1.0F, static_cast<int>(bits) - 1));
  if (bits != 8) return;
  for (unsigned bit = bits; bit-- > 0;) {
    const Residues r = bit_value(bit_name(id, bit));
    // Two's complement: the sign bit counts -1 before the doublings.
    v.residues = bit + 1 == bits ? neg(modulus, r) : add(modulus, add(modulus, v.residues, v.residues), r);
  }
}

// Each group is made by one worker, the others wait. False when there is no memory.
bool Shared::make_inputs(Inputs& view, std::uint64_t group) {
  std::atomic<std::uint8_t>& state = view.groups[group];
  std::uint8_t expected = 0;
  if (!state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
    while (expected == 1) {
      std::this_thread::yield();
      expected = state.load(std::memory_order_acquire);
    }
    return expected == 2;
  }
  const std::uint64_t end = std::min(view.count, (group + 1) * kInputGroup);
  const std::uint64_t name = std::uint64_t{view.tensor} << 8 | static_cast<std::uint64_t>(view.format);
  for (const std::uint64_t index : {group * kInputGroup, end - 1}) {
    if (!arena.give_memory((view.first + static_cast<ValueId>(index)) >> Arena::kChunkBits)) {
      state.store(0, std::memory_order_release);
      return false;
    }
  }
  for (std::uint64_t index = group * kInputGroup; index < end; ++index) {
    Value& v = arena.at(view.first + static_cast<ValueId>(index));
    v = Value{};
    v.set(view.format, Sign::Unknown);
    if (options.is_zero && options.is_zero(view.tensor, index)) continue;
    v.numerator = 1;
    if (is_integer(view.format)) {
      make_integer(v, view.first + static_cast<ValueId>(index));
    } else {
      v.residues = random({index, name}, Purpose::Input);
    }
  }
  state.store(2, std::memory_order_release);
  return true;
}

ValueId Shared::input(std::uint32_t tensor, std::uint64_t index, std::uint64_t count, Format f) {
  if (tensor >= kTensors || index >= count) return kNoValue;
  Inputs* view = inputs[tensor].load(std::memory_order_acquire);
  // A view of the tensor in another element format is another variable.
  while (view != nullptr && (view->format != f || view->count != count)) view = view->next;
  if (view == nullptr) view = add_inputs(tensor, count, f);
  if (view == nullptr) return kNoValue;
  const std::uint64_t group = index / kInputGroup;
  if (view->groups[group].load(std::memory_order_acquire) != 2 && !make_inputs(*view, group)) return kNoValue;
  return view->first + static_cast<ValueId>(index);
}

bool Shared::make_input_again(ValueId id) {
  Inputs* view = nullptr;
  {
    const std::lock_guard lock(mutex);
    for (const auto& each : owned_inputs) {
      if (id >= each->first && id - each->first < each->count) view = each.get();
    }
  }
  return view != nullptr && make_inputs(*view, (id - view->first) / kInputGroup);
}

void Shared::enter_unit(bool& is_in_unit) {
  if (std::exchange(is_in_unit, true)) return;
  const std::lock_guard lock(unit_mutex);
  ++units;
}

void Shared::leave_unit(bool& is_in_unit) {
  if (!std::exchange(is_in_unit, false)) return;
  const std::lock_guard lock(unit_mutex);
  if (--units == 0 && arena.input_bytes() > kMostInputBytes) give_up_inputs();
}

void Shared::give_up_inputs() {
  const std::lock_guard lock(mutex);
  for (const auto& view : owned_inputs) {
    const std::uint64_t groups = (view->count + kInputGroup - 1) / kInputGroup;
    for (std::uint64_t group = 0; group < groups; ++group) view->groups[group].store(0, std::memory_order_relaxed);
  }
  arena.give_up_inputs();
}

ValueId Shared::literal(Format f, std::uint64_t bits, Cursor& permanent) {
  const Key name{bits, static_cast<std::uint64_t>(f)};
  const std::lock_guard lock(mutex);
  if (const auto found = literals.find(name); found != literals.end()) return found->second;
  ValueId id = kNoValue;
  Value* v = permanent.allocate(id);
  if (v == nullptr) return kNoValue;
  const double value = to_double(f, bits);
  *v = Value{};
  v->kind = static_cast<std::uint8_t>(Kind::Constant);
  v->set_approximation(value);
  v->set(f, sign_of(value));
  if (!substitute(f, value, *v)) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    v->residues = from_dyadic(modulus, static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53);
  }
  literals.emplace(name, id);
  return id;
}

void Shared::assume(Assumption assumption) {
  const std::lock_guard lock(mutex);
  assumptions.insert(std::move(assumption));
}

}  // namespace plumb::domain::field

namespace plumb::domain {

FieldContext::FieldContext(FieldOptions options) : inner_(std::make_unique<Inner>(std::move(options))) {}
FieldContext::~FieldContext() = default;

std::uint64_t FieldContext::seed() const { return inner_->options.seed; }
const FieldOptions& FieldContext::options() const { return inner_->options; }
std::span<const std::uint32_t> FieldContext::primes() const { return inner_->primes; }
std::uint64_t FieldContext::bytes() const { return inner_->arena.bytes(); }

std::vector<Assumption> FieldContext::assumptions() const {
  const std::lock_guard lock(inner_->mutex);
  return {inner_->assumptions.begin(), inner_->assumptions.end()};
}

std::vector<Assumption> FieldContext::near_misses() const {
  const std::lock_guard lock(inner_->mutex);
  return {inner_->near_misses.begin(), inner_->near_misses.end()};
}

}  // namespace plumb::domain
