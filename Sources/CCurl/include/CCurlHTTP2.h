// Connections of HTTP/2 without their sockets, over the nghttp2 that libcurl has loaded.
#ifndef TRELLIS_CCURL_HTTP2_H
#define TRELLIS_CCURL_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CCurlHeads.h"

// Returns whether nghttp2's functions were found.
bool ccurl_http2_exists(void);

struct ccurl_http2;

// The faults of a head.
#define CCURL_HTTP2_FINE 0
#define CCURL_HTTP2_STATUS 1   // the status is missing, malformed or in the wrong place, as `excerpt` tells
#define CCURL_HTTP2_FIELD 2    // a field is malformed, as `excerpt` tells
#define CCURL_HTTP2_LARGE 3    // the limit in bytes is exceeded
#define CCURL_HTTP2_MANY 4     // there are too many fields
#define CCURL_HTTP2_MEMORY 5   // memory has run out

// A head, or the trailers, of a stream. A connection receives one at a time.
struct ccurl_http2_head {
  char *_Nullable lines;      // in the form of `ccurl_fields_read`
  size_t capacity;
  struct ccurl_fields fields; // the limits and `is_trailers` are set when the head begins
  size_t received;            // the number of bytes that the lines would have in HTTP/1.1, with their ends
  int32_t status;             // 0 if there is none
  int32_t fault;
  bool ends;                  // whether the stream ends with the head
  uint8_t excerpt_length;
  char excerpt[80];           // of the first malformed field
};

// A part of a request's body.
struct ccurl_http2_part {
  size_t count;
  bool is_end;
  bool has_trailers; // which were submitted
  bool waits;        // there are no bytes now
};

#define CCURL_HTTP2_BY_PEER 1   // the server has reset the stream
#define CCURL_HTTP2_BY_GOAWAY 2 // a GOAWAY of the server excludes the stream
#define CCURL_HTTP2_BY_SELF 3   // neither

// The receivers of events. `stream` is the user's pointer for a stream; there are no events for a stream without one.
struct ccurl_http2_events {
  // The head of each frame. Returns false if the connection must end.
  bool (*_Nonnull frame)(void *_Nonnull context, void *_Nullable stream, uint8_t type, uint8_t flags, size_t length,
                         int32_t number);
  void (*_Nonnull begin_head)(void *_Nonnull context, void *_Nonnull stream, struct ccurl_http2_head *_Nonnull);
  void (*_Nonnull end_head)(void *_Nonnull context, void *_Nonnull stream, struct ccurl_http2_head *_Nonnull);
  void (*_Nonnull body)(void *_Nonnull context, void *_Nonnull stream, const void *_Nonnull bytes, size_t length);
  // A DATA frame is complete.
  void (*_Nonnull end_data)(void *_Nonnull context, void *_Nullable stream, size_t length, size_t padding, bool is_last);
  void (*_Nonnull closed)(void *_Nonnull context, void *_Nonnull stream, uint32_t code, int32_t cause);
  void (*_Nonnull settings)(void *_Nonnull context, bool is_acknowledgement);
  void (*_Nonnull pong)(void *_Nonnull context, uint64_t number);
  void (*_Nonnull go_away)(void *_Nonnull context, int32_t last, uint32_t code, const void *_Nullable text, size_t length);
  struct ccurl_http2_part (*_Nonnull fill)(void *_Nonnull context, void *_Nonnull stream, void *_Nonnull room, size_t length);
  // A frame with a part of the request was written: its head, or `length` bytes of its body.
  void (*_Nonnull sent)(void *_Nonnull context, void *_Nonnull stream, bool is_head, size_t length, bool is_last);
};

// Creates the client's side of a connection; NULL if nghttp2 is missing, or memory has run out. The preface and the settings wait to be sent.
struct ccurl_http2 *_Nullable ccurl_http2_create(const struct ccurl_http2_events *_Nonnull events, uint32_t stream_window,
                                                 int32_t connection_window);
// Sets the context of the events. There are none before.
void ccurl_http2_set_context(struct ccurl_http2 *_Nonnull connection, void *_Nonnull context);
// Frees a connection, outside of its events. No more events follow.
void ccurl_http2_free(struct ccurl_http2 *_Nonnull connection);

