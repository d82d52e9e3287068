#include <pthread.h>

#include "CCurl.h"
#include "openssl.h"

// AES-256-GCM (NIST SP 800-38D), through the functions of the OpenSSL that libcurl has loaded, or otherwise of the system's.
#define SET_TAG 0x11 // EVP_CTRL_AEAD_SET_TAG
#define GET_TAG 0x10 // EVP_CTRL_AEAD_GET_TAG

typedef int (*start_function)(void *, const void *, void *, const unsigned char *, const unsigned char *);
typedef int (*update_function)(void *, unsigned char *, int *, const unsigned char *, int);
typedef int (*finish_function)(void *, unsigned char *, int *);

static struct {
  void *(*create)(void);
  void (*free)(void *);
  const void *(*aes_256_gcm)(void);
  start_function encrypt_start;
  update_function encrypt;
  finish_function encrypt_finish;
  start_function decrypt_start;
  update_function decrypt;
  finish_function decrypt_finish;
  int (*control)(void *, int, int, void *);
  void (*clear_errors)(void);
} evp;

static bool has_cipher;

static void look_up(void) {
  static const char *const names[] = {
      "EVP_CIPHER_CTX_new",
      "EVP_CIPHER_CTX_free",
      "EVP_aes_256_gcm",
      "EVP_EncryptInit_ex",
      "EVP_EncryptUpdate",
      "EVP_EncryptFinal_ex",
      "EVP_DecryptInit_ex",
      "EVP_DecryptUpdate",
      "EVP_DecryptFinal_ex",
      "EVP_CIPHER_CTX_ctrl",
      "ERR_clear_error",
  };
  has_cipher = ccurl_openssl_find_any(&evp, names, sizeof(names) / sizeof(*names));
}

bool ccurl_cipher_is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_cipher;
}

bool ccurl_cipher_seal(const uint8_t *key, const uint8_t *nonce, const void *context, size_t context_length,
                       const void *bytes, size_t length, uint8_t *result) {
  if (!ccurl_cipher_is_available() || length > INT32_MAX || context_length > INT32_MAX) return false;
  void *state = evp.create();
  if (state == NULL) return false;
  int count = 0;
  bool is_sealed = evp.encrypt_start(state, evp.aes_256_gcm(), NULL, key, nonce) == 1 &&
                   (context_length == 0 || evp.encrypt(state, NULL, &count, context, (int)context_length) == 1) &&
                   (length == 0 || evp.encrypt(state, result, &count, bytes, (int)length) == 1) &&
                   evp.encrypt_finish(state, result + length, &count) == 1 &&
                   evp.control(state, GET_TAG, CCURL_CIPHER_TAG, result + length) == 1;
  evp.free(state);
  evp.clear_errors();
  return is_sealed;
}

bool ccurl_cipher_open(const uint8_t *key, const uint8_t *nonce, const void *context, size_t context_length,
                       const uint8_t *sealed, size_t length, uint8_t *result) {
  if (!ccurl_cipher_is_available() || length < CCURL_CIPHER_TAG || length > INT32_MAX || context_length > INT32_MAX) {
    return false;
  }
  void *state = evp.create();
  if (state == NULL) return false;
  size_t size = length - CCURL_CIPHER_TAG;
  int count = 0;
  uint8_t rest[16];
  bool is_open = evp.decrypt_start(state, evp.aes_256_gcm(), NULL, key, nonce) == 1 &&
                 (context_length == 0 || evp.decrypt(state, NULL, &count, context, (int)context_length) == 1) &&
                 (size == 0 || evp.decrypt(state, result, &count, sealed, (int)size) == 1) &&
                 evp.control(state, SET_TAG, CCURL_CIPHER_TAG, (void *)(sealed + size)) == 1 &&
                 evp.decrypt_finish(state, rest, &count) == 1;
  evp.free(state);
  evp.clear_errors();
  return is_open;
}
