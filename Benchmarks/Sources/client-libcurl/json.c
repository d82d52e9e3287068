#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t json_encode_order(char *buffer, size_t capacity, long identifier) {
    static const struct {
        const char *sku;
        int quantity;
        double price;
    } items[] = {{"TR-1001", 2, 19.5}, {"TR-2040", 1, 44.25}, {"TR-3300", 5, 4.2}};
    int used = snprintf(buffer, capacity,
                        "{\"id\":%ld,\"customer\":\"%s\",\"email\":\"%s\",\"express\":%s,\"note\":\"%s\",\"items\":[",
                        identifier, "Ada Lovelace", "ada@example.com", "true", "Leave it with the neighbour at number 12");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        used += snprintf(buffer + used, capacity - (size_t)used, "%s{\"sku\":\"%s\",\"quantity\":%d,\"price\":%g}",
                         i == 0 ? "" : ",", items[i].sku, items[i].quantity, items[i].price);
    }
    used += snprintf(buffer + used, capacity - (size_t)used, "]}");
    return (size_t)used;
}

/// A recursive-descent parser of `at..<end`. Every function moves `at` to the end of what it has read, or returns false.
typedef struct parser {
    const char *at, *end;
    receipt *receipt;
} parser;

static void skip_space(parser *parser) {
    while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) != NULL) parser->at++;
}

static bool take(parser *parser, char character) {
    skip_space(parser);
    if (parser->at == parser->end || *parser->at != character) return false;
    parser->at++;
    return true;
}

static bool string(parser *parser, const char **start, size_t *length) {
    if (!take(parser, '"')) return false;
    *start = parser->at;
    while (parser->at < parser->end && *parser->at != '"') parser->at += *parser->at == '\\' ? 2 : 1;
    if (parser->at >= parser->end) return false;
    *length = (size_t)(parser->at++ - *start);
    return true;
}

static void keep_string(char *destination, size_t capacity, const char *start, size_t length) {
    if (length >= capacity) length = capacity - 1;
    memcpy(destination, start, length);
    destination[length] = 0;
}

static bool is(const char *name, const char *key, size_t length) {
    return strlen(name) == length && memcmp(name, key, length) == 0;
}

static bool value(parser *parser, const char *key, size_t key_length);

static bool list(parser *parser, bool keyed, char close) {
    parser->at++;
    if (take(parser, close)) return true;
    do {
        const char *key = "";
        size_t key_length = 0;
        if (keyed && !(string(parser, &key, &key_length) && take(parser, ':'))) return false;
        if (!value(parser, key, key_length)) return false;
    } while (take(parser, ','));
    return take(parser, close);
}

static bool literal(parser *parser, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, text, length) != 0) return false;
    parser->at += length;
    return true;
}

static bool value(parser *parser, const char *key, size_t key_length) {
    receipt *receipt = parser->receipt;
    skip_space(parser);
    if (parser->at == parser->end) return false;
    const char *text;
    size_t length;
    switch (*parser->at) {
    case '{': return list(parser, true, '}');
    case '[': return list(parser, false, ']');
    case 't':
        if (is("accepted", key, key_length)) receipt->accepted = true;
        return literal(parser, "true");
    case 'f': return literal(parser, "false");
    case 'n': return literal(parser, "null");
    case '"':
        if (!string(parser, &text, &length)) return false;
        if (is("currency", key, key_length)) keep_string(receipt->currency, sizeof receipt->currency, text, length);
        if (is("warehouse", key, key_length)) keep_string(receipt->warehouse, sizeof receipt->warehouse, text, length);
        return true;
    default: {
        char *after;
        double number = strtod(parser->at, &after);
        if (after == parser->at) return false;
        parser->at = after;
        if (is("id", key, key_length)) receipt->identifier = (long)number;
        if (is("total", key, key_length)) receipt->total = number;
        return true;
    }
    }
}

bool json_decode_receipt(const char *text, size_t length, receipt *receipt) {
    memset(receipt, 0, sizeof *receipt);
    parser parser = {text, text + length, receipt};
    return value(&parser, "", 0) && receipt->identifier != 0 && receipt->accepted && receipt->currency[0] != 0;
}
