// TLS connections, certificates and keys, through the OpenSSL that libcurl has loaded.
#ifndef TRELLIS_CCURL_TLS_H
#define TRELLIS_CCURL_TLS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Returns whether libcurl's TLS library is the OpenSSL whose functions this module finds. If it is not, the functions of this header do
// nothing with libcurl's connections, and say so in their results.
bool ccurl_tls_has_openssl(void);
// Returns whether libcurl's text about its TLS libraries (`ssl_version` of curl_version_info(3)) and OpenSSL's about itself
// (OpenSSL_version(3)) are about the same library of the same version.
bool ccurl_tls_is_same_library(const char *_Nonnull curl, const char *_Nonnull openssl);

// The type of a CURLOPT_SSL_CTX_FUNCTION.
typedef CURLcode (*ccurl_tls_callback)(CURL *_Nullable, void *_Nullable, void *_Nullable);

// Returns whether it is certain that the peer has not ended the TLS session of a transfer's current connection.
bool ccurl_tls_is_open(CURL *_Nonnull easy);

// Returns the session (`SSL *`) of a transfer's current connection, for the functions that take one; NULL if there is none of OpenSSL.
void *_Nullable ccurl_tls_session(CURL *_Nonnull easy);

// The results of `ccurl_tls_read_chain`: the chain was verified in the handshake of the connection, against revocation lists, and with an
// OCSP response that the server has sent.
#define CCURL_CHAIN_VALIDATED 1
#define CCURL_CHAIN_CHECKED_LISTS 2
#define CCURL_CHAIN_CHECKED_STAPLE 4
typedef void (*ccurl_der_callback)(void *_Nonnull, bool is_sent, const uint8_t *_Nonnull, size_t);
// Passes the certificates of a session to the callback, encoded as DER and leaf first: the verified chain, and then, with
// `is_sent`, what the server has sent. A session for which libcurl verifies nothing (`verifies` is false), or that was resumed, has
// no verified chain. Returns the flags above, or -1 without a session.
int ccurl_tls_read_chain(void *_Nullable session, bool verifies, ccurl_der_callback _Nonnull add, void *_Nonnull context);
// Returns whether a session was resumed.
bool ccurl_tls_is_resumed(const void *_Nullable session);

#define CCURL_TLS_1_2 0x0303
#define CCURL_TLS_1_3 0x0304
// Returns the version of TLS of a session, whose handshake is complete, as its number (RFC 8446, section 4.2.1); 0 without a session.
int ccurl_tls_version(const void *_Nullable session);
// Returns OpenSSL's name of the cipher suite of a session, which stays valid; NULL if it has none.
const char *_Nullable ccurl_tls_cipher(const void *_Nullable session);
// Returns the name of the protocol that ALPN (RFC 7301) selected for a session, and its length; NULL if none was selected.
const uint8_t *_Nullable ccurl_tls_protocol(const void *_Nullable session, unsigned *_Nonnull length);

