#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "CCurl.h"
#include "lookup.h"

// The part of libpsl's ABI that this file uses, which has not changed since 0.1.
static int (*is_public_suffix)(const void *, const char *);
static const void *list;

static void find_list(void) {
  static const char name[] = "psl_is_public_suffix";
  // First the library that libcurl has loaded, under any name; then the library under its usual name, loaded separately or from the system.
  void *handle = ccurl_library_of_curl();
  if (dlsym(handle, name) == NULL && (handle = ccurl_system_library("libpsl.so.5")) == NULL) return;
  void *(*latest)(const char *) = (void *(*)(const char *))dlsym(handle, "psl_latest");
  const void *(*builtin)(void) = (const void *(*)(void))dlsym(handle, "psl_builtin");
  is_public_suffix = (int (*)(const void *, const char *))dlsym(handle, name);
  // The newer list is used: the system's or the one inside the library.
  if (latest != NULL) list = latest(NULL);
  if (list == NULL && builtin != NULL) list = builtin();
}

int ccurl_suffix_is_public(const char *domain) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_list);
  if (list == NULL || is_public_suffix == NULL) return -1;
  return is_public_suffix(list, domain) != 0;
}
