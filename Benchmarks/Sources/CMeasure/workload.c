#include "workload.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"work", required_argument, NULL, 'w'},        {"url", required_argument, NULL, 'u'},
    {"concurrency", required_argument, NULL, 'c'}, {"requests", required_argument, NULL, 'n'},
    {"seconds", required_argument, NULL, 's'},     {"warmup", required_argument, NULL, 'W'},
    {"ca-file", required_argument, NULL, 'a'},     {"file", required_argument, NULL, 'f'},
    {"control-port", required_argument, NULL, 'p'}, {"on-executor", no_argument, NULL, 'e'},
    {"origins", required_argument, NULL, 'o'},     {"connections", required_argument, NULL, 'l'},
    {"engines", required_argument, NULL, 'E'},     {"http1", no_argument, NULL, '1'},
    {NULL, 0, NULL, 0},
};

static void fail(const char *program, const char *message) {
    fprintf(stderr, "%s: %s\n", program, message);
    exit(64);
}

static const char first_address[] = "127.0.0.1";

workload workload_parse(int argc, char *const *argv) {
    workload work = {.concurrency = 1, .seconds = 1, .origins = 1};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'w': work.kind = optarg; break;
        case 'u': work.url = optarg; break;
        case 'c': work.concurrency = atol(optarg); break;
        case 'n': work.requests = atol(optarg); break;
        case 's': work.seconds = atof(optarg); break;
        case 'W': work.warmup_seconds = atof(optarg); break;
        case 'a': work.ca_file = optarg; break;
        case 'f': work.file = optarg; break;
        case 'p': work.control_port = atoi(optarg); break;
        case 'e': work.on_executor = true; break;
        case 'o': work.origins = atol(optarg); break;
        case 'l': work.connections = atol(optarg); break;
        case '1': work.http1 = true; break;
        case 'E': work.engines = atol(optarg); break;
        default: exit(64);
        }
    }
    if (work.kind == NULL || work.url == NULL) fail(argv[0], "--work and --url are needed");
    if (work.concurrency < 1) fail(argv[0], "--concurrency must be at least 1");
    if (work.origins < 1 || (work.origins > 1 && strstr(work.url, first_address) == NULL)) {
        fail(argv[0], "--origins must be at least 1, and more need a --url of 127.0.0.1");
    }
    if (strstr(work.kind, "-file") != NULL && work.file == NULL) fail(argv[0], "--file is needed");
    return work;
}

void workload_origin_url(const workload *work, long origin, char *url, size_t capacity) {
    const char *address = strstr(work->url, first_address);
    int length;
    if (origin == 0 || address == NULL) {
        length = snprintf(url, capacity, "%s", work->url);
    } else {
        length = snprintf(url, capacity, "%.*s127.0.%ld.%ld%s", (int)(address - work->url), work->url, origin / 250,
                          1 + origin % 250, address + strlen(first_address));
    }
    if (length < 0 || (size_t)length >= capacity) fail("--url", "too long");
}
