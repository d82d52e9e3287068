#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "CCurl.h"
#include "../system/lookup.h"
#include "connection.h"

#define library ccurl_nghttp2

struct ccurl_nghttp2_library ccurl_nghttp2;

enum { FRAME_HEAD = 9, FRAME_PAYLOAD = 16 << 10, MOST_HEAD_BYTES = 16 << 20, MOST_CONTINUATIONS = 1 << 10 };

// MARK: The library

static bool has_library;

// Sets the limit on CONTINUATION frames, where nghttp2 has one (1.61, and some earlier ones): it counts each piece in which the head of
// such a frame arrives. The session counts the frames.
static void (*set_continuations)(nghttp2_option *, size_t);

static void find_library(void) {
#define NAME(result, name, parameters) #name,
  static const char *const names[] = {CCURL_NGHTTP2_FUNCTIONS(NAME)};
  static const char *const further[] = {"nghttp2_option_set_max_continuations"};
  size_t count = sizeof(library) / sizeof(void *);
  // No object is shared with libcurl, so that another copy than libcurl's will do.
  void *const libraries[] = {ccurl_library_of_curl(), ccurl_system_library("libnghttp2.so.14")};
  for (size_t index = 0; index < 2 && !has_library; index++) {
    has_library = ccurl_find_functions_together(libraries[index], names, &library, count);
    if (has_library) ccurl_find_functions(libraries[index], further, &set_continuations, 1);
  }
}

static void *allocate(size_t size, void *context) { return ccurl_memory_resize(NULL, size); }
static void deallocate(void *block, void *context) { ccurl_memory_free(block); }
static void *reallocate(void *block, size_t size, void *context) { return ccurl_memory_resize(block, size); }
static void *allocate_zeros(size_t count, size_t size, void *context) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  void *block = ccurl_memory_resize(NULL, total);
  if (block != NULL) memset(block, 0, total);
  return block;
}

// MARK: Received frames

static void *user(struct ccurl_http2 *connection, int32_t number) {
  return number > 0 ? library.nghttp2_session_get_stream_user_data(connection->session, number) : NULL;
}

