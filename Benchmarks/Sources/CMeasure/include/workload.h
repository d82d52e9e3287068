#ifndef TRELLIS_BENCHMARKS_WORKLOAD_H
#define TRELLIS_BENCHMARKS_WORKLOAD_H

#include <stdbool.h>

/// The work of one client process: its command line, the same for every client except Go's, which reads the same options with Go's own
/// parser.
typedef struct workload {
    /// The kind of work: get, headers, json, download, download-file, upload-file, in-flight or cancel.
    const char *kind;
    const char *url;
    /// The number of requests in flight at once.
    long concurrency;
    /// The number of measured requests; 0 if the number is only limited by `seconds`.
    long requests;
    double seconds;
    double warmup_seconds;
    /// The PEM file with the certificate authority to trust; NULL for plain HTTP.
    const char *ca_file;
    /// The file to write (download-file) or to send (upload-file); NULL if there is none.
    const char *file;
    /// The loopback port of the test server, which replies to questions about its sockets (cancel).
    int control_port;
    /// Whether the calling tasks prefer the session's executor (Trellis only).
    bool on_executor;
} workload;

/// Reads the command line. If it is invalid, prints the error and exits with status 64.
workload workload_parse(int argc, char *const *argv);

#endif
