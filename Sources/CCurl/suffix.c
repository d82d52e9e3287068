#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "CCurl.h"

// The part of libpsl's ABI that this file uses, which has not changed since 0.1.
static int (*is_public_suffix)(const void *, const char *);
static const void *list;

static void find_list(void) {
  static const char soname[] = "libpsl.so.5";
  void *handle = RTLD_DEFAULT;
  // First the library that libcurl has loaded, under any name; then the library under its usual name, loaded separately or from the system.
  if (dlsym(handle, "psl_is_public_suffix") == NULL) handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == NULL && (handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL)) == NULL) return;
  void *(*latest)(const char *) = (void *(*)(const char *))dlsym(handle, "psl_latest");
  const void *(*builtin)(void) = (const void *(*)(void))dlsym(handle, "psl_builtin");
  is_public_suffix = (int (*)(const void *, const char *))dlsym(handle, "psl_is_public_suffix");
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
