#ifndef TRELLIS_BENCHMARKS_WORK_H
#define TRELLIS_BENCHMARKS_WORK_H

#include <curl/curl.h>

#include "workload.h"

/// A handle with the options that are the same for all work: the URL parsed once, no proxy, the trusted authority.
CURL *easy_for(const workload *work, CURLU *url);

/// Parses the work's URL, which every handle then shares.
CURLU *parsed_url(const workload *work);

/// Ends the program with libcurl's message when a transfer failed or its status is not 200.
void check_transfer(CURL *easy, CURLcode result);

/// get, headers, json: so many requests at all times, one after the other on each slot.
void run_closed_loop(const workload *work);

/// download, download-file, upload-file: one large transfer.
void run_bulk(const workload *work);

/// in-flight, cancel: very many requests at once.
void run_crowd(const workload *work);

#endif
