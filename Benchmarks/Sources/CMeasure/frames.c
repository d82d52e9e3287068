#include "frames.h"

#include <string.h>

static uint32_t rotated(uint32_t value, int bits) {
    return value << bits | value >> (32 - bits);
}

static void add_block(uint32_t state[5], const uint8_t *block) {
    uint32_t words[80];
    for (int i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * i;
        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 80; i++) words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t mixed, constant;
        if (i < 20) {
            mixed = (b & c) | (~b & d), constant = 0x5A827999;
        } else if (i < 40) {
            mixed = b ^ c ^ d, constant = 0x6ED9EBA1;
        } else if (i < 60) {
            mixed = (b & c) | (b & d) | (c & d), constant = 0x8F1BBCDC;
        } else {
            mixed = b ^ c ^ d, constant = 0xCA62C1D6;
        }
        uint32_t next = rotated(a, 5) + mixed + e + constant + words[i];
        e = d, d = c, c = rotated(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/// Writes the SHA-1 (FIPS 180-4) of at most 119 bytes, which fill at most two blocks.
static void sha1(const uint8_t *bytes, size_t count, uint8_t digest[20]) {
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t blocks[128] = {0};
    size_t size = count + 9 <= 64 ? 64 : 128;
    memcpy(blocks, bytes, count);
    blocks[count] = 0x80;
    blocks[size - 2] = (uint8_t)(count * 8 >> 8);
    blocks[size - 1] = (uint8_t)(count * 8);
    for (size_t at = 0; at < size; at += 64) add_block(state, blocks + at);
    for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void websocket_accept(const char *key, size_t length, char accept[WEBSOCKET_ACCEPT_SIZE]) {
    static const char unique[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t text[119], digest[21] = {0};
    // The key is 16 bytes in Base64: 24 characters. The rest of a longer one is not used, and its accept is wrong.
    if (length > 64) length = 64;
    memcpy(text, key, length);
    memcpy(text + length, unique, sizeof unique - 1);
    sha1(text, length + sizeof unique - 1, digest);
    for (int i = 0; i < 7; i++) {
        const uint8_t *at = digest + 3 * i;
        uint32_t group = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        for (int digit = 0; digit < 4; digit++) accept[4 * i + digit] = digits[group >> (18 - 6 * digit) & 63];
    }
    accept[27] = '=';
    accept[28] = 0;
}

size_t websocket_read_head(const uint8_t *bytes, size_t count, websocket_head *head) {
    if (count < 2) return 0;
    size_t short_length = bytes[1] & 0x7F, extra = short_length == 127 ? 8 : short_length == 126 ? 2 : 0;
    head->first = bytes[0];
    head->has_mask = bytes[1] >> 7;
    size_t size = 2 + extra + (head->has_mask ? 4 : 0);
    if (count < size) return 0;
    head->length = extra == 0 ? short_length : 0;
    for (size_t i = 0; i < extra; i++) head->length = head->length << 8 | bytes[2 + i];
    if (head->has_mask) memcpy(head->mask, bytes + size - 4, 4);
    return size;
}

size_t websocket_write_head(uint8_t *bytes, uint8_t first, uint64_t length, const uint8_t mask[4]) {
    size_t extra = length > 0xFFFF ? 8 : length > 125 ? 2 : 0;
    bytes[0] = first;
    bytes[1] = (uint8_t)(extra == 8 ? 127 : extra == 2 ? 126 : length);
    for (size_t i = 0; i < extra; i++) bytes[2 + i] = (uint8_t)(length >> 8 * (extra - 1 - i));
    if (mask == NULL) return 2 + extra;
    bytes[1] |= 0x80;
    memcpy(bytes + 2 + extra, mask, 4);
    return 6 + extra;
}

void websocket_mask(uint8_t *target, const uint8_t *source, size_t count, const uint8_t mask[4]) {
    uint64_t key, word;
    memcpy(&key, mask, 4);
    memcpy((uint8_t *)&key + 4, mask, 4);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        memcpy(&word, source + i, 8);
        word ^= key;
        memcpy(target + i, &word, 8);
    }
    for (; i < count; i++) target[i] = source[i] ^ mask[i & 3];
}
