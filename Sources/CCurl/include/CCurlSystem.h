// System calls whose C types Swift cannot import well, threads, sockets and the network of the machine.
#ifndef TRELLIS_CCURL_SYSTEM_H
#define TRELLIS_CCURL_SYSTEM_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Wrappers of epoll, level-triggered unless CCURL_ONCE is wanted, with plain arguments.
#define CCURL_READ 1u
#define CCURL_WRITE 2u
#define CCURL_FAILED 4u
#define CCURL_ONCE 8u  // each event is reported once
#define CCURL_READY_CAPACITY 256
struct ccurl_ready {
  int32_t fd;
  uint32_t generation;
  uint32_t events;  // CCURL_READ | CCURL_WRITE | CCURL_FAILED
};
int ccurl_epoll_create(void);
// Watches `fd` for CCURL_READ | CCURL_WRITE | CCURL_ONCE; 0 stops watching `fd`. Returns whether the kernel accepted the change.
bool ccurl_epoll_watch(int epoll, int fd, uint32_t generation, uint32_t interest);
// Fills at most CCURL_READY_CAPACITY entries. Returns their number; 0 if the time (negative: no limit) is over.
int ccurl_epoll_wait(int epoll, struct ccurl_ready *_Nonnull ready, int64_t timeout_ns);
int ccurl_eventfd_create(void);
void ccurl_eventfd_signal(int fd);
uint64_t ccurl_monotonic_ns(void);
// The result of a wait for the bytes of a socket.
enum ccurl_wait {
  // There are none in time, or the socket has an end or an error.
  CCURL_WAIT_IN_VAIN,
  // The thread did not sleep.
  CCURL_WAIT_AWAKE,
  CCURL_WAIT_ASLEEP,
};

// Waits until a socket has bytes. The thread asks for them again and again at first, because going to sleep and being woken takes longer
// than a short wait, and sleeps for the rest of the time.
enum ccurl_wait ccurl_socket_wait(int fd, int64_t awake_ns, int64_t asleep_ns);

// The most bytes of one ccurl_socket_receive().
#define CCURL_LARGEST_RECEIVE 8192

// Bytes in a block of memory of their size, which the owner releases with free().
struct ccurl_bytes {
  void *_Nullable start;
  size_t count;
};

// Receives few bytes, without waiting. Returns none if there are none, or if the socket has an end or an error. If memory has run out, the
// received bytes are lost, and only their number is returned.
struct ccurl_bytes ccurl_socket_receive(int fd, int flags);

// Reads the part of a file that is in the page cache, and never waits for a disk. Returns the number of bytes; 0 if none are cached at
// present or the file ends; -1 if the file system or the kernel does not support the call, or if the read failed.
ptrdiff_t ccurl_read_cached(int fd, void *_Nonnull buffer, size_t count, int64_t offset);

// Sends bytes of a file on a socket that does not wait, without a copy and without SIGPIPE; may wait for a disk. Returns the number of
// bytes, 0 at the end of the file, or -1 with an errno.
ptrdiff_t ccurl_socket_send_file(int socket, int file, int64_t offset, size_t count);

// Renames a file if the new name does not exist. Returns 0 or an errno: EEXIST if it exists; EINVAL if the file system does not support
// this.
int ccurl_rename_new(const char *_Nonnull from, const char *_Nonnull to);

// Creates a file in memory. Returns its descriptor; -1 if the system has none left.
int ccurl_memory_file(void);

// A mutex that the thread sanitizer can see.
void *_Nonnull ccurl_mutex_create(void);
void ccurl_mutex_destroy(void *_Nonnull mutex);
void ccurl_mutex_lock(void *_Nonnull mutex);
void ccurl_mutex_unlock(void *_Nonnull mutex);

// Indicates whether this module was built with the thread sanitizer.
extern const bool ccurl_has_thread_sanitizer;
// Tells the thread sanitizer that everything before the last resumption of the calling task happened before what follows. The Swift runtime
// marks a resumption as a release of the task. Does nothing without the sanitizer.
void ccurl_sanitizer_acquire_task(void);

// A semaphore with the initial value zero. The wait returns whether the semaphore was posted in time.
void *_Nonnull ccurl_semaphore_create(void);
void ccurl_semaphore_destroy(void *_Nonnull semaphore);
void ccurl_semaphore_post(void *_Nonnull semaphore);
bool ccurl_semaphore_wait(void *_Nonnull semaphore, unsigned milliseconds);

// Starts a detached thread with all signals blocked and the given name (at most 15 bytes are kept). Returns 0 or an errno.
int ccurl_thread_start(const char *_Nonnull name, void (*_Nonnull body)(void *_Nullable), void *_Nullable context);
// A thread-local pointer, initially NULL.
const void *_Nullable ccurl_thread_tag(void);
void ccurl_thread_set_tag(const void *_Nullable tag);
// A thread-local mark of the threads whose work may wait for a disk, initially false.
bool ccurl_thread_may_wait(void);
void ccurl_thread_set_may_wait(bool may_wait);
void ccurl_thread_yield(void);
void ccurl_thread_sleep_ms(unsigned milliseconds);

