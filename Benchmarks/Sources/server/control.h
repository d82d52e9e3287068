#ifndef TRELLIS_BENCHMARKS_SERVER_CONTROL_H
#define TRELLIS_BENCHMARKS_SERVER_CONTROL_H

#include "connection.h"

/// Counts the requests to `/never`, and answers those who wait for a count.

/// One more request that is never answered.
void never_opened(void);

/// The socket of such a request was closed by its client.
void never_closed(void);

/// Holds the connection until `count` such requests are open (0: until none is), then answers with the monotonic time
/// of the last change in ns.
void control_wait(connection *connection, long count);

/// A connection that waited went away.
void control_forget(const connection *connection);

#endif
