#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "CCurl.h"
#include "openssl.h"

// Certificates and keys in PEM and PKCS#12, through the functions of the OpenSSL that libcurl has loaded. The build does not depend on
// OpenSSL.
typedef int (*passphrase_function)(char *, int, int, void *);
static struct {
  void *(*bio_of)(const void *, int);
  void *(*bio_new)(const void *);
  const void *(*bio_memory)(void);
  long (*bio_control)(void *, int, long, void *);
  int (*bio_free)(void *);
  void *(*read_certificate)(void *, void **, passphrase_function, void *);
  void *(*read_list)(void *, void **, passphrase_function, void *);
  void *(*read_key)(void *, void **, passphrase_function, void *);
  int (*write_certificate)(void *, void *);
  int (*write_key)(void *, void *, const void *, const unsigned char *, int, passphrase_function, void *);
  int (*is_pair)(const void *, const void *);
  void (*free_certificate)(void *);
  void (*free_list)(void *);
  void (*free_key)(void *);
  void *(*read_pkcs12)(void *, void **);
  int (*has_mac)(const void *);
  int (*is_passphrase)(void *, const char *, int);
  int (*open_pkcs12)(void *, const char *, void **, void **, void **);
  void (*free_pkcs12)(void *);
  int (*count)(const void *);
  void *(*element)(const void *, int);
  void (*free_stack)(void *, void (*)(void *));
  unsigned long (*first_error)(void);
  unsigned long (*last_error)(void);
  void (*clear_errors)(void);
} pki;

static bool has_pki;

static void look_up(void) {
  static const char *const names[] = {
      "BIO_new_mem_buf",
      "BIO_new",
      "BIO_s_mem",
      "BIO_ctrl",
      "BIO_free",
      "PEM_read_bio_X509_AUX",
      "PEM_read_bio_X509_CRL",
      "PEM_read_bio_PrivateKey",
      "PEM_write_bio_X509",
      "PEM_write_bio_PrivateKey",
      "X509_check_private_key",
      "X509_free",
      "X509_CRL_free",
      "EVP_PKEY_free",
      "d2i_PKCS12_bio",
      "PKCS12_mac_present",
      "PKCS12_verify_mac",
      "PKCS12_parse",
      "PKCS12_free",
      "OPENSSL_sk_num",
      "OPENSSL_sk_value",
      "OPENSSL_sk_pop_free",
      "ERR_peek_error",
      "ERR_peek_last_error",
      "ERR_clear_error",
  };
  has_pki = ccurl_openssl_find(&pki, names, sizeof(names) / sizeof(*names));
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_pki;
}

// A passphrase, and whether a key needed it.
struct passphrase {
  const char *text;
  bool is_needed;
};

static int give_passphrase(char *buffer, int size, int is_encrypting, void *context) {
  struct passphrase *passphrase = context;
  passphrase->is_needed = true;
  if (passphrase->text == NULL) return -1;
  size_t length = strlen(passphrase->text);
  if (length > (size_t)size) return -1;
  memcpy(buffer, passphrase->text, length);
  return (int)length;
}

static int give_none(char *buffer, int size, int is_encrypting, void *context) { return -1; }

// Returns whether a PEM text has ended, and not a malformed element the reading of the text.
static bool is_end_of_pem(void) {
  enum { REASON = 0xfff, NO_START_LINE = 108 };
  return (pki.last_error() & REASON) == NO_START_LINE;
}

static bool fits(size_t length) { return length > 0 && length <= INT32_MAX; }

// The number of the elements that `read` finds in a PEM text; -1 if one of them is malformed.
static int count_pem(const void *bytes, size_t length, void *(*read)(void *, void **, passphrase_function, void *),
                     void (*free_element)(void *)) {
  void *input = fits(length) ? pki.bio_of(bytes, (int)length) : NULL;
  if (input == NULL) return 0;
  int count = 0;
  void *element;
  pki.clear_errors();
  while ((element = read(input, NULL, give_none, NULL)) != NULL) {
    free_element(element);
    count++;
  }
  bool is_end = is_end_of_pem();
  pki.clear_errors();
  pki.bio_free(input);
  return is_end ? count : -1;
}

