#define _GNU_SOURCE
#include "lookup.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>

static void *library_of_curl;

static void open_library(void) {
  Dl_info info;
  bool is_known = dladdr((void *)curl_easy_init, &info) != 0 && info.dli_fname != NULL;
  if (is_known) library_of_curl = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  // A libcurl inside the program uses what the program has loaded.
  if (library_of_curl == NULL) library_of_curl = dlopen(NULL, RTLD_NOW);
}

void *ccurl_library_of_curl(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return library_of_curl;
}

bool ccurl_find_functions(void *library, const char *const *names, void *functions, size_t count) {
  if (library == NULL) return false;
  void **found = functions;
  for (size_t index = 0; index < count; index++) {
    found[index] = dlsym(library, names[index]);
    if (found[index] == NULL) return false;
  }
  return true;
}

bool ccurl_find_functions_together(void *library, const char *const *names, void *functions, size_t count) {
  if (!ccurl_find_functions(library, names, functions, count)) return false;
  void **found = functions, *base = NULL;
  for (size_t index = 0; index < count; index++) {
    Dl_info info;
    if (dladdr(found[index], &info) == 0 || (base != NULL && info.dli_fbase != base)) return false;
    base = info.dli_fbase;
  }
  return true;
}

void *ccurl_system_library(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return library != NULL ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