// Uses received bytes. Returns false if the connection is broken.
bool ccurl_http2_receive(struct ccurl_http2 *_Nonnull connection, const void *_Nonnull bytes, size_t length);
// Writes bytes that are to be sent. Returns their number. The room must have `CCURL_HTTP2_ROOM` bytes at least.
size_t ccurl_http2_fill(struct ccurl_http2 *_Nonnull connection, void *_Nonnull room, size_t length);
#define CCURL_HTTP2_ROOM (32 << 10)
// Returns whether there are bytes to be sent.
bool ccurl_http2_wants_write(struct ccurl_http2 *_Nonnull connection);

// Returns whether the connection is broken: a GOAWAY of this side, with an error, waits to be sent, or was sent.
bool ccurl_http2_is_broken(struct ccurl_http2 *_Nonnull connection);
// Returns the number of frames, apart from DATA, that wait to be sent.
size_t ccurl_http2_waiting_frames(struct ccurl_http2 *_Nonnull connection);
// Returns nghttp2's words for the first reason; empty if there are none.
const char *_Nonnull ccurl_http2_reason(struct ccurl_http2 *_Nonnull connection);
// Returns whether a request can be begun.
bool ccurl_http2_takes_requests(struct ccurl_http2 *_Nonnull connection);
// Returns the number of streams that the server allows.
uint32_t ccurl_http2_allowed_streams(struct ccurl_http2 *_Nonnull connection);
// Returns whether the server accepts an extended CONNECT (RFC 8441, section 3).
bool ccurl_http2_allows_extended_connect(struct ccurl_http2 *_Nonnull connection);

// The head of a request.
struct ccurl_http2_request {
  const void *_Nonnull method;
  size_t method_length;
  const void *_Nonnull target; // the authority and the path
  size_t authority_length, target_length;
  const void *_Nullable lines; // in the form of `HeaderLines`
  size_t lines_length;
  int64_t content_length;      // -1 if there is none
  bool is_secure;
  bool has_body;
  bool is_extended_connect; // the method is CONNECT, for the protocol that the line Upgrade names (RFC 8441, section 4)
  size_t head_size; // set with the number of the stream: the number of bytes that the head would have in HTTP/1.1
};
#define CCURL_HTTP2_BAD_FIELD -1  // a line is no field
#define CCURL_HTTP2_BAD_TARGET -2 // the method, the authority or the path is malformed
#define CCURL_HTTP2_REFUSED -3    // no stream can be begun
#define CCURL_HTTP2_NO_MEMORY -4
// Begins a request. Returns the number of its stream, or one of the above.
int32_t ccurl_http2_submit(struct ccurl_http2 *_Nonnull connection, struct ccurl_http2_request *_Nonnull request,
                           void *_Nonnull stream);
// Adds fields after the body of a request, whose end is being filled. Returns false if a line is no field.
bool ccurl_http2_submit_trailers(struct ccurl_http2 *_Nonnull connection, int32_t number, const void *_Nullable lines,
                                 size_t length);
// Forgets the fields of the last request.
void ccurl_http2_forget_fields(struct ccurl_http2 *_Nonnull connection);

// Continues to ask for the body of a request.
void ccurl_http2_resume(struct ccurl_http2 *_Nonnull connection, int32_t number);
// Resets a stream, which has no more events.
void ccurl_http2_reset(struct ccurl_http2 *_Nonnull connection, int32_t number, uint32_t code);
// Ends the events of a stream.
void ccurl_http2_forget(struct ccurl_http2 *_Nonnull connection, int32_t number);
// Grants bytes of a stream to the server, after the reader has taken them.
void ccurl_http2_grant(struct ccurl_http2 *_Nonnull connection, int32_t number, size_t count);
// Sets the window of a stream, or of the connection with the number 0, to a larger size.
void ccurl_http2_set_window(struct ccurl_http2 *_Nonnull connection, int32_t number, int32_t size);
// Returns the number of bytes that the server may still send on a stream.
int32_t ccurl_http2_window(struct ccurl_http2 *_Nonnull connection, int32_t number);
void ccurl_http2_ping(struct ccurl_http2 *_Nonnull connection, uint64_t number);
// Sends a GOAWAY. With an error code, the connection is broken.
void ccurl_http2_go_away(struct ccurl_http2 *_Nonnull connection, uint32_t code);

#endif