int ccurl_pem_certificates(const void *bytes, size_t length) {
  if (!is_available()) return 1;
  return count_pem(bytes, length, pki.read_certificate, pki.free_certificate);
}

int ccurl_pem_revocation_lists(const void *bytes, size_t length) {
  if (!is_available()) return 1;
  return count_pem(bytes, length, pki.read_list, pki.free_list);
}

// The parts of an identity.
struct parts {
  void *certificate, *key;
  // The certificates of the authorities between the identity and a root: in PEM their text, in PKCS#12 their list.
  void *input, *others;
  // Indicates whether a certificate of the text is malformed.
  bool is_malformed;
};

static void free_parts(struct parts *parts) {
  if (parts->certificate) pki.free_certificate(parts->certificate);
  if (parts->key) pki.free_key(parts->key);
  if (parts->input) pki.bio_free(parts->input);
  if (parts->others) pki.free_stack(parts->others, pki.free_certificate);
}

static int read_key(struct parts *parts, const void *bytes, size_t length, struct passphrase *passphrase) {
  // The reason that all parts of OpenSSL share, with the number of the part that has the algorithms. A key that was decrypted with a wrong
  // passphrase and looks right by chance has the same reason of the part that decodes.
  enum { NO_ALGORITHM = 0x308010c };
  void *input = fits(length) ? pki.bio_of(bytes, (int)length) : NULL;
  if (input == NULL) return CCURL_IDENTITY_NO_KEY;
  pki.clear_errors();
  parts->key = pki.read_key(input, NULL, give_passphrase, passphrase);
  pki.bio_free(input);
  if (parts->key != NULL) return CCURL_IDENTITY_READ;
  if (!passphrase->is_needed) return CCURL_IDENTITY_NO_KEY;
  // Whatever the passphrase is, the first error of an algorithm that is not loaded is this one; others follow.
  if (passphrase->text != NULL && pki.first_error() == NO_ALGORITHM) return CCURL_IDENTITY_UNSUPPORTED;
  return passphrase->text == NULL ? CCURL_IDENTITY_ENCRYPTED : CCURL_IDENTITY_WRONG_PASSPHRASE;
}

static int read_pem(struct parts *parts, const void *bytes, size_t length) {
  parts->input = pki.bio_of(bytes, (int)length);
  if (parts->input != NULL) parts->certificate = pki.read_certificate(parts->input, NULL, give_none, NULL);
  return parts->certificate == NULL ? CCURL_IDENTITY_NO_CERTIFICATE : CCURL_IDENTITY_READ;
}

static int open_pkcs12(struct parts *parts, void *store, const char *passphrase) {
  if (pki.has_mac(store)) {
    bool is_open = passphrase != NULL ? pki.is_passphrase(store, passphrase, -1)
                                      : pki.is_passphrase(store, NULL, 0) || pki.is_passphrase(store, "", 0);
    if (!is_open) return passphrase == NULL ? CCURL_IDENTITY_ENCRYPTED : CCURL_IDENTITY_WRONG_PASSPHRASE;
  }
  // Without a code of authentication, a passphrase can only be tried.
  if (!pki.open_pkcs12(store, passphrase, &parts->key, &parts->certificate, &parts->others)) {
    if (pki.has_mac(store)) return CCURL_IDENTITY_UNSUPPORTED;
    return passphrase == NULL ? CCURL_IDENTITY_ENCRYPTED : CCURL_IDENTITY_WRONG_PASSPHRASE;
  }
  return parts->certificate == NULL ? CCURL_IDENTITY_NO_CERTIFICATE : CCURL_IDENTITY_READ;
}

