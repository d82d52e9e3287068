#include "headers.h"

#include <string.h>

size_t headers_receive(char *line, size_t size, size_t count, void *context) {
    headers *headers = context;
    size_t length = size * count;
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        headers->count = headers->used = 0;
        return length;
    }
    const char *colon = memchr(line, ':', length);
    if (colon == NULL) return length;  // The empty line.
    if (headers->count == header_limit || headers->used + length > header_bytes_limit) return 0;

    char *copy = headers->bytes + headers->used;
    memcpy(copy, line, length);
    headers->used += length;
    char *value = copy + (colon - line) + 1, *end = copy + length;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ')) end--;
    size_t index = headers->count++;
    headers->fields[index].name = copy;
    headers->fields[index].name_length = (size_t)(colon - line);
    headers->fields[index].value = value;
    headers->fields[index].value_length = (size_t)(end - value);
    return length;
}

size_t headers_total_length(const headers *headers) {
    size_t total = 0;
    for (size_t i = 0; i < headers->count; i++) {
        total += headers->fields[i].name_length + headers->fields[i].value_length;
    }
    return total;
}
