// The server's side of TLS, and certificates made at run time, for tests. Through the OpenSSL that libcurl has loaded, or otherwise the
// system's. Also what Swift's module of the C library lacks for servers.
#ifndef TRELLIS_SERVER_TLS_H
#define TRELLIS_SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A certificate with its key (ECDSA on the curve P-256). It does not change after its creation, so that several threads may use it.
struct ccurl_certificate;
#define CCURL_CERTIFICATE_AUTHORITY 0
#define CCURL_CERTIFICATE_SERVER 1
#define CCURL_CERTIFICATE_CLIENT 2
// Creates a certificate that is valid between two instants, in seconds from now. `alternative_names` is a list in OpenSSL's form
// (`DNS:localhost,IP:127.0.0.1`). Without an issuer, the certificate is its own. Returns NULL if OpenSSL is missing or refuses a part.
struct ccurl_certificate *_Nullable ccurl_certificate_create(const char *_Nonnull common_name,
                                                             const char *_Nullable alternative_names, int32_t use,
                                                             int64_t begin, int64_t end,
                                                             const struct ccurl_certificate *_Nullable issuer);
void ccurl_certificate_free(struct ccurl_certificate *_Nullable certificate);
// Returns the certificate in PEM, followed by its key if `has_key` is true; NULL after a failure. To be freed with the function below.
char *_Nullable ccurl_certificate_pem(const struct ccurl_certificate *_Nonnull certificate, bool has_key,
                                      size_t *_Nonnull length);
// Frees a text, after its bytes were erased.
void ccurl_certificate_free_pem(char *_Nullable pem, size_t length);

// The settings of TLS servers with one certificate. Several threads may use them.
struct ccurl_server_tls;
// Creates the settings. With `client_authority`, clients must have a certificate that it has issued. Sessions are not resumed. Returns NULL
// if OpenSSL is missing or refuses the certificate. The certificates may be freed afterwards.
struct ccurl_server_tls *_Nullable ccurl_server_tls_create(const struct ccurl_certificate *_Nonnull certificate,
                                                           const struct ccurl_certificate *_Nullable client_authority);
void ccurl_server_tls_free(struct ccurl_server_tls *_Nullable tls);

// The TLS of one connection, without a socket: its owner carries the encrypted bytes in both directions. One thread at a time may use it.
struct ccurl_server_session;
#define CCURL_SESSION_COMPLETE 1
#define CCURL_SESSION_NEEDS_BYTES (-1) // of the client
#define CCURL_SESSION_FAILED (-2)
struct ccurl_server_session *_Nullable ccurl_server_session_create(struct ccurl_server_tls *_Nonnull tls);
void ccurl_server_session_free(struct ccurl_server_session *_Nullable session);
// Continues the handshake. Returns one of the values above. After a failure too, there may be bytes for the client: its alert.
int32_t ccurl_server_session_handshake(struct ccurl_server_session *_Nonnull session);
// Decrypts bytes of the client. Returns their number, 0 after its close_notify, or one of the negative values above.
ptrdiff_t ccurl_server_session_read(struct ccurl_server_session *_Nonnull session, void *_Nonnull bytes, size_t count);
// Encrypts bytes for the client. Returns false after a failure.
bool ccurl_server_session_write(struct ccurl_server_session *_Nonnull session, const void *_Nonnull bytes, size_t count);
// Adds a message that changes the key of the server (RFC 8446, section 4.6.3) to the bytes for the client, who does not answer it. Returns
// false after a failure, and before TLS 1.3.
bool ccurl_server_session_update_key(struct ccurl_server_session *_Nonnull session);
// Adds a close_notify (RFC 8446, section 6.1) to the bytes for the client.
void ccurl_server_session_end(struct ccurl_server_session *_Nonnull session);
// Takes encrypted bytes that the client has sent. Returns false if memory has run out.
bool ccurl_server_session_receive(struct ccurl_server_session *_Nonnull session, const void *_Nonnull bytes, size_t count);
// Returns encrypted bytes for the client, and their number; 0 if there are none left.
size_t ccurl_server_session_send(struct ccurl_server_session *_Nonnull session, void *_Nonnull bytes, size_t count);
// Returns OpenSSL's words for the last failure.
const char *_Nonnull ccurl_server_session_reason(const struct ccurl_server_session *_Nonnull session);

// Accepts a connection as accept(2) does. No program that another thread starts inherits the socket.
int ccurl_server_accept(int listener);

#endif
