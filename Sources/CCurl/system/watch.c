#define _GNU_SOURCE
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

bool ccurl_may_run_on(int32_t processor) {
  cpu_set_t set;
  // The set holds the first 1,024 processors. The system refuses it where there are more.
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(getpid(), sizeof set, &set) != 0) return true;
  return CPU_ISSET(processor, &set);
}

bool ccurl_has_low_priority(void) { return getpriority(PRIO_PROCESS, 0) > 0; }

// Reads the number of bytes that were received on a socket, and the number of sent bytes that its peer has acknowledged.
static bool count(int fd, int64_t *received, int64_t *acknowledged) {
  struct tcp_info info;
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  if (size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received)) return false;
  *received = (int64_t)info.tcpi_bytes_received;
  *acknowledged = (int64_t)info.tcpi_bytes_acked;
  return true;
}

int64_t ccurl_socket_read(int fd, bool is_start) {
  int before = 0, after = 0;
  int64_t received, acknowledged;
  if (ioctl(fd, SIOCINQ, &before) != 0 || !count(fd, &received, &acknowledged)) return -1;
  if (ioctl(fd, SIOCINQ, &after) != 0) return -1;
  // Bytes that arrive between the calls count as read at the start, and as unread later.
  return received - (is_start ? before : after);
}

int64_t ccurl_socket_written(int fd) {
  // An acknowledgement between the calls would make the sum wrong, so the calls are repeated.
  for (int attempt = 0; attempt < 8; attempt++) {
    int before = 0, after = 0;
    int64_t received, acknowledged;
    if (ioctl(fd, SIOCOUTQ, &before) != 0 || !count(fd, &received, &acknowledged)) return -1;
    if (ioctl(fd, SIOCOUTQ, &after) != 0) return -1;
    if (before == after) return acknowledged + after;
  }
  return -1;
}

int64_t ccurl_socket_acknowledged(int fd) {
  int64_t received, acknowledged;
  return count(fd, &received, &acknowledged) ? acknowledged : -1;
}

void ccurl_socket_limit_unsent(int fd, int count) {
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &count, sizeof(count));
}

int32_t ccurl_socket_port(int fd) {
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return 0;
}

void ccurl_socket_shut_down(int fd) { shutdown(fd, SHUT_RDWR); }
