#define _GNU_SOURCE
#include "socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "frames.h"
#include "work.h"

static void fail(const char *step, const char *why) {
    fprintf(stderr, "%s: %s\n", step, why);
    exit(1);
}

static void random_bytes(void *bytes, size_t count) {
    // The system delivers up to 256 bytes in one piece.
    if (getrandom(bytes, count, 0) != (ssize_t)count) fail("getrandom", "no bytes");
}

void websocket_new_mask(uint8_t mask[4]) {
    static uint8_t batch[256];
    static size_t left;
    if (left == 0) random_bytes(batch, left = sizeof batch);
    left -= 4;
    memcpy(mask, batch + left, 4);
}

void websocket_wait(const websocket *socket, short events) {
    struct pollfd descriptor = {.fd = socket->fd, .events = events};
    while (poll(&descriptor, 1, -1) != 1) continue;
}

void websocket_send(const websocket *socket, const void *bytes, size_t count) {
    while (count > 0) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(socket->easy, bytes, count, &sent);
        if (code != CURLE_OK && code != CURLE_AGAIN) fail("curl_easy_send", curl_easy_strerror(code));
        bytes = (const char *)bytes + sent;
        count -= sent;
        if (sent == 0) websocket_wait(socket, POLLOUT);
    }
}

size_t websocket_receive(const websocket *socket, void *buffer, size_t capacity) {
    size_t count = 0;
    CURLcode code = curl_easy_recv(socket->easy, buffer, capacity, &count);
    if (code == CURLE_AGAIN) return 0;
    if (code != CURLE_OK) fail("curl_easy_recv", curl_easy_strerror(code));
    if (count == 0) fail("curl_easy_recv", "the connection has ended");
    return count;
}

void websocket_send_close(const websocket *socket) {
    uint8_t frame[16], mask[4], code[2] = {1000 >> 8, 1000 & 0xFF};
    websocket_new_mask(mask);
    size_t size = websocket_write_head(frame, 0x80 | WEBSOCKET_CLOSE, sizeof code, mask);
    websocket_mask(frame + size, code, sizeof code, mask);
    websocket_send(socket, frame, size + sizeof code);
}

static void send_request(const websocket *socket, CURLU *url, const char *key) {
    char *host, *port, *path, request[768];
    curl_url_get(url, CURLUPART_HOST, &host, 0);
    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    curl_url_get(url, CURLUPART_PATH, &path, 0);
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nUser-Agent: client-libcurl/1.0\r\n\r\n",
                          path, host, port, key);
    curl_free(host), curl_free(port), curl_free(path);
    websocket_send(socket, request, (size_t)length);
}

/// Receives the response, and terminates it. Returns the number of bytes after it, which begin at `rest`.
static size_t receive_response(const websocket *socket, char *response, char **rest) {
    size_t length = 0;
    char *end = NULL;
    while (end == NULL) {
        if (length == WEBSOCKET_RESPONSE_SIZE) fail("handshake", "the head is too large");
        size_t count = websocket_receive(socket, response + length, WEBSOCKET_RESPONSE_SIZE - length);
        if (count == 0) websocket_wait(socket, POLLIN);
        length += count;
        end = memmem(response, length, "\r\n\r\n", 4);
    }
    end[3] = 0;
    *rest = end + 4;
    return length - (size_t)(*rest - response);
}

static size_t shake_hands(const websocket *socket, CURLU *url, char *response) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // 16 random bytes in Base64: 21 free digits, one of two bits, and the padding.
    char key[25] = {0}, accept[WEBSOCKET_ACCEPT_SIZE], expected[64], *rest;
    random_bytes(key, 22);
    for (int i = 0; i < 22; i++) key[i] = digits[(uint8_t)key[i] & (i < 21 ? 63 : 48)];
    memcpy(key + 22, "==", 2);
    send_request(socket, url, key);
    size_t count = receive_response(socket, response, &rest);
    websocket_accept(key, 24, accept);
    snprintf(expected, sizeof expected, "Sec-WebSocket-Accept: %s\r\n", accept);
    if (strncmp(response, "HTTP/1.1 101 ", 13) != 0) fail("handshake", response);
    if (strcasestr(response, expected) == NULL) fail("handshake", "Sec-WebSocket-Accept is wrong");
    memmove(response, rest, count);
    return count;
}

static CURLcode result_of_connecting;

static void connected(void *transfer, CURLcode result) {
    (void)transfer;
    result_of_connecting = result;
}

size_t websocket_open(websocket *socket, loop *loop, const workload *work, CURLU *url, char *buffer) {
    socket->easy = easy_for(work, url);
    loop_adopt(loop, socket->easy);
    curl_easy_setopt(socket->easy, CURLOPT_CONNECT_ONLY, 1L);
    loop->keeps_ended = true;
    loop_add(loop, socket->easy);
    while (loop->active > 0) loop_run_once(loop, connected);
    if (result_of_connecting != CURLE_OK) fail("connect", curl_easy_strerror(result_of_connecting));
    if (curl_easy_getinfo(socket->easy, CURLINFO_ACTIVESOCKET, &socket->fd) != CURLE_OK) fail("connect", "no socket");
    return shake_hands(socket, url, buffer);
}
