#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "CCurl.h"
#include "openssl.h"

// The bytes of TLS connections that the engine has taken over from libcurl, through the functions of the OpenSSL that libcurl has loaded.
// The build does not depend on OpenSSL.
static struct {
  long (*control_context)(void *, int, long, void *);
  int (*read)(void *, void *, int);
  int (*write)(void *, const void *, int);
  int (*result)(const void *, int);
  int (*has_pending)(const void *);
  int (*shut_down)(void *);
  void (*set_bio)(void *, void *, void *);
  int (*new_kind)(void);
  void *(*new_method)(int, const char *);
  int (*set_read)(void *, int (*)(void *, char *, int));
  int (*set_write)(void *, int (*)(void *, const char *, int));
  int (*set_control)(void *, long (*)(void *, int, long, void *));
  int (*set_destroy)(void *, int (*)(void *));
  void *(*new_bio)(const void *);
  void (*set_data)(void *, void *);
  void *(*get_data)(void *);
  void (*set_complete)(void *, int);
  void (*set_flags)(void *, int);
  void (*clear_flags)(void *, int);
  unsigned long (*first_error)(void);
  void (*error_text)(unsigned long, char *, size_t);
  void (*clear_errors)(void);
  int (*offer)(void *, const unsigned char *, unsigned);
  void (*set_certificate_callback)(void *, int (*)(void *, void *), void *);
  void (*set_read_ahead)(void *, int);
} ssl;

static bool has_ssl;
// Sets the size of the buffer for received records; NULL if this OpenSSL has no such function.
static void (*set_read_buffer)(void *, size_t);
// The kind of OpenSSL's streams that read and write sockets.
static void *method;

struct ccurl_tls_stream {
  void *session;
  int socket;
  bool is_drained;  // the last read has found nothing more on the socket
  bool has_ended;   // the peer has ended the TCP connection
  bool is_unusable; // OpenSSL has reported an error, after which a session must not be used
  bool cannot_send; // the system has refused to send, as after a reset; what the peer has sent before can still be received
  int error;        // the system's last error of the socket
};

// The result of OpenSSL's functions that may be repeated.
enum { SHOULD_RETRY = 0x08, RETRY_READ = 0x01, RETRY_WRITE = 0x02, RETRY = 0x0f };

static int socket_read(void *bio, char *bytes, int count) {
  struct ccurl_tls_stream *stream = ssl.get_data(bio);
  ssl.clear_flags(bio, RETRY);
  ssize_t got = recv(stream->socket, bytes, (size_t)count, MSG_DONTWAIT);
  if (got == 0) stream->has_ended = true;
  if (got >= 0) return (int)got;
  stream->error = errno;
  if (errno == EAGAIN || errno == EINTR) {
    stream->is_drained = true;
    ssl.set_flags(bio, RETRY_READ | SHOULD_RETRY);
  }
  return -1;
}

