#ifndef TRELLIS_BENCHMARKS_WORKLOAD_H
#define TRELLIS_BENCHMARKS_WORKLOAD_H

#include <stdbool.h>

/// What one client process is asked to do: its command line, the same for every client but Go's, which reads the same
/// options with Go's own parser.
typedef struct workload {
    /// get, headers, json, download, download-file, upload-file, in-flight or cancel.
    const char *kind;
    const char *url;
    /// Requests in flight at once.
    long concurrency;
    /// The number of measured requests; 0 for as many as `seconds` allow.
    long requests;
    double seconds;
    double warmup_seconds;
    /// PEM file with the certificate authority to trust, or NULL for plain HTTP.
    const char *ca_file;
    /// The file to write (download-file) or to send (upload-file), or NULL.
    const char *file;
    /// Loopback port of the test server, which answers questions about its sockets (cancel).
    int control_port;
    /// Trellis only: the calling tasks prefer the session's executor.
    bool on_executor;
} workload;

/// Reads the command line; prints what is wrong with it and exits with status 64 where it is not understood.
workload workload_parse(int argc, char *const *argv);

#endif
