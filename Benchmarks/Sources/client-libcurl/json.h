#ifndef TRELLIS_BENCHMARKS_JSON_H
#define TRELLIS_BENCHMARKS_JSON_H

#include <stdbool.h>
#include <stddef.h>

/// Writes the order that every client posts (`Order` in ClientKit) and returns its length.
size_t json_encode_order(char *buffer, size_t capacity, long identifier);

/// The part of the server's response that is kept.
typedef struct receipt {
    long identifier;
    double total;
    bool accepted;
    char currency[8], warehouse[32];
} receipt;

/// Parses the complete response. Returns false if it is not a JSON object with the fields of a receipt.
bool json_decode_receipt(const char *text, size_t length, receipt *receipt);

#endif
