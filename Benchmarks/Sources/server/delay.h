#ifndef TRELLIS_BENCHMARKS_DELAY_H
#define TRELLIS_BENCHMARKS_DELAY_H

#include "connection.h"

/// Answers that are due later. Every delay is the same, so the queue is in order by itself.

void delay_set_milliseconds(long milliseconds);

/// Puts the connection at the end of the queue.
void delay_add(connection *connection);

/// Answers what is due. Returns the milliseconds until the next answer is, -1 when there is none.
int delay_run(void);

#endif
