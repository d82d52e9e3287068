#include "measure.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

uint64_t measure_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void measure_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void measure_give_back_memory(void) {
    malloc_trim(0);
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// Returns how often the threads of the process have waited so far.
static long waits(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/// Returns a field of /proc/self/status in MB. ru_maxrss is not used, because it starts from the size of the parent process.
static double status_mb(const char *field) {
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL) return 0;
    double megabytes = 0;
    char line[256];
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) megabytes = atof(line + strlen(field)) * 1024 / 1e6;
    }
    fclose(status);
    return megabytes;
}

void report_start(report *report) {
    report->idle_rss_mb = status_mb("VmRSS:");
    report->wake_ups = waits();
    report->cpu_seconds = cpu_seconds();
    report->start_ns = measure_now_ns();
}

void report_stop(report *report) {
    report->seconds = (double)(measure_now_ns() - report->start_ns) / 1e9;
    report->cpu_seconds = cpu_seconds() - report->cpu_seconds;
    report->wake_ups = waits() - report->wake_ups;
    report->end_rss_mb = status_mb("VmRSS:");
}

void report_subtract_wake_ups(report *measured, const report *baseline) {
    measured->wake_ups -= baseline->wake_ups;
    if (measured->wake_ups < 0) measured->wake_ups = 0;
}

static int ascending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

void report_print(const report *report, float *latencies_ms, size_t count) {
    double peak_rss_mb = status_mb("VmHWM:");
    printf("{\"requests\":%ld,\"seconds\":%.9f,\"cpu_seconds\":%.6f,\"bytes\":%lld,", report->requests, report->seconds,
           report->cpu_seconds, (long long)report->bytes);
    if (count > 1) {
        qsort(latencies_ms, count, sizeof *latencies_ms, ascending);
        printf("\"p50_ms\":%.4f,\"p99_ms\":%.4f,", latencies_ms[count / 2], latencies_ms[count - 1 - count / 100]);
    }
    if (report->own_figures != NULL) fputs(report->own_figures, stdout);
    printf("\"wake_ups\":%ld,\"idle_rss_mb\":%.3f,\"end_rss_mb\":%.3f,\"peak_rss_mb\":%.3f}\n", report->wake_ups,
           report->idle_rss_mb, report->end_rss_mb, peak_rss_mb);
    fflush(stdout);
}
