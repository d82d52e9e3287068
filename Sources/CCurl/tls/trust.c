#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "CCurl.h"
#include "openssl.h"

// The handshakes of libcurl's TLS connections, through the functions of the OpenSSL that libcurl has loaded. The build does not depend on
// OpenSSL.
static struct {
  int (*new_index)(int, long, void *, void *, void *, void (*)(void *, void *, void *, int, long, void *));
  int (*set_data)(void *, int, void *);
  void *(*get_data)(const void *, int);
  void *(*context_of)(const void *);
  void (*set_verify)(void *, int, int (*)(int, void *));
  void (*set_info)(void *, void (*)(const void *, int, int));
  void (*set_client)(void *, int (*)(void *, void **, void **));
  void (*set_key_log)(void *, void (*)(const void *, const char *));
  int (*session_index)(void);
  void *(*store_data)(const void *, int);
  int (*store_error)(const void *);
  int (*store_depth)(const void *);
  void *(*store_certificate)(const void *);
  void *(*subject)(const void *);
  void *(*issuer)(const void *);
  const void *(*not_before)(const void *);
  const void *(*not_after)(const void *);
  int (*to_time)(const void *, struct tm *);
  int (*print_name)(void *, const void *, int, unsigned long);
  void *(*extension)(const void *, int, int *, int *);
  int (*count)(const void *);
  void *(*element)(const void *, int);
  void *(*name_value)(const void *, int *);
  const unsigned char *(*string_data)(const void *);
  int (*string_length)(const void *);
  void (*free_names)(void *);
  void *(*bio_new)(const void *);
  const void *(*bio_memory)(void);
  long (*bio_control)(void *, int, long, void *);
  int (*bio_free)(void *);
  const char *(*error_text)(long);
  const void *(*untrusted)(const void *);
  int (*encode)(const void *, unsigned char **);
} ssl;

static bool has_ssl;
// The index of the record among OpenSSL's data of a context.
static int record_index;

struct ccurl_tls_record {
  _Atomic int references;
  int key_log;
  struct ccurl_tls_facts facts;
};

static void release_with_context(void *parent, void *record, void *data, int index, long argument, void *pointer) {
  ccurl_tls_record_release(record);
}

static void look_up(void) {
  static const char *const names[] = {
      "CRYPTO_get_ex_new_index",
      "SSL_CTX_set_ex_data",
      "SSL_CTX_get_ex_data",
      "SSL_get_SSL_CTX",
      "SSL_CTX_set_verify",
      "SSL_CTX_set_info_callback",
      "SSL_CTX_set_client_cert_cb",
      "SSL_CTX_set_keylog_callback",
      "SSL_get_ex_data_X509_STORE_CTX_idx",
      "X509_STORE_CTX_get_ex_data",
      "X509_STORE_CTX_get_error",
      "X509_STORE_CTX_get_error_depth",
      "X509_STORE_CTX_get_current_cert",
      "X509_get_subject_name",
      "X509_get_issuer_name",
      "X509_get0_notBefore",
      "X509_get0_notAfter",
      "ASN1_TIME_to_tm",
      "X509_NAME_print_ex",
      "X509_get_ext_d2i",
      "OPENSSL_sk_num",
      "OPENSSL_sk_value",
      "GENERAL_NAME_get0_value",
      "ASN1_STRING_get0_data",
      "ASN1_STRING_length",
      "GENERAL_NAMES_free",
      "BIO_new",
      "BIO_s_mem",
      "BIO_ctrl",
      "BIO_free",
      "X509_verify_cert_error_string",
      "X509_STORE_CTX_get0_untrusted",
      "i2d_X509",
  };
  enum { CONTEXTS = 1 };
  if (!ccurl_openssl_find(&ssl, names, sizeof(names) / sizeof(*names))) return;
  record_index = ssl.new_index(CONTEXTS, 0, NULL, NULL, NULL, release_with_context);
  has_ssl = record_index >= 0;
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_ssl;
}

