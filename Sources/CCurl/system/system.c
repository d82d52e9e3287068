#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "CCurl.h"

int ccurl_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

bool ccurl_epoll_watch(int epoll, int fd, uint32_t generation, uint32_t interest) {
  struct epoll_event event = {.events = 0, .data.u64 = ((uint64_t)generation << 32) | (uint32_t)fd};
  if (interest == 0) {
    (void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);  // ENOENT, EBADF: the socket is already forgotten
    return true;
  }
  if (interest & CCURL_READ) event.events |= EPOLLIN;
  if (interest & CCURL_WRITE) event.events |= EPOLLOUT;
  if (interest & CCURL_ONCE) event.events |= EPOLLET;
  // The system reuses descriptors, so either of the two calls may be the right one.
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0) return true;
  return errno == EEXIST && epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0;
}

int ccurl_epoll_wait(int epoll, struct ccurl_ready *ready, int64_t timeout_ns) {
  struct epoll_event events[CCURL_READY_CAPACITY];
  int timeout_ms = -1;
  // The timeout is rounded up: waking too early would make the loop spin until the deadline.
  if (timeout_ns >= 0) timeout_ms = timeout_ns > 3600000000000 ? 3600000 : (int)((timeout_ns + 999999) / 1000000);
  int count = epoll_wait(epoll, events, CCURL_READY_CAPACITY, timeout_ms);
  for (int index = 0; index < count; index++) {
    ready[index].fd = (int32_t)(uint32_t)events[index].data.u64;
    ready[index].generation = (uint32_t)(events[index].data.u64 >> 32);
    uint32_t bits = events[index].events, what = 0;
    // A hang-up is reported as readable, because a read finds the end of file. A failure is reported as readable and writable too, because
    // libcurl drops unread data if only the failure is reported.
    if (bits & (EPOLLIN | EPOLLHUP | EPOLLERR)) what |= CCURL_READ;
    if (bits & (EPOLLOUT | EPOLLERR)) what |= CCURL_WRITE;
    if (bits & EPOLLERR) what |= CCURL_FAILED;
    ready[index].events = what;
  }
  return count < 0 ? 0 : count;
}

int ccurl_eventfd_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void ccurl_eventfd_signal(int fd) {
  uint64_t one = 1;
  ssize_t written = write(fd, &one, sizeof(one));
  (void)written;  // EAGAIN: the counter is full, after more signals than any process sends
}

enum ccurl_wait ccurl_socket_wait(int fd, int64_t awake_ns, int64_t asleep_ns) {
  struct pollfd descriptor = {.fd = fd, .events = POLLIN | POLLRDHUP};
  if (awake_ns > 0) {
    struct timespec none = {0};
    uint64_t end = ccurl_monotonic_ns() + (uint64_t)awake_ns;
    do {
      int count = ppoll(&descriptor, 1, &none, NULL);
      if (count != 0) return count == 1 && descriptor.revents == POLLIN ? CCURL_WAIT_AWAKE : CCURL_WAIT_IN_VAIN;
    } while (ccurl_monotonic_ns() < end);
  }
  struct timespec timeout = {.tv_sec = asleep_ns / 1000000000, .tv_nsec = asleep_ns % 1000000000};
  bool is_ready = ppoll(&descriptor, 1, &timeout, NULL) == 1 && descriptor.revents == POLLIN;
  return is_ready ? CCURL_WAIT_ASLEEP : CCURL_WAIT_IN_VAIN;
}

struct ccurl_bytes ccurl_socket_receive(int fd, int flags) {
  char buffer[CCURL_LARGEST_RECEIVE];
  struct ccurl_bytes bytes = {0};
  ssize_t count = recv(fd, buffer, sizeof(buffer), flags);
  if (count <= 0) return bytes;
  bytes.count = (size_t)count;
  bytes.start = malloc(bytes.count);
  if (bytes.start != NULL) memcpy(bytes.start, buffer, bytes.count);
  return bytes;
}

uint64_t ccurl_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

ptrdiff_t ccurl_read_cached(int fd, void *buffer, size_t count, int64_t offset) {
  struct iovec room = {.iov_base = buffer, .iov_len = count};
  ssize_t got;
  do got = preadv2(fd, &room, 1, offset, RWF_NOWAIT);
  while (got < 0 && errno == EINTR);
  return got < 0 && errno == EAGAIN ? 0 : got;
}

