#define _GNU_SOURCE
#include "openssl.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "CCurl.h"
#include "../system/lookup.h"

static bool is_version(char character) { return isalnum((unsigned char)character) || character == '.'; }

// Returns the library that libcurl uses: the first that is not in parentheses, as the others of a libcurl with several are.
static const char *library_in_use(const char *text) {
  while (*text == ' ' || *text == '(') text += *text == ' ' ? 1 : strcspn(text, " ");
  return text;
}

bool ccurl_tls_is_same_library(const char *curl, const char *openssl) {
  static const char compatible[] = "compatible; ";
  // AWS-LC begins with the version of OpenSSL whose functions it has: "OpenSSL 1.1.1 (compatible; AWS-LC 1.29.0)".
  const char *inner = strstr(openssl, compatible);
  if (inner != NULL) openssl = inner + sizeof(compatible) - 1;
  curl = library_in_use(curl);
  size_t length = strcspn(curl, "/ "), openssl_length = strcspn(openssl, " ");
  if (length == 0) return false;
  const char *version = curl + length, *openssl_version = openssl + openssl_length;
  // libcurl has another name for this copy of OpenSSL.
  bool is_quictls = length == 7 && memcmp(curl, "quictls", 7) == 0;
  const char *name = is_quictls ? "OpenSSL" : curl;
  if (length != openssl_length || memcmp(name, openssl, length) != 0) return false;
  // BoringSSL has no versions.
  if (*version++ != '/' || *openssl_version++ != ' ') return true;
  while (is_version(*version) && *version == *openssl_version) version++, openssl_version++;
  return !is_version(*version) && !is_version(*openssl_version);
}

static bool is_of_curl;

static void compare(void) {
  // A libcurl with several TLS libraries chooses one of them here.
  ccurl_global_init();
  const char *text = ccurl_version_info()->ssl_version;
  const char *(*version)(int) = (const char *(*)(int))dlsym(ccurl_library_of_curl(), "OpenSSL_version");
  is_of_curl = text != NULL && version != NULL && ccurl_tls_is_same_library(text, version(0));
}

bool ccurl_tls_has_openssl(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, compare);
  return is_of_curl;
}

bool ccurl_openssl_find(void *functions, const char *const *names, size_t count) {
  return ccurl_tls_has_openssl() && ccurl_find_functions(ccurl_library_of_curl(), names, functions, count);
}

void *ccurl_openssl_function(const char *name) {
  return ccurl_tls_has_openssl() ? dlsym(ccurl_library_of_curl(), name) : NULL;
}

static void *any_library;

static void find_library(void) {
  static const char *const names[] = {"libssl.so.3", "libssl.so.1.1"};
  if (ccurl_tls_has_openssl()) any_library = ccurl_library_of_curl();
  for (size_t index = 0; index < sizeof(names) / sizeof(*names) && any_library == NULL; index++) {
    any_library = ccurl_system_library(names[index]);
  }
}

bool ccurl_openssl_find_any(void *functions, const char *const *names, size_t count) {
  // One library for all callers: they pass their objects to each other.
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_library);
  return ccurl_find_functions(any_library, names, functions, count);
}

void *ccurl_tls_session(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (!ccurl_tls_has_openssl() || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK) return NULL;
  return session != NULL && session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}
