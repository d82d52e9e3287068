// The lines of heads and trailers.
#ifndef TRELLIS_CCURL_HEADS_H
#define TRELLIS_CCURL_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The positions of the name and the value in a field line: the name from 0 to `name_length`, the value without white space around it.
struct ccurl_field {
  size_t name_length, value_start, value_end;
  uint64_t hash; // of the line to `value_end`; only from `ccurl_field_next`
};

// Returns whether there is a NUL, CR or LF among the bytes.
bool ccurl_has_line_break(const void *_Nonnull bytes, size_t length);

// Returns whether a name, which is a token, is `other`, which has only letters in lower case and hyphens; both have `length` bytes.
bool ccurl_field_is_name(const void *_Nonnull name, const void *_Nonnull other, size_t length);

// Finds the name and the value in a field line that includes its line end. Returns false if the name is not a token, or if the value
// contains a NUL, CR or LF.
bool ccurl_field_scan(const void *_Nonnull line, size_t length, struct ccurl_field *_Nonnull field);

// Fields that are read from bytes in one pass. New ones are all zeros but for the limits and for a `content_length` of -1.
struct ccurl_fields {
  size_t read;            // the number of bytes that were read: of whole lines
  size_t written;         // the number of bytes of the lines that were made of them
  size_t count;           // of fields
  size_t maximum_count;
  size_t limit;           // the number of bytes that lines may still have
  int64_t content_length; // -1 if there is none
  uint32_t notes;
  bool is_last_framing;   // whether the last field frames the message
  bool is_trailers;       // whether the fields follow a body, which they do not frame
};
#define CCURL_NOTE_CODING 1            // there is a Transfer-Encoding
#define CCURL_NOTE_CHUNKED 2           // which is `chunked` alone
#define CCURL_NOTE_CLOSE 4             // a Connection, or a Proxy-Connection, has `close`
#define CCURL_NOTE_KEEP_ALIVE 8        // a Connection has `keep-alive`
#define CCURL_NOTE_KEEP_ALIVE_FIELD 16 // there is a field Keep-Alive
#define CCURL_NOTE_CONTENT_CODING 32   // there is a Content-Encoding

#define CCURL_FIELDS_CUT 0   // the bytes end within a line
#define CCURL_FIELDS_END 1   // the empty line after the last field was read
#define CCURL_FIELDS_FULL 2  // the next line, which is complete, does not fit
#define CCURL_FIELDS_OTHER 3 // the next line may be cut, and is none of those that are read here: a fold, a length that is no plain number or
                             // not the first, a line that is too long, one field too many, or a malformed line
// Reads field lines, and writes them as name, colon, white space, value, line feed. Returns why it has stopped.
int ccurl_fields_read(struct ccurl_fields *_Nonnull fields, const void *_Nonnull from, size_t length, void *_Nonnull to,
                      size_t capacity);

#define CCURL_NOTE_LENGTHS 64 // there is a Content-Length that is no plain number, or several
// Adds a field of HTTP/2, which is no line, to the lines at `to`, which has room for the texts and two more bytes, in the form of
// `ccurl_fields_read`. Returns false if the field is malformed (RFC 9113, sections 8.2.1 and 8.2.2). The limits are the caller's.
bool ccurl_fields_add(struct ccurl_fields *_Nonnull fields, const void *_Nonnull name, size_t name_length,
                      const void *_Nonnull value, size_t value_length, void *_Nonnull to);

// Returns whether the value of a Connection has the option `close`.
bool ccurl_has_close(const void *_Nonnull list, size_t length);

// The fields of a request, in the form of `HeaderLines`: lines that each end with a zero byte. New ones are all zeros.
struct ccurl_request_lines {
  size_t host_start, host_length; // of the first line with a Host; no length if there is none
  size_t written;                 // the number of bytes that were written
  uint32_t notes;
};
#define CCURL_REQUEST_ACCEPT 1 // there is an Accept, or it is left out on purpose
#define CCURL_REQUEST_CLOSE 2  // a Connection has `close`
#define CCURL_REQUEST_EXPECT 4 // there is an `Expect: 100-continue`
// Writes the fields as they are sent, without Host, Content-Length and Transfer-Encoding. There must be room for all lines and one more
// byte for each. Returns false if a line is no field.
bool ccurl_request_lines_write(struct ccurl_request_lines *_Nonnull lines, const void *_Nonnull from, size_t length,
                               void *_Nonnull to);

// Returns whether a text is a token (RFC 9110, section 5.6.2).
bool ccurl_is_token(const void *_Nonnull text, size_t length);

// Finds the name and the value in lines that `ccurl_field_scan` has accepted, at `start`; the positions in `field` are relative to `start`.
// Returns the length of the line including its line feed, or 0 at the end.
size_t ccurl_field_next(const void *_Nonnull lines, size_t length, size_t start, struct ccurl_field *_Nonnull field);

// Finds the next field at `start` or after it whose name has one of certain lengths below 64. Each length is a bit of `name_lengths`.
// The positions in `field` are relative to the line; there is no hash. Returns the position of the line, or `length` if there is none.
size_t ccurl_field_next_sized(const void *_Nonnull lines, size_t length, size_t start, uint64_t name_lengths,
                              struct ccurl_field *_Nonnull field);

// Places in two lists of lines, such as `ccurl_fields_read` makes, that are compared line by line.
struct ccurl_lines_place {
  size_t start, other_start; // of the next line in either list
  size_t index;              // of that line
};

// Moves a place past the lines that are the same in both lists.
void ccurl_lines_skip_same(const void *_Nonnull lines, size_t length, const void *_Nonnull others, size_t other_length,
                           struct ccurl_lines_place *_Nonnull place);

// Finds the next field with a name, which is in lower case, at `start` or after it. The positions of the value in `field` are relative to
// `lines`. Returns the position after the line, or 0 if there is no such field.
size_t ccurl_field_find(const void *_Nonnull lines, size_t length, size_t start, const void *_Nonnull name,
                        size_t name_length, struct ccurl_field *_Nonnull field);

#endif