// Returns whether the connection was ended neither by the peer nor by a failure.
bool ccurl_socket_is_open(int fd);
// Suspends the calling thread until the next wake-up. A wake-up that arrives before ends the sleep at once. Only one thread may sleep here.
void ccurl_watchdog_sleep(void);
void ccurl_watchdog_wake(void);
// Returns a clock for the processor time of the calling thread that other threads can read.
int32_t ccurl_thread_cpu_clock(void);
// Returns the time of a clock in nanoseconds; 0 if its thread has ended.
uint64_t ccurl_clock_ns(int32_t clock);
// Returns whether the process's first thread may run on a processor; true if the system does not report it.
bool ccurl_may_run_on(int32_t processor);
// Returns whether the calling thread has a low priority (a positive niceness).
bool ccurl_has_low_priority(void);
// Returns the number of bytes that were read from a TCP socket; -1 if the system does not report it. The difference between a count at the
// start of a period and one at its end is never greater than the number of bytes that were read.
int64_t ccurl_socket_read(int fd, bool is_start);
// Returns the number of bytes that were written to a TCP socket; -1 if the system does not report it.
int64_t ccurl_socket_written(int fd);
// Returns the number of sent bytes that the peer's system has acknowledged on a TCP socket; -1 if the system does not report it.
int64_t ccurl_socket_acknowledged(int fd);
// Sets the number of bytes that a TCP socket takes before the system can send them.
void ccurl_socket_limit_unsent(int fd, int count);
// Returns the local port of a connection; 0 if it has none.
int32_t ccurl_socket_port(int fd);
// Ends a connection in both directions. The descriptor stays open.
void ccurl_socket_shut_down(int fd);
// Writes the local address of a socket to 16 bytes, in network order. Returns its length: 4, 16, or 0 if the socket has none.
int ccurl_socket_address(int fd, uint8_t *_Nonnull bytes);

// Opens a netlink route socket (rtnetlink(7)), which needs no rights, for the network namespace of the calling thread. The kernel notifies
// the socket of changes: of the machine's links and addresses, or of its links, addresses and routes. `buffer_size` limits what it stores;
// 0 is the system's size. Returns -1 if there is no such socket.
int ccurl_route_open(bool follows_addresses, bool follows_all, int buffer_size);
// Requests all links (RTM_GETLINK), addresses (RTM_GETADDR) or routes (RTM_GETROUTE).
bool ccurl_route_request(int fd, uint16_t type, uint32_t sequence);
#define CCURL_ROUTE_OVERRUN -1  // messages were lost
#define CCURL_ROUTE_FAILED -2
// Reads some messages of the kernel; `waits` is for replies to a request. Returns their size in bytes, 0 if there are none, or an error.
ptrdiff_t ccurl_route_receive(int fd, void *_Nonnull buffer, size_t size, bool waits);

// Opens a socket that closes on exec. Over TCP, the system ends the connection if its peer has answered nothing for about two minutes, and
// if it has not taken sent bytes for `sending_limit` milliseconds (0: the system's own limit, a quarter of an hour).
int ccurl_socket_open(const struct curl_sockaddr *_Nonnull address, unsigned int sending_limit);
// Opens such a socket for TCP that does not block and sends each write at once, and begins to connect it with an address of 4 or 16 bytes
// in network order. A `source` is an address of this machine from which the connection is made, and `interface` the name of an interface
// for it. With port 0 the socket is not connected yet. Returns the socket, or a negative errno; `is_source` is then whether the source or
// the interface is the reason.
int ccurl_tcp_connect(const uint8_t *_Nonnull bytes, size_t length, uint32_t scope, uint16_t port,
                      const uint8_t *_Nullable source, size_t source_length, const char *_Nullable interface,
                      unsigned int sending_limit, bool *_Nonnull is_source);
// Opens a socket of the Unix domain that closes on exec and does not block, and connects it to a path or to a name in the abstract
// namespace. Returns the socket, or a negative errno: EAGAIN if the server has accepted too few connections yet.
int ccurl_unix_connect(const char *_Nonnull name, bool is_abstract);
// Returns the error of a socket, and clears it; 0 if there is none.
int ccurl_socket_error(int fd);
// Returns whether a connection has no bytes to read, no error and no end.
bool ccurl_socket_is_quiet(int fd);
// Opens a socket of the Unix domain that closes on exec and does not block.
int ccurl_socket_open_unix(void);
// Reads the bytes of an IP address in network order, into a buffer of 16 bytes, and its port. Returns the number of bytes; 0 for an
// address of another family.
size_t ccurl_address_read(
    const struct curl_sockaddr *_Nonnull address, uint8_t *_Nonnull bytes, uint16_t *_Nonnull port);

// Fills a buffer with at most 256 random bytes from the system's secure source (getrandom(2)). Returns false if there is no such source.
bool ccurl_random(void *_Nonnull bytes, size_t count);


#endif
