#define _GNU_SOURCE
#include <errno.h>
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

int ccurl_tcp_connect(const uint8_t *bytes, size_t length, uint32_t scope, uint16_t port, const uint8_t *source,
                      size_t source_length, unsigned int sending_limit, bool *is_source) {
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
  if (source_length > 0) {
    socklen_t local_size = fill(&local, source, source_length, 0, 0);
    *is_source = bind(fd, (struct sockaddr *)&local, local_size) != 0;
  }
  if (!*is_source && (connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS)) return fd;
  int error = errno;
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
