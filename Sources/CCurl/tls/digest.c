#include <pthread.h>
#include <stdlib.h>

#include "CCurl.h"
#include "openssl.h"

// The hash functions of the OpenSSL that libcurl has loaded, or otherwise of the system's. OpenSSL 1.1 and later have these names;
// the build does not depend on OpenSSL.
static struct {
  void *(*create)(void);
  void (*free)(void *);
  const void *(*named)(const char *);
  int (*init)(void *, const void *, void *);
  int (*update)(void *, const void *, size_t);
  int (*finish)(void *, unsigned char *, unsigned *);
} evp;

static bool has_evp;

static void find(void) {
  static const char *const names[] = {"EVP_MD_CTX_new",    "EVP_MD_CTX_free",  "EVP_get_digestbyname",
                                      "EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex"};
  has_evp = ccurl_openssl_find_any(&evp, names, sizeof(names) / sizeof(*names));
}

void *ccurl_digest_create(const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  if (!has_evp) return NULL;
  const void *kind = evp.named(name);
  void *digest = kind == NULL ? NULL : evp.create();
  // An OpenSSL in FIPS 140 mode knows MD5 by name, but refuses to start the digest.
  if (digest != NULL && evp.init(digest, kind, NULL) == 1) return digest;
  ccurl_digest_free(digest);
  return NULL;
}

bool ccurl_digest_update(void *digest, const void *bytes, size_t count) {
  return evp.update(digest, bytes, count) == 1;
}

size_t ccurl_digest_finish(void *digest, uint8_t *result) {
  unsigned count = 0;
  return evp.finish(digest, result, &count) == 1 ? count : 0;
}

void ccurl_digest_free(void *digest) {
  if (digest != NULL) evp.free(digest);
}
