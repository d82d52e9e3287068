// The test server for features that nginx does not have: late responses, no responses, slow responses, an upload sink,
// and WebSockets.
//
//     server [--delay-ms MILLISECONDS]
//
// Listens on a free port of some loopback addresses, prints the port on stdout, and serves from one thread until it is killed. The paths
// /delayed, /gathered/COUNT, /never, /throttled/SIZE, /upload, /websocket/… and /control/… are handled in `connection.c`; every other path gets a response at once.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "delay.h"
#include "measure.h"
#include "throttle.h"

/// The kernel limits the queue of one listener to 4,096 by default. Connections are distributed over several listeners, so that 10,000
/// clients that connect at once do not wait for the retransmission of a dropped SYN. Some 28,000 connections from one address to one address
/// and port are possible, which is why the server has several addresses: 127.0.0.1 and those that follow.
enum { address_count = 8, listeners_per_address = 4, listener_count = address_count * listeners_per_address };

static int epoll;

static void fail(const char *step) {
    perror(step);
    exit(1);
}

static int listen_on(uint32_t address_number, uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + address_number);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    if (listen(fd, 16384) != 0) fail("listen");
    return fd;
}

static uint16_t port_of(int fd) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) fail("getsockname");
    return ntohs(address.sin_port);
}

static void accept_all(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *accepted = calloc(1, sizeof *accepted);
        accepted->fd = fd;
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = accepted};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
    }
}

void connection_wants_to_send(connection *connection, bool wants) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (wants ? EPOLLOUT : 0), .data.ptr = connection};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event) != 0) fail("epoll_ctl");
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"delay-ms", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'd') return 64;
        delay_set_milliseconds(atol(optarg));
    }
    measure_raise_file_limit();

    int listeners[listener_count];
    epoll = epoll_create1(EPOLL_CLOEXEC);
    uint16_t port = 0;
    for (int i = 0; i < listener_count; i++) {
        listeners[i] = listen_on((uint32_t)i / listeners_per_address, port);
        port = port_of(listeners[i]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listeners[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, listeners[i], &event) != 0) fail("epoll_ctl");
    }
    printf("%u\n", port);
    fflush(stdout);

    struct epoll_event events[512];
    for (;;) {
        int delay = delay_run(), share = throttle_run();
        // If there is no delay or no share, it counts as the longest time.
        int count = epoll_wait(epoll, events, 512, (unsigned)delay < (unsigned)share ? delay : share);
        for (int i = 0; i < count; i++) {
            int *listener = events[i].data.ptr;
            if (listener >= listeners && listener < listeners + listener_count) {
                accept_all(*listener);
            } else if (events[i].events & EPOLLOUT) {
                connection_writable(events[i].data.ptr);
            } else {
                connection_readable(events[i].data.ptr);
            }
        }
    }
}