struct ccurl_tls_record *ccurl_tls_record_create(void) {
  if (!is_available()) return NULL;
  struct ccurl_tls_record *record = calloc(1, sizeof(*record));
  if (record == NULL) return NULL;
  record->references = 1;
  record->key_log = -1;
  return record;
}

void ccurl_tls_record_release(struct ccurl_tls_record *record) {
  if (record == NULL || atomic_fetch_sub(&record->references, 1) > 1) return;
  if (record->key_log >= 0) close(record->key_log);
  free(record->facts.subject);
  free(record->facts.issuer);
  free(record->facts.names);
  free(record->facts.sent);
  free(record);
}

const struct ccurl_tls_facts *ccurl_tls_record_facts(const struct ccurl_tls_record *record) { return &record->facts; }

static struct ccurl_tls_record *record_of(const void *session) {
  return session == NULL ? NULL : ssl.get_data(ssl.context_of(session), record_index);
}

// Returns the text that OpenSSL's memory buffer contains, and frees the buffer.
static char *take_text(void *buffer) {
  enum { INFO = 3 };
  char *bytes = NULL;
  long length = ssl.bio_control(buffer, INFO, 0, &bytes);
  char *text = length < 0 || bytes == NULL ? NULL : strndup(bytes, (size_t)length);
  ssl.bio_free(buffer);
  return text;
}

// Returns a distinguished name as in RFC 4514, but in the order of the certificate and with the characters beyond ASCII as they are.
static char *text_of_name(const void *name) {
  enum { ESCAPES = 0x1 | 0x2 | 0x10 | 0x100 | 0x200, COMMA_AND_SPACE = 0x2 << 16, UNKNOWN_AS_HEX = 0x1 << 24 };
  void *buffer = name == NULL ? NULL : ssl.bio_new(ssl.bio_memory());
  if (buffer == NULL) return NULL;
  ssl.print_name(buffer, name, 0, ESCAPES | COMMA_AND_SPACE | UNKNOWN_AS_HEX);
  return take_text(buffer);
}

static int64_t seconds_of(const void *time) {
  struct tm parts;
  return time != NULL && ssl.to_time(time, &parts) == 1 ? timegm(&parts) : INT64_MIN;
}

// Appends an entry after a comma. Bytes that no name has are replaced, so that each comma is a separator.
static size_t append_name(char *text, size_t length, const unsigned char *bytes, int count, bool is_address) {
  if (length > 0) text[length++] = ',';
  for (int index = 0; index < count; index++) {
    if (is_address) {
      static const char digits[] = "0123456789abcdef";
      text[length++] = digits[bytes[index] >> 4];
      text[length++] = digits[bytes[index] & 15];
    } else {
      text[length++] = bytes[index] > ' ' && bytes[index] < 0x7f && bytes[index] != ',' ? (char)bytes[index] : '?';
    }
  }
  return length;
}

// Returns the DNS names of a certificate, and its addresses as `#` and hexadecimal digits, with commas between them.
static char *names_of(const void *certificate) {
  enum { ALTERNATIVE_NAMES = 85, DNS = 2, ADDRESS = 7, LONGEST = 4096 };
  void *names = ssl.extension(certificate, ALTERNATIVE_NAMES, NULL, NULL);
  if (names == NULL) return NULL;
  char *text = calloc(1, 2 * LONGEST);
  size_t length = 0;
  for (int index = 0; text != NULL && index < ssl.count(names); index++) {
    int kind = -1;
    const void *value = ssl.name_value(ssl.element(names, index), &kind);
    if (value == NULL || (kind != DNS && kind != ADDRESS)) continue;
    int count = ssl.string_length(value);
    if (count <= 0 || (size_t)count > LONGEST || length + 2 * (size_t)count + 2 > LONGEST) continue;
    if (kind == ADDRESS) {
      length = append_name(text, length, (const unsigned char *)"#", 1, false);
      char *rest = text + length;
      length += append_name(rest, 0, ssl.string_data(value), count, true);
    } else {
      length = append_name(text, length, ssl.string_data(value), count, false);
    }
  }
  ssl.free_names(names);
  return text;
}

