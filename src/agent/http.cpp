// SPDX-License-Identifier: Apache-2.0
#include "agent/http.h"

#define CURL_DISABLE_TYPECHECK  // the checking macros name functions that are loaded at run time
#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace plumb::agent {
namespace {

// The functions of libcurl that are used. The library stays loaded: it keeps state of its own.
struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  CURLcode (*setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*getinfo)(CURL*, CURLINFO, ...) = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_strerror) error_text = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
  bool is_here = false;

  Curl() {
    void* library = nullptr;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"}) {
      library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) return;
    const auto load = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    is_here = load(global_init, "curl_global_init") && load(init, "curl_easy_init") &&
              load(cleanup, "curl_easy_cleanup") && load(setopt, "curl_easy_setopt") &&
              load(getinfo, "curl_easy_getinfo") && load(perform, "curl_easy_perform") &&
              load(error_text, "curl_easy_strerror") && load(append, "curl_slist_append") &&
              load(free_list, "curl_slist_free_all") && global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }
};

const Curl& curl() {
  static const Curl loaded;
  return loaded;
}

struct Transfer {
  const HttpRequest* request = nullptr;
  const std::function<bool(std::string_view)>* take = nullptr;
  const std::function<bool()>* is_over = nullptr;
  HttpResponse* response = nullptr;
  std::size_t bytes = 0;
  bool is_too_long = false, is_broken_off = false;
};

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  transfer.bytes += bytes;
  transfer.is_too_long = transfer.bytes > transfer.request->most_bytes;
  if (transfer.is_too_long) return 0;
  transfer.is_broken_off = !(*transfer.take)({data, bytes});
  return transfer.is_broken_off ? 0 : bytes;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  constexpr std::size_t kMostHeaders = 200;
  auto& headers = static_cast<Transfer*>(user)->response->headers;
  const std::string_view line(data, size * count);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || headers.size() > kMostHeaders) return line.size();
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n' || value.back() == ' '))
    value.remove_suffix(1);
  headers[name] = std::string(value);
  return line.size();
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.is_broken_off = transfer.is_broken_off || (*transfer.is_over && (*transfer.is_over)());
  return transfer.is_broken_off ? 1 : 0;
}

HttpEnd end_of(CURLcode code, const Transfer& transfer) {
  if (code == CURLE_OK) return HttpEnd::Whole;
  if (transfer.is_too_long) return HttpEnd::TooLong;
  if (transfer.is_broken_off) return HttpEnd::BrokenOff;
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return HttpEnd::BadUrl;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpEnd::TimedOut;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return HttpEnd::Unreachable;
    default:
      return HttpEnd::Broken;
  }
}

void set_options(CURL* handle, const HttpRequest& request, curl_slist* headers, Transfer& transfer) {
  const auto set = curl().setopt;
  const auto milliseconds = [](double seconds) { return static_cast<long>(std::max(1.0, seconds * 1e3)); };
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_POST, 1L);
  set(handle, CURLOPT_POSTFIELDS, request.body.data());
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(handle, CURLOPT_HTTPHEADER, headers);
  set(handle, CURLOPT_USERAGENT, "plumb");
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_seconds));
  set(handle, CURLOPT_TIMEOUT_MS, milliseconds(request.all_seconds));
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request.quiet_seconds)));
  set(handle, CURLOPT_WRITEFUNCTION, on_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, on_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  set(handle, CURLOPT_XFERINFODATA, &transfer);
  set(handle, CURLOPT_NOPROGRESS, 0L);
}

}  // namespace

HttpResponse post(const HttpRequest& request, const std::function<bool(std::string_view)>& take,
                  const std::function<bool()>& is_over) {
  HttpResponse response;
  const Curl& library = curl();
  if (!library.is_here) {
    return {HttpEnd::NoLibrary, "libcurl is not on this machine; Debian and Ubuntu have it as libcurl4", 0, {}};
  }
  if (!request.url.starts_with("https://") && !request.url.starts_with("http://")) {
    return {HttpEnd::BadUrl, fmt::format("`{}` is no http or https address", request.url), 0, {}};
  }
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(library.init(), library.cleanup);
  if (!handle) return {HttpEnd::Broken, "libcurl does not start", 0, {}};
  // No "Expect: 100-continue": not every server answers it.
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(library.append(nullptr, "Expect:"), library.free_list);
  for (const std::string& line : request.headers) {
    curl_slist* longer = library.append(headers.get(), line.c_str());
    if (longer == nullptr) return {HttpEnd::Broken, "out of memory", 0, {}};
    (void)headers.release();
    headers.reset(longer);
  }
  Transfer transfer{&request, &take, &is_over, &response};
  set_options(handle.get(), request, headers.get(), transfer);
  const CURLcode code = library.perform(handle.get());
  long status = 0;
  library.getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  response.end = end_of(code, transfer);
  if (response.end == HttpEnd::TooLong) response.message = fmt::format("more than {} bytes", request.most_bytes);
  else if (response.end != HttpEnd::Whole) response.message = library.error_text(code);
  return response;
}

bool is_private(std::string_view url) {
  if (url.starts_with("https://")) return true;
  constexpr std::string_view kClear = "http://";
  if (!url.starts_with(kClear)) return false;
  const std::string_view rest = url.substr(kClear.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  // A name before the host ("http://localhost:1@elsewhere/") is not taken apart here, and so is not private.
  if (host.find('@') != std::string_view::npos) return false;
  for (const std::string_view own : {"localhost", "127.0.0.1", "[::1]"}) {
    if (host == own || (host.starts_with(own) && host[own.size()] == ':')) return true;
  }
  return false;
}

}  // namespace plumb::agent
