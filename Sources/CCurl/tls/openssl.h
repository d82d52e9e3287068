// The functions of OpenSSL, which are looked up by their names. The build does not depend on OpenSSL.
#ifndef TRELLIS_OPENSSL_H
#define TRELLIS_OPENSSL_H

#include <stdbool.h>
#include <stddef.h>

// Fills an array with functions that may be called with the objects of libcurl's TLS connections. Returns false if libcurl's TLS library is
// not an OpenSSL whose functions can be found, or if one of the functions is missing.
bool ccurl_openssl_find(void *functions, const char *const *names, size_t count);

// Returns one such function; NULL if it is missing.
void *ccurl_openssl_function(const char *name);

// Fills an array with functions for objects that only functions found here use. They are from libcurl's OpenSSL, or otherwise
// from the system's.
bool ccurl_openssl_find_any(void *functions, const char *const *names, size_t count);

#endif
