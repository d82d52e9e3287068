#ifndef TRELLIS_BENCHMARKS_SERVER_WEBSOCKET_H
#define TRELLIS_BENCHMARKS_SERVER_WEBSOCKET_H

#include "connection.h"

/// WebSockets (RFC 6455), without extensions: `/websocket/echo` returns each message of up to 2 KB, and `/websocket/stream/SIZE` sends SIZE bytes in
/// binary messages of 64 KiB.

/// Answers the handshake.
///
/// - Parameters:
///   - path: The path after `/websocket/`.
///   - key: The value of the request's `Sec-WebSocket-Key` field.
void websocket_answer(connection *connection, const char *path, const char *key);

/// Reads the available bytes and handles the complete frames. Returns false if the connection has to be closed.
bool websocket_readable(connection *connection);

/// Sends as much of a stream as the socket takes. Returns false if the connection has to be closed.
bool websocket_writable(connection *connection);

#endif
