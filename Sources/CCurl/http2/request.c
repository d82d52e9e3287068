#include <string.h>

#include "connection.h"

enum { PSEUDO_FIELDS = 5, LENGTH_DIGITS = 20 };

static bool is_text(const char *name, size_t length, const char *other, size_t other_length) {
  return length == other_length && memcmp(name, other, length) == 0;
}
#define IS(name, length, text) is_text(name, length, text, sizeof(text) - 1)

// Returns whether a field, whose name is in lower case, is not sent: fields of the connection (RFC 9113, section 8.2.2), and fields that
// the framework sets itself.
static bool is_dropped(const char *name, size_t length, const char *value, size_t value_length) {
  switch (length) {
  case 2: return IS(name, length, "te") && !(value_length == 8 && ccurl_field_is_name(value, "trailers", 8));
  case 4: return IS(name, length, "host");
  case 7: return IS(name, length, "upgrade");
  case 10: return IS(name, length, "connection") || IS(name, length, "keep-alive");
  case 14: return IS(name, length, "content-length") || IS(name, length, "http2-settings");
  case 16: return IS(name, length, "proxy-connection");
  // A stream needs no key of a WebSocket (RFC 8441, section 5).
  case 17: return IS(name, length, "transfer-encoding") || IS(name, length, "sec-websocket-key");
  default: return false;
  }
}

static bool contains(const char *name, size_t length, const char *part, size_t part_length) {
  for (size_t index = 0; index + part_length <= length; index++) {
    if (memcmp(name + index, part, part_length) == 0) return true;
  }
  return false;
}

// Returns whether the value of a field, whose name is in lower case, is secret, so that no table of the compression may hold it
// (RFC 7541, section 7.1.3).
static bool is_secret(const char *name, size_t length) {
#define HAS(text) contains(name, length, text, sizeof(text) - 1)
  return IS(name, length, "cookie") || HAS("auth") || HAS("token") || HAS("secret") || HAS("pass") || HAS("verifier") ||
         HAS("key") || HAS("signature") || HAS("credential") || HAS("assertion") || HAS("session") || HAS("saml") ||
         HAS("jwt") || HAS("otp") || HAS("pin") || HAS("cvv") || HAS("cvc") || HAS("hmac") || HAS("dpop");
#undef HAS
}

static void add(struct ccurl_http2_fields *fields, const char *name, size_t length, const char *value, size_t value_length,
                uint8_t flags) {
  fields->size += length + value_length + sizeof(": \r\n") - 1;
  fields->list[PSEUDO_FIELDS + fields->count++] =
      (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, length, value_length, flags};
}

// Adds each pair of a Cookie as a separate field (RFC 9113, section 8.2.3), so that they take few bytes.
static void add_cookie(struct ccurl_http2_fields *fields, const char *name, const char *value, size_t length) {
  for (size_t start = 0; start <= length;) {
    const char *end = memchr(value + start, ';', length - start);
    size_t next = end == NULL ? length + 1 : (size_t)(end - value) + 1;
    if (next - 1 > start || next > length) add(fields, name, 6, value + start, next - 1 - start, NGHTTP2_NV_FLAG_NO_INDEX);
    while (next < length && value[next] == ' ') next++;
    start = next;
  }
}

// Makes room for the fields of some lines. Returns false if memory has run out.
static bool reserve(struct ccurl_http2_fields *fields, const char *lines, size_t length) {
  size_t count = PSEUDO_FIELDS + 3;
  for (size_t index = 0; index < length; index++) count += lines[index] == 0 || lines[index] == ';';
  if (count > fields->capacity) {
    nghttp2_nv *list = ccurl_memory_resize(fields->list, count * sizeof(*list));
    if (list == NULL) return false;
    fields->list = list;
    fields->capacity = count;
  }
  if (length + 1 > fields->lines_capacity) {
    char *texts = ccurl_memory_resize(fields->texts, length + 1);
    if (texts != NULL) fields->texts = texts;
    char *copy = ccurl_memory_resize(fields->lines, length + 1);
    if (copy != NULL) fields->lines = copy;
    if (texts == NULL || copy == NULL) return false;
    fields->lines_capacity = length + 1;
  }
  return true;
}

// Reads the lines of a request, or of trailers. Returns 0, or the error.
static int32_t read_lines(struct ccurl_http2_fields *fields, const char *lines, size_t length) {
  if (fields->are_known && fields->lines_length == length && memcmp(fields->lines, lines, length) == 0) return 0;
  fields->are_known = fields->has_accept = false;
  fields->count = fields->size = 0;
  fields->host = fields->protocol = NULL;
  if (!reserve(fields, lines, length)) return CCURL_HTTP2_NO_MEMORY;
  if (length > 0) {
    memcpy(fields->lines, lines, length);
    memcpy(fields->texts, lines, length);
  }
  fields->lines_length = length;
  fields->texts[length] = 0;
  for (size_t start = 0; start < length;) {
    char *line = fields->texts + start;
    size_t size = strlen(line), end = 0;
    start += size + 1;
    for (; end < size && line[end] != ':' && line[end] != ';'; end++) {
      if (line[end] >= 'A' && line[end] <= 'Z') line[end] |= 0x20;
    }
    bool is_empty = end < size && line[end] == ';';
    if (end == size || !ccurl_is_token(line, end) || (is_empty && end + 1 != size)) return CCURL_HTTP2_BAD_FIELD;
    if (ccurl_has_line_break(line + end, size - end)) return CCURL_HTTP2_BAD_FIELD;
    if (IS(line, end, "accept")) fields->has_accept = true;
    const char *value = line + end + 1, *last = line + size;
    // A name with a colon alone stands for a field that is not sent, and a semicolon for an empty value.
    if (!is_empty && value == last) continue;
    while (value < last && (*value == ' ' || *value == '\t')) value++;
    while (last > value && (last[-1] == ' ' || last[-1] == '\t')) last--;
    size_t value_length = (size_t)(last - value);
    if (fields->host == NULL && IS(line, end, "host")) {
      fields->host = value;
      fields->host_length = value_length;
    }
    if (fields->protocol == NULL && IS(line, end, "upgrade")) {
      fields->protocol = value;
      fields->protocol_length = value_length;
    }
    if (is_dropped(line, end, value, value_length)) continue;
    if (IS(line, end, "cookie")) add_cookie(fields, line, value, value_length);
    else add(fields, line, end, value, value_length, is_secret(line, end) ? NGHTTP2_NV_FLAG_NO_INDEX : 0);
  }
  fields->are_known = true;
  return 0;
}

