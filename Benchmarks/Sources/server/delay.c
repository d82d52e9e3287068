#include "delay.h"

#include <stdlib.h>

#include "measure.h"

static uint64_t delay_ns = 2000000000;
static connection *first, *last;

void delay_set_milliseconds(long milliseconds) {
    delay_ns = (uint64_t)milliseconds * 1000000;
}

void delay_add(connection *connection) {
    connection->due_ns = measure_now_ns() + delay_ns;
    connection->next = NULL;
    if (first == NULL) {
        first = connection;
    } else {
        last->next = connection;
    }
    last = connection;
}

int delay_run(void) {
    uint64_t now = measure_now_ns();
    while (first != NULL && first->due_ns <= now) {
        connection *due = first;
        first = due->next;
        if (due->fd < 0) {
            free(due);  // The client closed the connection while it was in the queue.
        } else {
            connection_answer(due, "hello world");
        }
    }
    return first == NULL ? -1 : (int)((first->due_ns - now + 999999) / 1000000);
}

static connection *gathered;
static long gathered_count;

void gather_add(connection *added, long count) {
    added->next = gathered;
    gathered = added;
    if (++gathered_count < count) return;
    connection *next = gathered;
    gathered = NULL;
    gathered_count = 0;
    while (next != NULL) {
        connection *answered = next;
        next = answered->next;
        connection_answer(answered, "hello world");
    }
}

void gather_forget(connection *closed) {
    for (connection **link = &gathered; *link != NULL; link = &(*link)->next) {
        if (*link != closed) continue;
        *link = closed->next;
        gathered_count--;
        return;
    }
}
