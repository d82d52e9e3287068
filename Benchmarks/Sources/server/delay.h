#ifndef TRELLIS_BENCHMARKS_DELAY_H
#define TRELLIS_BENCHMARKS_DELAY_H

#include "connection.h"

/// The queue of delayed responses. All delays are equal, so that the queue is always in order.

void delay_set_milliseconds(long milliseconds);

/// Adds a connection at the end of the queue.
void delay_add(connection *connection);

/// Sends the responses that are due. Returns the milliseconds until the next one is due, or -1 if there is none.
int delay_run(void);

/// Adds a connection to those whose requests are answered together, as soon as there are `count` of them.
void gather_add(connection *connection, long count);

/// Removes a connection that was closed before its response.
void gather_forget(connection *connection);

#endif
