// Typed wrappers of the variadic parts of libcurl's C API, and of the few system calls whose C types Swift cannot import well. The module
// contains no policy.
#ifndef TRELLIS_CCURL_H
#define TRELLIS_CCURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Options and codes that the running libcurl may support although the headers of the build do not (the options: curl/multi.h, 8.20).
static const CURLMoption ccurl_multi_network_changed = (CURLMoption)17;
static const long ccurl_clear_connections = 1;
static const CURLMoption ccurl_multi_resolve_threads = (CURLMoption)20;
static const CURLMoption ccurl_multi_quick_exit = (CURLMoption)21;
static const CURLcode ccurl_code_too_large = (CURLcode)100;

typedef size_t (*ccurl_data_callback)(char *_Nullable, size_t, size_t, void *_Nullable);
typedef int (*ccurl_debug_callback)(CURL *_Nullable, curl_infotype, char *_Nullable, size_t, void *_Nullable);
typedef int (*ccurl_seek_callback)(void *_Nullable, curl_off_t, int);
typedef int (*ccurl_trailer_callback)(struct curl_slist *_Nullable *_Nullable, void *_Nullable);
typedef int (*ccurl_prereq_callback)(void *_Nullable, char *_Nullable, char *_Nullable, int, int);
typedef curl_socket_t (*ccurl_opensocket_callback)(void *_Nullable, curlsocktype, struct curl_sockaddr *_Nullable);
typedef int (*ccurl_closesocket_callback)(void *_Nullable, curl_socket_t);
typedef int (*ccurl_socket_callback)(CURL *_Nullable, curl_socket_t, int, void *_Nullable, void *_Nullable);
typedef int (*ccurl_timer_callback)(CURLM *_Nullable, long, void *_Nullable);

// Initialises libcurl with memory functions that keep freed blocks for the thread that freed them, if the thread wants that. If the program
// has initialised libcurl before, libcurl keeps the program's memory functions.
CURLcode ccurl_global_init(void);
// Begins to keep freed blocks for the calling thread: at most 2.5 MiB.
void ccurl_memory_begin(void);
// Frees the blocks that are kept for the calling thread.
void ccurl_memory_drain(void);
// Frees the blocks, and keeps no others for the calling thread.
void ccurl_memory_end(void);
// Allocates, resizes and frees memory as libcurl does.
void *_Nullable ccurl_memory_resize(void *_Nullable block, size_t size);
void ccurl_memory_free(void *_Nullable block);

// Wrappers of curl_easy_setopt, one for each type of argument.
CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
CURLcode ccurl_set_url(CURL *_Nonnull easy, CURLU *_Nullable url);
CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value);
CURLcode ccurl_set_data_function(CURL *_Nonnull easy, CURLoption option, ccurl_data_callback _Nullable function);
CURLcode ccurl_set_debug_function(CURL *_Nonnull easy, ccurl_debug_callback _Nullable function);
CURLcode ccurl_set_seek_function(CURL *_Nonnull easy, ccurl_seek_callback _Nullable function);
CURLcode ccurl_set_trailer_function(CURL *_Nonnull easy, ccurl_trailer_callback _Nullable function);
CURLcode ccurl_set_prereq_function(CURL *_Nonnull easy, ccurl_prereq_callback _Nullable function);
CURLcode ccurl_set_opensocket_function(CURL *_Nonnull easy, ccurl_opensocket_callback _Nullable function);
CURLcode ccurl_set_closesocket_function(CURL *_Nonnull easy, ccurl_closesocket_callback _Nullable function);
CURLcode ccurl_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull data, size_t length);

// The type of a CURLOPT_SSL_CTX_FUNCTION.
typedef CURLcode (*ccurl_tls_callback)(CURL *_Nullable, void *_Nullable, void *_Nullable);
// The positions of the name and the value in a field line: the name from 0 to `name_length`, the value without white space around it.
struct ccurl_field {
  size_t name_length, value_start, value_end;
  uint64_t hash; // of the line to `value_end`; only from `ccurl_field_next`
};

// Finds the name and the value in a field line that includes its line end. Returns false if the name is not a token, or if the value
// contains a NUL, CR or LF.
bool ccurl_field_scan(const void *_Nonnull line, size_t length, struct ccurl_field *_Nonnull field);

// Finds the name and the value in lines that `ccurl_field_scan` has accepted, at `start`; the positions in `field` are relative to `start`.
// Returns the length of the line including its line feed, or 0 at the end.
size_t ccurl_field_next(const void *_Nonnull lines, size_t length, size_t start, struct ccurl_field *_Nonnull field);

// The lines of a head, or of the trailers behind a final head, as libcurl delivers them one by one. A new head is all zeros but for the
// limits and for a `content_length` of -1.
#define CCURL_HEAD_STATUS_LINE 0 // the next line is a status line
#define CCURL_HEAD_FIELDS 1      // the next line is a field, or ends the head
#define CCURL_HEAD_TRAILERS 2    // the final head is complete
struct ccurl_head {
  char *_Nullable lines;  // the fields: name, colon, white space, value, line feed
  size_t length, capacity;
  size_t count;           // of fields
  size_t maximum_count;
  size_t size;            // of the lines that count towards the limit, in bytes
  size_t limit;
  size_t received;        // the size of all lines
  int64_t content_length; // -1 if there is none
  uint64_t last_line;     // the time of the thread when the last field line arrived
  int32_t place;
  bool is_last_framing;   // whether the last field frames the message
};

// Adds a field line. Returns false, and changes nothing, for every line that is not a plain field within the limits: status lines, ends of
// heads, folds, fields that describe the body in another way than by a single length, and errors.
bool ccurl_head_add(struct ccurl_head *_Nonnull head, const void *_Nonnull line, size_t length);
// Appends bytes and a line feed to the lines. Returns false if memory has run out.
bool ccurl_head_append(struct ccurl_head *_Nonnull head, const void *_Nonnull bytes, size_t length);
// Removes all fields and their memory.
void ccurl_head_clear(struct ccurl_head *_Nonnull head);
// Sets the time of the calling thread that lines of heads are stamped with.
void ccurl_thread_set_now(uint64_t nanoseconds);

// The context of `ccurl_head_receive`.
struct ccurl_head_target {
  struct ccurl_head *_Nullable head;
  // Receives the lines that `ccurl_head_add` does not add, with this context.
  ccurl_data_callback _Nullable other;
  void *_Nullable context;
};

// A CURLOPT_HEADERFUNCTION.
size_t ccurl_head_receive(char *_Nullable bytes, size_t size, size_t count, void *_Nullable target);

// Finds the next field with a name, which is in lower case, at `start` or behind it. The positions of the value in `field` are relative to
// `lines`. Returns the position behind the line, or 0 if there is no such field.
size_t ccurl_field_find(const void *_Nonnull lines, size_t length, size_t start, const void *_Nonnull name,
                        size_t name_length, struct ccurl_field *_Nonnull field);

// Returns whether ALPN (RFC 7301) selected HTTP/2 or HTTP/3 for the current connection of a transfer.
bool ccurl_tls_has_streams(CURL *_Nonnull easy);
// Returns whether it is certain that ALPN did not select HTTP/2 or HTTP/3.
bool ccurl_tls_has_no_streams(CURL *_Nonnull easy);

// Returns whether it is certain that the peer has not ended the TLS session of a transfer's current connection.
bool ccurl_tls_is_open(CURL *_Nonnull easy);

// The results of `ccurl_tls_read_chain`: the chain was verified in the handshake of the connection, against revocation lists, and with an
// OCSP response that the server has sent.
#define CCURL_CHAIN_VALIDATED 1
#define CCURL_CHAIN_CHECKED_LISTS 2
#define CCURL_CHAIN_CHECKED_STAPLE 4
typedef void (*ccurl_der_callback)(void *_Nonnull, bool is_sent, const uint8_t *_Nonnull, size_t);
// Passes the certificates of a transfer's current connection to the callback, encoded as DER and leaf first: those of the verified chain,
// and then, with `is_sent`, those that the server has sent. A connection for which libcurl verifies nothing (`verifies` is false), or that
// has resumed a TLS session, has no verified chain. Returns the flags above, or -1 if the connection has no session of OpenSSL.
int ccurl_tls_read_chain(CURL *_Nonnull easy, bool verifies, ccurl_der_callback _Nonnull add, void *_Nonnull context);

CURLcode ccurl_set_tls_function(CURL *_Nonnull easy, ccurl_tls_callback _Nullable function);
// Makes OpenSSL verify the name of the server only against the subject alternative names (RFC 9110, section 4.3.4). To be called in a
// CURLOPT_SSL_CTX_FUNCTION; `host` is without brackets.
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
#define CCURL_IDENTITY_MISMATCH 5         // the key is not that of the certificate
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

// Wrappers of curl_easy_getinfo, one for each type of result; an unknown value is 0, NULL or CURL_SOCKET_BAD.
long ccurl_get_long(CURL *_Nonnull easy, CURLINFO info);
curl_off_t ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info);
const char *_Nullable ccurl_get_string(CURL *_Nonnull easy, CURLINFO info);
void *_Nullable ccurl_get_pointer(CURL *_Nonnull easy, CURLINFO info);
curl_socket_t ccurl_get_socket(CURL *_Nonnull easy, CURLINFO info);

