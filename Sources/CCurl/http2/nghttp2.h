// The part of nghttp2 1.52 that this module uses, for a library that is looked up at run time. The build does not depend on its header. A
// test compares both: it includes this file twice, the first time with other names of the types, and the second time after that header.
#ifndef NGHTTP2_H
#include <stdint.h>
#include <sys/types.h>

typedef struct nghttp2_session nghttp2_session;
typedef struct nghttp2_session_callbacks nghttp2_session_callbacks;
typedef struct nghttp2_option nghttp2_option;

typedef struct {
  uint8_t *name, *value;
  size_t namelen, valuelen;
  uint8_t flags;
} nghttp2_nv;

typedef struct {
  size_t length;
  int32_t stream_id;
  uint8_t type, flags, reserved;
} nghttp2_frame_hd;

typedef struct {
  nghttp2_frame_hd hd;
  size_t padlen;
} nghttp2_data;

typedef struct {
  nghttp2_frame_hd hd;
  uint8_t opaque_data[8];
} nghttp2_ping;

typedef struct {
  nghttp2_frame_hd hd;
  int32_t last_stream_id;
  uint32_t error_code;
  uint8_t *opaque_data;
  size_t opaque_data_len;
  uint8_t reserved;
} nghttp2_goaway;

// The other types of frame are used by their heads alone.
typedef union {
  nghttp2_frame_hd hd;
  nghttp2_data data;
  nghttp2_ping ping;
  nghttp2_goaway goaway;
} nghttp2_frame;

typedef struct {
  int32_t settings_id;
  uint32_t value;
} nghttp2_settings_entry;

typedef union {
  int fd;
  void *ptr;
} nghttp2_data_source;

typedef ssize_t (*nghttp2_data_source_read_callback)(nghttp2_session *, int32_t, uint8_t *, size_t, uint32_t *,
                                                     nghttp2_data_source *, void *);

typedef struct {
  nghttp2_data_source source;
  nghttp2_data_source_read_callback read_callback;
} nghttp2_data_provider;

typedef struct nghttp2_priority_spec nghttp2_priority_spec;
typedef unsigned nghttp2_settings_id;

typedef struct {
  void *mem_user_data;
  void *(*malloc)(size_t, void *);
  void (*free)(void *, void *);
  void *(*calloc)(size_t, size_t, void *);
  void *(*realloc)(void *, size_t, void *);
} nghttp2_mem;

typedef int (*nghttp2_send_data_callback)(nghttp2_session *, nghttp2_frame *, const uint8_t *, size_t,
                                          nghttp2_data_source *, void *);
typedef int (*nghttp2_on_frame_recv_callback)(nghttp2_session *, const nghttp2_frame *, void *);
typedef int (*nghttp2_on_invalid_frame_recv_callback)(nghttp2_session *, const nghttp2_frame *, int, void *);
typedef int (*nghttp2_on_data_chunk_recv_callback)(nghttp2_session *, uint8_t, int32_t, const uint8_t *, size_t, void *);
typedef int (*nghttp2_on_frame_send_callback)(nghttp2_session *, const nghttp2_frame *, void *);
typedef int (*nghttp2_on_stream_close_callback)(nghttp2_session *, int32_t, uint32_t, void *);
typedef int (*nghttp2_on_begin_headers_callback)(nghttp2_session *, const nghttp2_frame *, void *);
typedef int (*nghttp2_on_header_callback)(nghttp2_session *, const nghttp2_frame *, const uint8_t *, size_t,
                                          const uint8_t *, size_t, uint8_t, void *);
typedef int (*nghttp2_on_begin_frame_callback)(nghttp2_session *, const nghttp2_frame_hd *, void *);
typedef int (*nghttp2_error_callback2)(nghttp2_session *, int, const char *, size_t, void *);
#endif

#ifndef CCURL_NGHTTP2_H
#define CCURL_NGHTTP2_H

