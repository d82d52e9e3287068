#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CCurl.h"

// The part of libpacparser's ABI that this file uses, which has not changed since 1.3. The library has one script at a time, in global
// variables, so one thread at a time may call the functions of this file.
static struct {
  int (*init)(void);
  int (*parse)(const char *);
  char *(*find)(const char *, const char *);
  void (*cleanup)(void);
  void (*set_address)(const char *);
  void (*set_printer)(int (*)(const char *, va_list));
} library;

static char message[512];
static char known_address[INET6_ADDRSTRLEN];
static bool is_initialized;

// The library calls the function of a script by either of these names, depending on its version. Their replacement returns a text in every
// case: the library crashes on an object that cannot be converted to one. The first character is the kind of the result.
static const char wrapper[] =
    "FindProxyForURL = findProxyForURL = (function (find) {"
    "  return function (url, host) {"
    "    try {"
    "      if (!find) return '?';"
    "      var result = find(url, host);"
    "      if (result === null) return 's';"
    "      return typeof result == 'string' ? 's' + result : 't' + typeof result;"
    "    } catch (error) {"
    "      try { return 'e' + error; } catch (another) { return 'e'; }"
    "    }"
    "  };"
    "})(typeof FindProxyForURL == 'function' ? FindProxyForURL"
    "  : typeof FindProxyForURLEx == 'function' ? FindProxyForURLEx : null);";

// Keeps the first message of a call; the library would print it.
static int keep_message(const char *format, va_list arguments) {
  return message[0] != 0 ? 0 : vsnprintf(message, sizeof(message), format, arguments);
}

bool ccurl_pac_is_available(const char *soname) {
  if (library.init != NULL) return true;
  void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return false;
  *(void **)&library.parse = dlsym(handle, "pacparser_parse_pac_string");
  *(void **)&library.find = dlsym(handle, "pacparser_find_proxy");
  *(void **)&library.cleanup = dlsym(handle, "pacparser_cleanup");
  *(void **)&library.set_address = dlsym(handle, "pacparser_setmyip");
  *(void **)&library.set_printer = dlsym(handle, "pacparser_set_error_printer");
  if (library.parse == NULL || library.find == NULL || library.cleanup == NULL || library.set_address == NULL ||
      library.set_printer == NULL)
    return false;
  *(void **)&library.init = dlsym(handle, "pacparser_init");
  return library.init != NULL;
}

bool ccurl_pac_load(const char *script) {
  message[0] = known_address[0] = 0;
  if (is_initialized) library.cleanup();
  library.set_printer(keep_message);
  is_initialized = library.init() != 0;
  return is_initialized && library.parse(script) != 0 && library.parse(wrapper) != 0;
}

const char *ccurl_pac_message(void) { return message; }

// Finds the address from which packets leave this machine. No packet is sent: the address belongs to a connected, but unused, UDP socket.
static bool find_address(char *text, size_t capacity) {
  struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(53)};
  struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
  inet_pton(AF_INET, "192.0.2.1", &ipv4.sin_addr);
  inet_pton(AF_INET6, "2001:db8::1", &ipv6.sin6_addr);
  for (int version = 0; version < 2; version++) {
    int fd = socket(version == 0 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    struct sockaddr *address = version == 0 ? (struct sockaddr *)&ipv4 : (struct sockaddr *)&ipv6;
    socklen_t size = version == 0 ? sizeof(ipv4) : sizeof(ipv6);
    bool is_known = connect(fd, address, size) == 0 && getsockname(fd, address, &size) == 0;
    close(fd);
    const void *bytes = version == 0 ? (const void *)&ipv4.sin_addr : (const void *)&ipv6.sin6_addr;
    if (is_known) return inet_ntop(address->sa_family, bytes, text, (socklen_t)capacity) != NULL;
  }
  return false;
}

const char *ccurl_pac_find(const char *url, const char *host, const char *own_address) {
  char address[INET6_ADDRSTRLEN] = "127.0.0.1";
  if (own_address != NULL)
    snprintf(address, sizeof(address), "%s", own_address);
  else
    find_address(address, sizeof(address));
  // Without an address, the library would look up the name of this machine. It copies each address, and never frees the copy.
  if (strcmp(address, known_address) != 0) {
    library.set_address(address);
    strcpy(known_address, address);
  }
  message[0] = 0;
  return library.find(url, host);
}