// Wrappers of curl_multi_setopt, one for each type of argument.
CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value);
CURLMcode ccurl_multi_set_socket_function(CURLM *_Nonnull multi, ccurl_socket_callback _Nullable function,
                                          void *_Nullable context);
CURLMcode ccurl_multi_set_timer_function(CURLM *_Nonnull multi, ccurl_timer_callback _Nullable function,
                                         void *_Nullable context);
const curl_version_info_data *_Nonnull ccurl_version_info(void);
// Returns the handle of the next finished transfer, with its result; NULL if there is none.
CURL *_Nullable ccurl_multi_next_finished(CURLM *_Nonnull multi, CURLcode *_Nonnull result);

// Creates a share handle for TLS sessions only, used on one thread.
CURLSH *_Nullable ccurl_share_tls_sessions(void);

// Creates a header list in one allocation. `lines` contains `count` zero-terminated strings of `length` bytes in total. The list must be
// freed with `ccurl_free`; libcurl only reads it.
struct curl_slist *_Nullable ccurl_list_pack(const void *_Nonnull lines, size_t length, size_t count);
void ccurl_free(void *_Nullable block);

// Returns the ASCII form of an international host name, from the libidn2 that libcurl has loaded; NULL if there is none or the name is not
// valid. The result must be freed with `ccurl_free`.
char *_Nullable ccurl_idn_to_ascii(const char *_Nonnull name);

// The parts of a URL that the framework needs. The struct owns all strings.
struct ccurl_url {
  CURLU *_Nullable handle; // the parsed URL, without fragment and user information
  char *_Nullable url;     // normalised, percent-encoded, without fragment and user information
  char *_Nullable scheme;  // lower case
  char *_Nullable host;    // as libcurl sees it
  char *_Nullable user;
  char *_Nullable password;
  long port;               // explicit or the scheme's own
};
CURLUcode ccurl_url_parse(const char *_Nonnull text, struct ccurl_url *_Nonnull result);
void ccurl_url_free(struct ccurl_url *_Nonnull result);

// Wrappers of epoll, level-triggered, with plain arguments.
#define CCURL_READ 1u
#define CCURL_WRITE 2u
#define CCURL_FAILED 4u
#define CCURL_READY_CAPACITY 256
struct ccurl_ready {
  int32_t fd;
  uint32_t generation;
  uint32_t events;  // CCURL_READ | CCURL_WRITE | CCURL_FAILED
};
int ccurl_epoll_create(void);
// Watches `fd` for CCURL_READ | CCURL_WRITE; 0 stops watching `fd`. Returns whether the kernel accepted the change.
bool ccurl_epoll_watch(int epoll, int fd, uint32_t generation, uint32_t interest);
// Fills at most CCURL_READY_CAPACITY entries. Returns their number; 0 if the time (negative: no limit) is over.
int ccurl_epoll_wait(int epoll, struct ccurl_ready *_Nonnull ready, int64_t timeout_ns);
int ccurl_eventfd_create(void);
void ccurl_eventfd_signal(int fd);
void ccurl_eventfd_clear(int fd);
uint64_t ccurl_monotonic_ns(void);

// Reads the part of a file that is in the page cache, and never waits for a disk. Returns the number of bytes; 0 if none are cached at
// present or the file ends; -1 if the file system or the kernel does not support the call, or if the read failed.
ptrdiff_t ccurl_read_cached(int fd, void *_Nonnull buffer, size_t count, int64_t offset);

// Renames a file if the new name does not exist. Returns 0 or an errno: EEXIST if it exists; EINVAL if the file system does not support
// this.
int ccurl_rename_new(const char *_Nonnull from, const char *_Nonnull to);

// Creates a file in memory. Returns its descriptor; -1 if the system has none left.
int ccurl_memory_file(void);

// A mutex that the thread sanitizer can see.
void *_Nonnull ccurl_mutex_create(void);
void ccurl_mutex_destroy(void *_Nonnull mutex);
void ccurl_mutex_lock(void *_Nonnull mutex);
void ccurl_mutex_unlock(void *_Nonnull mutex);

// Indicates whether this module was built with the thread sanitizer.
extern const bool ccurl_has_thread_sanitizer;
// Tells the thread sanitizer that everything before the last resumption of the calling task happened before what follows. The Swift runtime
// marks a resumption as a release of the task. Does nothing without the sanitizer.
void ccurl_sanitizer_acquire_task(void);

