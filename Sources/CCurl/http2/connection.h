// The state of a connection of HTTP/2, and nghttp2's functions.
#ifndef TRELLIS_HTTP2_CONNECTION_H
#define TRELLIS_HTTP2_CONNECTION_H

#include "CCurl.h"
#include "nghttp2.h"

#define CCURL_CONSTANT(name, value) name = value,
enum { CCURL_NGHTTP2_CONSTANTS(CCURL_CONSTANT) };

#define CCURL_MEMBER(result, name, parameters) result(*name) parameters;
extern struct ccurl_nghttp2_library {
  CCURL_NGHTTP2_FUNCTIONS(CCURL_MEMBER)
} ccurl_nghttp2;

// The fields of a request as nghttp2 takes them. They are kept for the next request, which mostly has the same ones.
struct ccurl_http2_fields {
  nghttp2_nv *list; // after the room for pseudo fields
  size_t count, capacity;
  size_t size; // the number of bytes of the list as lines of HTTP/1.1
  char *texts, *lines; // the texts of the list, and the lines from which it was made
  size_t lines_length, lines_capacity;
  const char *host;    // the value of the first Host
  size_t host_length;
  const char *protocol; // the value of the first Upgrade
  size_t protocol_length;
  bool has_accept, are_known;
};

struct ccurl_http2 {
  nghttp2_session *session;
  struct ccurl_http2_events events;
  void *context;
  struct ccurl_http2_head head;
  // The memory that is being filled.
  uint8_t *room;
  size_t room_size, filled;
  // The rest of a frame that did not fit.
  const uint8_t *piece;
  size_t piece_length;
  // The last GOAWAY of the server; the largest number before one.
  int32_t last_stream;
  // The head of the frame that is being received, as far as it has come, and the rest of the frame after its head.
  uint8_t frame_head[9];
  size_t frame_head_length, frame_rest;
  // The stream that the frame which is being received resets, if any.
  int32_t reset_stream;
  bool is_broken, has_go_away, has_left; // `has_go_away`: the server's; `has_left`: this side's, without an error
  char reason[160];
  struct ccurl_http2_fields fields;
};

// The callback for the body of a request.
ssize_t ccurl_http2_read_body(nghttp2_session *session, int32_t number, uint8_t *unused, size_t length, uint32_t *flags,
                              nghttp2_data_source *source, void *context);
// Frees the fields of the last request.
void ccurl_http2_fields_clear(struct ccurl_http2_fields *fields);

#endif
