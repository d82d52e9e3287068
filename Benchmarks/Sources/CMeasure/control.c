#include "control.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *step) {
    perror(step);
    exit(1);
}

int control_ask(int port, const char *question) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("control socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("control connect");
    char request[256];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: control\r\n\r\n", question);
    if (write(fd, request, (size_t)length) != length) fail("control write");
    return fd;
}

uint64_t control_answer(int fd) {
    char answer[512];
    size_t length = 0;
    const char *body = NULL;
    while (body == NULL || strchr(body, '\n') == NULL) {
        ssize_t count = read(fd, answer + length, sizeof answer - 1 - length);
        if (count <= 0) fail("control read");
        length += (size_t)count;
        answer[length] = 0;
        body = strstr(answer, "\r\n\r\n");
        if (body != NULL) body += 4;
    }
    close(fd);
    return strtoull(body, NULL, 10);
}

struct background_question {
    int fd;
    void *context;
    void (*answered)(void *context, uint64_t answer);
};

static void *wait_for_answer(void *argument) {
    struct background_question question = *(struct background_question *)argument;
    free(argument);
    question.answered(question.context, control_answer(question.fd));
    return NULL;
}

void control_ask_in_background(int port, const char *path, void *context,
                               void (*answered)(void *context, uint64_t answer)) {
    struct background_question *question = malloc(sizeof *question);
    *question = (struct background_question){control_ask(port, path), context, answered};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_answer, question) != 0) fail("control thread");
    pthread_detach(thread);
}
