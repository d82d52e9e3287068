#include "CCurl.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if __has_feature(thread_sanitizer)

void __tsan_acquire(void *address);
__attribute__((swiftcall)) void *swift_task_getCurrent(void);

const bool ccurl_has_thread_sanitizer = true;

void ccurl_sanitizer_acquire_task(void) {
  void *task = swift_task_getCurrent();
  if (task != NULL) __tsan_acquire(task);
}

#else

const bool ccurl_has_thread_sanitizer = false;

void ccurl_sanitizer_acquire_task(void) {}

#endif