static int did_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *context) {
  struct ccurl_http2 *connection = context;
  void *stream = user(connection, frame->stream_id);
  // See `report_ignored`.
  if (frame->type == NGHTTP2_DATA && stream == NULL) return 0;
  bool goes_on = connection->events.frame(connection->context, stream, frame->type, frame->flags, frame->length,
                                          frame->stream_id);
  return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int did_begin_head(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  struct ccurl_http2 *connection = context;
  struct ccurl_http2_head *head = &connection->head;
  void *stream = user(connection, frame->hd.stream_id);
  memset(&head->fields, 0, sizeof(head->fields));
  head->fields.content_length = -1;
  head->received = 0;
  head->status = 0;
  head->fault = CCURL_HTTP2_FINE;
  head->excerpt_length = 0;
  head->ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  // Nobody wants the fields of a stream that was reset, but the state of the compression depends on them.
  if (stream == NULL) head->fault = CCURL_HTTP2_FIELD;
  else connection->events.begin_head(connection->context, stream, head);
  return 0;
}

static void note_fault(struct ccurl_http2_head *head, int32_t fault, const uint8_t *name, size_t name_length,
                       const uint8_t *value, size_t value_length) {
  head->fault = fault;
  size_t length = name_length < sizeof(head->excerpt) ? name_length : sizeof(head->excerpt);
  memcpy(head->excerpt, name, length);
  if (length + 2 < sizeof(head->excerpt)) {
    memcpy(head->excerpt + length, ": ", 2);
    length += 2;
    size_t rest = sizeof(head->excerpt) - length;
    if (value_length < rest) rest = value_length;
    memcpy(head->excerpt + length, value, rest);
    length += rest;
  }
  head->excerpt_length = (uint8_t)length;
}

// Takes the status, the only pseudo field of a response. Returns false if it is malformed, or in the wrong place.
static bool take_status(struct ccurl_http2_head *head, const uint8_t *value, size_t length) {
  if (length != 3 || head->status != 0 || head->fields.count > 0 || head->fields.is_trailers) return false;
  int32_t status = 0;
  for (size_t index = 0; index < 3; index++) {
    if (value[index] < '0' || value[index] > '9') return false;
    status = status * 10 + (value[index] - '0');
  }
  head->status = status;
  return status >= 100;
}

static int did_receive_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
  struct ccurl_http2_head *head = &((struct ccurl_http2 *)context)->head;
  if (head->fault != CCURL_HTTP2_FINE) return 0;
  size_t size = name_length + value_length + 4;
  if (name_length > 0 && name[0] == ':') {
    bool is_status = name_length == 7 && memcmp(name, ":status", 7) == 0;
    if (!is_status || !take_status(head, value, value_length))
      note_fault(head, is_status ? CCURL_HTTP2_STATUS : CCURL_HTTP2_FIELD, name, name_length, value, value_length);
    // The status line, counted as over HTTP/3, where libcurl writes one.
    size = sizeof("HTTP/2 200 \r\n") - 1;
  } else if (head->fields.count >= head->fields.maximum_count) {
    head->fault = CCURL_HTTP2_MANY;
  } else if (head->fields.written + size > head->capacity) {
    size_t capacity = 2 * (head->fields.written + size);
    if (capacity < 1024) capacity = 1024;
    char *lines = size > head->fields.limit ? NULL : ccurl_memory_resize(head->lines, capacity);
    if (lines != NULL) {
      head->lines = lines;
      head->capacity = capacity;
    } else if (size <= head->fields.limit) {
      head->fault = CCURL_HTTP2_MEMORY;
    }
  }
  if (size > head->fields.limit && head->fault == CCURL_HTTP2_FINE) head->fault = CCURL_HTTP2_LARGE;
  if (head->fault != CCURL_HTTP2_FINE) return 0;
  head->fields.limit -= size;
  head->received += size;
  if (name[0] != ':' && !ccurl_fields_add(&head->fields, name, name_length, value, value_length, head->lines))
    note_fault(head, CCURL_HTTP2_FIELD, name, name_length, value, value_length);
  return 0;
}

static int did_receive_data(nghttp2_session *session, uint8_t flags, int32_t number, const uint8_t *bytes, size_t length,
                            void *context) {
  struct ccurl_http2 *connection = context;
  library.nghttp2_session_consume_connection(session, length);
  void *stream = user(connection, number);
  if (stream != NULL) connection->events.body(connection->context, stream, bytes, length);
  return 0;
}

static uint64_t number_of(const uint8_t *bytes) {
  uint64_t number;
  memcpy(&number, bytes, sizeof(number));
  return __builtin_bswap64(number);
}

static int did_receive_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  struct ccurl_http2 *connection = context;
  bool has_flag = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  void *stream;
  switch (frame->hd.type) {
  case NGHTTP2_HEADERS:
    stream = user(connection, frame->hd.stream_id);
    connection->head.received += 2;
    if (stream != NULL) connection->events.end_head(connection->context, stream, &connection->head);
    break;
  case NGHTTP2_DATA:
    stream = user(connection, frame->hd.stream_id);
    connection->events.end_data(connection->context, stream, frame->hd.length, frame->data.padlen, has_flag);
    break;
  case NGHTTP2_RST_STREAM: connection->reset_stream = frame->hd.stream_id; break;
  case NGHTTP2_SETTINGS: connection->events.settings(connection->context, has_flag); break;
  case NGHTTP2_PING:
    if (has_flag) connection->events.pong(connection->context, number_of(frame->ping.opaque_data));
    break;
  case NGHTTP2_GOAWAY:
    connection->last_stream = frame->goaway.last_stream_id;
    connection->has_go_away = true;
    connection->events.go_away(connection->context, frame->goaway.last_stream_id, frame->goaway.error_code,
                               frame->goaway.opaque_data, frame->goaway.opaque_data_len);
    break;
  default: break;
  }
  return 0;
}