// Returns whether sessions can be taken: whether libcurl's TLS library is the OpenSSL at hand, with all functions that this needs.
bool ccurl_tls_can_take(void);
// Makes OpenSSL prepare the sessions of a context for calls of the engine: for `ccurl_tls_take` with `takes`, and otherwise for libcurl's
// functions, which may then get the bytes that could not be sent at another address. To be called in a CURLOPT_SSL_CTX_FUNCTION. Returns
// false if it cannot.
bool ccurl_tls_allow_taking(void *_Nullable context, bool takes);
// Offers protocols in the handshakes of a context: their names, each after a byte with its length (RFC 7301, section 3.1). To be called in
// a CURLOPT_SSL_CTX_FUNCTION, with libcurl's own offer turned off. Returns false if it cannot.
bool ccurl_tls_offer(void *_Nullable context, const char *_Nonnull protocols, size_t length);
// Makes a session fail if the server asks for the client's certificate from now on, after the handshake.
void ccurl_tls_refuse_certificates(void *_Nullable session);
struct ccurl_tls_stream;
// Makes OpenSSL read and write a socket itself for a session that libcurl has set up on that socket. libcurl keeps the session until its
// connection is closed, and the result with it, but may not be asked to send and receive any more. Returns NULL if memory has run out.
struct ccurl_tls_stream *_Nullable ccurl_tls_take(void *_Nullable session, int socket);
#define CCURL_TLS_WAIT -1    // nothing can be moved before the socket is ready
#define CCURL_TLS_MORE -2    // only messages of the handshake were read so far, and a peer may send any number of them
#define CCURL_TLS_FULL -3    // nothing can be received before the socket has room for a message of the handshake
#define CCURL_TLS_CUT_OFF -4 // the peer has ended the connection without an alert
#define CCURL_TLS_FAILED -5
// Receives bytes. Returns their number, 0 if the peer has ended the session, or one of the results above.
ssize_t ccurl_tls_receive(struct ccurl_tls_stream *_Nonnull stream, void *_Nullable bytes, size_t count);
// Sends bytes. Returns the number that was taken, or one of the results above: CCURL_TLS_MORE if a message of the peer must be received
// first, as for a renegotiation of TLS 1.2. If nothing was taken, the same bytes must come again.
ssize_t ccurl_tls_send(struct ccurl_tls_stream *_Nonnull stream, const void *_Nullable bytes, size_t count);
// Returns whether OpenSSL has bytes of the socket that it has not delivered.
bool ccurl_tls_has_pending(const struct ccurl_tls_stream *_Nonnull stream);
// Returns whether the peer has neither sent bytes nor ended the connection. Messages of the handshake do not count.
bool ccurl_tls_is_quiet(struct ccurl_tls_stream *_Nonnull stream);
// Writes OpenSSL's reason of the last CCURL_TLS_FAILED or CCURL_TLS_CUT_OFF; an empty text if the system's error, which is returned, is the
// only one. That is 0 if there was none.
int ccurl_tls_describe(struct ccurl_tls_stream *_Nonnull stream, char *_Nonnull text, size_t size);
// Tells the peer the end of the session, if the socket takes that at once.
void ccurl_tls_close(struct ccurl_tls_stream *_Nonnull stream);

CURLcode ccurl_set_tls_function(CURL *_Nonnull easy, ccurl_tls_callback _Nullable function);
// Makes OpenSSL verify the name of the server only against the subject alternative names (RFC 9110, section 4.3.4). To be called in a
// CURLOPT_SSL_CTX_FUNCTION; `host` is without brackets. Returns an error if it cannot.
CURLcode ccurl_tls_verify_host(void *_Nullable tls_context, const char *_Nonnull host);

// The facts of a TLS handshake that libcurl does not report, or not in the same way in all of its versions.
struct ccurl_tls_facts {
  int32_t verify_error;   // of the certificate that ended the handshake (X509_V_ERR_…); 0 if there is none
  int32_t depth;          // of that certificate: 0 for the server's own
  int32_t alert_received; // the number of the peer's last alert (RFC 8446, section 6); 0 if there was none
  int32_t alert_sent;
  bool lacks_certificate; // the peer asked for a certificate, and there was none that suits
  // The parts of that certificate: dates in seconds since 1970, INT64_MIN if unknown; the names only of the server's own, with commas
  // between them, and addresses as `#` and hexadecimal digits.
  int64_t not_before, not_after;
  char *_Nullable subject, *_Nullable issuer, *_Nullable names;
  // The certificates that the peer has sent, encoded as DER and one after the other, if one of them ended the handshake.
  uint8_t *_Nullable sent;
  size_t sent_length;
};
struct ccurl_tls_record;
// Creates the record of a handshake, with one reference; NULL if libcurl uses another library than OpenSSL, or if memory has run out.
struct ccurl_tls_record *_Nullable ccurl_tls_record_create(void);
void ccurl_tls_record_release(struct ccurl_tls_record *_Nullable record);
const struct ccurl_tls_facts *_Nonnull ccurl_tls_record_facts(const struct ccurl_tls_record *_Nonnull record);
// Begins to record the handshake of a context, which keeps a reference to the record. To be called in a CURLOPT_SSL_CTX_FUNCTION. With
// `verifies`, a certificate that is not trusted ends the handshake. The secrets of the connection are written to the file `key_log`; -1
// for none. Returns false if the handshake is not recorded.
bool ccurl_tls_record_begin(struct ccurl_tls_record *_Nonnull record, void *_Nullable context, bool verifies, int key_log);
// Returns OpenSSL's words for a `verify_error`; NULL if OpenSSL is missing.
const char *_Nullable ccurl_tls_verify_text(int error);

