#include <string.h>

#include "CCurl.h"

// The bytes of a token (RFC 9110, section 5.6.2). A table is faster than a test of each range, and every head is scanned.
static const bool is_token_byte[256] = {
    ['!'] = true, ['#' ... '\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true,
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['^' ... 'z'] = true, ['|'] = true, ['~'] = true,
};

bool ccurl_field_scan(const void *line, size_t length, struct ccurl_field *field) {
  const unsigned char *bytes = line;
  size_t end = length;
  if (end > 0 && bytes[end - 1] == '\n') end--;
  if (end > 0 && bytes[end - 1] == '\r') end--;
  size_t colon = 0;
  while (colon < end && is_token_byte[bytes[colon]]) colon++;
  if (colon == 0 || colon == end || bytes[colon] != ':') return false;
  size_t start = colon + 1;
  while (start < end && (bytes[start] == ' ' || bytes[start] == '\t')) start++;
  while (end > start && (bytes[end - 1] == ' ' || bytes[end - 1] == '\t')) end--;
  // A value contains no NUL, CR or LF (RFC 9110, section 5.5).
  if (memchr(bytes + start, 0, end - start) || memchr(bytes + start, '\r', end - start) ||
      memchr(bytes + start, '\n', end - start))
    return false;
  field->name_length = colon;
  field->value_start = start;
  field->value_end = end;
  return true;
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
  return (size_t)(end - line) + 1;
}