static int did_close(nghttp2_session *session, int32_t number, uint32_t code, void *context) {
  struct ccurl_http2 *connection = context;
  void *stream = user(connection, number);
  if (stream == NULL) return 0;
  int32_t cause = connection->reset_stream == number      ? CCURL_HTTP2_BY_PEER
                  : number > connection->last_stream ? CCURL_HTTP2_BY_GOAWAY
                                                          : CCURL_HTTP2_BY_SELF;
  connection->events.closed(connection->context, stream, code, cause);
  return 0;
}

static int did_receive_invalid(nghttp2_session *session, const nghttp2_frame *frame, int code, void *context) {
  struct ccurl_http2 *connection = context;
  if (connection->reason[0] == 0) {
    const char *text = library.nghttp2_strerror(code);
    snprintf(connection->reason, sizeof(connection->reason), "%s", text);
  }
  return 0;
}

static int did_fail(nghttp2_session *session, int code, const char *text, size_t length, void *context) {
  struct ccurl_http2 *connection = context;
  if (connection->reason[0] == 0)
    snprintf(connection->reason, sizeof(connection->reason), "%.*s", length > 150 ? 150 : (int)length, text);
  return 0;
}

// MARK: Frames to be sent

ssize_t ccurl_http2_read_body(nghttp2_session *session, int32_t number, uint8_t *unused, size_t length, uint32_t *flags,
                              nghttp2_data_source *source, void *context) {
  struct ccurl_http2 *connection = context;
  // The stream may have ended.
  if (user(connection, number) == NULL) return NGHTTP2_ERR_DEFERRED;
  size_t room = connection->room_size - connection->filled - FRAME_HEAD;
  // The bytes go to the place where the frame will be, whose head follows.
  struct ccurl_http2_part part = connection->events.fill(
      connection->context, source->ptr, connection->room + connection->filled + FRAME_HEAD, length < room ? length : room);
  if (part.waits) return NGHTTP2_ERR_DEFERRED;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (part.is_end) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (part.has_trailers) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  return (ssize_t)part.count;
}

static int write_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length,
                      nghttp2_data_source *source, void *context) {
  struct ccurl_http2 *connection = context;
  memcpy(connection->room + connection->filled, head, FRAME_HEAD);
  connection->filled += FRAME_HEAD + length;
  // The next frame has room, or waits for the next memory.
  return connection->room_size - connection->filled < FRAME_HEAD + FRAME_PAYLOAD ? NGHTTP2_ERR_PAUSE : 0;
}

static int did_send(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  struct ccurl_http2 *connection = context;
  bool is_head = frame->hd.type == NGHTTP2_HEADERS;
  if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != 0) connection->is_broken = true;
  if (!is_head && frame->hd.type != NGHTTP2_DATA) return 0;
  void *stream = user(connection, frame->hd.stream_id);
  if (stream == NULL) return 0;
  connection->events.sent(connection->context, stream, is_head, is_head ? 0 : frame->hd.length,
                          (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  return 0;
}

// Copies the rest of a frame. Returns whether all of it fits.
static bool copy_piece(struct ccurl_http2 *connection) {
  size_t room = connection->room_size - connection->filled;
  size_t count = connection->piece_length < room ? connection->piece_length : room;
  if (count == 0) return connection->piece_length == 0;
  memcpy(connection->room + connection->filled, connection->piece, count);
  connection->filled += count;
  connection->piece += count;
  connection->piece_length -= count;
  return connection->piece_length == 0;
}

size_t ccurl_http2_fill(struct ccurl_http2 *connection, void *room, size_t length) {
  connection->room = room;
  connection->room_size = length;
  connection->filled = 0;
  while (copy_piece(connection) && connection->room_size - connection->filled >= FRAME_HEAD + FRAME_PAYLOAD) {
    size_t filled = connection->filled;
    ssize_t count = library.nghttp2_session_mem_send(connection->session, &connection->piece);
    if (count < 0) connection->is_broken = true;
    if (count <= 0 && filled == connection->filled) break;
    connection->piece_length = count > 0 ? (size_t)count : 0;
  }
  connection->room = NULL;
  return connection->filled;
}

bool ccurl_http2_wants_write(struct ccurl_http2 *connection) {
  return connection->piece_length > 0 || library.nghttp2_session_want_write(connection->session) != 0;
}

// MARK: The connection

bool ccurl_http2_exists(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_library);
  return has_library;
}

