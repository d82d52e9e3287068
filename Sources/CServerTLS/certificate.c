#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "certificate.h"

static struct {
  void *(*generator_new)(int, void *);
  int (*generator_init)(void *);
  int (*generator_set)(void *, const char *, const char *);
  int (*generate)(void *, void **);
  void (*generator_free)(void *);
  void (*free_key)(void *);
  void *(*new_certificate)(void);
  void (*free_certificate)(void *);
  int (*set_version)(void *, long);
  void *(*serial_number)(void *);
  int (*set_number)(void *, uint64_t);
  void *(*not_before)(const void *);
  void *(*not_after)(const void *);
  void *(*set_time)(void *, long);
  int (*set_key)(void *, void *);
  void *(*new_name)(void);
  int (*add_entry)(void *, const char *, int, const unsigned char *, int, int, int);
  void (*free_name)(void *);
  int (*set_subject)(void *, const void *);
  int (*set_issuer)(void *, const void *);
  const void *(*subject)(const void *);
  void (*set_context)(void *, void *, void *, void *, void *, int);
  void *(*new_extension)(void *, void *, int, const char *);
  int (*add_extension)(void *, void *, int);
  void (*free_extension)(void *);
  int (*sign)(void *, void *, const void *);
  const void *(*sha256)(void);
  void *(*bio_new)(const void *);
  const void *(*bio_memory)(void);
  long (*bio_control)(void *, int, long, void *);
  int (*bio_free)(void *);
  int (*write_certificate)(void *, void *);
  int (*write_key)(void *, void *, const void *, const unsigned char *, int, void *, void *);
  void (*clear_errors)(void);
} pki;

static bool has_pki;

static void look_up(void) {
  static const char *const names[] = {
      "EVP_PKEY_CTX_new_id",
      "EVP_PKEY_keygen_init",
      "EVP_PKEY_CTX_ctrl_str",
      "EVP_PKEY_keygen",
      "EVP_PKEY_CTX_free",
      "EVP_PKEY_free",
      "X509_new",
      "X509_free",
      "X509_set_version",
      "X509_get_serialNumber",
      "ASN1_INTEGER_set_uint64",
      "X509_getm_notBefore",
      "X509_getm_notAfter",
      "X509_gmtime_adj",
      "X509_set_pubkey",
      "X509_NAME_new",
      "X509_NAME_add_entry_by_txt",
      "X509_NAME_free",
      "X509_set_subject_name",
      "X509_set_issuer_name",
      "X509_get_subject_name",
      "X509V3_set_ctx",
      "X509V3_EXT_nconf_nid",
      "X509_add_ext",
      "X509_EXTENSION_free",
      "X509_sign",
      "EVP_sha256",
      "BIO_new",
      "BIO_s_mem",
      "BIO_ctrl",
      "BIO_free",
      "PEM_write_bio_X509",
      "PEM_write_bio_PrivateKey",
      "ERR_clear_error",
  };
  has_pki = ccurl_openssl_find_any(&pki, names, sizeof(names) / sizeof(*names));
}

static bool is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_up);
  return has_pki;
}

static void *new_key(void) {
  enum { ELLIPTIC_CURVE = 408 };
  void *generator = pki.generator_new(ELLIPTIC_CURVE, NULL), *key = NULL;
  if (generator == NULL) return NULL;
  if (pki.generator_init(generator) == 1 && pki.generator_set(generator, "ec_paramgen_curve", "P-256") == 1) {
    pki.generate(generator, &key);
  }
  pki.generator_free(generator);
  return key;
}

static bool set_names(void *certificate, const char *common_name, const struct ccurl_certificate *issuer) {
  enum { UTF8 = 0x1000 };
  void *name = pki.new_name();
  bool is_set = name != NULL &&
                pki.add_entry(name, "CN", UTF8, (const unsigned char *)common_name, -1, -1, 0) == 1 &&
                pki.set_subject(certificate, name) == 1 &&
                pki.set_issuer(certificate, issuer == NULL ? name : pki.subject(issuer->certificate)) == 1;
  if (name != NULL) pki.free_name(name);
  return is_set;
}

static bool add(void *certificate, void *issuer, int kind, const char *value) {
  // The structure has 8 members in OpenSSL 3, and fewer in 1.1.
  void *context[32] = {0};
  pki.set_context(context, issuer, certificate, NULL, NULL, 0);
  void *extension = pki.new_extension(NULL, context, kind, value);
  bool is_added = extension != NULL && pki.add_extension(certificate, extension, -1) == 1;
  if (extension != NULL) pki.free_extension(extension);
  return is_added;
}

