#ifndef TRELLIS_BENCHMARKS_CONTROL_H
#define TRELLIS_BENCHMARKS_CONTROL_H

#include <stdint.h>

/// Questions to the test server about the sockets whose requests it never responds to. The server delays its reply until the condition is
/// met, so that a question is a way to wait.
///
/// - `/control/open/COUNT`: the reply is sent when there are that many requests without a response.
/// - `/control/closed`: the reply is sent when none is left, with the monotonic time (ns) at which the last socket closed.

/// Sends a question and returns the socket, which becomes readable when the reply arrives.
int control_ask(int port, const char *question);

/// Reads the reply, waiting for it if necessary, and closes the socket.
uint64_t control_answer(int fd);

/// Sends a question on a thread of its own and calls `answered` there, so that no thread of a runtime's pool is blocked.
void control_ask_in_background(int port, const char *question, void *context,
                               void (*answered)(void *context, uint64_t answer));

#endif
