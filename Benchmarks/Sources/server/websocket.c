#define _GNU_SOURCE
#include "websocket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "frames.h"

enum {
    message_size = 64 << 10,
    frame_size = message_size + 10,
    /// The number of messages that one call to the system may send.
    frame_count = 16,
};

static const uint8_t close_frame[] = {0x80 | WEBSOCKET_CLOSE, 2, 1000 >> 8, 1000 & 0xFF};
/// The frames of the stream, which repeat.
static uint8_t frames[frame_count * frame_size];

static bool would_block(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// Sends few bytes. Returns false if the socket does not take all of them: such a client does not read, and is not served.
static bool send_all(const connection *connection, const void *bytes, size_t count) {
    return send(connection->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)count;
}

static void begin_stream(connection *connection, uint64_t size) {
    for (int i = 0; i < frame_count; i++) {
        websocket_write_head(frames + i * frame_size, 0x80 | WEBSOCKET_BINARY, message_size, NULL);
    }
    connection->stream_size = connection->stream_left = size / message_size * frame_size;
    connection_wants_to_send(connection, true);
}

void websocket_answer(connection *connection, const char *path, const char *key) {
    while (*key == ' ') key++;
    char accept[WEBSOCKET_ACCEPT_SIZE], response[256];
    websocket_accept(key, strcspn(key, " \r\n"), accept);
    int length = snprintf(response, sizeof response,
                          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Accept: %s\r\n\r\n",
                          accept);
    connection->waiting = WAITING_FRAMES;
    send_all(connection, response, (size_t)length);
    if (strncmp(path, "stream/", 7) == 0) begin_stream(connection, strtoull(path + 7, NULL, 10));
}

/// Handles a frame with an unmasked payload, in front of which there is room for a head. Returns false if the connection has to be closed.
static bool handle(const connection *connection, const websocket_head *head, uint8_t *payload) {
    uint8_t opcode = head->first & 0x0F, first = head->first;
    if (opcode == WEBSOCKET_PONG) return true;
    // The client answers the Close frame at the end of a stream.
    if (opcode == WEBSOCKET_CLOSE && connection->stream_size > 0) return false;
    if (opcode == WEBSOCKET_PING) first = 0x80 | WEBSOCKET_PONG;
    // The head that was received had four bytes more: the mask.
    uint8_t *start = payload - (head->length > 125 ? 4 : 2);
    websocket_write_head(start, first, head->length, NULL);
    bool sent = send_all(connection, start, (size_t)(payload - start) + (size_t)head->length);
    return sent && opcode != WEBSOCKET_CLOSE;
}

bool websocket_readable(connection *connection) {
    uint8_t *bytes = (uint8_t *)connection->head;
    ssize_t count = recv(connection->fd, bytes + connection->filled, sizeof connection->head - connection->filled, MSG_DONTWAIT);
    if (count <= 0) return count < 0 && would_block();
    connection->filled += (size_t)count;
    size_t used = 0;
    for (;;) {
        websocket_head head;
        size_t size = websocket_read_head(bytes + used, connection->filled - used, &head);
        if (size == 0) break;
        // A frame of a client has a mask (section 5.1).
        if (!head.has_mask || head.length > sizeof connection->head - WEBSOCKET_LARGEST_HEAD) return false;
        if (connection->filled - used - size < head.length) break;
        uint8_t *payload = bytes + used + size;
        websocket_mask(payload, payload, (size_t)head.length, head.mask);
        if (!handle(connection, &head, payload)) return false;
        used += size + (size_t)head.length;
    }
    memmove(bytes, bytes + used, connection->filled - used);
    connection->filled -= used;
    return true;
}

bool websocket_writable(connection *connection) {
    while (connection->stream_left > 0) {
        size_t offset = (size_t)((connection->stream_size - connection->stream_left) % sizeof frames);
        size_t count = sizeof frames - offset;
        if (count > connection->stream_left) count = (size_t)connection->stream_left;
        ssize_t sent = send(connection->fd, frames + offset, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return would_block();
        connection->stream_left -= (uint64_t)sent;
    }
    connection_wants_to_send(connection, false);
    return send_all(connection, close_frame, sizeof close_frame);
}
