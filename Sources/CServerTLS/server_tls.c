#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "certificate.h"

static struct {
  const void *(*server_method)(void);
  void *(*new_context)(const void *);
  void (*free_context)(void *);
  int (*use_certificate)(void *, void *);
  int (*use_key)(void *, void *);
  long (*control)(void *, int, long, void *);
  int (*set_tickets)(void *, size_t);
  uint64_t (*set_options)(void *, uint64_t);
  void (*set_verify)(void *, int, void *);
  void *(*store)(const void *);
  int (*trust)(void *, void *);
  int (*name_authority)(void *, void *);
  void *(*new_session)(void *);
  void (*free_session)(void *);
  void (*set_accept_state)(void *);
  void (*set_bio)(void *, void *, void *);
  int (*handshake)(void *);
  int (*read)(void *, void *, int);
  int (*write)(void *, const void *, int);
  int (*shut_down)(void *);
  int (*update_key)(void *, int);
  int (*error)(const void *, int);
  void *(*bio_new)(const void *);
  const void *(*bio_memory)(void);
  int (*bio_free)(void *);
  int (*bio_read)(void *, void *, int);
  int (*bio_write)(void *, const void *, int);
  void (*clear_errors)(void);
  unsigned long (*last_error)(void);
  const char *(*reason)(unsigned long);
} ssl;

static bool has_ssl;

static void look_up(void) {
  static const char *const names[] = {
      "TLS_server_method",
      "SSL_CTX_new",
      "SSL_CTX_free",
      "SSL_CTX_use_certificate",
      "SSL_CTX_use_PrivateKey",
      "SSL_CTX_ctrl",
      "SSL_CTX_set_num_tickets",
      "SSL_CTX_set_options",
      "SSL_CTX_set_verify",
      "SSL_CTX_get_cert_store",
      "X509_STORE_add_cert",
      "SSL_CTX_add_client_CA",
      "SSL_new",
      "SSL_free",
      "SSL_set_accept_state",
      "SSL_set_bio",
      "SSL_do_handshake",
      "SSL_read",
      "SSL_write",
      "SSL_shutdown",
      "SSL_key_update",
      "SSL_get_error",
      "BIO_new",
      "BIO_s_mem",
      "BIO_free",
      "BIO_read",
      "BIO_write",
      "ERR_clear_error",
      "ERR_peek_last_error",
      "ERR_reason_error_string",
  };
  has_ssl = ccurl_openssl_find_any(&ssl, names, sizeof(names) / sizeof(*names));
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_ssl;
}

struct ccurl_server_tls {
  void *context;
};

// Makes clients present a certificate of an authority.
static bool require_certificate(void *context, const struct ccurl_certificate *authority) {
  enum { VERIFY = 1, FAIL_WITHOUT = 2 };
  ssl.set_verify(context, VERIFY | FAIL_WITHOUT, NULL);
  return ssl.trust(ssl.store(context), authority->certificate) == 1 &&
         ssl.name_authority(context, authority->certificate) == 1;
}

struct ccurl_server_tls *ccurl_server_tls_create(const struct ccurl_certificate *certificate,
                                                 const struct ccurl_certificate *client_authority) {
  enum { SET_SESSION_CACHE = 44, NO_CACHE = 0, NO_TICKET = 0x4000 };
  struct ccurl_server_tls *tls = is_available() ? calloc(1, sizeof(*tls)) : NULL;
  if (tls == NULL) return NULL;
  tls->context = ssl.new_context(ssl.server_method());
  if (tls->context != NULL && ssl.use_certificate(tls->context, certificate->certificate) == 1 &&
      ssl.use_key(tls->context, certificate->key) == 1) {
    // A resumed session would hide the certificate of the next connection.
    ssl.set_tickets(tls->context, 0);
    ssl.set_options(tls->context, NO_TICKET);
    ssl.control(tls->context, SET_SESSION_CACHE, NO_CACHE, NULL);
    if (client_authority == NULL || require_certificate(tls->context, client_authority)) return tls;
  }
  ssl.clear_errors();
  ccurl_server_tls_free(tls);
  return NULL;
}

