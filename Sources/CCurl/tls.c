#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>

#include "CCurl.h"

CURLcode ccurl_set_tls_function(CURL *easy, ccurl_tls_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

// Makes OpenSSL verify the host. The functions are those of the OpenSSL that libcurl has loaded; the build does not depend on OpenSSL.
CURLcode ccurl_tls_verify_host(void *tls_context, const char *host) {
  enum { NEVER_CHECK_SUBJECT = 0x20 };
  void *(*get_parameters)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "SSL_CTX_get0_param");
  void (*set_flags)(void *, unsigned) =
      (void (*)(void *, unsigned))dlsym(RTLD_DEFAULT, "X509_VERIFY_PARAM_set_hostflags");
  int (*set_host)(void *, const char *, size_t) =
      (int (*)(void *, const char *, size_t))dlsym(RTLD_DEFAULT, "X509_VERIFY_PARAM_set1_host");
  int (*set_address)(void *, const char *) =
      (int (*)(void *, const char *))dlsym(RTLD_DEFAULT, "X509_VERIFY_PARAM_set1_ip_asc");
  // With another TLS library, libcurl's own check is the only one.
  if (!get_parameters || !set_flags || !set_host || !set_address || !tls_context) return CURLE_OK;
  void *parameters = get_parameters(tls_context);
  set_flags(parameters, NEVER_CHECK_SUBJECT);
  if (set_address(parameters, host)) return CURLE_OK;
  return set_host(parameters, host, 0) ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

// Returns OpenSSL's session of a transfer's connection; NULL if there is none.
static const void *openssl_session(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return NULL;
  return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

// Reads the protocol that ALPN selected. Returns false if the protocol cannot be known.
static bool negotiated(CURL *easy, const unsigned char **name, unsigned *length) {
  typedef void (*protocol_function)(const void *, const unsigned char **, unsigned *);
  // The function is stored, because every request needs it, and the look-up takes longer than the rest of this function.
  static _Atomic(protocol_function) found;
  protocol_function get_protocol = found;
  if (get_protocol == NULL) {
    get_protocol = (protocol_function)dlsym(RTLD_DEFAULT, "SSL_get0_alpn_selected");
    found = get_protocol;
  }
  const void *session = get_protocol == NULL ? NULL : openssl_session(easy);
  if (session == NULL) return false;
  get_protocol(session, name, length);
  return true;
}

bool ccurl_tls_is_open(CURL *easy) {
  enum { RECEIVED_SHUTDOWN = 2 };
  int (*get_shutdown)(const void *) = (int (*)(const void *))dlsym(RTLD_DEFAULT, "SSL_get_shutdown");
  const void *session = openssl_session(easy);
  return get_shutdown && session && !(get_shutdown(session) & RECEIVED_SHUTDOWN);
}

static bool names_streams(const unsigned char *name, unsigned length) {
  return length == 2 && name[0] == 'h' && (name[1] == '2' || name[1] == '3');
}

bool ccurl_tls_has_streams(CURL *easy) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  return negotiated(easy, &name, &length) && names_streams(name, length);
}

bool ccurl_tls_has_http3(CURL *easy) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  return negotiated(easy, &name, &length) && names_streams(name, length) && name[1] == '3';
}

bool ccurl_tls_has_no_streams(CURL *easy) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  return negotiated(easy, &name, &length) && !names_streams(name, length);
}