static bool add_extensions(void *certificate, const char *alternative_names, int32_t use,
                           const struct ccurl_certificate *issuer) {
  enum { SUBJECT_KEY = 82, KEY_USAGE = 83, ALTERNATIVE_NAMES = 85, CONSTRAINTS = 87, AUTHORITY_KEY = 90, PURPOSE = 126 };
  bool is_authority = use == CCURL_CERTIFICATE_AUTHORITY, issues = is_authority || issuer == NULL;
  void *parent = issuer == NULL ? certificate : issuer->certificate;
  if (!add(certificate, parent, CONSTRAINTS, issues ? "critical,CA:TRUE" : "critical,CA:FALSE")) return false;
  const char *usage = is_authority ? "critical,keyCertSign,cRLSign"
                      : issues     ? "critical,digitalSignature,keyCertSign"
                                   : "critical,digitalSignature";
  if (!add(certificate, parent, KEY_USAGE, usage)) return false;
  if (!add(certificate, parent, SUBJECT_KEY, "hash")) return false;
  if (issuer != NULL && !add(certificate, parent, AUTHORITY_KEY, "keyid")) return false;
  const char *purpose = use == CCURL_CERTIFICATE_CLIENT ? "clientAuth" : "serverAuth";
  if (!is_authority && !add(certificate, parent, PURPOSE, purpose)) return false;
  return alternative_names == NULL || add(certificate, parent, ALTERNATIVE_NAMES, alternative_names);
}

static bool complete(struct ccurl_certificate *result, const char *common_name, const char *alternative_names,
                     int32_t use, int64_t begin, int64_t end, const struct ccurl_certificate *issuer) {
  enum { VERSION_3 = 2 };
  uint64_t number = 0;
  result->key = new_key();
  void *certificate = result->certificate = pki.new_certificate();
  if (result->key == NULL || certificate == NULL || !ccurl_random(&number, sizeof(number))) return false;
  return pki.set_version(certificate, VERSION_3) == 1 &&
         pki.set_number(pki.serial_number(certificate), (number >> 1) + 1) == 1 &&
         pki.set_time(pki.not_before(certificate), (long)begin) != NULL &&
         pki.set_time(pki.not_after(certificate), (long)end) != NULL && set_names(certificate, common_name, issuer) &&
         pki.set_key(certificate, result->key) == 1 && add_extensions(certificate, alternative_names, use, issuer) &&
         pki.sign(certificate, issuer == NULL ? result->key : issuer->key, pki.sha256()) > 0;
}

struct ccurl_certificate *ccurl_certificate_create(const char *common_name, const char *alternative_names, int32_t use,
                                                   int64_t begin, int64_t end, const struct ccurl_certificate *issuer) {
  struct ccurl_certificate *result = is_available() ? calloc(1, sizeof(*result)) : NULL;
  if (result == NULL) return NULL;
  bool is_complete = complete(result, common_name, alternative_names, use, begin, end, issuer);
  pki.clear_errors();
  if (is_complete) return result;
  ccurl_certificate_free(result);
  return NULL;
}

void ccurl_certificate_free(struct ccurl_certificate *certificate) {
  if (certificate == NULL) return;
  if (certificate->certificate != NULL) pki.free_certificate(certificate->certificate);
  if (certificate->key != NULL) pki.free_key(certificate->key);
  free(certificate);
}

char *ccurl_certificate_pem(const struct ccurl_certificate *certificate, bool has_key, size_t *length) {
  enum { INFO = 3 };
  char *bytes = NULL, *result = NULL;
  void *output = pki.bio_new(pki.bio_memory());
  if (output == NULL) return NULL;
  if (pki.write_certificate(output, certificate->certificate) &&
      (!has_key || pki.write_key(output, certificate->key, NULL, NULL, 0, NULL, NULL))) {
    long count = pki.bio_control(output, INFO, 0, &bytes);
    result = count > 0 ? malloc((size_t)count) : NULL;
    if (result != NULL) {
      memcpy(result, bytes, (size_t)count);
      *length = (size_t)count;
    }
  }
  pki.bio_free(output);
  return result;
}

void ccurl_certificate_free_pem(char *pem, size_t length) { ccurl_identity_free(pem, length); }
