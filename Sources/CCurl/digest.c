#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "CCurl.h"

// The hash functions of the OpenSSL that libcurl has loaded, or otherwise of the system's. The names are those of OpenSSL 1.1 and later;
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

// Looks up all functions of one library, or none, because two copies of a library in one process must not be mixed.
static bool look_up(void *handle) {
  static const char *const names[] = {"EVP_MD_CTX_new",    "EVP_MD_CTX_free",  "EVP_get_digestbyname",
                                      "EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex"};
  void **functions = (void **)&evp, *base = NULL;
  for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++) {
    Dl_info info;
    functions[index] = dlsym(handle, names[index]);
    if (functions[index] == NULL || dladdr(functions[index], &info) == 0) return false;
    if (base != NULL && info.dli_fbase != base) return false;
    base = info.dli_fbase;
  }
  return true;
}

static void find(void) {
  static const char *const sonames[] = {"libcrypto.so.3", "libcrypto.so.1.1"};
  has_evp = look_up(RTLD_DEFAULT);
  for (size_t index = 0; index < 2 && !has_evp; index++) {
    void *handle = dlopen(sonames[index], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL) handle = dlopen(sonames[index], RTLD_NOW | RTLD_LOCAL);
    has_evp = handle != NULL && look_up(handle);
  }
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
