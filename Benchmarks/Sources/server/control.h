#ifndef TRELLIS_BENCHMARKS_SERVER_CONTROL_H
#define TRELLIS_BENCHMARKS_SERVER_CONTROL_H

#include "connection.h"

/// Counts the requests to `/never`, and replies to connections that wait for a count.

/// Records another request that never gets a response.
void never_opened(void);

/// Records that the client has closed the socket of such a request.
void never_closed(void);

/// Delays the reply until `count` such requests are open (0: until none is open), and then sends the monotonic time of the last change in
/// ns.
void control_wait(connection *connection, long count);

/// Records that a waiting connection was closed.
void control_forget(const connection *connection);

#endif
