#ifndef TRELLIS_BENCHMARKS_CONNECTION_H
#define TRELLIS_BENCHMARKS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The reason why a connection waits.
enum waiting {
    /// The rest of a request's head.
    WAITING_HEAD,
    /// The rest of an upload, which is discarded.
    WAITING_BODY,
    /// The instant at which the delayed response is due.
    WAITING_DELAY,
    /// Further requests, with which `/gathered/COUNT` is answered.
    WAITING_OTHERS,
    /// Nothing: `/never` gets no response.
    WAITING_FOREVER,
    /// A condition on the requests without a response (`control.h`).
    WAITING_CONDITION,
    /// The next bytes of its share (`throttle.h`).
    WAITING_THROTTLE,
    /// The next frames of a WebSocket (`websocket.h`).
    WAITING_FRAMES,
};

typedef struct connection {
    int fd;
    enum waiting waiting;
    /// The number of bytes in `head`.
    size_t filled;
    /// The remaining length of an upload, and its complete length.
    uint64_t body_left, body_length;
    /// WAITING_DELAY: the time of the response. Also for WAITING_OTHERS: the next connection.
    uint64_t due_ns;
    struct connection *next;
    /// WAITING_CONDITION: the number of requests without a response for which the connection waits.
    long condition;
    /// WAITING_THROTTLE: the number of bytes left to send, the time of the last share, and the neighbours in the list.
    uint64_t throttled_left, share_ns;
    struct connection *throttled_next, **throttled_slot;
    /// WAITING_FRAMES: the number of bytes of all frames of a stream, and of those left to send.
    uint64_t stream_size, stream_left;
    /// The head of a request, or the received bytes of a WebSocket's frames.
    char head[2048];
} connection;

/// Reads the available bytes and handles them. The connection may have been freed afterwards.
void connection_readable(connection *connection);

/// Sends what the socket takes now. The connection may have been freed afterwards.
void connection_writable(connection *connection);

/// Sets whether `connection_writable` is called when the socket can send, in place of `connection_readable` (`main.c`).
void connection_wants_to_send(connection *connection, bool wants);

/// Sends a 200 with this text, and then waits for the next request.
void connection_answer(connection *connection, const char *text);

#endif
