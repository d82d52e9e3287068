#ifndef TRELLIS_BENCHMARKS_WORK_H
#define TRELLIS_BENCHMARKS_WORK_H

#include <curl/curl.h>

#include "workload.h"

/// Creates a handle with the options that are the same for all work: the parsed URL, no proxy, the trusted authority.
CURL *easy_for(const workload *work, CURLU *url);

/// Parses the URLs of the work, one for each origin, which all handles then share.
CURLU **parsed_urls(const workload *work);

/// Frees parsed URLs.
void free_urls(const workload *work, CURLU **urls);

/// Ends the program with libcurl's message if a transfer has failed or its status is not 200.
void check_transfer(CURL *easy, CURLcode result);

/// Runs get, headers or json: a constant number of requests in flight, one after the other in each slot.
void run_closed_loop(const workload *work);

/// Runs download, download-file or upload-file: one large transfer.
void run_bulk(const workload *work);

/// Runs websocket-echo, websocket-stream or websocket-idle: WebSockets on connections that libcurl makes.
void run_websocket(const workload *work);

/// Runs in-flight, idle or cancel: very many requests at once.
void run_crowd(const workload *work);

#endif
