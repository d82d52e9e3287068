#ifndef TRELLIS_BENCHMARKS_JSON_H
#define TRELLIS_BENCHMARKS_JSON_H

#include <stdbool.h>
#include <stddef.h>

/// Writes the order every client posts (`Order` in ClientKit) and returns its length.
size_t json_encode_order(char *buffer, size_t capacity, long identifier);

/// What is kept of the server's answer.
typedef struct receipt {
    long identifier;
    double total;
    bool accepted;
    char currency[8], warehouse[32];
} receipt;

/// Parses the whole answer; false when it is no JSON object with the fields of a receipt.
bool json_decode_receipt(const char *text, size_t length, receipt *receipt);

#endif
