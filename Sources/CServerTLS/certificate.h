// The parts of a certificate, which are OpenSSL's, and the functions of OpenSSL.
#ifndef TRELLIS_CERTIFICATE_H
#define TRELLIS_CERTIFICATE_H

#include "../CCurl/tls/openssl.h"
#include "CCurl.h"
#include "CServerTLS.h"

// X509 and EVP_PKEY.
struct ccurl_certificate {
  void *certificate, *key;
};

#endif
