#ifndef TRELLIS_BENCHMARKS_HEADERS_H
#define TRELLIS_BENCHMARKS_HEADERS_H

#include <stddef.h>

enum { header_limit = 64, header_bytes_limit = 8192 };

/// The fields of one response, split into names and values in an arena of fixed size.
typedef struct headers {
    struct {
        const char *name, *value;
        size_t name_length, value_length;
    } fields[header_limit];
    size_t count, used;
    char bytes[header_bytes_limit];
} headers;

/// A CURLOPT_HEADERFUNCTION with the `headers` as its data. A status line starts a new set.
size_t headers_receive(char *line, size_t size, size_t count, void *context);

/// Reads every name and value. Returns their total number of bytes.
size_t headers_total_length(const headers *headers);

#endif
