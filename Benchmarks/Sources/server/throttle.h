#ifndef TRELLIS_BENCHMARKS_THROTTLE_H
#define TRELLIS_BENCHMARKS_THROTTLE_H

#include "connection.h"

/// Answers that come at 20 MB/s on each connection, without a rush at their beginning: `/throttled/SIZE`, whole or a range of it.

/// Sends the head of the answer, and then its body by and by.
///
/// - Parameter range: The value of the request's `Range`, or NULL.
void throttle_answer(connection *connection, uint64_t size, const char *range);

/// A connection in the middle of such an answer went away.
void throttle_forget(connection *connection);

/// Sends what is due. Returns the milliseconds until more is, -1 when there is none.
int throttle_run(void);

#endif
