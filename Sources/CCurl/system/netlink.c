#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "CCurl.h"

int ccurl_route_open(bool follows_addresses, bool follows_all, int buffer_size) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK};
  if (follows_addresses || follows_all) address.nl_groups |= RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (follows_all) address.nl_groups |= RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  // The kernel answers at once; the limit is for a kernel that does not.
  struct timeval limit = {.tv_sec = 1};
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (buffer_size > 0) (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof(buffer_size));
  if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

bool ccurl_route_request(int fd, uint16_t type, uint32_t sequence) {
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;  // the longest of the kernel's three requests, which all begin with a family: 0 means every one
    struct rtattr attribute;
    uint32_t mask;
  } request;
  memset(&request, 0, sizeof(request));
  request.header.nlmsg_len = sizeof(request.header) + sizeof(request.link);
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = sequence;
  if (type == RTM_GETLINK) {
    request.attribute.rta_len = RTA_LENGTH(sizeof(request.mask));
    request.attribute.rta_type = IFLA_EXT_MASK;
    request.mask = RTEXT_FILTER_SKIP_STATS;
    request.header.nlmsg_len = sizeof(request);
  } else {
    size_t size = type == RTM_GETADDR ? sizeof(struct ifaddrmsg) : sizeof(struct rtmsg);
    request.header.nlmsg_len = (uint32_t)(sizeof(request.header) + size);
  }
  ssize_t sent;
  do sent = send(fd, &request, request.header.nlmsg_len, 0);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)request.header.nlmsg_len;
}

ptrdiff_t ccurl_route_receive(int fd, void *buffer, size_t size, bool waits) {
  for (;;) {
    struct sockaddr_nl sender = {.nl_family = AF_UNSPEC};
    struct iovec room = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof(sender), .msg_iov = &room, .msg_iovlen = 1};
    ssize_t got = recvmsg(fd, &message, waits ? 0 : MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (got < 0) return errno == ENOBUFS ? CCURL_ROUTE_OVERRUN : CCURL_ROUTE_FAILED;
    if (got == 0) return CCURL_ROUTE_FAILED;
    // Only the kernel has the port 0.
    if (sender.nl_family != AF_NETLINK || sender.nl_pid != 0) continue;
    return message.msg_flags & MSG_TRUNC ? CCURL_ROUTE_OVERRUN : got;
  }
}

int ccurl_socket_address(int fd, uint8_t *bytes) {
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) {
    memcpy(bytes, &((struct sockaddr_in *)&address)->sin_addr, 4);
    return 4;
  }
  if (address.ss_family != AF_INET6) return 0;
  memcpy(bytes, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
  return 16;
}
