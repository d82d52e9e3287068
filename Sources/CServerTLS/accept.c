#define _GNU_SOURCE
#include <sys/socket.h>

#include "CServerTLS.h"

int ccurl_server_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }
