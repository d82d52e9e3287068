#ifndef TRELLIS_BENCHMARKS_FRAMES_H
#define TRELLIS_BENCHMARKS_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/// The parts of the WebSocket protocol (RFC 6455) that the test server and the C program share.

enum {
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
    /// The size of `Sec-WebSocket-Accept`, including the terminator.
    WEBSOCKET_ACCEPT_SIZE = 29,
    /// The size of the largest head of a frame in bytes.
    WEBSOCKET_LARGEST_HEAD = 14,
};

/// The head of a frame.
typedef struct websocket_head {
    /// The first byte: the opcode and, in the highest bit, whether the frame is the last of its message.
    uint8_t first;
    uint8_t has_mask;
    uint8_t mask[4];
    /// The length of the payload in bytes.
    uint64_t length;
} websocket_head;

/// Writes the value of `Sec-WebSocket-Accept` for a key of this length (section 4.2.2).
void websocket_accept(const char *key, size_t length, char accept[WEBSOCKET_ACCEPT_SIZE]);

/// Reads the head of a frame. Returns the size of the head in bytes, or 0 if more bytes are needed.
size_t websocket_read_head(const uint8_t *bytes, size_t count, websocket_head *head);

/// Writes the head of a frame, with the mask unless it is NULL. Returns the size of the head in bytes.
size_t websocket_write_head(uint8_t *bytes, uint8_t first, uint64_t length, const uint8_t mask[4]);

/// Masks or unmasks a complete payload, eight bytes at a time (section 5.3). Source and target may be the same.
void websocket_mask(uint8_t *target, const uint8_t *source, size_t count, const uint8_t mask[4]);

#endif
