#ifndef TRELLIS_BENCHMARKS_MEASURE_H
#define TRELLIS_BENCHMARKS_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/// One client's figures for one run, all but the latencies taken between `report_start` and `report_stop`.
typedef struct report {
    uint64_t start_ns;
    double seconds;
    double cpu_seconds;
    /// Resident memory when the measured part began, in MB (10^6 bytes).
    double idle_rss_mb;
    /// Requests that were answered, or cancelled where that is what is measured.
    long requests;
    /// Payload bytes moved; 0 where throughput is not what is measured.
    int64_t bytes;
} report;

/// CLOCK_MONOTONIC in nanoseconds: comparable between the processes of one machine.
uint64_t measure_now_ns(void);

/// Raises the soft limit of open files to the hard one, so that 10,000 connections fit.
void measure_raise_file_limit(void);

/// Starts the clock, the CPU time (user and system, all threads) and notes the resident memory.
void report_start(report *report);

/// Stops what `report_start` started.
void report_stop(report *report);

/// Prints the figures as one line of JSON on stdout. Sorts `latencies_ms`; with fewer than two there are no percentiles.
void report_print(const report *report, float *latencies_ms, size_t count);

#endif
