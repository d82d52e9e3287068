#include <string.h>

#include "CCurl.h"

// The bytes of a token (RFC 9110, section 5.6.2). A table is faster than a test of each range, and every head is scanned.
static const bool is_token_byte[256] = {
    ['!'] = true, ['#' ... '\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true,
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['^' ... 'z'] = true, ['|'] = true, ['~'] = true,
};

// The bytes of a token without letters in upper case: of the names of fields in HTTP/2 (RFC 9113, section 8.2.1).
static const bool is_name_byte[256] = {
    ['!'] = true, ['#' ... '\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true,
    ['0' ... '9'] = true, ['^' ... 'z'] = true, ['|'] = true, ['~'] = true,
};

typedef unsigned char block16 __attribute__((vector_size(16)));

static inline block16 line_breaks(const unsigned char *bytes) {
  block16 block;
  memcpy(&block, bytes, sizeof(block));
  return (block16)(block == 0) | (block16)(block == '\r') | (block16)(block == '\n');
}

static inline bool any(block16 found) {
  uint64_t halves[2];
  memcpy(halves, &found, sizeof(halves));
  return (halves[0] | halves[1]) != 0;
}

// Returns whether there is a NUL, CR or LF among the bytes.
static inline bool has_line_break(const unsigned char *bytes, size_t length) {
  if (length < sizeof(block16)) {
    // Copied into a block, with parts that overlap.
    unsigned char block[sizeof(block16)];
    memset(block, ' ', sizeof(block));
    if (length >= 8) {
      memcpy(block, bytes, 8);
      memcpy(block + 8, bytes + length - 8, 8);
    } else if (length >= 4) {
      memcpy(block, bytes, 4);
      memcpy(block + 4, bytes + length - 4, 4);
    } else {
      for (size_t index = 0; index < length; index++) block[index] = bytes[index];
    }
    return any(line_breaks(block));
  }
  // The last block overlaps the one before.
  block16 found = line_breaks(bytes + length - sizeof(block16));
  for (size_t index = 0; index + sizeof(block16) <= length; index += sizeof(block16)) found |= line_breaks(bytes + index);
  return any(found);
}

bool ccurl_has_line_break(const void *bytes, size_t length) { return has_line_break(bytes, length); }

// Inlined, because every line of a head is scanned.
static inline __attribute__((always_inline)) bool scan(const unsigned char *bytes, size_t length,
                                                       struct ccurl_field *field) {
  size_t end = length;
  if (end > 0 && bytes[end - 1] == '\n') end--;
  if (end > 0 && bytes[end - 1] == '\r') end--;
  size_t colon = 0;
  // Four bytes at a time, and then one by one.
  while (colon + 4 <= end && (is_token_byte[bytes[colon]] & is_token_byte[bytes[colon + 1]] &
                              is_token_byte[bytes[colon + 2]] & is_token_byte[bytes[colon + 3]])) {
    colon += 4;
  }
  while (colon < end && is_token_byte[bytes[colon]]) colon++;
  if (colon == 0 || colon == end || bytes[colon] != ':') return false;
  size_t start = colon + 1;
  while (start < end && (bytes[start] == ' ' || bytes[start] == '\t')) start++;
  while (end > start && (bytes[end - 1] == ' ' || bytes[end - 1] == '\t')) end--;
  // A value contains no NUL, CR or LF (RFC 9110, section 5.5).
  if (has_line_break(bytes + start, end - start)) return false;
  field->name_length = colon;
  field->value_start = start;
  field->value_end = end;
  return true;
}

bool ccurl_field_scan(const void *line, size_t length, struct ccurl_field *field) { return scan(line, length, field); }

// Returns whether a name is `other`, which is in lower case.
static bool is_name(const unsigned char *name, const char *other, size_t length) {
  size_t index = 0;
  for (; index + 8 <= length; index += 8) {
    uint64_t block, other_block;
    memcpy(&block, name + index, 8);
    memcpy(&other_block, other + index, 8);
    if ((block | 0x2020202020202020) != other_block) return false;
  }
  for (; index < length; index++) {
    if ((name[index] | 0x20) != (unsigned char)other[index]) return false;
  }
  return true;
}

bool ccurl_field_is_name(const void *name, const void *other, size_t length) { return is_name(name, other, length); }

// Returns a plain decimal number of at most 18 digits; -1 for every other value.
static int64_t decimal(const unsigned char *digits, size_t length) {
  if (length == 0 || length > 18) return -1;
  int64_t value = 0;
  for (size_t index = 0; index < length; index++) {
    if (digits[index] < '0' || digits[index] > '9') return -1;
    value = value * 10 + (digits[index] - '0');
  }
  return value;
}

// Returns the index of the first NUL, CR or LF from `start` on; `length` if there is none.
static inline size_t line_break(const unsigned char *bytes, size_t start, size_t length) {
  for (; start + sizeof(block16) <= length; start += sizeof(block16)) {
    block16 found = line_breaks(bytes + start);
    uint64_t halves[2];
    memcpy(halves, &found, sizeof(halves));
    if (halves[0] != 0) return start + (size_t)__builtin_ctzll(halves[0]) / 8;
    if (halves[1] != 0) return start + 8 + (size_t)__builtin_ctzll(halves[1]) / 8;
  }
  while (start < length && bytes[start] != 0 && bytes[start] != '\r' && bytes[start] != '\n') start++;
  return start;
}

// Returns whether a comma-separated list has a token, which is in lower case.
static bool has_token(const unsigned char *list, size_t length, const char *token, size_t token_length) {
  for (size_t start = 0; start < length;) {
    const unsigned char *comma = memchr(list + start, ',', length - start);
    size_t end = comma == NULL ? length : (size_t)(comma - list), next = end + 1;
    while (start < end && (list[start] == ' ' || list[start] == '\t')) start++;
    while (end > start && (list[end - 1] == ' ' || list[end - 1] == '\t')) end--;
    if (end - start == token_length && is_name(list + start, token, token_length)) return true;
    start = next;
  }
  return false;
}

bool ccurl_has_close(const void *list, size_t length) { return has_token(list, length, "close", 5); }

// Notes what a field says about the message. Returns false for a length that needs a closer look.
static inline bool note(const unsigned char *name, size_t name_length, const unsigned char *value, size_t length,
                        struct ccurl_fields *fields) {
  switch (name_length) {
  case 10:
    if (is_name(name, "keep-alive", 10)) fields->notes |= CCURL_NOTE_KEEP_ALIVE_FIELD;
    if (!is_name(name, "connection", 10)) return true;
    if (has_token(value, length, "keep-alive", 10)) fields->notes |= CCURL_NOTE_KEEP_ALIVE;
    if (has_token(value, length, "close", 5)) fields->notes |= CCURL_NOTE_CLOSE;
    return true;
  case 14:
    if (!is_name(name, "content-length", 14)) return true;
    int64_t number = decimal(value, length);
    if (number < 0 || fields->content_length >= 0) return false;
    fields->content_length = number;
    fields->is_last_framing = true;
    return true;
  case 16:
    if (is_name(name, "content-encoding", 16)) fields->notes |= CCURL_NOTE_CONTENT_CODING;
    // Old proxies say so.
    if (is_name(name, "proxy-connection", 16) && has_token(value, length, "close", 5)) fields->notes |= CCURL_NOTE_CLOSE;
    return true;
  case 17:
    if (!is_name(name, "transfer-encoding", 17)) return true;
    bool is_chunked = length == 7 && is_name(value, "chunked", 7) && (fields->notes & CCURL_NOTE_CODING) == 0;
    fields->notes |= is_chunked ? CCURL_NOTE_CODING | CCURL_NOTE_CHUNKED : CCURL_NOTE_CODING;
    if (!is_chunked) fields->notes &= ~CCURL_NOTE_CHUNKED;
    fields->is_last_framing = true;
    return true;
  }
  return true;
}

int ccurl_fields_read(struct ccurl_fields *fields, const void *from, size_t length, void *to, size_t capacity) {
  const unsigned char *bytes = from;
  unsigned char *lines = to;
  size_t start = fields->read, written = fields->written;
  int end = CCURL_FIELDS_CUT;
  while (start < length) {
    size_t colon = start;
    // Four bytes at a time, and then one by one.
    while (colon + 4 <= length && (is_token_byte[bytes[colon]] & is_token_byte[bytes[colon + 1]] &
                                   is_token_byte[bytes[colon + 2]] & is_token_byte[bytes[colon + 3]])) {
      colon += 4;
    }
    while (colon < length && is_token_byte[bytes[colon]]) colon++;
    if (colon == length) break;
    if (bytes[colon] != ':' || colon == start) {
      bool has_return = bytes[start] == '\r';
      if (has_return && start + 1 == length) break;
      if (bytes[start + has_return] == '\n' && fields->limit > has_return) {
        fields->limit -= 1 + has_return;
        start += 1 + has_return;
        end = CCURL_FIELDS_END;
      } else {
        end = CCURL_FIELDS_OTHER;
      }
      break;
    }
    size_t value = colon + 1;
    while (value < length && (bytes[value] == ' ' || bytes[value] == '\t')) value++;
    size_t value_end = line_break(bytes, value, length), next = value_end;
    if (next < length && bytes[next] == '\r') next++;
    if (next == length) break;
    next++;
    size_t size = next - start;
    if (bytes[next - 1] != '\n' || size > fields->limit || fields->count >= fields->maximum_count) {
      end = CCURL_FIELDS_OTHER;
      break;
    }
    while (value_end > value && (bytes[value_end - 1] == ' ' || bytes[value_end - 1] == '\t')) value_end--;
    if (written + (value_end - start) + 1 > capacity) {
      end = CCURL_FIELDS_FULL;
      break;
    }
    fields->is_last_framing = false;
    if (!fields->is_trailers && !note(bytes + start, colon - start, bytes + value, value_end - value, fields)) {
      end = CCURL_FIELDS_OTHER;
      break;
    }
    memcpy(lines + written, bytes + start, value_end - start);
    written += value_end - start;
    lines[written++] = '\n';
    fields->count++;
    fields->limit -= size;
    start = next;
  }
  fields->read = start;
  fields->written = written;
  return end;
}

// Returns whether a field, whose name is in lower case, is about the connection, which HTTP/2 forbids.
static bool is_of_connection(const unsigned char *name, size_t length) {
  switch (length) {
  case 7: return memcmp(name, "upgrade", 7) == 0;
  case 10: return memcmp(name, "connection", 10) == 0 || memcmp(name, "keep-alive", 10) == 0;
  case 16: return memcmp(name, "proxy-connection", 16) == 0;
  case 17: return memcmp(name, "transfer-encoding", 17) == 0;
  default: return false;
  }
}

bool ccurl_fields_add(struct ccurl_fields *fields, const void *name, size_t name_length, const void *value,
                      size_t value_length, void *to) {
  const unsigned char *bytes = name, *text = value;
  unsigned char *line = (unsigned char *)to + fields->written;
  bool is_name = name_length > 0;
  for (size_t index = 0; index < name_length; index++) is_name &= is_name_byte[bytes[index]];
  if (!is_name || is_of_connection(bytes, name_length) || has_line_break(text, value_length)) return false;
  while (value_length > 0 && (text[0] == ' ' || text[0] == '\t')) text++, value_length--;
  while (value_length > 0 && (text[value_length - 1] == ' ' || text[value_length - 1] == '\t')) value_length--;
  if (!fields->is_trailers && !note(bytes, name_length, text, value_length, fields)) fields->notes |= CCURL_NOTE_LENGTHS;
  memcpy(line, bytes, name_length);
  line[name_length] = ':';
  memcpy(line + name_length + 1, text, value_length);
  line[name_length + 1 + value_length] = '\n';
  fields->written += name_length + value_length + 2;
  fields->count++;
  return true;
}

size_t ccurl_field_find(const void *lines, size_t length, size_t start, const void *name, size_t name_length,
                        struct ccurl_field *field) {
  const char *bytes = lines;
  while (start < length) {
    const char *end = memchr(bytes + start, '\n', length - start);
    if (end == NULL) break;
    size_t line_length = (size_t)(end - (bytes + start));
    if (line_length > name_length && bytes[start + name_length] == ':' &&
        is_name((const unsigned char *)bytes + start, name, name_length)) {
      size_t value = name_length + 1;
      while (value < line_length && (bytes[start + value] == ' ' || bytes[start + value] == '\t')) value++;
      field->name_length = name_length;
      field->value_start = start + value;
      field->value_end = start + line_length;
      return start + line_length + 1;
    }
    start += line_length + 1;
  }
  return 0;
}

// Mixes bytes into a hash, eight at a time.
static inline uint64_t hash_bytes(const char *bytes, size_t length) {
  uint64_t hash = length, block;
  for (; length >= 8; bytes += 8, length -= 8) {
    memcpy(&block, bytes, 8);
    hash = (hash ^ block) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  block = 0;
  memcpy(&block, bytes, length);
  hash = (hash ^ block) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

size_t ccurl_field_next(const void *lines, size_t length, size_t start, struct ccurl_field *field) {
  const char *line = (const char *)lines + start;
  const char *end = memchr(line, '\n', length - start);
  const char *colon = memchr(line, ':', length - start);
  if (end == NULL || colon == NULL) return 0;
  const char *value = colon + 1;
  while (value < end && (*value == ' ' || *value == '\t')) value++;
  field->name_length = (size_t)(colon - line);
  field->value_start = (size_t)(value - line);
  field->value_end = (size_t)(end - line);
  field->hash = hash_bytes(line, field->value_end);
  return field->value_end + 1;
}

size_t ccurl_field_next_sized(const void *lines, size_t length, size_t start, uint64_t name_lengths,
                              struct ccurl_field *field) {
  const char *bytes = lines;
  while (start < length) {
    const char *line = bytes + start;
    const char *colon = memchr(line, ':', length - start);
    if (colon == NULL) break;
    size_t name_length = (size_t)(colon - line);
    const char *end = memchr(colon, '\n', length - start - name_length);
    if (end == NULL) break;
    if (name_length < 64 && (name_lengths >> name_length & 1) != 0) {
      const char *value = colon + 1;
      while (value < end && (*value == ' ' || *value == '\t')) value++;
      field->name_length = name_length;
      field->value_start = (size_t)(value - line);
      field->value_end = (size_t)(end - line);
      return start;
    }
    start = (size_t)(end - bytes) + 1;
  }
  return length;
}

void ccurl_lines_skip_same(const void *lines, size_t length, const void *others, size_t other_length,
                           struct ccurl_lines_place *place) {
  const char *bytes = (const char *)lines + place->start, *other_bytes = (const char *)others + place->other_start;
  size_t rest = length - place->start, other_rest = other_length - place->other_start;
  if (rest > other_rest) rest = other_rest;
  size_t same = 0;
  while (same + 8 <= rest) {
    uint64_t block, other_block;
    memcpy(&block, bytes + same, 8);
    memcpy(&other_block, other_bytes + same, 8);
    if (block != other_block) break;
    same += 8;
  }
  while (same < rest && bytes[same] == other_bytes[same]) same++;
  // The bytes before the first difference may end within a line.
  while (same > 0 && bytes[same - 1] != '\n') same--;
  size_t count = 0;
  for (size_t index = 0; index < same; index++) count += bytes[index] == '\n';
  place->start += same;
  place->other_start += same;
  place->index += count;
}

bool ccurl_is_token(const void *text, size_t length) {
  const unsigned char *bytes = text;
  for (size_t index = 0; index < length; index++) {
    if (!is_token_byte[bytes[index]]) return false;
  }
  return length > 0;
}

// Notes a field of a request that is sent. Returns false if the field is about the framing, which is the sender's own.
static bool note_request(const unsigned char *line, size_t name_length, size_t length, uint32_t *notes) {
  const unsigned char *value = line + name_length + 1;
  size_t value_length = length - name_length - 1;
  switch (name_length) {
  case 6:
    if (is_name(line, "expect", 6) && has_token(value, value_length, "100-continue", 12)) *notes |= CCURL_REQUEST_EXPECT;
    return true;
  case 10:
    if (is_name(line, "connection", 10) && has_token(value, value_length, "close", 5)) *notes |= CCURL_REQUEST_CLOSE;
    return true;
  case 14: return !is_name(line, "content-length", 14);
  case 17: return !is_name(line, "transfer-encoding", 17);
  default: return true;
  }
}

bool ccurl_request_lines_write(struct ccurl_request_lines *lines, const void *from, size_t length, void *to) {
  const unsigned char *bytes = from;
  unsigned char *next = to;
  for (size_t start = 0; start < length;) {
    const unsigned char *line = bytes + start, *end = memchr(line, 0, length - start);
    size_t size = end == NULL ? length - start : (size_t)(end - line), colon = 0;
    start += size + 1;
    while (colon < size && is_token_byte[line[colon]]) colon++;
    bool is_empty = colon + 1 == size && line[colon] == ';';
    if (colon == 0 || colon == size || (line[colon] != ':' && !is_empty)) return false;
    if (has_line_break(line + colon, size - colon)) return false;
    if (colon == 6 && is_name(line, "accept", 6)) lines->notes |= CCURL_REQUEST_ACCEPT;
    // A name with a colon alone stands for a field that is not sent, and a semicolon for an empty value.
    if (!is_empty && colon + 1 == size) continue;
    if (colon == 4 && is_name(line, "host", 4)) {
      if (lines->host_length > 0) continue;
      lines->host_start = (size_t)(line - bytes);
      lines->host_length = size;
      continue;
    }
    if (!note_request(line, colon, size, &lines->notes)) continue;
    memcpy(next, line, size);
    if (is_empty) next[colon] = ':';
    next[size] = '\r';
    next[size + 1] = '\n';
    next += size + 2;
  }
  lines->written = (size_t)(next - (unsigned char *)to);
  return true;
}
