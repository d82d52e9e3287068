#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "CCurl.h"
#include "openssl.h"

// Asymmetric keys in PEM and their signatures, through the functions of the OpenSSL that libcurl has loaded, or otherwise of the system's.
// The build does not depend on OpenSSL.
typedef int (*passphrase_function)(char *, int, int, void *);
static struct {
  void *(*bio_of)(const void *, int);
  int (*bio_free)(void *);
  void *(*read_private)(void *, void **, passphrase_function, void *);
  void *(*read_public)(void *, void **, passphrase_function, void *);
  int (*write_public)(const void *, unsigned char **);
  void (*free_key)(void *);
  void *(*context_new)(void);
  void (*context_free)(void *);
  const void *(*digest)(const char *);
  int (*sign_init)(void *, void **, const void *, void *, void *);
  int (*sign)(void *, unsigned char *, size_t *, const unsigned char *, size_t);
  int (*verify_init)(void *, void **, const void *, void *, void *);
  int (*verify)(void *, const unsigned char *, size_t, const unsigned char *, size_t);
  int (*set)(void *, const char *, const char *);
  void (*clear_errors)(void);
} keys;

static bool has_keys;

static void look_up(void) {
  static const char *const names[] = {
      "BIO_new_mem_buf",
      "BIO_free",
      "PEM_read_bio_PrivateKey",
      "PEM_read_bio_PUBKEY",
      "i2d_PUBKEY",
      "EVP_PKEY_free",
      "EVP_MD_CTX_new",
      "EVP_MD_CTX_free",
      "EVP_get_digestbyname",
      "EVP_DigestSignInit",
      "EVP_DigestSign",
      "EVP_DigestVerifyInit",
      "EVP_DigestVerify",
      "EVP_PKEY_CTX_ctrl_str",
      "ERR_clear_error",
  };
  has_keys = ccurl_openssl_find_any(&keys, names, sizeof(names) / sizeof(*names));
}

bool ccurl_key_is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_keys;
}

static int note_passphrase(char *buffer, int size, int is_encrypting, void *context) {
  *(bool *)context = true;
  return -1;
}

static void *read_key(const void *bytes, size_t length, void *(*read)(void *, void **, passphrase_function, void *),
                      bool *is_encrypted) {
  void *input = length > 0 && length <= INT32_MAX ? keys.bio_of(bytes, (int)length) : NULL;
  if (input == NULL) return NULL;
  void *key = read(input, NULL, note_passphrase, is_encrypted);
  keys.bio_free(input);
  keys.clear_errors();
  return key;
}

void *ccurl_key_read(const void *bytes, size_t length, bool *is_private, bool *is_encrypted) {
  *is_private = *is_encrypted = false;
  if (!ccurl_key_is_available()) return NULL;
  void *key = read_key(bytes, length, keys.read_private, is_encrypted);
  *is_private = key != NULL;
  return key != NULL || *is_encrypted ? key : read_key(bytes, length, keys.read_public, is_encrypted);
}

void ccurl_key_free(void *key) { keys.free_key(key); }

size_t ccurl_key_public(const void *key, uint8_t *result, size_t capacity) {
  int length = keys.write_public(key, NULL);
  if (length > 0 && (size_t)length <= capacity) keys.write_public(key, &result);
  keys.clear_errors();
  return length > 0 ? (size_t)length : 0;
}

// Returns a context for one signature; NULL if the key does not go with the scheme.
static void *begin(void *key, const char *digest, bool is_pss,
                   int (*init)(void *, void **, const void *, void *, void *)) {
  const void *kind = digest == NULL ? NULL : keys.digest(digest);
  void *context = digest != NULL && kind == NULL ? NULL : keys.context_new();
  if (context == NULL) return NULL;
  void *settings = NULL;
  bool is_ready = init(context, &settings, kind, NULL, key) == 1;
  // The salt has the length of the hash (RFC 9421, section 3.3.1).
  if (is_ready && is_pss) {
    is_ready = keys.set(settings, "rsa_padding_mode", "pss") > 0 && keys.set(settings, "rsa_pss_saltlen", "digest") > 0;
  }
  if (is_ready) return context;
  keys.context_free(context);
  return NULL;
}

size_t ccurl_key_sign(void *key, const char *digest, bool is_pss, const void *bytes, size_t length, uint8_t *result,
                      size_t capacity) {
  void *context = begin(key, digest, is_pss, keys.sign_init);
  bool is_signed = context != NULL && keys.sign(context, result, &capacity, bytes, length) == 1;
  if (context != NULL) keys.context_free(context);
  keys.clear_errors();
  return is_signed ? capacity : 0;
}

bool ccurl_key_verify(void *key, const char *digest, bool is_pss, const void *bytes, size_t length,
                      const uint8_t *signature, size_t signature_length) {
  void *context = begin(key, digest, is_pss, keys.verify_init);
  bool is_valid = context != NULL && keys.verify(context, signature, signature_length, bytes, length) == 1;
  if (context != NULL) keys.context_free(context);
  keys.clear_errors();
  return is_valid;
}
