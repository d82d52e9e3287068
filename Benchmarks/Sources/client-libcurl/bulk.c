#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "measure.h"
#include "work.h"

/// The only, large transfer of a run.
typedef struct bulk {
    CURL *easy;
    /// The file that is written or sent; -1 if the body is discarded.
    int file;
    int64_t bytes;
    bool ended;
} bulk;

static size_t receive(char *data, size_t size, size_t count, void *context) {
    bulk *bulk = context;
    size_t length = size * count;
    bulk->bytes += (int64_t)length;
    if (bulk->file < 0) return length;
    return write(bulk->file, data, length) == (ssize_t)length ? length : 0;
}

static size_t send_file(char *buffer, size_t size, size_t count, void *context) {
    bulk *bulk = context;
    ssize_t length = read(bulk->file, buffer, size * count);
    if (length < 0) return CURL_READFUNC_ABORT;
    bulk->bytes += length;
    return (size_t)length;
}

static size_t discard(char *data, size_t size, size_t count, void *context) {
    (void)data, (void)context;
    return size * count;
}

static void ended(void *transfer, CURLcode result) {
    bulk *bulk = transfer;
    check_transfer(bulk->easy, result);
    bulk->ended = true;
}

static int open_file(const workload *work, bool upload) {
    if (work->file == NULL) return -1;
    int fd = open(work->file, (upload ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC) | O_CLOEXEC, 0600);
    if (fd < 0) perror(work->file), exit(1);
    return fd;
}

void run_bulk(const workload *work) {
    bool upload = strcmp(work->kind, "upload-file") == 0;
    bulk bulk = {.file = open_file(work, upload)};
    loop loop;
    loop_init(&loop, work);
    CURLU **urls = parsed_urls(work);
    bulk.easy = easy_for(work, urls[0]);
    loop_adopt(&loop, bulk.easy);
    curl_easy_setopt(bulk.easy, CURLOPT_PRIVATE, &bulk);
    curl_easy_setopt(bulk.easy, CURLOPT_WRITEFUNCTION, upload ? discard : receive);
    curl_easy_setopt(bulk.easy, CURLOPT_WRITEDATA, &bulk);
    curl_easy_setopt(bulk.easy, CURLOPT_BUFFERSIZE, 64L << 10);
    struct curl_slist *no_expect = curl_slist_append(NULL, "Expect:");
    if (upload) {
        struct stat status;
        fstat(bulk.file, &status);
        curl_easy_setopt(bulk.easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(bulk.easy, CURLOPT_READFUNCTION, send_file);
        curl_easy_setopt(bulk.easy, CURLOPT_READDATA, &bulk);
        curl_easy_setopt(bulk.easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)status.st_size);
        curl_easy_setopt(bulk.easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
        curl_easy_setopt(bulk.easy, CURLOPT_HTTPHEADER, no_expect);
    }

    report report = {.requests = 1};
    report_start(&report);
    loop_add(&loop, bulk.easy);
    while (!bulk.ended) loop_run_once(&loop, ended);
    if (bulk.file >= 0) close(bulk.file);
    report_stop(&report);
    report.bytes = bulk.bytes;
    report_print(&report, NULL, 0);

    curl_easy_cleanup(bulk.easy);
    loop_destroy(&loop);
    free_urls(work, urls);
    curl_slist_free_all(no_expect);
}