// Records the certificates that the peer has sent, one after the other; none if they are too large or cannot be encoded.
static void note_sent(struct ccurl_tls_facts *facts, const void *store) {
  enum { LARGEST = 1 << 18 };
  const void *certificates = ssl.untrusted(store);
  int count = certificates == NULL ? 0 : ssl.count(certificates);
  size_t total = 0;
  for (int index = 0; index < count; index++) {
    int length = ssl.encode(ssl.element(certificates, index), NULL);
    if (length <= 0 || (total += (size_t)length) > LARGEST) return;
  }
  unsigned char *end = total == 0 ? NULL : malloc(total);
  if (end == NULL) return;
  facts->sent = end;
  facts->sent_length = total;
  for (int index = 0; index < count; index++) ssl.encode(ssl.element(certificates, index), &end);
}

// Records the first error of a verification, which ends the handshake.
static int note_verification(int is_accepted, void *store) {
  if (is_accepted) return is_accepted;
  struct ccurl_tls_record *record = record_of(ssl.store_data(store, ssl.session_index()));
  if (record == NULL || record->facts.verify_error != 0) return is_accepted;
  struct ccurl_tls_facts *facts = &record->facts;
  facts->verify_error = ssl.store_error(store);
  facts->depth = ssl.store_depth(store);
  note_sent(facts, store);
  const void *certificate = ssl.store_certificate(store);
  if (certificate == NULL) return is_accepted;
  facts->subject = text_of_name(ssl.subject(certificate));
  facts->issuer = text_of_name(ssl.issuer(certificate));
  facts->not_before = seconds_of(ssl.not_before(certificate));
  facts->not_after = seconds_of(ssl.not_after(certificate));
  if (facts->depth == 0) facts->names = names_of(certificate);
  return is_accepted;
}

static void note_alert(const void *session, int kind, int value) {
  enum { READ = 0x4, WRITE = 0x8, ALERT = 0x4000, NUMBER = 0xff };
  // An alert of 0 only announces the end of the connection.
  if (!(kind & ALERT) || (value & NUMBER) == 0) return;
  struct ccurl_tls_record *record = record_of(session);
  if (record == NULL) return;
  if (kind & READ) record->facts.alert_received = value & NUMBER;
  if (kind & WRITE) record->facts.alert_sent = value & NUMBER;
}

// Records that the server asks for a certificate and none that suits is configured; provides none.
static int note_request(void *session, void **certificate, void **key) {
  struct ccurl_tls_record *record = record_of(session);
  if (record != NULL) record->facts.lacks_certificate = true;
  return 0;
}

// Writes a line of the key log in one call, so that lines of several connections do not mix.
static void write_secret(const void *session, const char *line) {
  struct ccurl_tls_record *record = record_of(session);
  if (record == NULL || record->key_log < 0) return;
  char text[512];
  size_t length = strlen(line);
  if (length + 1 > sizeof(text)) return;
  memcpy(text, line, length);
  text[length] = '\n';
  ssize_t written = write(record->key_log, text, length + 1);
  (void)written;
  memset(text, 0, sizeof(text));
}

bool ccurl_tls_record_begin(struct ccurl_tls_record *record, void *context, bool verifies, int key_log) {
  enum { VERIFY = 1 };
  if (context == NULL) return false;
  atomic_fetch_add(&record->references, 1);
  if (ssl.set_data(context, record_index, record) != 1) {
    ccurl_tls_record_release(record);
    return false;
  }
  if (verifies) ssl.set_verify(context, VERIFY, note_verification);
  ssl.set_info(context, note_alert);
  ssl.set_client(context, note_request);
  if (key_log >= 0 && (record->key_log = fcntl(key_log, F_DUPFD_CLOEXEC, 0)) >= 0) ssl.set_key_log(context, write_secret);
  return true;
}

const char *ccurl_tls_verify_text(int error) { return is_available() ? ssl.error_text(error) : NULL; }