static bool begin(struct ccurl_http2 *connection, uint32_t stream_window, int32_t connection_window) {
  nghttp2_session_callbacks *callbacks = NULL;
  nghttp2_option *option = NULL;
  nghttp2_mem memory = {NULL, allocate, deallocate, allocate_zeros, reallocate};
  if (library.nghttp2_session_callbacks_new(&callbacks) != 0) return false;
  if (library.nghttp2_option_new(&option) == 0) {
    library.nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, did_begin_frame);
    library.nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, did_begin_head);
    library.nghttp2_session_callbacks_set_on_header_callback(callbacks, did_receive_field);
    library.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, did_receive_data);
    library.nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, did_receive_frame);
    library.nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, did_close);
    library.nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, did_receive_invalid);
    library.nghttp2_session_callbacks_set_error_callback2(callbacks, did_fail);
    library.nghttp2_session_callbacks_set_send_data_callback(callbacks, write_data);
    library.nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, did_send);
    library.nghttp2_option_set_no_auto_window_update(option, 1);
    // Heads are checked as over HTTP/1.1, in the same way with every version of nghttp2.
    library.nghttp2_option_set_no_http_messaging(option, 1);
    library.nghttp2_option_set_max_send_header_block_length(option, MOST_HEAD_BYTES);
    if (set_continuations != NULL) set_continuations(option, MOST_CONTINUATIONS);
    library.nghttp2_session_client_new3(&connection->session, callbacks, connection, option, &memory);
    library.nghttp2_option_del(option);
  }
  library.nghttp2_session_callbacks_del(callbacks);
  if (connection->session == NULL) return false;
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window}};
  return library.nghttp2_submit_settings(connection->session, 0, settings, 2) == 0 &&
         library.nghttp2_session_set_local_window_size(connection->session, 0, 0, connection_window) == 0;
}

struct ccurl_http2 *ccurl_http2_create(const struct ccurl_http2_events *events, uint32_t stream_window,
                                       int32_t connection_window) {
  if (!ccurl_http2_exists()) return NULL;
  struct ccurl_http2 *connection = allocate_zeros(1, sizeof(*connection), NULL);
  if (connection == NULL) return NULL;
  connection->events = *events;
  connection->last_stream = INT32_MAX;
  if (begin(connection, stream_window, connection_window)) return connection;
  ccurl_http2_free(connection);
  return NULL;
}

void ccurl_http2_set_context(struct ccurl_http2 *connection, void *context) { connection->context = context; }

void ccurl_http2_free(struct ccurl_http2 *connection) {
  if (connection->session != NULL) library.nghttp2_session_del(connection->session);
  ccurl_memory_free(connection->head.lines);
  ccurl_http2_fields_clear(&connection->fields);
  ccurl_memory_free(connection);
}

// Reports the frames that nghttp2 may ignore without a word: DATA on streams that have ended, and frames of unknown types.
static bool report_ignored(struct ccurl_http2 *connection, const uint8_t *bytes, size_t length) {
  uint8_t *head = connection->frame_head;
  while (length > 0) {
    bool is_head = connection->frame_rest == 0;
    size_t wanted = is_head ? FRAME_HEAD - connection->frame_head_length : connection->frame_rest;
    size_t count = wanted < length ? wanted : length;
    if (is_head) {
      memcpy(head + connection->frame_head_length, bytes, count);
      connection->frame_head_length += count;
    } else {
      connection->frame_rest -= count;
    }
    bytes += count;
    length -= count;
    if (connection->frame_head_length < FRAME_HEAD) continue;
    connection->frame_head_length = 0;
    connection->frame_rest = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    uint8_t type = head[3];
    int32_t number = (head[5] & 0x7f) << 24 | head[6] << 16 | head[7] << 8 | head[8];
    if (type <= NGHTTP2_CONTINUATION && (type != NGHTTP2_DATA || user(connection, number) != NULL)) continue;
    if (!connection->events.frame(connection->context, NULL, type, head[4], connection->frame_rest, number)) return false;
  }
  return true;
}