// The fields of each type, for the test.
#define CCURL_NGHTTP2_FIELDS(X)                                                                                           \
  X(nghttp2_nv, name) X(nghttp2_nv, value) X(nghttp2_nv, namelen) X(nghttp2_nv, valuelen) X(nghttp2_nv, flags)            \
  X(nghttp2_frame_hd, length) X(nghttp2_frame_hd, stream_id) X(nghttp2_frame_hd, type) X(nghttp2_frame_hd, flags)         \
  X(nghttp2_data, hd) X(nghttp2_data, padlen) X(nghttp2_ping, hd) X(nghttp2_ping, opaque_data) X(nghttp2_goaway, hd)      \
  X(nghttp2_goaway, last_stream_id) X(nghttp2_goaway, error_code) X(nghttp2_goaway, opaque_data)                          \
  X(nghttp2_goaway, opaque_data_len) X(nghttp2_frame, hd) X(nghttp2_frame, data) X(nghttp2_frame, ping)                   \
  X(nghttp2_frame, goaway) X(nghttp2_settings_entry, settings_id) X(nghttp2_settings_entry, value)                        \
  X(nghttp2_data_source, ptr) X(nghttp2_data_provider, source) X(nghttp2_data_provider, read_callback)                    \
  X(nghttp2_mem, mem_user_data) X(nghttp2_mem, malloc) X(nghttp2_mem, free) X(nghttp2_mem, calloc)                        \
  X(nghttp2_mem, realloc)

// The types that this module itself allocates, alone or in arrays, and that nghttp2 reads.
#define CCURL_NGHTTP2_SIZES(X)                                                                                            \
  X(nghttp2_nv) X(nghttp2_settings_entry) X(nghttp2_data_provider) X(nghttp2_data_source) X(nghttp2_mem)

#define CCURL_NGHTTP2_CONSTANTS(X)                                                                                        \
  X(NGHTTP2_DATA, 0) X(NGHTTP2_HEADERS, 1) X(NGHTTP2_RST_STREAM, 3) X(NGHTTP2_SETTINGS, 4) X(NGHTTP2_PING, 6)             \
  X(NGHTTP2_GOAWAY, 7) X(NGHTTP2_CONTINUATION, 9) X(NGHTTP2_FLAG_END_STREAM, 1) X(NGHTTP2_FLAG_ACK, 1)                    \
  X(NGHTTP2_NV_FLAG_NO_INDEX, 1) X(NGHTTP2_DATA_FLAG_EOF, 1) X(NGHTTP2_DATA_FLAG_NO_END_STREAM, 2)                        \
  X(NGHTTP2_DATA_FLAG_NO_COPY, 4) X(NGHTTP2_SETTINGS_ENABLE_PUSH, 2) X(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 3)        \
  X(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4) X(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 8)                               \
  X(NGHTTP2_ERR_DEFERRED, -508) X(NGHTTP2_ERR_PAUSE, -526)                                                                \
  X(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE, -521) X(NGHTTP2_ERR_NOMEM, -901) X(NGHTTP2_ERR_CALLBACK_FAILURE, -902)         \
  X(NGHTTP2_ERR_FLOODED, -904)

