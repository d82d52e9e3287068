#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "frames.h"
#include "loop.h"
#include "measure.h"
#include "socket.h"
#include "work.h"

enum { echo_length = 1024, receive_size = 64 << 10 };

static void fail(const char *message) {
    fprintf(stderr, "%s\n", message);
    exit(1);
}

// MARK: Echo

typedef struct echo {
    websocket socket;
    uint8_t message[echo_length];
    /// The received bytes of the answer, and those of a frame that is sent.
    uint8_t answer[2048], frame[WEBSOCKET_LARGEST_HEAD + echo_length];
    float *latencies_ms;
    size_t latency_count, latency_capacity;
} echo;

static void go_there_and_back(echo *echo) {
    uint8_t mask[4];
    websocket_new_mask(mask);
    size_t size = websocket_write_head(echo->frame, 0x80 | WEBSOCKET_BINARY, echo_length, mask);
    websocket_mask(echo->frame + size, echo->message, echo_length, mask);
    websocket_send(&echo->socket, echo->frame, size + echo_length);

    websocket_head head = {0};
    size_t filled = 0, head_size = 0;
    while (head_size == 0 || filled < head_size + head.length) {
        // The answer takes some time, so that receiving first would mostly be in vain.
        websocket_wait(&echo->socket, POLLIN);
        filled += websocket_receive(&echo->socket, echo->answer + filled, sizeof echo->answer - filled);
        if (head_size == 0) head_size = websocket_read_head(echo->answer, filled, &head);
        if (filled == sizeof echo->answer || head.length > echo_length) fail("the answer is too long");
    }
    if (head.first != (0x80 | WEBSOCKET_BINARY) || head.length != echo_length ||
        memcmp(echo->answer + head_size, echo->message, echo_length) != 0) {
        fail("not the expected answer");
    }
}

static void note_latency(echo *echo, uint64_t nanoseconds) {
    if (echo->latency_count == echo->latency_capacity) {
        echo->latency_capacity = echo->latency_capacity * 2 + 4096;
        echo->latencies_ms = realloc(echo->latencies_ms, echo->latency_capacity * sizeof *echo->latencies_ms);
    }
    echo->latencies_ms[echo->latency_count++] = (float)((double)nanoseconds / 1e6);
}

static void run_echo(const workload *work, loop *loop, CURLU *url) {
    echo echo = {.latencies_ms = NULL};
    memset(echo.message, 'e', sizeof echo.message);
    char early[WEBSOCKET_RESPONSE_SIZE];
    if (websocket_open(&echo.socket, loop, work, url, early) != 0) fail("bytes before the first message");
    uint64_t warm = measure_now_ns() + (uint64_t)(work->warmup_seconds * 1e9);
    while (measure_now_ns() < warm) go_there_and_back(&echo);

    report report = {0};
    report_start(&report);
    uint64_t end = measure_now_ns() + (uint64_t)(work->seconds * 1e9), now;
    do {
        uint64_t start = measure_now_ns();
        go_there_and_back(&echo);
        now = measure_now_ns();
        note_latency(&echo, now - start);
        report.requests++;
    } while (work->requests > 0 ? report.requests < work->requests : now < end);
    report_stop(&report);
    report_print(&report, echo.latencies_ms, echo.latency_count);
    websocket_send_close(&echo.socket);
    free(echo.latencies_ms);
}

// MARK: Stream

/// Reads the frames in a chunk whose payload is discarded. Returns true at a Close frame.
static bool read_frames(const uint8_t *chunk, size_t count, websocket_head *head, uint8_t *partial, size_t *partial_size,
                        int64_t *bytes) {
    for (size_t used = 0; used < count;) {
        if (head->length > 0) {
            size_t size = head->length < count - used ? (size_t)head->length : count - used;
            head->length -= size;
            used += size;
            *bytes += (int64_t)size;
            continue;
        }
        // A head may be cut anywhere.
        partial[(*partial_size)++] = chunk[used++];
        if (websocket_read_head(partial, *partial_size, head) == 0) {
            head->length = 0;
            continue;
        }
        *partial_size = 0;
        if ((head->first & 0x0F) == WEBSOCKET_CLOSE) return true;
        if (head->first != (0x80 | WEBSOCKET_BINARY) || head->has_mask) fail("not the expected frame");
    }
    return false;
}

static void run_stream(const workload *work, loop *loop, CURLU *url) {
    websocket socket;
    uint8_t *chunk = malloc(receive_size), partial[WEBSOCKET_LARGEST_HEAD];
    websocket_head head = {0};
    size_t partial_size = 0;
    report report = {.requests = 1};
    report_start(&report);
    size_t count = websocket_open(&socket, loop, work, url, (char *)chunk);
    while (!read_frames(chunk, count, &head, partial, &partial_size, &report.bytes)) {
        count = websocket_receive(&socket, chunk, receive_size);
        if (count == 0) websocket_wait(&socket, POLLIN);
    }
    websocket_send_close(&socket);
    report_stop(&report);
    report_print(&report, NULL, 0);
    free(chunk);
}

// MARK: Idle

/// Measures the process while it has no WebSocket, after it has opened one and closed it.
static void wait_without_sockets(const workload *work, loop *loop, CURLU *url, int epoll, report *baseline) {
    websocket socket;
    char early[WEBSOCKET_RESPONSE_SIZE];
    if (websocket_open(&socket, loop, work, url, early) != 0) fail("bytes on an idle socket");
    websocket_send_close(&socket);
    struct epoll_event event;
    report_start(baseline);
    if (epoll_wait(epoll, &event, 1, (int)(work->seconds * 1e3)) != 0) fail("there is no socket to wait for");
    report_stop(baseline);
}

static void run_idle(const workload *work, loop *loop, CURLU *url) {
    websocket *sockets = calloc((size_t)work->concurrency, sizeof *sockets);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    report idle, baseline, report = {.requests = 1};
    struct epoll_event event;
    report_start(&idle);
    wait_without_sockets(work, loop, url, epoll, &baseline);
    for (long i = 0; i < work->concurrency; i++) {
        char early[WEBSOCKET_RESPONSE_SIZE];
        if (websocket_open(&sockets[i], loop, work, url, early) != 0) fail("bytes on an idle socket");
        event = (struct epoll_event){.events = EPOLLIN, .data.ptr = &sockets[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i].fd, &event) != 0) fail("epoll_ctl");
    }
    report_start(&report);
    report.idle_rss_mb = idle.idle_rss_mb;
    if (epoll_wait(epoll, &event, 1, (int)(work->seconds * 1e3)) != 0) fail("an idle socket has become readable");
    report_stop(&report);
    report_subtract_wake_ups(&report, &baseline);
    report_print(&report, NULL, 0);
    for (long i = 0; i < work->concurrency; i++) websocket_send_close(&sockets[i]);
    close(epoll);
    free(sockets);
}

void run_websocket(const workload *work) {
    loop loop;
    loop_init(&loop, work);
    CURLU **urls = parsed_urls(work);
    if (strcmp(work->kind, "websocket-echo") == 0) {
        run_echo(work, &loop, urls[0]);
    } else if (strcmp(work->kind, "websocket-stream") == 0) {
        run_stream(work, &loop, urls[0]);
    } else {
        run_idle(work, &loop, urls[0]);
    }
    // The process ends here, and with it the connections, whose handles are still in the multi handle.
}