static int socket_write(void *bio, const char *bytes, int count) {
  struct ccurl_tls_stream *stream = ssl.get_data(bio);
  ssl.clear_flags(bio, RETRY);
  ssize_t sent = send(stream->socket, bytes, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return (int)sent;
  stream->error = errno;
  if (errno == EAGAIN || errno == EINTR) ssl.set_flags(bio, RETRY_WRITE | SHOULD_RETRY);
  return -1;
}

static long socket_control(void *bio, int command, long value, void *pointer) {
  enum { IS_AT_END = 2, FLUSH = 11, DUPLICATE = 12 };
  struct ccurl_tls_stream *stream = ssl.get_data(bio);
  if (command == IS_AT_END) return stream != NULL && stream->has_ended;
  return command == FLUSH || command == DUPLICATE;
}

// Frees the stream with the session.
static int socket_destroy(void *bio) {
  free(ssl.get_data(bio));
  ssl.set_data(bio, NULL);
  return 1;
}

static void look_up(void) {
  static const char *const names[] = {
      "SSL_CTX_ctrl",      "SSL_read",           "SSL_write",       "SSL_get_error",
      "SSL_has_pending",   "SSL_shutdown",    "SSL_set_bio",        "BIO_get_new_index", "BIO_meth_new",
      "BIO_meth_set_read", "BIO_meth_set_write", "BIO_meth_set_ctrl", "BIO_meth_set_destroy", "BIO_new",
      "BIO_set_data",      "BIO_get_data",    "BIO_set_init",       "BIO_set_flags",   "BIO_clear_flags",
      "ERR_peek_error",    "ERR_error_string_n", "ERR_clear_error",
      "SSL_CTX_set_alpn_protos", "SSL_set_cert_cb", "SSL_set_read_ahead"};
  if (!ccurl_openssl_find(&ssl, names, sizeof(names) / sizeof(*names))) return;
  set_read_buffer = (void (*)(void *, size_t))ccurl_openssl_function("SSL_CTX_set_default_read_buffer_len");
  enum { SOURCE_AND_SINK = 0x0400 };
  method = ssl.new_method(ssl.new_kind() | SOURCE_AND_SINK, "trellis socket");
  has_ssl = method != NULL && ssl.set_read(method, socket_read) && ssl.set_write(method, socket_write) &&
            ssl.set_control(method, socket_control) && ssl.set_destroy(method, socket_destroy);
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_ssl;
}

bool ccurl_tls_can_take(void) { return is_available(); }

bool ccurl_tls_allow_taking(void *context, bool takes) {
  enum { MODE = 33, CLEAR_MODE = 78, PARTIAL_WRITES = 1, MOVED_BUFFERS = 2, AUTOMATIC_RETRY = 4, RELEASES_BUFFERS = 16 };
  enum { LARGEST_RECORD = 5 + (16 << 10) + 256, READ_BUFFER = 4 * LARGEST_RECORD };
  if (context == NULL || !is_available()) return false;
  ssl.control_context(context, MODE, PARTIAL_WRITES | MOVED_BUFFERS | RELEASES_BUFFERS, NULL);
  if (!takes) return true;
  // With it, one call would read messages of the handshake without end, such as updates of keys. Without it, libcurl would wait for a socket
  // although TLS inside of TLS has bytes.
  ssl.control_context(context, CLEAR_MODE, AUTOMATIC_RETRY, NULL);
  // Several records at a time. The session has the memory only while bytes wait in it.
  if (set_read_buffer != NULL) set_read_buffer(context, READ_BUFFER);
  return true;
}

bool ccurl_tls_offer(void *context, const char *protocols, size_t length) {
  if (context == NULL || !is_available()) return false;
  // Unlike most others, this function returns zero if it succeeds.
  return ssl.offer(context, (const unsigned char *)protocols, (unsigned)length) == 0;
}

struct ccurl_tls_stream *ccurl_tls_take(void *session, int socket) {
  if (session == NULL || !is_available()) return NULL;
  struct ccurl_tls_stream *stream = calloc(1, sizeof(struct ccurl_tls_stream));
  void *bio = stream == NULL ? NULL : ssl.new_bio(method);
  if (bio == NULL) {
    free(stream);
    return NULL;
  }
  stream->session = session;
  stream->socket = socket;
  ssl.set_data(bio, stream);
  ssl.set_complete(bio, 1);
  ssl.set_bio(session, bio, bio);
  // From 3.2 on, the command of `SSL_ctrl` does not reach the layer of records.
  ssl.set_read_ahead(session, 1);
  return stream;
}

static int refuse(void *session, void *context) {
  (void)session, (void)context;
  return 0;
}

void ccurl_tls_refuse_certificates(void *session) {
  if (session != NULL && is_available()) ssl.set_certificate_callback(session, refuse, NULL);
}

// OpenSSL takes an error that is left from another call for the result of its next one.
static void forget_errors(void) {
  if (ssl.first_error() != 0) ssl.clear_errors();
}

enum { WANTS_READ = 2, WANTS_WRITE = 3, SYSTEM_ERROR = 5, HAS_CLOSED = 6 };

static ssize_t has_failed(struct ccurl_tls_stream *stream) {
  stream->is_unusable = true;
  return CCURL_TLS_FAILED;
}

ssize_t ccurl_tls_receive(struct ccurl_tls_stream *stream, void *bytes, size_t count) {
  enum { MESSAGES = 16 };
  if (stream->is_unusable) return CCURL_TLS_FAILED;
  forget_errors();
  for (int index = 0; index < MESSAGES; index++) {
    stream->is_drained = false;
    int got = ssl.read(stream->session, bytes, count > INT32_MAX ? INT32_MAX : (int)count);
    if (got > 0) return got;
    switch (ssl.result(stream->session, got)) {
    // An option of OpenSSL's, which its configuration file may set, makes an end of TCP look like one of TLS.
    case HAS_CLOSED: return stream->has_ended ? CCURL_TLS_CUT_OFF : 0;
    case WANTS_WRITE: return CCURL_TLS_FULL;
    case WANTS_READ:
      if (stream->is_drained) return CCURL_TLS_WAIT;
      // A message of the handshake was read, and there may be more after it.
      continue;
    default:
      has_failed(stream);
      return stream->has_ended ? CCURL_TLS_CUT_OFF : CCURL_TLS_FAILED;
    }
  }
  return CCURL_TLS_MORE;
}

ssize_t ccurl_tls_send(struct ccurl_tls_stream *stream, const void *bytes, size_t count) {
  if (stream->is_unusable || stream->cannot_send) return CCURL_TLS_FAILED;
  forget_errors();
  int sent = ssl.write(stream->session, bytes, count > INT32_MAX ? INT32_MAX : (int)count);
  if (sent > 0) return sent;
  switch (ssl.result(stream->session, sent)) {
  case WANTS_WRITE: return CCURL_TLS_WAIT;
  case WANTS_READ: return CCURL_TLS_MORE;
  case SYSTEM_ERROR: stream->cannot_send = true; return CCURL_TLS_FAILED;
  default: return has_failed(stream);
  }
}

bool ccurl_tls_has_pending(const struct ccurl_tls_stream *stream) { return ssl.has_pending(stream->session); }

bool ccurl_tls_is_quiet(struct ccurl_tls_stream *stream) {
  char byte;
  if (!ssl.has_pending(stream->session) && ccurl_socket_is_quiet(stream->socket)) return true;
  // A part of a record may become bytes that nobody has asked for.
  return ccurl_tls_receive(stream, &byte, 1) == CCURL_TLS_WAIT && !ssl.has_pending(stream->session);
}

int ccurl_tls_describe(struct ccurl_tls_stream *stream, char *text, size_t size) {
  unsigned long error = ssl.first_error();
  if (size > 0) text[0] = 0;
  if (error != 0) ssl.error_text(error, text, size);
  ssl.clear_errors();
  return stream->error;
}

void ccurl_tls_close(struct ccurl_tls_stream *stream) {
  if (stream->is_unusable || stream->cannot_send) return;
  forget_errors();
  if (ssl.shut_down(stream->session) < 0) ssl.clear_errors();
}