// Returns the number of certificates, or of certificate revocation lists, in a PEM text; -1 if one of them is malformed, and 1 if libcurl
// uses another library than OpenSSL.
int ccurl_pem_certificates(const void *_Nonnull bytes, size_t length);
int ccurl_pem_revocation_lists(const void *_Nonnull bytes, size_t length);

#define CCURL_IDENTITY_READ 0
#define CCURL_IDENTITY_NO_CERTIFICATE 1   // neither a certificate in PEM nor PKCS#12
#define CCURL_IDENTITY_NO_KEY 2
#define CCURL_IDENTITY_ENCRYPTED 3        // a passphrase is needed
#define CCURL_IDENTITY_WRONG_PASSPHRASE 4
#define CCURL_IDENTITY_MISMATCH 5         // the key does not belong to the certificate
#define CCURL_IDENTITY_UNSUPPORTED 6      // encrypted with an algorithm that OpenSSL does not have
#define CCURL_IDENTITY_NO_LIBRARY 7       // libcurl uses another library than OpenSSL
#define CCURL_IDENTITY_MALFORMED 8        // one of the certificates in PEM is malformed
// Reads a certificate, the certificates of its issuers and its key, in PEM or PKCS#12. Without `key`, the key is in `certificate`. The
// result is a PEM text of all of them without encryption, which must be freed with `ccurl_identity_free`.
int32_t ccurl_identity_read(const void *_Nonnull certificate, size_t certificate_length, const void *_Nullable key,
                            size_t key_length, const char *_Nullable passphrase, char *_Nullable *_Nonnull pem,
                            size_t *_Nonnull pem_length);
// Frees a text, after its bytes were erased.
void ccurl_identity_free(char *_Nullable pem, size_t length);

// Asymmetric keys, through the OpenSSL that libcurl has loaded, or otherwise the system's. Without one of them, no key can be read.
bool ccurl_key_is_available(void);
// Reads a private or a public key in PEM, which must be freed with `ccurl_key_free`; NULL if there is none that can be read.
void *_Nullable ccurl_key_read(const void *_Nonnull bytes, size_t length, bool *_Nonnull is_private, bool *_Nonnull is_encrypted);
void ccurl_key_free(void *_Nonnull key);
// Writes the public key with its algorithm (SubjectPublicKeyInfo, RFC 5280) if it fits. Returns its length; 0 after a failure.
size_t ccurl_key_public(const void *_Nonnull key, uint8_t *_Nonnull result, size_t capacity);
// Signs bytes. `digest` is OpenSSL's name of a hash function; NULL for a scheme that has its hash function, such as Ed25519. Returns the
// length of the signature; 0 after a failure.
size_t ccurl_key_sign(void *_Nonnull key, const char *_Nullable digest, bool is_pss, const void *_Nullable bytes, size_t length,
                      uint8_t *_Nonnull result, size_t capacity);
bool ccurl_key_verify(void *_Nonnull key, const char *_Nullable digest, bool is_pss, const void *_Nullable bytes, size_t length,
                      const uint8_t *_Nonnull signature, size_t signature_length);

#define CCURL_CIPHER_KEY 32   // bytes
#define CCURL_CIPHER_NONCE 12 // bytes
#define CCURL_CIPHER_TAG 16   // bytes
// AES-256-GCM, through the OpenSSL that libcurl has loaded, or otherwise the system's. Without one of them, nothing is encrypted.
bool ccurl_cipher_is_available(void);
// Encrypts bytes into as many, followed by the tag, which is also for the context. Returns false after a failure.
bool ccurl_cipher_seal(const uint8_t *_Nonnull key, const uint8_t *_Nonnull nonce, const void *_Nullable context,
                       size_t context_length, const void *_Nullable bytes, size_t length, uint8_t *_Nonnull result);
// Decrypts bytes with their tag into as many without it. Returns false, and the result has no meaning, if they were changed, or are of
// another key, nonce or context.
bool ccurl_cipher_open(const uint8_t *_Nonnull key, const uint8_t *_Nonnull nonce, const void *_Nullable context,
                       size_t context_length, const uint8_t *_Nonnull sealed, size_t length, uint8_t *_Nonnull result);

#endif
