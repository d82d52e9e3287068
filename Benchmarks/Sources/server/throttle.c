#define _GNU_SOURCE
#include "throttle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "measure.h"

enum {
    bytes_per_second = 20000000,
    tick_ms = 5,
    /// A client that does not read for longer than this loses the unused part of its share.
    longest_share_ns = 50000000,
};

static connection *first;
static char zeros[1 << 20];

void throttle_answer(connection *connection, uint64_t size, const char *range) {
    uint64_t start = 0, end = size;
    if (range != NULL) {
        char *rest;
        start = strtoull(strchr(range, '=') == NULL ? range : strchr(range, '=') + 1, &rest, 10);
        if (*rest == '-' && rest[1] >= '0' && rest[1] <= '9') end = strtoull(rest + 1, NULL, 10) + 1;
        if (end > size) end = size;
        if (start > end) start = end;
    }
    char head[320], content_range[96] = "";
    if (range != NULL) {
        snprintf(content_range, sizeof content_range, "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n", start,
                 end - 1, size);
    }
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n"
                          "ETag: \"zeros\"\r\n%sContent-Length: %" PRIu64 "\r\n\r\n",
                          range == NULL ? "200 OK" : "206 Partial Content", content_range, end - start);
    send(connection->fd, head, (size_t)length, MSG_NOSIGNAL);
    connection->waiting = WAITING_THROTTLE;
    connection->throttled_left = end - start;
    connection->share_ns = measure_now_ns();
    connection->throttled_next = first;
    connection->throttled_slot = &first;
    if (first != NULL) first->throttled_slot = &connection->throttled_next;
    first = connection;
}

void throttle_forget(connection *connection) {
    *connection->throttled_slot = connection->throttled_next;
    if (connection->throttled_next != NULL) connection->throttled_next->throttled_slot = connection->throttled_slot;
}

/// Sends the bytes that are in the connection's share at present.
static void send_share(connection *connection, uint64_t now) {
    uint64_t time = now - connection->share_ns;
    if (time > longest_share_ns) time = longest_share_ns;
    uint64_t share = time * bytes_per_second / 1000000000;
    if (share > connection->throttled_left) share = connection->throttled_left;
    if (share > sizeof zeros) share = sizeof zeros;
    connection->share_ns = now;
    ssize_t sent = send(connection->fd, zeros, share, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) connection->throttled_left -= (uint64_t)sent;
}

int throttle_run(void) {
    uint64_t now = measure_now_ns();
    for (connection *next, *each = first; each != NULL; each = next) {
        next = each->throttled_next;
        if (now - each->share_ns >= tick_ms * 1000000ull) send_share(each, now);
        if (each->throttled_left > 0) continue;
        throttle_forget(each);
        each->waiting = WAITING_HEAD;
    }
    return first == NULL ? -1 : tick_ms;
}
