#ifndef TRELLIS_BENCHMARKS_SOCKET_H
#define TRELLIS_BENCHMARKS_SOCKET_H

#include <curl/curl.h>
#include <stdbool.h>

#include "loop.h"

/// A WebSocket (RFC 6455) on a connection that libcurl makes and leaves to the program (`CURLOPT_CONNECT_ONLY`).
typedef struct websocket {
    CURL *easy;
    curl_socket_t fd;
} websocket;

/// The size of the buffer for the response to the handshake.
enum { WEBSOCKET_RESPONSE_SIZE = 4096 };

/// Connects, and does the handshake. Ends the program if that fails. The handle stays in the loop's multi handle, because libcurl closes the
/// connection with it.
///
/// - Parameter buffer: WEBSOCKET_RESPONSE_SIZE bytes, which receive the bytes after the response.
/// - Returns: The number of those bytes.
size_t websocket_open(websocket *socket, loop *loop, const workload *work, CURLU *url, char *buffer);

/// Sends all bytes, waiting for room if necessary. Ends the program if that fails.
void websocket_send(const websocket *socket, const void *bytes, size_t count);

/// Receives bytes into a buffer. Returns their number; 0 if there are none at present. Ends the program if the connection has ended.
size_t websocket_receive(const websocket *socket, void *buffer, size_t capacity);

/// Waits until the socket can be read (POLLIN) or written (POLLOUT).
void websocket_wait(const websocket *socket, short events);

/// Fills a mask with bytes of the system's secure source, fetched in batches.
void websocket_new_mask(uint8_t mask[4]);

/// Sends a Close frame with the code 1000.
void websocket_send_close(const websocket *socket);

#endif
