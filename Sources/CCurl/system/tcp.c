#define _GNU_SOURCE
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "CCurl.h"

// Fills a socket address. Returns its size; 0 for an address of another length.
static socklen_t fill(struct sockaddr_storage *address, const uint8_t *bytes, size_t length, uint32_t scope,
                      uint16_t port) {
  memset(address, 0, sizeof(*address));
  if (length == 4) {
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(port);
    memcpy(&ipv4->sin_addr, bytes, 4);
    return sizeof(*ipv4);
  }
  if (length != 16) return 0;
  struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;
  ipv6->sin6_family = AF_INET6;
  ipv6->sin6_port = htons(port);
  ipv6->sin6_scope_id = scope;
  memcpy(&ipv6->sin6_addr, bytes, 16);
  return sizeof(*ipv6);
}

// Binds a socket to an interface. A kernel before 5.7 allows that to few: the socket then gets an address of the interface, of the same
// family as the peer, and of a link if the peer's is. Returns an errno.
static int bind_to_interface(int fd, const char *name, int family, uint32_t scope) {
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, strlen(name)) == 0) return 0;
  struct ifaddrs *list;
  if (errno != EPERM || getifaddrs(&list) != 0) return errno;
  int error = if_nametoindex(name) == 0 ? ENODEV : EADDRNOTAVAIL;
  for (struct ifaddrs *next = list; next != NULL; next = next->ifa_next) {
    if (next->ifa_addr == NULL || next->ifa_addr->sa_family != family || strcmp(next->ifa_name, name) != 0) continue;
    bool is_ipv6 = family == AF_INET6;
    if (is_ipv6 && (((struct sockaddr_in6 *)next->ifa_addr)->sin6_scope_id != 0) != (scope != 0)) continue;
    socklen_t size = is_ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    error = bind(fd, next->ifa_addr, size) == 0 ? 0 : errno;
    break;
  }
  freeifaddrs(list);
  return error;
}

int ccurl_tcp_connect(const uint8_t *bytes, size_t length, uint32_t scope, uint16_t port, const uint8_t *source,
                      size_t source_length, const char *interface, unsigned int sending_limit, bool *is_source) {
  struct sockaddr_storage address, local;
  *is_source = false;
  socklen_t size = fill(&address, bytes, length, scope, port);
  if (size == 0) return -EAFNOSUPPORT;
  struct curl_sockaddr kind = {
      .family = address.ss_family, .socktype = SOCK_STREAM | SOCK_NONBLOCK, .protocol = IPPROTO_TCP};
  int fd = ccurl_socket_open(&kind, sending_limit);
  if (fd < 0) return -errno;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  int error = 0;
  if (interface != NULL) {
    error = bind_to_interface(fd, interface, address.ss_family, scope);
    // Another address of the peer may be of a family that the interface has.
    *is_source = error != 0 && error != EADDRNOTAVAIL;
  } else if (source_length > 0) {
    socklen_t local_size = fill(&local, source, source_length, 0, 0);
    if (bind(fd, (struct sockaddr *)&local, local_size) != 0) error = errno;
    *is_source = error != 0;
  }
  if (error == 0) {
    if (port == 0 || connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS) return fd;
    error = errno;
  }
  close(fd);
  return -error;
}

int ccurl_unix_connect(const char *name, bool is_abstract) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length >= sizeof(address.sun_path)) return -ENAMETOOLONG;
  memcpy(address.sun_path + (is_abstract ? 1 : 0), name, length);
  int fd = ccurl_socket_open_unix();
  if (fd < 0) return -errno;
  // The name of a path ends in NUL, and a name in the abstract namespace begins with it.
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + length + 1;
  if (connect(fd, (struct sockaddr *)&address, size) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

int ccurl_socket_error(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool ccurl_socket_is_quiet(int fd) {
  char byte;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}