bool ccurl_http2_receive(struct ccurl_http2 *connection, const void *bytes, size_t length) {
  if (!report_ignored(connection, bytes, length)) return false;
  ssize_t count = library.nghttp2_session_mem_recv(connection->session, bytes, length);
  connection->reset_stream = 0;
  if (count < 0) {
    connection->is_broken = true;
    if (connection->reason[0] == 0) did_receive_invalid(NULL, NULL, (int)count, connection);
    // The server is told why, as far as nghttp2 has not done that itself.
    library.nghttp2_session_terminate_session(connection->session, count == NGHTTP2_ERR_FLOODED ? 11 : 1);
  }
  return !ccurl_http2_is_broken(connection);
}

bool ccurl_http2_is_broken(struct ccurl_http2 *connection) {
  if (connection->is_broken) return true;
  // nghttp2 takes no requests after a GOAWAY that it has sent. After the server's, one of nghttp2's is noticed when it is sent.
  if (connection->has_go_away || connection->has_left) return false;
  return library.nghttp2_session_check_request_allowed(connection->session) == 0;
}

size_t ccurl_http2_waiting_frames(struct ccurl_http2 *connection) {
  return library.nghttp2_session_get_outbound_queue_size(connection->session);
}

const char *ccurl_http2_reason(struct ccurl_http2 *connection) { return connection->reason; }

bool ccurl_http2_takes_requests(struct ccurl_http2 *connection) {
  return !connection->is_broken && !connection->has_left &&
         library.nghttp2_session_check_request_allowed(connection->session) != 0;
}

uint32_t ccurl_http2_allowed_streams(struct ccurl_http2 *connection) {
  return library.nghttp2_session_get_remote_settings(connection->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool ccurl_http2_allows_extended_connect(struct ccurl_http2 *connection) {
  return library.nghttp2_session_get_remote_settings(connection->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

void ccurl_http2_ping(struct ccurl_http2 *connection, uint64_t number) {
  uint64_t bytes = __builtin_bswap64(number);
  library.nghttp2_submit_ping(connection->session, 0, (const uint8_t *)&bytes);
}

void ccurl_http2_go_away(struct ccurl_http2 *connection, uint32_t code) {
  if (code != 0) {
    connection->is_broken = true;
    library.nghttp2_session_terminate_session(connection->session, code);
  } else if (!connection->has_left) {
    connection->has_left = true;
    library.nghttp2_submit_goaway(connection->session, 0, 0, 0, NULL, 0);
  }
}

// MARK: Streams

void ccurl_http2_resume(struct ccurl_http2 *connection, int32_t number) {
  library.nghttp2_session_resume_data(connection->session, number);
}

void ccurl_http2_forget(struct ccurl_http2 *connection, int32_t number) {
  library.nghttp2_session_set_stream_user_data(connection->session, number, NULL);
}

void ccurl_http2_reset(struct ccurl_http2 *connection, int32_t number, uint32_t code) {
  ccurl_http2_forget(connection, number);
  library.nghttp2_submit_rst_stream(connection->session, 0, number, code);
}

void ccurl_http2_grant(struct ccurl_http2 *connection, int32_t number, size_t count) {
  library.nghttp2_session_consume_stream(connection->session, number, count);
}

void ccurl_http2_set_window(struct ccurl_http2 *connection, int32_t number, int32_t size) {
  library.nghttp2_session_set_local_window_size(connection->session, 0, number, size);
}

int32_t ccurl_http2_window(struct ccurl_http2 *connection, int32_t number) {
  return library.nghttp2_session_get_stream_local_window_size(connection->session, number);
}
