// The functions of OpenSSL for the server's side, which are looked up by their names. The build does not depend on OpenSSL.
#ifndef TRELLIS_OPENSSL_LOOKUP_H
#define TRELLIS_OPENSSL_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

// Fills an array with the functions of these names. Returns false if one of them is missing.
bool ccurl_openssl_find(void **functions, const char *const *names, size_t count);

// The parts of a certificate: OpenSSL's X509 and EVP_PKEY.
struct ccurl_certificate {
  void *certificate, *key;
};

#endif