static int read_pkcs12(struct parts *parts, const void *bytes, size_t length, const char *passphrase) {
  void *input = pki.bio_of(bytes, (int)length);
  void *store = input == NULL ? NULL : pki.read_pkcs12(input, NULL);
  if (input != NULL) pki.bio_free(input);
  if (store == NULL) return CCURL_IDENTITY_NO_CERTIFICATE;
  int result = open_pkcs12(parts, store, passphrase);
  pki.free_pkcs12(store);
  return result;
}

static bool write_others(void *output, struct parts *parts) {
  if (parts->input != NULL) {
    void *certificate;
    pki.clear_errors();
    while ((certificate = pki.read_certificate(parts->input, NULL, give_none, NULL)) != NULL) {
      bool is_written = pki.write_certificate(output, certificate);
      pki.free_certificate(certificate);
      if (!is_written) return false;
    }
    // A chain without its malformed part would not be the one that was given.
    parts->is_malformed = !is_end_of_pem();
    if (parts->is_malformed) return false;
  }
  for (int index = 0; parts->others != NULL && index < pki.count(parts->others); index++) {
    if (!pki.write_certificate(output, pki.element(parts->others, index))) return false;
  }
  return true;
}

// Writes the certificate, its issuers and the key as PEM.
static char *write_pem(struct parts *parts, size_t *length) {
  enum { INFO = 3 };
  void *output = pki.bio_new(pki.bio_memory());
  if (output == NULL) return NULL;
  char *bytes = NULL, *result = NULL;
  if (pki.write_certificate(output, parts->certificate) && write_others(output, parts) &&
      pki.write_key(output, parts->key, NULL, NULL, 0, NULL, NULL)) {
    long count = pki.bio_control(output, INFO, 0, &bytes);
    result = count > 0 ? malloc((size_t)count) : NULL;
    if (result != NULL) {
      memcpy(result, bytes, (size_t)count);
      *length = (size_t)count;
    }
    if (count > 0) explicit_bzero(bytes, (size_t)count);
  }
  pki.bio_free(output);
  return result;
}

int32_t ccurl_identity_read(const void *certificate, size_t certificate_length, const void *key, size_t key_length,
                            const char *passphrase, char **pem, size_t *pem_length) {
  if (!is_available()) return CCURL_IDENTITY_NO_LIBRARY;
  if (!fits(certificate_length)) return CCURL_IDENTITY_NO_CERTIFICATE;
  struct parts parts = {0};
  struct passphrase secret = {.text = passphrase};
  bool is_pem = memmem(certificate, certificate_length, "-----BEGIN", 10) != NULL;
  int result = is_pem ? read_pem(&parts, certificate, certificate_length)
                      : read_pkcs12(&parts, certificate, certificate_length, passphrase);
  if (result == CCURL_IDENTITY_READ && (is_pem || key != NULL)) {
    if (parts.key != NULL) pki.free_key(parts.key);
    parts.key = NULL;
    result = key != NULL ? read_key(&parts, key, key_length, &secret)
                         : read_key(&parts, certificate, certificate_length, &secret);
  }
  if (result == CCURL_IDENTITY_READ && parts.key == NULL) result = CCURL_IDENTITY_NO_KEY;
  if (result == CCURL_IDENTITY_READ && !pki.is_pair(parts.certificate, parts.key)) result = CCURL_IDENTITY_MISMATCH;
  if (result == CCURL_IDENTITY_READ) {
    *pem = write_pem(&parts, pem_length);
    if (*pem == NULL) result = parts.is_malformed ? CCURL_IDENTITY_MALFORMED : CCURL_IDENTITY_UNSUPPORTED;
  }
  free_parts(&parts);
  pki.clear_errors();
  return result;
}

void ccurl_identity_free(char *pem, size_t length) {
  if (pem == NULL) return;
  explicit_bzero(pem, length);
  free(pem);
}
