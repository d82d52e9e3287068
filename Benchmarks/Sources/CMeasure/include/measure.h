#ifndef TRELLIS_BENCHMARKS_MEASURE_H
#define TRELLIS_BENCHMARKS_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/// The figures of one run of a client. All but the latencies are measured between `report_start` and `report_stop`.
typedef struct report {
    uint64_t start_ns;
    double seconds;
    double cpu_seconds;
    /// The resident memory at the beginning of the measured part, in MB (10^6 bytes).
    double idle_rss_mb;
    /// The resident memory at the end of the measured part, in MB.
    double end_rss_mb;
    /// The number of times that a thread of the process waited, and therefore was woken.
    long wake_ups;
    /// The number of requests with a response, or of cancelled requests if cancellation is measured.
    long requests;
    /// The number of transferred payload bytes; 0 if throughput is not measured.
    int64_t bytes;
    /// The client's own figures as JSON members, each followed by a comma; NULL if there are none.
    const char *own_figures;
} report;

/// Returns CLOCK_MONOTONIC in nanoseconds, which is comparable between the processes of one machine.
uint64_t measure_now_ns(void);

/// Raises the soft limit of open files to the hard limit, so that 10,000 connections are possible.
void measure_raise_file_limit(void);

/// Gives the memory that the process has freed back to the system, so that the resident memory is what it uses.
void measure_give_back_memory(void);

/// Starts the clock and the CPU time (user and system, all threads), and records the resident memory.
void report_start(report *report);

/// Stops the measurements that `report_start` started.
void report_stop(report *report);

/// Leaves out the wake-ups of a part of the same length in which the process had nothing to do: those of its runtime and of the
/// measurement. The result is not below 0.
void report_subtract_wake_ups(report *measured, const report *baseline);

/// Prints the figures as one line of JSON on stdout. Sorts `latencies_ms`; with fewer than two there are no percentiles.
void report_print(const report *report, float *latencies_ms, size_t count);

#endif
