#ifndef TRELLIS_BENCHMARKS_CONNECTION_H
#define TRELLIS_BENCHMARKS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a connection waits for.
enum waiting {
    /// The rest of a request head.
    WAITING_HEAD,
    /// The rest of an upload, which is discarded.
    WAITING_BODY,
    /// The moment at which the delayed answer is due.
    WAITING_DELAY,
    /// Nothing: `/never` is not answered.
    WAITING_FOREVER,
    /// A condition on the unanswered requests (`control.h`).
    WAITING_CONDITION,
    /// The next bytes of its share (`throttle.h`).
    WAITING_THROTTLE,
};

typedef struct connection {
    int fd;
    enum waiting waiting;
    /// Bytes of `head` that are filled.
    size_t filled;
    /// What is still to come of an upload, and how large it was.
    uint64_t body_left, body_length;
    /// WAITING_DELAY: when to answer, and the next in the queue.
    uint64_t due_ns;
    struct connection *next;
    /// WAITING_CONDITION: the number of unanswered requests waited for.
    long condition;
    /// WAITING_THROTTLE: the bytes still to send, when it had its last share, and its neighbours in the list.
    uint64_t throttled_left, share_ns;
    struct connection *throttled_next, **throttled_slot;
    char head[2048];
} connection;

/// Reads what is there and does what it asks for. Afterwards the connection may be gone.
void connection_readable(connection *connection);

/// Sends a 200 with this text, then waits for the next request.
void connection_answer(connection *connection, const char *text);

#endif