ptrdiff_t ccurl_socket_send_file(int socket, int file, int64_t offset, size_t count) {
  // sendfile has no MSG_NOSIGNAL.
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  off_t position = offset;
  ssize_t sent;
  do sent = sendfile(socket, file, &position, count);
  while (sent < 0 && errno == EINTR);
  int error = errno;
  if (sent < 0 && error == EPIPE && !sigismember(&before, SIGPIPE)) {
    struct timespec now = {0};
    (void)sigtimedwait(&pipe, NULL, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return sent;
}

int ccurl_rename_new(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

void *ccurl_mutex_create(void) {
  pthread_mutex_t *mutex = malloc(sizeof(pthread_mutex_t));
  if (mutex == NULL) abort();
  // A thread that finds the mutex locked spins for a moment before it sleeps, because every critical section is short.
  *mutex = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  return mutex;
}

void ccurl_mutex_destroy(void *mutex) {
  pthread_mutex_destroy(mutex);
  free(mutex);
}

void ccurl_mutex_lock(void *mutex) { pthread_mutex_lock(mutex); }

void ccurl_mutex_unlock(void *mutex) { pthread_mutex_unlock(mutex); }

struct thread_start {
  char name[16];
  void (*body)(void *);
  void *context;
};

static void *thread_main(void *argument) {
  struct thread_start start = *(struct thread_start *)argument;
  free(argument);
  pthread_setname_np(pthread_self(), start.name);
  start.body(start.context);
  return NULL;
}

int ccurl_thread_start(const char *name, void (*body)(void *), void *context) {
  struct thread_start *start = calloc(1, sizeof(*start));
  if (start == NULL) return ENOMEM;
  strncpy(start->name, name, sizeof(start->name) - 1);
  start->body = body;
  start->context = context;
  // Threads inherit the signal mask, so that neither this thread nor one that it starts handles a signal of the program.
  // The signals of a crash are not blocked: the system would end the process without the handler that reports the crash.
  static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (size_t index = 0; index < sizeof(crashes) / sizeof(*crashes); index++) sigdelset(&blocked, crashes[index]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int code = pthread_create(&thread, &attributes, thread_main, start);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (code != 0) free(start);
  return code;
}

void *ccurl_semaphore_create(void) {
  sem_t *semaphore = malloc(sizeof(sem_t));
  if (semaphore == NULL || sem_init(semaphore, 0, 0) != 0) abort();
  return semaphore;
}

void ccurl_semaphore_destroy(void *semaphore) {
  sem_destroy(semaphore);
  free(semaphore);
}

void ccurl_semaphore_post(void *semaphore) { sem_post(semaphore); }

bool ccurl_semaphore_wait(void *semaphore, unsigned milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += milliseconds / 1000;
  end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (end.tv_nsec >= 1000000000) {
    end.tv_sec += 1;
    end.tv_nsec -= 1000000000;
  }
  int code;
  do {
    code = sem_timedwait(semaphore, &end);
  } while (code != 0 && errno == EINTR);
  return code == 0;
}

static _Thread_local const void *thread_tag = NULL;

const void *ccurl_thread_tag(void) { return thread_tag; }

void ccurl_thread_set_tag(const void *tag) { thread_tag = tag; }

static _Thread_local bool thread_may_wait = false;

bool ccurl_thread_may_wait(void) { return thread_may_wait; }

void ccurl_thread_set_may_wait(bool may_wait) { thread_may_wait = may_wait; }

void ccurl_thread_yield(void) { sched_yield(); }

void ccurl_thread_sleep_ms(unsigned milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  nanosleep(&time, NULL);
}

bool ccurl_socket_is_open(int fd) {
  char byte;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

int ccurl_socket_open(const struct curl_sockaddr *address, unsigned int sending_limit) {
  int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  bool is_tcp = (address->socktype & ~SOCK_NONBLOCK) == SOCK_STREAM && (address->family == AF_INET || address->family == AF_INET6);
  if (fd < 0 || !is_tcp) return fd;
  // A system that lacks one of these options has other limits.
  int on = 1, first = 60, interval = 15, count = 4;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof(first));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &sending_limit, sizeof(sending_limit));
  return fd;
}

int ccurl_socket_open_unix(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

size_t ccurl_address_read(const struct curl_sockaddr *address, uint8_t *bytes, uint16_t *port) {
  // The address is longer than its declared type.
  const char *start = (const char *)address + offsetof(struct curl_sockaddr, addr);
  if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
    struct sockaddr_in ipv4;
    memcpy(&ipv4, start, sizeof(ipv4));
    *port = ntohs(ipv4.sin_port);
    memcpy(bytes, &ipv4.sin_addr, 4);
    return 4;
  }
  if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
    struct sockaddr_in6 ipv6;
    memcpy(&ipv6, start, sizeof(ipv6));
    *port = ntohs(ipv6.sin6_port);
    memcpy(bytes, &ipv6.sin6_addr, 16);
    return 16;
  }
  return 0;
}

int ccurl_memory_file(void) { return memfd_create("trellis", MFD_CLOEXEC); }

bool ccurl_random(void *bytes, size_t count) {
  ssize_t got;
  do got = getrandom(bytes, count, 0);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)count;
}
