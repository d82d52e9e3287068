#include <pthread.h>
#include <stdlib.h>

#include "CCurl.h"
#include "openssl.h"

// The functions of the OpenSSL that libcurl has loaded. The build does not depend on OpenSSL.
static struct {
  const void *(*validated)(const void *);
  const void *(*sent)(const void *);
  long (*verify_result)(const void *);
  int (*is_resumed)(const void *);
  long (*control)(void *, int, long, void *);
  int (*count)(const void *);
  void *(*item)(const void *, int);
  int (*encode)(const void *, unsigned char **);
  const void *(*context)(const void *);
  const void *(*store)(const void *);
  const void *(*parameters)(const void *);
  unsigned long (*flags)(const void *);
} ssl;

static bool has_ssl;

static void find(void) {
  static const char *const names[] = {"SSL_get0_verified_chain", "SSL_get_peer_cert_chain", "SSL_get_verify_result",
                                      "SSL_session_reused",      "SSL_ctrl",                "OPENSSL_sk_num",
                                      "OPENSSL_sk_value",        "i2d_X509",                "SSL_get_SSL_CTX",
                                      "SSL_CTX_get_cert_store",  "X509_STORE_get0_param",   "X509_VERIFY_PARAM_get_flags"};
  has_ssl = ccurl_openssl_find(&ssl, names, sizeof(names) / sizeof(*names));
}

// Passes a certificate to the callback. Returns false if it cannot be encoded.
static bool read_one(const void *certificate, bool is_sent, ccurl_der_callback add, void *context) {
  int length = ssl.encode(certificate, NULL);
  unsigned char *bytes = length > 0 ? malloc((size_t)length) : NULL, *end = bytes;
  if (bytes == NULL) return false;
  length = ssl.encode(certificate, &end);
  if (length > 0) add(context, is_sent, bytes, (size_t)length);
  free(bytes);
  return length > 0;
}

// Passes the certificates of a stack to the callback, leaf first. Returns false if one of them cannot be encoded.
static bool read_stack(const void *stack, bool is_sent, ccurl_der_callback add, void *context) {
  for (int index = 0; stack != NULL && index < ssl.count(stack); index++)
    if (!read_one(ssl.item(stack, index), is_sent, add, context)) return false;
  return true;
}

// Passes the certificates that the server has sent. A session that was stored as bytes and resumed has only the server's own.
static bool read_sent(const void *session, ccurl_der_callback add, void *context) {
  // The function is new in OpenSSL 3.
  const void *(*get_leaf)(const void *) = (const void *(*)(const void *))ccurl_openssl_function("SSL_get0_peer_certificate");
  const void *chain = ssl.sent(session), *leaf = chain == NULL && get_leaf != NULL ? get_leaf(session) : NULL;
  return leaf == NULL ? read_stack(chain, true, add, context) : read_one(leaf, true, add, context);
}

// Returns whether the handshake has checked revocation lists: libcurl sets the flags of OpenSSL's store for that.
static bool checks_revocation_lists(const void *session) {
  enum { CRL_CHECK = 4 };
  const void *store = ssl.store(ssl.context(session));
  return store != NULL && (ssl.flags(ssl.parameters(store)) & CRL_CHECK) != 0;
}

// Returns whether the server has sent an OCSP response with the handshake. libcurl asks for one only to verify it.
static bool has_stapled_response(void *session) {
  enum { GET_OCSP_RESPONSE = 70 };
  unsigned char *response = NULL;
  return ssl.control(session, GET_OCSP_RESPONSE, 0, &response) > 0 && response != NULL;
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  return has_ssl;
}

bool ccurl_tls_is_resumed(const void *session) {
  return session != NULL && is_available() && ssl.is_resumed(session);
}

int ccurl_tls_read_chain(void *session, bool verifies, ccurl_der_callback add, void *context) {
  enum { VERIFIED = 0 };
  if (session == NULL || !is_available()) return -1;
  const void *chain = ssl.validated(session);
  // Without verification, OpenSSL has stored only the chain that the server has sent. The session itself does not tell whether libcurl
  // verifies: newer versions ask for the result after the handshake.
  bool is_validated = verifies && ssl.verify_result(session) == VERIFIED && !ssl.is_resumed(session) && chain != NULL &&
                      ssl.count(chain) > 0;
  if (is_validated && !read_stack(chain, false, add, context)) return -1;
  if (!read_sent(session, add, context)) return -1;
  if (!is_validated) return 0;
  int flags = CCURL_CHAIN_VALIDATED;
  if (checks_revocation_lists(session)) flags |= CCURL_CHAIN_CHECKED_LISTS;
  if (has_stapled_response(session)) flags |= CCURL_CHAIN_CHECKED_STAPLE;
  return flags;
}
