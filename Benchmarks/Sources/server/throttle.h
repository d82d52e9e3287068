#ifndef TRELLIS_BENCHMARKS_THROTTLE_H
#define TRELLIS_BENCHMARKS_THROTTLE_H

#include "connection.h"

/// The responses with a rate of 20 MB/s per connection, without a burst at their beginning: `/throttled/SIZE`, complete or a range of it.

/// Sends the head of the response, and then gradually its body.
///
/// - Parameter range: The value of the request's `Range` field, or NULL.
void throttle_answer(connection *connection, uint64_t size, const char *range);

/// Records that a connection was closed during such a response.
void throttle_forget(connection *connection);

/// Sends the bytes that are due. Returns the milliseconds until more are due, or -1 if there are none.
int throttle_run(void);

#endif
