#ifndef TRELLIS_BENCHMARKS_LOOP_H
#define TRELLIS_BENCHMARKS_LOOP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "workload.h"

/// The state of a socket in the loop, by file descriptor.
typedef struct interest {
    /// The epoll events that libcurl needs, and those that are registered with the kernel.
    uint32_t wanted, registered;
    /// Whether the socket is in `changed`.
    bool queued;
} interest;

/// The loop of libcurl's multi_socket interface on one level-triggered epoll.
typedef struct loop {
    CURLM *multi;
    int epoll;
    /// The number of transfers that were added and not yet removed.
    long active;
    uint64_t timer_due_ns;
    interest *interests;
    size_t interest_count;
    /// The sockets whose interest changed since the last wait. libcurl removes and restores its interest around every request on a kept
    /// connection; because changes are only applied before a wait, the kernel gets neither of them.
    int *changed;
    size_t changed_count, changed_capacity;
    /// Whether transfers stay in the multi handle when they have ended, because their connections end with them.
    bool keeps_ended;
    /// A socket of the program itself to watch, or -1, and whether it has become readable.
    int watched;
    bool watched_readable;
} loop;

/// Called when a transfer has ended, with the value of CURLOPT_PRIVATE. It may start the next transfer.
typedef void (*transfer_ended)(void *transfer, CURLcode result);

/// Creates the loop, with the limit on connections of the work.
void loop_init(loop *loop, const workload *work);

/// Sets the options that every handle needs: those of the loop, and those that keep the handle from blocking.
void loop_adopt(loop *loop, CURL *easy);

/// Adds a transfer.
void loop_add(loop *loop, CURL *easy);

/// Removes a transfer that has ended, or cancels one that has not.
void loop_remove(loop *loop, CURL *easy);

/// Watches a socket of the program itself.
void loop_watch(loop *loop, int fd);

/// Does the work that is due. Waits for work once, unless no transfer is left.
void loop_run_once(loop *loop, transfer_ended ended);

void loop_destroy(loop *loop);

#endif
