#include "control.h"

#include <inttypes.h>
#include <stdio.h>

#include "measure.h"

static long open_count;
static uint64_t last_change_ns;
/// The waiting connection. Only one benchmark runs at a time, and it asks one question at a time.
static connection *waiting;

static void answer_if_met(void) {
    if (waiting == NULL) return;
    bool met = waiting->condition == 0 ? open_count == 0 : open_count >= waiting->condition;
    if (!met) return;
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", last_change_ns);
    connection *answered = waiting;
    waiting = NULL;
    connection_answer(answered, text);
}

static void changed(long difference) {
    open_count += difference;
    last_change_ns = measure_now_ns();
    answer_if_met();
}

void never_opened(void) {
    changed(1);
}

void never_closed(void) {
    changed(-1);
}

void control_wait(connection *connection, long count) {
    connection->waiting = WAITING_CONDITION;
    connection->condition = count;
    waiting = connection;
    answer_if_met();
}

void control_forget(const connection *connection) {
    if (waiting == connection) waiting = NULL;
}
