// The baseline: a C program on libcurl's multi_socket interface, written for speed and without other features.

#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

CURLU **parsed_urls(const workload *work) {
    CURLU **urls = calloc((size_t)work->origins, sizeof *urls);
    for (long i = 0; i < work->origins; i++) {
        char text[512];
        workload_origin_url(work, i, text, sizeof text);
        urls[i] = curl_url();
        if (urls[i] == NULL || curl_url_set(urls[i], CURLUPART_URL, text, 0) != CURLUE_OK) {
            fprintf(stderr, "not a URL: %s\n", text);
            exit(64);
        }
    }
    return urls;
}

void free_urls(const workload *work, CURLU **urls) {
    for (long i = 0; i < work->origins; i++) curl_url_cleanup(urls[i]);
    free(urls);
}

/// The head that Trellis sends by default, which names the program and asks for every coding that libcurl decodes. It is passed as lines,
/// because libcurl takes three times as long to format its own head, which is a considerable part of its work for a small request.
static struct curl_slist *default_head(void) {
    static struct curl_slist *lines;
    if (lines == NULL) {
        char agent[96];
        const char *version = curl_version_info(CURLVERSION_NOW)->version;
        snprintf(agent, sizeof(agent), "User-Agent: client-libcurl/1.0 libcurl/%s (Linux)", version);
        lines = curl_slist_append(NULL, agent);
        lines = curl_slist_append(lines, "Accept-Encoding: br, zstd, gzip, deflate");
    }
    return lines;
}

CURL *easy_for(const workload *work, CURLU *url) {
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_CURLU, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, default_head());
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    bool http1 = work->http1 || work->ca_file == NULL;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)(http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, http1 ? 0L : 1L);
    if (work->ca_file != NULL) {
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_CAINFO, work->ca_file);
    }
    return easy;
}

void check_transfer(CURL *easy, CURLcode result) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (result == CURLE_OK && status == 200) return;
    fprintf(stderr, "transfer failed: %s, status %ld\n", curl_easy_strerror(result), status);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("%s\n", curl_version_info(CURLVERSION_NOW)->version);
        return 0;
    }
    workload work = workload_parse(argc, argv);
    measure_raise_file_limit();
    const char *kind = work.kind;
    if (strcmp(kind, "get") == 0 || strcmp(kind, "empty-get") == 0 || strcmp(kind, "headers") == 0 || strcmp(kind, "json") == 0) {
        run_closed_loop(&work);
    } else if (strcmp(kind, "in-flight") == 0 || strcmp(kind, "idle") == 0 || strcmp(kind, "cancel") == 0 ||
               strcmp(kind, "waiting-streams") == 0) {
        run_crowd(&work);
    } else if (strncmp(kind, "websocket-", 10) == 0) {
        run_websocket(&work);
    } else if (strstr(kind, "load") != NULL) {
        run_bulk(&work);
    } else {
        fprintf(stderr, "unknown work: %s\n", kind);
        return 64;
    }
    return 0;
}
