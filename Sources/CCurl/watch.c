#define _GNU_SOURCE
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>

#include "CCurl.h"

static sem_t awake;
static pthread_once_t awake_once = PTHREAD_ONCE_INIT;

static void make_awake(void) { sem_init(&awake, 0, 0); }

void ccurl_watchdog_wake(void) {
  pthread_once(&awake_once, make_awake);
  sem_post(&awake);
}

void ccurl_watchdog_sleep(void) {
  pthread_once(&awake_once, make_awake);
  while (sem_wait(&awake) != 0 && errno == EINTR) {
  }
}

int32_t ccurl_thread_cpu_clock(void) {
  clockid_t clock;
  return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (int32_t)clock : (int32_t)CLOCK_THREAD_CPUTIME_ID;
}

uint64_t ccurl_clock_ns(int32_t clock) {
  struct timespec time;
  if (clock_gettime((clockid_t)clock, &time) != 0) return 0;
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int64_t ccurl_socket_received(int fd) {
  struct tcp_info info;
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
  if (size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received)) return -1;
  return (int64_t)info.tcpi_bytes_received;
}

void ccurl_socket_shut_down(int fd) { shutdown(fd, SHUT_RDWR); }
