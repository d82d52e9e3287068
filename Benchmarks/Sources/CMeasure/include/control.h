#ifndef TRELLIS_BENCHMARKS_CONTROL_H
#define TRELLIS_BENCHMARKS_CONTROL_H

#include <stdint.h>

/// Questions to the test server about the sockets whose requests it never answers. The server holds its answer back
/// until the condition is met, so a question is a way to wait.
///
/// - `/control/open/COUNT`: answered once that many unanswered requests are there.
/// - `/control/closed`: answered once none is left, with the monotonic time (ns) at which the last socket closed.

/// Sends a question and returns the socket, which becomes readable with the answer.
int control_ask(int port, const char *question);

/// Reads the answer, waiting for it if need be, and closes the socket.
uint64_t control_answer(int fd);

/// Asks on a thread of its own and calls `answered` there, so that no thread of a runtime's pool is blocked.
void control_ask_in_background(int port, const char *question, void *context,
                               void (*answered)(void *context, uint64_t answer));

#endif
