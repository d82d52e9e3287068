#ifndef TRELLIS_BENCHMARKS_WORKLOAD_H
#define TRELLIS_BENCHMARKS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

/// The work of one client process: its command line, the same for every client except Go's, which reads the same options with Go's own
/// parser.
typedef struct workload {
    /// The kind of work: get, headers, json, download, download-file, upload-file, in-flight, idle, cancel, waiting-streams, websocket-echo,
    /// websocket-stream or websocket-idle.
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
    /// The number of origins that are requested in turn. All but the first have another loopback address instead of 127.0.0.1.
    long origins;
    /// The largest number of connections; 0 if as many are allowed as there are requests in flight.
    long connections;
    /// The number of engines (Trellis only); 0 for the default.
    long engines;
    /// Whether HTTP/1.1 is spoken where the server also offers HTTP/2.
    bool http1;
    /// Whether the calling tasks prefer the session's executor (Trellis only).
    bool on_executor;
} workload;

/// Reads the command line. If it is invalid, prints the error and exits with status 64.
workload workload_parse(int argc, char *const *argv);

/// Writes the URL of an origin: the URL of the work with the address 127.0.(n / 250).(n % 250 + 1) in place of 127.0.0.1, where n is the
/// number of the origin, from 0 on.
void workload_origin_url(const workload *work, long origin, char *url, size_t capacity);

#endif