// A semaphore with the initial value zero. The wait returns whether the semaphore was posted in time.
void *_Nonnull ccurl_semaphore_create(void);
void ccurl_semaphore_destroy(void *_Nonnull semaphore);
void ccurl_semaphore_post(void *_Nonnull semaphore);
bool ccurl_semaphore_wait(void *_Nonnull semaphore, unsigned milliseconds);

// Starts a detached thread with all signals blocked and the given name (at most 15 bytes are kept). Returns 0 or an errno.
int ccurl_thread_start(const char *_Nonnull name, void (*_Nonnull body)(void *_Nullable), void *_Nullable context);
// A thread-local pointer, initially NULL.
const void *_Nullable ccurl_thread_tag(void);
void ccurl_thread_set_tag(const void *_Nullable tag);
void ccurl_thread_yield(void);
void ccurl_thread_sleep_ms(unsigned milliseconds);

// Returns whether the connection was ended neither by the peer nor by a failure.
bool ccurl_socket_is_open(int fd);
// Ends a socket that has received bytes, has failed, or was ended by its peer. Afterwards the same descriptor belongs to a connection that
// has ended: a read finds an orderly end, even if the peer of the old socket still sends, and no byte can be sent. Returns whether the
// socket was ended.
bool ccurl_socket_end_if_unclean(int fd);
// Suspends the calling thread until the next wake-up. A wake-up that arrives before ends the sleep at once. Only one thread may sleep here.
void ccurl_watchdog_sleep(void);
void ccurl_watchdog_wake(void);
// Returns a clock for the processor time of the calling thread that other threads can read.
int32_t ccurl_thread_cpu_clock(void);
// Returns the time of a clock in nanoseconds; 0 if its thread has ended.
uint64_t ccurl_clock_ns(int32_t clock);
// Returns the number of bytes that were read from a TCP socket; -1 if the system does not report it. The difference between a count at the
// start of a period and one at its end is never greater than the number of bytes that were read.
int64_t ccurl_socket_read(int fd, bool is_start);
// Returns the number of bytes that were written to a TCP socket; -1 if the system does not report it.
int64_t ccurl_socket_written(int fd);
// Returns the local port of a connection; 0 if it has none.
int32_t ccurl_socket_port(int fd);
// Ends a connection in both directions. The descriptor stays open.
void ccurl_socket_shut_down(int fd);
// Writes the local address of a socket to 16 bytes, in network order. Returns its length: 4, 16, or 0 if the socket has none.
int ccurl_socket_address(int fd, uint8_t *_Nonnull bytes);

// Opens a netlink route socket (rtnetlink(7)), which needs no rights, for the network namespace of the calling thread. The kernel notifies
// the socket of changes: of the machine's addresses, or of its links, addresses and routes. `buffer_size` limits what it stores; 0 is the
// system's size. Returns -1 if there is no such socket.
int ccurl_route_open(bool follows_addresses, bool follows_all, int buffer_size);
// Requests all links (RTM_GETLINK), addresses (RTM_GETADDR) or routes (RTM_GETROUTE).
bool ccurl_route_request(int fd, uint16_t type, uint32_t sequence);
#define CCURL_ROUTE_OVERRUN -1  // messages were lost
#define CCURL_ROUTE_FAILED -2
// Reads some messages of the kernel; `waits` is for replies to a request. Returns their size in bytes, 0 if there are none, or an error.
ptrdiff_t ccurl_route_receive(int fd, void *_Nonnull buffer, size_t size, bool waits);

// Opens a socket that closes on exec.
int ccurl_socket_open(const struct curl_sockaddr *_Nonnull address);

// Content codings, through the zlib, brotli and zstd that libcurl has loaded, or otherwise the system's. The libraries are looked up at run
// time, so that the build needs no headers.
#define CCURL_CODING_GZIP 0
#define CCURL_CODING_DEFLATE 1
#define CCURL_CODING_BROTLI 2
#define CCURL_CODING_ZSTD 3
#define CCURL_CODEC_MORE 0        // needs more input or more room
#define CCURL_CODEC_ENDED 1       // at a point where the stream may end
#define CCURL_CODEC_CORRUPT (-1)
#define CCURL_CODEC_TRAILING (-2) // bytes after the end
#define CCURL_CODEC_NO_MEMORY (-3)
struct ccurl_codec;
// The remaining input, and the remaining room for output; both are updated as they are used.
struct ccurl_flow {
  const uint8_t *_Nullable in;
  size_t in_left;
  uint8_t *_Nullable out;
  size_t out_left;
};
bool ccurl_codec_exists(int32_t coding, bool encodes);
// Creates a codec; NULL if the library is missing or memory has run out. `level` is that of the coding, for encoders.
struct ccurl_codec *_Nullable ccurl_codec_create(int32_t coding, bool encodes, int level);
// Encodes or decodes as far as input and room allow, or to the end of a member or frame. `is_last`, for encoders, means that no input
// follows. Returns a CCURL_CODEC_ value; after a negative one the codec must only be freed.
int32_t ccurl_codec_run(struct ccurl_codec *_Nonnull codec, struct ccurl_flow *_Nonnull flow, bool is_last);
void ccurl_codec_free(struct ccurl_codec *_Nullable codec);

