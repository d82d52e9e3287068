#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "loop.h"
#include "measure.h"
#include "work.h"

struct crowd;

typedef struct member {
    struct crowd *crowd;
    CURL *easy;
    size_t body_length;
} member;

typedef struct crowd {
    const workload *work;
    loop loop;
    member *members;
    long running;
    uint64_t start_ns;
    float *latencies_ms;
    size_t latency_count;
} crowd;

static size_t receive(char *data, size_t size, size_t count, void *context) {
    (void)data;
    ((member *)context)->body_length += size * count;
    return size * count;
}

static void ended(void *transfer, CURLcode result) {
    member *member = transfer;
    crowd *crowd = member->crowd;
    check_transfer(member->easy, result);
    crowd->latencies_ms[crowd->latency_count++] = (float)((double)(measure_now_ns() - crowd->start_ns) / 1e6);
    crowd->running--;
    curl_easy_cleanup(member->easy);
}

static void start_all(crowd *crowd, CURLU **urls) {
    crowd->start_ns = measure_now_ns();
    for (long i = 0; i < crowd->work->concurrency; i++) {
        member *member = &crowd->members[i];
        member->crowd = crowd;
        member->easy = easy_for(crowd->work, urls[i % crowd->work->origins]);
        loop_adopt(&crowd->loop, member->easy);
        curl_easy_setopt(member->easy, CURLOPT_PRIVATE, member);
        curl_easy_setopt(member->easy, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(member->easy, CURLOPT_WRITEDATA, member);
        loop_add(&crowd->loop, member->easy);
        crowd->running++;
    }
}

static void wait_for_all_answers(crowd *crowd, report *report) {
    while (crowd->running > 0) loop_run_once(&crowd->loop, ended);
    report_stop(report);
}

/// Measures the connections after the last response, while nothing happens.
static void idle(crowd *crowd, report *report) {
    while (crowd->running > 0) loop_run_once(&crowd->loop, ended);
    double idle_rss_mb = report->idle_rss_mb;
    measure_give_back_memory();
    report_start(report);
    report->idle_rss_mb = idle_rss_mb;
    report->requests = 1;
    usleep((useconds_t)(crowd->work->seconds * 1e6));
    report_stop(report);
}

static void wait_until_received(crowd *crowd) {
    char question[64];
    snprintf(question, sizeof question, "/control/open/%ld", crowd->work->concurrency);
    int open = control_ask(crowd->work->control_port, question);
    loop_watch(&crowd->loop, open);
    while (!crowd->loop.watched_readable) loop_run_once(&crowd->loop, ended);
    control_answer(open);
}

static void remove_all(crowd *crowd) {
    for (long i = 0; i < crowd->work->concurrency; i++) {
        loop_remove(&crowd->loop, crowd->members[i].easy);
        curl_easy_cleanup(crowd->members[i].easy);
    }
}

/// Measures the requests that the server has received, while nothing happens.
static void wait_without_answers(crowd *crowd, report *report) {
    wait_until_received(crowd);
    double idle_rss_mb = report->idle_rss_mb;
    measure_give_back_memory();
    report_start(report);
    report->idle_rss_mb = idle_rss_mb;
    report->requests = 1;
    usleep((useconds_t)(crowd->work->seconds * 1e6));
    report_stop(report);
    remove_all(crowd);
}

/// Cancels all requests once the server has received them, and measures until the server has seen every socket closed.
static void cancel_all(crowd *crowd, report *report) {
    wait_until_received(crowd);
    double idle_rss_mb = report->idle_rss_mb;
    report_start(report);
    report->idle_rss_mb = idle_rss_mb;
    remove_all(crowd);
    uint64_t closed_ns = control_answer(control_ask(crowd->work->control_port, "/control/closed"));
    report_stop(report);
    report->seconds = (double)(closed_ns - report->start_ns) / 1e9;
}

void run_crowd(const workload *work) {
    crowd crowd = {.work = work};
    CURLU **urls = parsed_urls(work);
    crowd.members = calloc((size_t)work->concurrency, sizeof *crowd.members);
    crowd.latencies_ms = calloc((size_t)work->concurrency, sizeof *crowd.latencies_ms);
    loop_init(&crowd.loop, work);

    report report = {.requests = work->concurrency};
    report_start(&report);
    start_all(&crowd, urls);
    if (strcmp(work->kind, "cancel") == 0) {
        cancel_all(&crowd, &report);
    } else if (strcmp(work->kind, "idle") == 0) {
        idle(&crowd, &report);
    } else if (strcmp(work->kind, "waiting-streams") == 0) {
        wait_without_answers(&crowd, &report);
    } else {
        wait_for_all_answers(&crowd, &report);
    }
    report_print(&report, crowd.latencies_ms, crowd.latency_count);

    loop_destroy(&crowd.loop);
    free_urls(work, urls);
    free(crowd.members);
    free(crowd.latencies_ms);
}
