#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headers.h"
#include "json.h"
#include "loop.h"
#include "measure.h"
#include "work.h"

enum { body_limit = 4096 };

struct run;

/// One of the requests that are in flight at once, with its own handle for all of its requests.
typedef struct slot {
    struct run *run;
    CURL *easy;
    uint64_t start_ns;
    size_t body_length;
    char body[body_limit];
    char posted[512];
    headers headers;
} slot;

typedef struct run {
    const workload *work;
    /// The URLs of the origins, which are requested in turn, and the number of the next one.
    CURLU **urls;
    long next_origin;
    loop loop;
    bool json, reads_headers, measured;
    // The length of a small response's body.
    size_t expected_length;
    long running, requests, requests_to_start;
    uint64_t end_ns;
    float *latencies_ms;
    size_t latency_count, latency_capacity;
} run;

static size_t receive(char *data, size_t size, size_t count, void *context) {
    slot *slot = context;
    size_t length = size * count;
    if (slot->body_length + length > body_limit) return 0;
    memcpy(slot->body + slot->body_length, data, length);
    slot->body_length += length;
    return length;
}

static void start(slot *slot) {
    run *run = slot->run;
    run->requests_to_start--;
    run->running++;
    slot->body_length = 0;
    curl_easy_setopt(slot->easy, CURLOPT_CURLU, run->urls[run->next_origin]);
    if (++run->next_origin == run->work->origins) run->next_origin = 0;
    if (run->json) {
        size_t length = json_encode_order(slot->posted, sizeof slot->posted, 100000 + run->requests);
        curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE, (long)length);
        curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, slot->posted);
    }
    slot->start_ns = measure_now_ns();
    loop_add(&run->loop, slot->easy);
}

static void note_latency(run *run, double milliseconds) {
    if (run->latency_count == run->latency_capacity) {
        run->latency_capacity = run->latency_capacity * 2 + 4096;
        run->latencies_ms = realloc(run->latencies_ms, run->latency_capacity * sizeof *run->latencies_ms);
    }
    run->latencies_ms[run->latency_count++] = (float)milliseconds;
}

static void check_answer(slot *slot, CURLcode result) {
    check_transfer(slot->easy, result);
    receipt receipt;
    bool right = slot->run->json ? json_decode_receipt(slot->body, slot->body_length, &receipt)
                 : slot->run->reads_headers ? slot->headers.count >= 30 && headers_total_length(&slot->headers) > 0
                                            : slot->body_length == slot->run->expected_length;
    if (right) return;
    fprintf(stderr, "not the expected answer\n");
    exit(1);
}

static void ended(void *transfer, CURLcode result) {
    slot *slot = transfer;
    run *run = slot->run;
    check_answer(slot, result);
    uint64_t now = measure_now_ns();
    run->running--;
    run->requests++;
    if (run->measured) note_latency(run, (double)(now - slot->start_ns) / 1e6);
    if (run->requests_to_start > 0 && now < run->end_ns) start(slot);
}

/// Runs all slots for this time, or for this number of requests if that is not 0, until the last response has arrived.
static void run_phase(run *run, slot *slots, double seconds, long requests) {
    run->requests = 0;
    run->end_ns = requests > 0 ? UINT64_MAX : measure_now_ns() + (uint64_t)(seconds * 1e9);
    run->requests_to_start = requests > 0 ? requests : INT64_MAX;
    for (long i = 0; i < run->work->concurrency && run->requests_to_start > 0; i++) start(&slots[i]);
    while (run->running > 0) loop_run_once(&run->loop, ended);
}

static void prepare(slot *slot, run *run, struct curl_slist *json_headers) {
    slot->run = run;
    slot->easy = easy_for(run->work, run->urls[0]);
    loop_adopt(&run->loop, slot->easy);
    curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot);
    if (run->reads_headers) {
        curl_easy_setopt(slot->easy, CURLOPT_HEADERFUNCTION, headers_receive);
        curl_easy_setopt(slot->easy, CURLOPT_HEADERDATA, &slot->headers);
    }
    if (run->json) curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, json_headers);
}

void run_closed_loop(const workload *work) {
    run run = {.work = work, .urls = parsed_urls(work)};
    run.json = strcmp(work->kind, "json") == 0;
    run.expected_length = strcmp(work->kind, "empty-get") == 0 ? 0 : 11;
    run.reads_headers = strcmp(work->kind, "headers") == 0;
    loop_init(&run.loop, work);
    struct curl_slist *json_headers = curl_slist_append(NULL, "Content-Type: application/json");
    json_headers = curl_slist_append(json_headers, "Accept: application/json");
    slot *slots = calloc((size_t)work->concurrency, sizeof *slots);
    for (long i = 0; i < work->concurrency; i++) prepare(&slots[i], &run, json_headers);

    run_phase(&run, slots, work->warmup_seconds, work->requests > 0 ? work->concurrency : 0);
    run.measured = true;
    report report = {0};
    report_start(&report);
    run_phase(&run, slots, work->seconds, work->requests);
    report_stop(&report);
    report.requests = run.requests;
    report_print(&report, run.latencies_ms, run.latency_count);

    for (long i = 0; i < work->concurrency; i++) curl_easy_cleanup(slots[i].easy);
    loop_destroy(&run.loop);
    free_urls(work, run.urls);
    curl_slist_free_all(json_headers);
    free(slots);
    free(run.latencies_ms);
}