static bool is_visible(const char *text, size_t length) {
  bool is_visible = length > 0;
  for (size_t index = 0; index < length; index++) is_visible &= text[index] > ' ' && text[index] < 0x7f;
  return is_visible;
}

static size_t write_number(char *digits, int64_t number) {
  size_t length = LENGTH_DIGITS;
  do {
    digits[--length] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  return length;
}

int32_t ccurl_http2_submit(struct ccurl_http2 *connection, struct ccurl_http2_request *request, void *stream) {
  struct ccurl_http2_fields *fields = &connection->fields;
  int32_t result = read_lines(fields, request->lines, request->lines_length);
  if (result != 0) return result;
  const char *target = request->target, *authority = target;
  size_t authority_length = request->authority_length, path_length = request->target_length - authority_length;
  if (fields->host != NULL) {
    authority = fields->host;
    authority_length = fields->host_length;
  }
  if (!ccurl_is_token(request->method, request->method_length) || !is_visible(authority, authority_length) ||
      !is_visible(target + request->authority_length, path_length))
    return CCURL_HTTP2_BAD_TARGET;
  if (request->is_extended_connect && fields->protocol == NULL) return CCURL_HTTP2_BAD_FIELD;
  bool is_connect = IS((const char *)request->method, request->method_length, "CONNECT");
  nghttp2_nv *first = fields->list + !request->is_extended_connect;
  first[0] = (nghttp2_nv){(uint8_t *)":method", (uint8_t *)request->method, 7, request->method_length, 0};
  first[1] = (nghttp2_nv){(uint8_t *)":authority", (uint8_t *)authority, 10, authority_length, 0};
  first[2] = (nghttp2_nv){(uint8_t *)":scheme", (uint8_t *)(request->is_secure ? "https" : "http"), 7,
                          request->is_secure ? 5 : 4, 0};
  first[3] = (nghttp2_nv){(uint8_t *)":path", (uint8_t *)target + request->authority_length, 5, path_length, 0};
  size_t count = PSEUDO_FIELDS - 1 + fields->count;
  if (request->is_extended_connect) {
    first[4] = (nghttp2_nv){(uint8_t *)":protocol", (uint8_t *)fields->protocol, 9, fields->protocol_length, 0};
    count++;
  } else if (is_connect) {
    // A tunnel has neither a scheme nor a path (RFC 9113, section 8.5).
    nghttp2_nv kept[] = {first[0], first[1]};
    memcpy(first + 2, kept, sizeof(kept));
    first += 2;
    count -= 2;
  }
  request->head_size = request->method_length + path_length + authority_length + fields->size +
                       sizeof("  HTTP/2\r\nHost: \r\n\r\n") - 1;
  char digits[LENGTH_DIGITS];
  // Both have room after the list, which does not keep them.
  if (!fields->has_accept) {
    first[count++] = (nghttp2_nv){(uint8_t *)"accept", (uint8_t *)"*/*", 6, 3, 0};
    request->head_size += sizeof("Accept: */*\r\n") - 1;
  }
  if (request->content_length >= 0) {
    size_t start = write_number(digits, request->content_length);
    first[count++] =
        (nghttp2_nv){(uint8_t *)"content-length", (uint8_t *)digits + start, 14, LENGTH_DIGITS - start, 0};
    request->head_size += sizeof("Content-Length: \r\n") - 1 + LENGTH_DIGITS - start;
  }
  nghttp2_data_provider body = {{.ptr = stream}, ccurl_http2_read_body};
  int32_t number = ccurl_nghttp2.nghttp2_submit_request(connection->session, NULL, first, count,
                                                        request->has_body ? &body : NULL, stream);
  // The last number.
  if (number == INT32_MAX) connection->has_left = true;
  if (number > 0) return number;
  return number == NGHTTP2_ERR_NOMEM ? CCURL_HTTP2_NO_MEMORY : CCURL_HTTP2_REFUSED;
}

bool ccurl_http2_submit_trailers(struct ccurl_http2 *connection, int32_t number, const void *lines, size_t length) {
  struct ccurl_http2_fields fields = {0};
  bool is_done = read_lines(&fields, lines, length) == 0 &&
                 ccurl_nghttp2.nghttp2_submit_trailer(connection->session, number, fields.list + PSEUDO_FIELDS,
                                                      fields.count) == 0;
  ccurl_http2_fields_clear(&fields);
  return is_done;
}

void ccurl_http2_fields_clear(struct ccurl_http2_fields *fields) {
  ccurl_memory_free(fields->list);
  ccurl_memory_free(fields->texts);
  ccurl_memory_free(fields->lines);
  memset(fields, 0, sizeof(*fields));
}

void ccurl_http2_forget_fields(struct ccurl_http2 *connection) { ccurl_http2_fields_clear(&connection->fields); }