void ccurl_server_tls_free(struct ccurl_server_tls *tls) {
  if (tls == NULL) return;
  if (tls->context != NULL) ssl.free_context(tls->context);
  free(tls);
}

struct ccurl_server_session {
  // The session owns both buffers.
  void *session, *input, *output;
  const char *reason;
};

struct ccurl_server_session *ccurl_server_session_create(struct ccurl_server_tls *tls) {
  struct ccurl_server_session *session = calloc(1, sizeof(*session));
  if (session == NULL) return NULL;
  session->session = ssl.new_session(tls->context);
  session->input = ssl.bio_new(ssl.bio_memory());
  session->output = ssl.bio_new(ssl.bio_memory());
  if (session->session != NULL && session->input != NULL && session->output != NULL) {
    ssl.set_bio(session->session, session->input, session->output);
    ssl.set_accept_state(session->session);
    return session;
  }
  if (session->input != NULL) ssl.bio_free(session->input);
  if (session->output != NULL) ssl.bio_free(session->output);
  if (session->session != NULL) ssl.free_session(session->session);
  free(session);
  return NULL;
}

void ccurl_server_session_free(struct ccurl_server_session *session) {
  if (session == NULL) return;
  ssl.free_session(session->session);
  free(session);
}

// Returns the meaning of the result of a call that did not succeed.
static int32_t outcome(struct ccurl_server_session *session, int result) {
  enum { WANTS_READ = 2, CLOSED = 6 };
  int error = ssl.error(session->session, result);
  if (error == WANTS_READ) return CCURL_SESSION_NEEDS_BYTES;
  if (error == CLOSED) return 0;
  session->reason = ssl.reason(ssl.last_error());
  ssl.clear_errors();
  return CCURL_SESSION_FAILED;
}

int32_t ccurl_server_session_handshake(struct ccurl_server_session *session) {
  ssl.clear_errors();
  int result = ssl.handshake(session->session);
  if (result == 1) return CCURL_SESSION_COMPLETE;
  int32_t meaning = outcome(session, result);
  return meaning == CCURL_SESSION_NEEDS_BYTES ? meaning : CCURL_SESSION_FAILED;
}

static int clamped(size_t count) { return count > INT_MAX ? INT_MAX : (int)count; }

ptrdiff_t ccurl_server_session_read(struct ccurl_server_session *session, void *bytes, size_t count) {
  ssl.clear_errors();
  int result = ssl.read(session->session, bytes, clamped(count));
  return result > 0 ? result : outcome(session, result);
}

bool ccurl_server_session_write(struct ccurl_server_session *session, const void *bytes, size_t count) {
  ssl.clear_errors();
  if (count == 0) return true;
  int result = count > INT_MAX ? 0 : ssl.write(session->session, bytes, (int)count);
  if (result > 0) return true;
  outcome(session, result);
  return false;
}

bool ccurl_server_session_update_key(struct ccurl_server_session *session) {
  enum { NOT_REQUESTED = 0 };
  ssl.clear_errors();
  return ssl.update_key(session->session, NOT_REQUESTED) == 1 && ssl.handshake(session->session) == 1;
}

void ccurl_server_session_end(struct ccurl_server_session *session) {
  ssl.clear_errors();
  ssl.shut_down(session->session);
  ssl.clear_errors();
}

bool ccurl_server_session_receive(struct ccurl_server_session *session, const void *bytes, size_t count) {
  return count == 0 || (count <= INT_MAX && ssl.bio_write(session->input, bytes, (int)count) == (int)count);
}

size_t ccurl_server_session_send(struct ccurl_server_session *session, void *bytes, size_t count) {
  int result = ssl.bio_read(session->output, bytes, clamped(count));
  return result > 0 ? (size_t)result : 0;
}

const char *ccurl_server_session_reason(const struct ccurl_server_session *session) {
  return session->reason == NULL ? "the connection ended" : session->reason;
}
