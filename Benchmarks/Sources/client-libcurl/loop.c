#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "measure.h"

static const uint64_t no_timer = UINT64_MAX;

static void fail(const char *step) {
    perror(step);
    exit(1);
}

static interest *interest_of(loop *loop, int fd) {
    if ((size_t)fd >= loop->interest_count) {
        size_t count = (size_t)fd * 2 + 64;
        loop->interests = realloc(loop->interests, count * sizeof *loop->interests);
        memset(loop->interests + loop->interest_count, 0, (count - loop->interest_count) * sizeof *loop->interests);
        loop->interest_count = count;
    }
    return &loop->interests[fd];
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned) {
    (void)easy, (void)assigned;
    loop *loop = context;
    interest *interest = interest_of(loop, fd);
    interest->wanted = what == CURL_POLL_REMOVE ? 0
                       : what == CURL_POLL_IN   ? EPOLLIN
                       : what == CURL_POLL_OUT  ? EPOLLOUT
                                                : EPOLLIN | EPOLLOUT;
    if (interest->queued) return 0;
    interest->queued = true;
    if (loop->changed_count == loop->changed_capacity) {
        loop->changed_capacity = loop->changed_capacity * 2 + 64;
        loop->changed = realloc(loop->changed, loop->changed_capacity * sizeof *loop->changed);
    }
    loop->changed[loop->changed_count++] = fd;
    return 0;
}

/// The system removes a closed descriptor from the epoll, and its number may be used for another socket.
static int on_close(void *context, curl_socket_t fd) {
    interest_of(context, fd)->registered = 0;
    return close(fd);
}

static int on_timer(CURLM *multi, long milliseconds, void *context) {
    (void)multi;
    loop *loop = context;
    loop->timer_due_ns = milliseconds < 0 ? no_timer : measure_now_ns() + (uint64_t)milliseconds * 1000000;
    return 0;
}

void loop_init(loop *loop, const workload *work) {
    *loop = (struct loop){.timer_due_ns = no_timer, .watched = -1};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    loop->multi = curl_multi_init();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->multi == NULL || loop->epoll < 0) fail("loop");
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    long kept = work->connections > 0 ? work->connections : work->concurrency + 16;
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, kept);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, work->connections);
}

void loop_adopt(loop *loop, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, loop);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
}

void loop_add(loop *loop, CURL *easy) {
    loop->active++;
    CURLMcode code = curl_multi_add_handle(loop->multi, easy);
    if (code != CURLM_OK) {
        fprintf(stderr, "curl_multi_add_handle: %s\n", curl_multi_strerror(code));
        exit(1);
    }
}

void loop_remove(loop *loop, CURL *easy) {
    loop->active--;
    curl_multi_remove_handle(loop->multi, easy);
}

void loop_watch(loop *loop, int fd) {
    loop->watched = fd;
    loop->watched_readable = false;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

static void tell_kernel(loop *loop) {
    for (size_t i = 0; i < loop->changed_count; i++) {
        int fd = loop->changed[i];
        interest *interest = &loop->interests[fd];
        interest->queued = false;
        if (interest->wanted == interest->registered) continue;
        struct epoll_event event = {.events = interest->wanted, .data.fd = fd};
        int operation = interest->registered == 0 ? EPOLL_CTL_ADD : interest->wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
        int result = epoll_ctl(loop->epoll, operation, fd, &event);
        if (result != 0 && operation == EPOLL_CTL_ADD && errno == EEXIST) {
            result = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event);
        }
        if (result != 0 && operation != EPOLL_CTL_DEL) fail("epoll_ctl");
        interest->registered = interest->wanted;
    }
    loop->changed_count = 0;
}

static void end_transfers(loop *loop, transfer_ended ended) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(loop->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        void *transfer;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        if (loop->keeps_ended) {
            loop->active--;
        } else {
            loop_remove(loop, easy);
        }
        ended(transfer, result);
    }
}

/// Tells libcurl that its timeout has passed, if it has, and again while libcurl sets a new timeout
/// that has already passed.
static void run_timer(loop *loop, transfer_ended ended) {
    int running;
    while (loop->timer_due_ns != no_timer && loop->timer_due_ns <= measure_now_ns()) {
        loop->timer_due_ns = no_timer;
        curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        end_transfers(loop, ended);
    }
}

static int milliseconds_to_wait(const loop *loop) {
    if (loop->timer_due_ns == no_timer) return -1;
    uint64_t now = measure_now_ns();
    return loop->timer_due_ns <= now ? 0 : (int)((loop->timer_due_ns - now + 999999) / 1000000);
}

void loop_run_once(loop *loop, transfer_ended ended) {
    struct epoll_event events[256];
    run_timer(loop, ended);
    if (loop->active == 0) return;
    tell_kernel(loop);
    int running, count = epoll_wait(loop->epoll, events, 256, milliseconds_to_wait(loop));
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        if (fd == loop->watched) {
            loop->watched_readable = true;
            continue;
        }
        uint32_t seen = events[i].events;
        int mask = (seen & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) | (seen & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (seen & EPOLLERR ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(loop->multi, fd, mask, &running);
    }
    end_transfers(loop, ended);
}

void loop_destroy(loop *loop) {
    curl_multi_cleanup(loop->multi);
    close(loop->epoll);
    free(loop->interests);
    free(loop->changed);
    curl_global_cleanup();
}
