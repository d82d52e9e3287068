// All C code of Trellis. This header has typed wrappers of the variadic parts of libcurl's C API; the others that it includes have the rest.
// The module contains no policy.
#ifndef TRELLIS_CCURL_H
#define TRELLIS_CCURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CCurlCodec.h"
#include "CCurlHTTP2.h"
#include "CCurlHeads.h"
#include "CCurlLibraries.h"
#include "CCurlSystem.h"
#include "CCurlTLS.h"

// A code that the running libcurl may have although the headers of the build do not.
static const CURLcode ccurl_code_too_large = (CURLcode)100;

typedef size_t (*ccurl_data_callback)(char *_Nullable, size_t, size_t, void *_Nullable);
typedef int (*ccurl_debug_callback)(CURL *_Nullable, curl_infotype, char *_Nullable, size_t, void *_Nullable);
typedef int (*ccurl_seek_callback)(void *_Nullable, curl_off_t, int);
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
CURLcode ccurl_set_prereq_function(CURL *_Nonnull easy, ccurl_prereq_callback _Nullable function);
CURLcode ccurl_set_opensocket_function(CURL *_Nonnull easy, ccurl_opensocket_callback _Nullable function);
// Tells libcurl whether the sockets that it gets are connected already, so that it does not connect them itself.
CURLcode ccurl_set_sockets_connected(CURL *_Nonnull easy, bool are_connected);
CURLcode ccurl_set_closesocket_function(CURL *_Nonnull easy, ccurl_closesocket_callback _Nullable function);
CURLcode ccurl_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull data, size_t length);

// Wrappers of curl_easy_getinfo, one for each type of result; an unknown value is 0, NULL or CURL_SOCKET_BAD.
long ccurl_get_long(CURL *_Nonnull easy, CURLINFO info);
curl_off_t ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info);
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
/// Returns a copy of a parsed URL with another path and query, which must need no encoding; NULL if memory has run out. `query` is the
/// number of bytes of the target before its question mark, or of the whole target if it has no query.
CURLU *_Nullable ccurl_url_with_target(CURLU *_Nonnull root, const char *_Nonnull target, size_t query);

#endif