// The functions: their results, names and parameters.
#define CCURL_NGHTTP2_FUNCTIONS(X)                                                                                        \
  X(int, nghttp2_session_callbacks_new, (nghttp2_session_callbacks **))                                                   \
  X(void, nghttp2_session_callbacks_del, (nghttp2_session_callbacks *))                                                   \
  X(void, nghttp2_session_callbacks_set_send_data_callback, (nghttp2_session_callbacks *, nghttp2_send_data_callback))    \
  X(void, nghttp2_session_callbacks_set_on_frame_recv_callback,                                                           \
    (nghttp2_session_callbacks *, nghttp2_on_frame_recv_callback))                                                        \
  X(void, nghttp2_session_callbacks_set_on_invalid_frame_recv_callback,                                                   \
    (nghttp2_session_callbacks *, nghttp2_on_invalid_frame_recv_callback))                                                \
  X(void, nghttp2_session_callbacks_set_on_data_chunk_recv_callback,                                                      \
    (nghttp2_session_callbacks *, nghttp2_on_data_chunk_recv_callback))                                                   \
  X(void, nghttp2_session_callbacks_set_on_frame_send_callback,                                                           \
    (nghttp2_session_callbacks *, nghttp2_on_frame_send_callback))                                                        \
  X(void, nghttp2_session_callbacks_set_on_stream_close_callback,                                                         \
    (nghttp2_session_callbacks *, nghttp2_on_stream_close_callback))                                                      \
  X(void, nghttp2_session_callbacks_set_on_begin_headers_callback,                                                        \
    (nghttp2_session_callbacks *, nghttp2_on_begin_headers_callback))                                                     \
  X(void, nghttp2_session_callbacks_set_on_header_callback, (nghttp2_session_callbacks *, nghttp2_on_header_callback))    \
  X(void, nghttp2_session_callbacks_set_on_begin_frame_callback,                                                          \
    (nghttp2_session_callbacks *, nghttp2_on_begin_frame_callback))                                                       \
  X(void, nghttp2_session_callbacks_set_error_callback2, (nghttp2_session_callbacks *, nghttp2_error_callback2))          \
  X(int, nghttp2_option_new, (nghttp2_option **))                                                                         \
  X(void, nghttp2_option_del, (nghttp2_option *))                                                                         \
  X(void, nghttp2_option_set_no_auto_window_update, (nghttp2_option *, int))                                              \
  X(void, nghttp2_option_set_no_http_messaging, (nghttp2_option *, int))                                                  \
  X(void, nghttp2_option_set_max_send_header_block_length, (nghttp2_option *, size_t))                                    \
  X(int, nghttp2_session_client_new3,                                                                                     \
    (nghttp2_session **, const nghttp2_session_callbacks *, void *, const nghttp2_option *, nghttp2_mem *))               \
  X(void, nghttp2_session_del, (nghttp2_session *))                                                                       \
  X(ssize_t, nghttp2_session_mem_recv, (nghttp2_session *, const uint8_t *, size_t))                                      \
  X(ssize_t, nghttp2_session_mem_send, (nghttp2_session *, const uint8_t **))                                             \
  X(int, nghttp2_session_want_write, (nghttp2_session *))                                                                 \
  X(int, nghttp2_session_check_request_allowed, (nghttp2_session *))                                                      \
  X(size_t, nghttp2_session_get_outbound_queue_size, (nghttp2_session *))                                                 \
  X(uint32_t, nghttp2_session_get_remote_settings, (nghttp2_session *, nghttp2_settings_id))                              \
  X(void *, nghttp2_session_get_stream_user_data, (nghttp2_session *, int32_t))                                           \
  X(int, nghttp2_session_set_stream_user_data, (nghttp2_session *, int32_t, void *))                                      \
  X(int32_t, nghttp2_session_get_stream_local_window_size, (nghttp2_session *, int32_t))                                  \
  X(int, nghttp2_session_set_local_window_size, (nghttp2_session *, uint8_t, int32_t, int32_t))                           \
  X(int, nghttp2_session_consume_connection, (nghttp2_session *, size_t))                                                 \
  X(int, nghttp2_session_consume_stream, (nghttp2_session *, int32_t, size_t))                                            \
  X(int, nghttp2_session_resume_data, (nghttp2_session *, int32_t))                                                       \
  X(int, nghttp2_submit_settings, (nghttp2_session *, uint8_t, const nghttp2_settings_entry *, size_t))                   \
  X(int32_t, nghttp2_submit_request,                                                                                      \
    (nghttp2_session *, const nghttp2_priority_spec *, const nghttp2_nv *, size_t, const nghttp2_data_provider *, void *)) \
  X(int, nghttp2_submit_trailer, (nghttp2_session *, int32_t, const nghttp2_nv *, size_t))                                \
  X(int, nghttp2_submit_rst_stream, (nghttp2_session *, uint8_t, int32_t, uint32_t))                                      \
  X(int, nghttp2_submit_ping, (nghttp2_session *, uint8_t, const uint8_t *))                                              \
  X(int, nghttp2_submit_goaway, (nghttp2_session *, uint8_t, int32_t, uint32_t, const uint8_t *, size_t))                 \
  X(int, nghttp2_session_terminate_session, (nghttp2_session *, uint32_t))                                                \
  X(const char *, nghttp2_strerror, (int))

#endif