// The compression of messages that share a context (RFC 7692): raw deflate streams that are flushed at the end of each message, through the
// same zlib.
struct ccurl_deflate;
// Creates a compressor with a window of 9 to 15 bits, or a decompressor with one of 8 to 15 bits; NULL if zlib is missing or memory has run
// out. `level` and `memory_level` are zlib's, for compressors.
struct ccurl_deflate *_Nullable ccurl_deflate_create(bool encodes, int window_bits, int level, int memory_level);
// Compresses or decompresses as far as input and room allow. A compressor flushes at the end of the input (Z_SYNC_FLUSH); the flush is
// complete if there is room left. A decompressor continues after a final block with the same window (RFC 7692, section 7.2.3.4). Returns
// CCURL_CODEC_MORE, CCURL_CODEC_CORRUPT or CCURL_CODEC_NO_MEMORY.
int32_t ccurl_deflate_run(struct ccurl_deflate *_Nonnull deflate, struct ccurl_flow *_Nonnull flow);
// Returns whether the input of a decompressor has ended between two blocks.
bool ccurl_deflate_is_between_blocks(const struct ccurl_deflate *_Nonnull deflate);
// Begins another message, for a decompressor.
void ccurl_deflate_begin_message(struct ccurl_deflate *_Nonnull deflate);
// Forgets the context.
bool ccurl_deflate_reset(struct ccurl_deflate *_Nonnull deflate);
void ccurl_deflate_free(struct ccurl_deflate *_Nullable deflate);

// Fills a buffer with at most 256 random bytes from the system's secure source (getrandom(2)). Returns false if there is no such source.
bool ccurl_random(void *_Nonnull bytes, size_t count);

// Returns 1 if anyone can register names under a domain (in lower case and ASCII), and 0 if not, according to the Public Suffix List of the
// libpsl that libcurl has loaded; -1 if there is no list. The first call reads the list.
int ccurl_suffix_is_public(const char *_Nonnull domain);
// A hash function, through the OpenSSL that libcurl has loaded, or otherwise the system's. OpenSSL is looked up at run time, so that the
// build needs no headers.
#define CCURL_DIGEST_CAPACITY 64
// Creates a digest by OpenSSL's name; NULL if the library or the function is missing or memory has run out.
void *_Nullable ccurl_digest_create(const char *_Nonnull name);
bool ccurl_digest_update(void *_Nonnull digest, const void *_Nullable bytes, size_t count);
// Writes at most CCURL_DIGEST_CAPACITY bytes and returns their number; 0 after a failure. Afterwards the digest must only be freed.
size_t ccurl_digest_finish(void *_Nonnull digest, uint8_t *_Nonnull result);
void ccurl_digest_free(void *_Nullable digest);

// Returns the checksum XXH64 of bytes, which detects damage. It is not made against attackers.
uint64_t ccurl_checksum(const void *_Nullable bytes, size_t length, uint64_t seed);

// Returns whether a socket has a peer.
bool ccurl_socket_is_connected(int fd);

// Scripts for the automatic configuration of proxies (PAC), through libpacparser, which is looked up at run time. One thread at a time may
// call these functions.
// Returns whether the library is there, and loads it under this name if it was not loaded yet.
bool ccurl_pac_is_available(const char *_Nonnull soname);
// Replaces the script. Returns false after an error, which ccurl_pac_message describes. The library must be there.
bool ccurl_pac_load(const char *_Nonnull script);
// Returns the result of the function FindProxyForURL of the script, valid until the next call; NULL after an error. The first character is
// `s` before a text (a null is an empty one), `t` before the name of another type, `e` before an error, or `?` if there is no such function.
// The URL and the host must hold no quotes, backslashes and control characters. `own_address` is the result of myIpAddress, by default the
// address from which packets leave this machine.
const char *_Nullable ccurl_pac_find(
    const char *_Nonnull url, const char *_Nonnull host, const char *_Nullable own_address);
// Returns the first error message of the last call; empty if there was none.
const char *_Nonnull ccurl_pac_message(void);

#endif
