// Typed wrappers of the variadic parts of libcurl's C API, and of the few system calls whose C types Swift cannot import well. The module
// contains no policy.
#ifndef TRELLIS_CCURL_H
#define TRELLIS_CCURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Options and codes that the running libcurl may support although the headers of the build do not (the options: curl/multi.h, 8.20).
static const CURLMoption ccurl_multi_resolve_threads = (CURLMoption)20;
static const CURLMoption ccurl_multi_quick_exit = (CURLMoption)21;
static const CURLcode ccurl_code_too_large = (CURLcode)100;

typedef size_t (*ccurl_data_callback)(char *_Nullable, size_t, size_t, void *_Nullable);
typedef int (*ccurl_debug_callback)(CURL *_Nullable, curl_infotype, char *_Nullable, size_t, void *_Nullable);
typedef int (*ccurl_seek_callback)(void *_Nullable, curl_off_t, int);
typedef int (*ccurl_prereq_callback)(void *_Nullable, char *_Nullable, char *_Nullable, int, int);
typedef curl_socket_t (*ccurl_opensocket_callback)(void *_Nullable, curlsocktype, struct curl_sockaddr *_Nullable);
typedef int (*ccurl_closesocket_callback)(void *_Nullable, curl_socket_t);
typedef int (*ccurl_socket_callback)(CURL *_Nullable, curl_socket_t, int, void *_Nullable, void *_Nullable);
typedef int (*ccurl_timer_callback)(CURLM *_Nullable, long, void *_Nullable);

// Wrappers of curl_easy_setopt, one for each type of argument.
CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
CURLcode ccurl_set_url(CURL *_Nonnull easy, CURLU *_Nullable url);
CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value);
CURLcode ccurl_set_data_function(CURL *_Nonnull easy, CURLoption option, ccurl_data_callback _Nullable function);
CURLcode ccurl_set_debug_function(CURL *_Nonnull easy, ccurl_debug_callback _Nullable function);
CURLcode ccurl_set_seek_function(CURL *_Nonnull easy, ccurl_seek_callback _Nullable function);
CURLcode ccurl_set_prereq_function(CURL *_Nonnull easy, ccurl_prereq_callback _Nullable function);
CURLcode ccurl_set_opensocket_function(CURL *_Nonnull easy, ccurl_opensocket_callback _Nullable function);
CURLcode ccurl_set_closesocket_function(CURL *_Nonnull easy, ccurl_closesocket_callback _Nullable function);
CURLcode ccurl_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull data, size_t length);

// The type of a CURLOPT_SSL_CTX_FUNCTION.
typedef CURLcode (*ccurl_tls_callback)(CURL *_Nullable, void *_Nullable, void *_Nullable);
// The positions of the name and the value in a field line: the name from 0 to `name_length`, the value without white space around it.
struct ccurl_field {
  size_t name_length, value_start, value_end;
};

// Finds the name and the value in a field line that includes its line end. Returns false if the name is not a token, or if the value
// contains a NUL, CR or LF.
bool ccurl_field_scan(const void *_Nonnull line, size_t length, struct ccurl_field *_Nonnull field);

// Finds the name and the value in lines that `ccurl_field_scan` has accepted, at `start`; the positions in `field` are relative to `start`.
// Returns the length of the line including its line feed, or 0 at the end.
size_t ccurl_field_next(const void *_Nonnull lines, size_t length, size_t start, struct ccurl_field *_Nonnull field);

// Returns whether ALPN (RFC 7301) selected HTTP/2 or HTTP/3 for the current connection of a transfer.
bool ccurl_tls_has_streams(CURL *_Nonnull easy);
// Returns whether it is certain that ALPN did not select HTTP/2 or HTTP/3.
bool ccurl_tls_has_no_streams(CURL *_Nonnull easy);

// Returns whether it is certain that the peer has not ended the TLS session of a transfer's current connection.
bool ccurl_tls_is_open(CURL *_Nonnull easy);

CURLcode ccurl_set_tls_function(CURL *_Nonnull easy, ccurl_tls_callback _Nullable function);
// Makes OpenSSL verify the name of the server only against the subject alternative names (RFC 9110, section 4.3.4). To be called in a
// CURLOPT_SSL_CTX_FUNCTION; `host` is without brackets.
CURLcode ccurl_tls_verify_host(void *_Nullable tls_context, const char *_Nonnull host);

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

// A mutex that the thread sanitizer can see.
void *_Nonnull ccurl_mutex_create(void);
void ccurl_mutex_destroy(void *_Nonnull mutex);
void ccurl_mutex_lock(void *_Nonnull mutex);
void ccurl_mutex_unlock(void *_Nonnull mutex);

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

#endif
