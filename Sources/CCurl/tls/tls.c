#include <pthread.h>

#include "CCurl.h"
#include "openssl.h"

static struct {
  void *(*parameters)(void *);
  void (*set_host_flags)(void *, unsigned);
  int (*set_host)(void *, const char *, size_t);
  int (*set_address)(void *, const char *);
  void (*selected)(const void *, const unsigned char **, unsigned *);
  int (*shutdown)(const void *);
  int (*version)(const void *);
  const void *(*cipher)(const void *);
  const char *(*cipher_name)(const void *);
} ssl;

static bool has_ssl;

static void look_up(void) {
  static const char *const names[] = {"SSL_CTX_get0_param",          "X509_VERIFY_PARAM_set_hostflags",
                                      "X509_VERIFY_PARAM_set1_host", "X509_VERIFY_PARAM_set1_ip_asc",
                                      "SSL_get0_alpn_selected",      "SSL_get_shutdown",
                                      "SSL_version",                 "SSL_get_current_cipher",
                                      "SSL_CIPHER_get_name"};
  has_ssl = ccurl_openssl_find(&ssl, names, sizeof(names) / sizeof(*names));
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_ssl;
}

CURLcode ccurl_set_tls_function(CURL *easy, ccurl_tls_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

CURLcode ccurl_tls_verify_host(void *tls_context, const char *host) {
  enum { NEVER_CHECK_SUBJECT = 0x20 };
  if (!is_available() || tls_context == NULL) return CURLE_SSL_CERTPROBLEM;
  void *parameters = ssl.parameters(tls_context);
  ssl.set_host_flags(parameters, NEVER_CHECK_SUBJECT);
  if (ssl.set_address(parameters, host)) return CURLE_OK;
  return ssl.set_host(parameters, host, 0) ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

// Returns OpenSSL's session of a transfer's connection; NULL if there is none.
static const void *session_of(CURL *easy) { return is_available() ? ccurl_tls_session(easy) : NULL; }

bool ccurl_tls_is_open(CURL *easy) {
  enum { RECEIVED_SHUTDOWN = 2 };
  const void *session = session_of(easy);
  return session != NULL && !(ssl.shutdown(session) & RECEIVED_SHUTDOWN);
}

int ccurl_tls_version(const void *session) {
  // OpenSSL's own QUIC has the version of QUIC here. Its handshake is TLS 1.3's (RFC 9001).
  enum { QUIC_1 = 1 };
  int version = session == NULL || !is_available() ? 0 : ssl.version(session);
  return version == QUIC_1 ? CCURL_TLS_1_3 : version;
}

const char *ccurl_tls_cipher(const void *session) {
  const void *cipher = session == NULL || !is_available() ? NULL : ssl.cipher(session);
  return cipher == NULL ? NULL : ssl.cipher_name(cipher);
}

const uint8_t *ccurl_tls_protocol(const void *session, unsigned *length) {
  const unsigned char *name = NULL;
  *length = 0;
  if (session != NULL && is_available()) ssl.selected(session, &name, length);
  return name;
}
