#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "delay.h"
#include "throttle.h"
#include "websocket.h"

static void send_text(const connection *connection, const char *text) {
    // The text is small and the socket buffer is empty. A short write means that the client does not read; such a client is not served.
    send(connection->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void answer(connection *connection, const char *status, const char *text) {
    char response[256];
    snprintf(response, sizeof response, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", status,
             strlen(text), text);
    connection->waiting = WAITING_HEAD;
    send_text(connection, response);
}

void connection_answer(connection *connection, const char *text) {
    answer(connection, "200 OK", text);
}

static void finish_upload(connection *connection) {
    char text[32];
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)connection->body_length);
    connection_answer(connection, text);
}

/// Returns the value of a field, or NULL. `head` is terminated, and so is each of its lines.
static const char *field_value(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':') return line + length + 2;
    }
    return NULL;
}

/// Handles a complete head. `body_bytes` of its body have already arrived.
static void serve(connection *connection, size_t body_bytes) {
    char *head = connection->head, *path = strchr(head, ' ');
    path = path == NULL ? head : path + 1;
    if (strncmp(path, "/delayed", 8) == 0) {
        connection->waiting = WAITING_DELAY;
        delay_add(connection);
    } else if (strncmp(path, "/gathered/", 10) == 0) {
        connection->waiting = WAITING_OTHERS;
        gather_add(connection, atol(path + 10));
    } else if (strncmp(path, "/never", 6) == 0) {
        connection->waiting = WAITING_FOREVER;
        never_opened();
    } else if (strncmp(path, "/control/open/", 14) == 0) {
        control_wait(connection, atol(path + 14));
    } else if (strncmp(path, "/control/closed", 15) == 0) {
        control_wait(connection, 0);
    } else if (strncmp(path, "/throttled/", 11) == 0) {
        throttle_answer(connection, strtoull(path + 11, NULL, 10), field_value(head, "range"));
    } else if (strncmp(path, "/websocket/", 11) == 0) {
        const char *key = field_value(head, "sec-websocket-key");
        if (key == NULL) {
            answer(connection, "426 Upgrade Required", "a WebSocket is needed\n");
            return;
        }
        websocket_answer(connection, path + 11, key);
    } else if (strncmp(path, "/upload", 7) == 0) {
        const char *length = field_value(head, "content-length");
        if (length == NULL) {
            answer(connection, "411 Length Required", "a length is needed\n");
            return;
        }
        if (field_value(head, "expect") != NULL && body_bytes == 0) send_text(connection, "HTTP/1.1 100 Continue\r\n\r\n");
        connection->body_length = strtoull(length, NULL, 10);
        connection->body_left = connection->body_length - body_bytes;
        connection->waiting = WAITING_BODY;
        if (connection->body_left == 0) finish_upload(connection);
    } else {
        connection_answer(connection, "hello world");
    }
}

static void closed(connection *connection) {
    enum waiting was = connection->waiting;
    close(connection->fd);
    connection->fd = -1;
    if (was == WAITING_DELAY) return;  // The queue frees the connection.
    if (was == WAITING_OTHERS) gather_forget(connection);
    if (was == WAITING_FOREVER) never_closed();
    if (was == WAITING_CONDITION) control_forget(connection);
    if (was == WAITING_THROTTLE) throttle_forget(connection);
    free(connection);
}

/// Discards the bytes of the body in the kernel, because the client is measured, not the server.
static ssize_t discard_body(connection *connection) {
    size_t wanted = connection->body_left < (1 << 20) ? (size_t)connection->body_left : 1 << 20;
    ssize_t count = recv(connection->fd, NULL, wanted, MSG_TRUNC | MSG_DONTWAIT);
    if (count > 0) {
        connection->body_left -= (uint64_t)count;
        if (connection->body_left == 0) finish_upload(connection);
    }
    return count;
}

static ssize_t read_head(connection *connection) {
    size_t space = sizeof connection->head - 1 - connection->filled;
    ssize_t count = recv(connection->fd, connection->head + connection->filled, space, MSG_DONTWAIT);
    if (count <= 0 || connection->waiting != WAITING_HEAD) return count;
    connection->filled += (size_t)count;
    connection->head[connection->filled] = 0;
    char *end = strstr(connection->head, "\r\n\r\n");
    if (end == NULL) return connection->filled == sizeof connection->head - 1 ? 0 : count;
    end += 4;
    size_t body_bytes = connection->filled - (size_t)(end - connection->head);
    *end = 0;
    connection->filled = 0;
    serve(connection, body_bytes);
    return count;
}

void connection_readable(connection *connection) {
    if (connection->waiting == WAITING_FRAMES) {
        if (!websocket_readable(connection)) closed(connection);
        return;
    }
    ssize_t count = connection->waiting == WAITING_BODY ? discard_body(connection) : read_head(connection);
    bool would_block = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (count <= 0 && !would_block) closed(connection);
}

void connection_writable(connection *connection) {
    if (!websocket_writable(connection)) closed(connection);
}
