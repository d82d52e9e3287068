#ifndef TRELLIS_BENCHMARKS_LOOP_H
#define TRELLIS_BENCHMARKS_LOOP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// What the loop knows of a socket, by file descriptor.
typedef struct interest {
    /// The epoll events libcurl wants, and those the kernel was told.
    uint32_t wanted, registered;
    /// Whether the socket is in `changed`.
    bool queued;
} interest;

/// libcurl's multi_socket interface on one level-triggered epoll.
typedef struct loop {
    CURLM *multi;
    int epoll;
    /// Transfers that were added and not yet removed.
    long active;
    uint64_t timer_due_ns;
    interest *interests;
    size_t interest_count;
    /// Sockets whose interest changed since the last wait. libcurl drops and renews its interest around every request
    /// on a kept connection; told only before a wait, the kernel hears of neither.
    int *changed;
    size_t changed_count, changed_capacity;
    /// A socket of the program's own to watch, or -1, and whether it has become readable.
    int watched;
    bool watched_readable;
} loop;

/// Called when a transfer has ended, with what CURLOPT_PRIVATE holds. It may start the next one.
typedef void (*transfer_ended)(void *transfer, CURLcode result);

void loop_init(loop *loop, long concurrency);

/// Options every handle needs: the loop's own, and those that keep it from blocking.
void loop_adopt(loop *loop, CURL *easy);

/// Adds a transfer.
void loop_add(loop *loop, CURL *easy);

/// Removes a transfer that has ended, or cancels one that has not.
void loop_remove(loop *loop, CURL *easy);

/// Watches a socket of the program's own.
void loop_watch(loop *loop, int fd);

/// Does what there is to do, waiting for it once unless no transfer is left.
void loop_run_once(loop *loop, transfer_ended ended);

void loop_destroy(loop *loop);

#endif
