// Memory for libcurl on engine threads: a cache of free blocks for each thread.
//
// libcurl allocates and frees dozens of blocks for a handshake, and for a request over HTTP/3. With many in flight, more blocks of a size
// are free at once than glibc keeps for a thread (seven), and glibc's slow paths for the others cost much. The blocks come from malloc and
// may be freed with free, so that nothing breaks where a program passes libcurl's memory to free.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "CCurl.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DETECTS_USE_AFTER_FREE 1
#endif
#endif

// Small blocks: class k has blocks of at least 16 k + 8 bytes, which are the sizes of glibc's chunks.
#define SMALL_CLASSES 64
#define SMALL_LIMIT ((SMALL_CLASSES - 1) * 16 + 8)
#define SMALL_TOTAL ((size_t)512 << 10)
// Large blocks, the buffers of transfers: four classes for each power of two from 1 KiB to 64 KiB.
#define LARGE_CLASSES 25
#define LARGE_MINIMUM 1024
#define LARGE_LIMIT ((size_t)64 << 10)
#define LARGE_TOTAL ((size_t)2 << 20)

struct free_block {
  struct free_block *next;
};

struct cache {
  struct free_block *small[SMALL_CLASSES];
  struct free_block *large[LARGE_CLASSES];
  size_t small_bytes, large_bytes;
};

static _Thread_local struct cache *cache __attribute__((tls_model("initial-exec"))) = NULL;

static inline size_t small_size(size_t index) { return index * 16 + 8; }

// Returns the first small class whose blocks have room for `size` bytes.
static inline size_t small_class(size_t size) { return size <= 24 ? 1 : (size + 7) >> 4; }

// Returns the size of a large class: 1024, 1280, 1536, 1792, 2048, 2560 …
static inline size_t large_size(size_t index) { return (4 + (index & 3)) << (8 + (index >> 2)); }

// Returns the last large class whose size is at most `size`, which is at least 1 KiB.
static inline size_t large_class(size_t size) {
  size_t power = (size_t)(63 - __builtin_clzll(size));
  return ((power - 10) << 2) + ((size >> (power - 2)) & 3);
}

static __attribute__((noinline)) void *malloc_large(struct cache *own, size_t size) {
  if (size > LARGE_LIMIT) return malloc(size);
  if (size < LARGE_MINIMUM) size = LARGE_MINIMUM;
  size_t index = large_class(size);
  if (large_size(index) < size) index++;
  struct free_block *block = own->large[index];
  if (block == NULL) return malloc(large_size(index));
  own->large[index] = block->next;
  own->large_bytes -= large_size(index);
  return block;
}

static __attribute__((noinline)) void free_large(struct cache *own, void *pointer, size_t size) {
  size_t index = large_class(size);
  if (index >= LARGE_CLASSES || own->large_bytes + large_size(index) > LARGE_TOTAL) return free(pointer);
  struct free_block *block = pointer;
  block->next = own->large[index];
  own->large[index] = block;
  own->large_bytes += large_size(index);
}

static void *cached_malloc(size_t size) {
  struct cache *own = cache;
  if (own == NULL) return malloc(size);
  if (size > SMALL_LIMIT) return malloc_large(own, size);
  size_t index = small_class(size);
  struct free_block *block = own->small[index];
  if (block == NULL) return malloc(small_size(index));
  own->small[index] = block->next;
  own->small_bytes -= small_size(index);
  return block;
}

static void cached_free(void *pointer) {
  if (pointer == NULL) return;
  struct cache *own = cache;
  if (own == NULL) return free(pointer);
  size_t size = malloc_usable_size(pointer);
  if (size >= LARGE_MINIMUM) return free_large(own, pointer, size);
  size_t index = (size - 8) >> 4;
  if (size < small_size(1) || own->small_bytes > SMALL_TOTAL) return free(pointer);
  struct free_block *block = pointer;
  block->next = own->small[index];
  own->small[index] = block;
  own->small_bytes += small_size(index);
}

static void *cached_calloc(size_t count, size_t size) {
  size_t total;
  if (cache == NULL || __builtin_mul_overflow(count, size, &total) || total > LARGE_LIMIT) return calloc(count, size);
  void *block = cached_malloc(total);
  return block == NULL ? NULL : memset(block, 0, total);
}

static void *cached_realloc(void *pointer, size_t size) {
  if (pointer == NULL) return cached_malloc(size);
  if (cache == NULL || size > LARGE_LIMIT) return realloc(pointer, size);
  // A block that grew in malloc would leave its class, and the class would never have a block again.
  size_t old_size = malloc_usable_size(pointer);
  if (size <= old_size && size > old_size / 2) return pointer;
  void *block = cached_malloc(size);
  if (block == NULL) return NULL;
  memcpy(block, pointer, size < old_size ? size : old_size);
  cached_free(pointer);
  return block;
}

static char *cached_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  void *block = cached_malloc(size);
  return block == NULL ? NULL : memcpy(block, text, size);
}

static void free_all(struct free_block *block) {
  while (block != NULL) {
    struct free_block *next = block->next;
    free(block);
    block = next;
  }
}

CURLcode ccurl_global_init(void) {
#ifdef DETECTS_USE_AFTER_FREE
  return curl_global_init(CURL_GLOBAL_ALL);
#else
  return curl_global_init_mem(CURL_GLOBAL_ALL, cached_malloc, cached_free, cached_realloc, cached_strdup, cached_calloc);
#endif
}

void ccurl_memory_begin(void) {
  if (cache == NULL) cache = calloc(1, sizeof(*cache));
}

void ccurl_memory_drain(void) {
  struct cache *own = cache;
  if (own == NULL || own->small_bytes + own->large_bytes == 0) return;
  for (size_t index = 0; index < SMALL_CLASSES; index++) free_all(own->small[index]);
  for (size_t index = 0; index < LARGE_CLASSES; index++) free_all(own->large[index]);
  memset(own, 0, sizeof(*own));
}

void ccurl_memory_end(void) {
  ccurl_memory_drain();
  free(cache);
  cache = NULL;
}

void *ccurl_memory_resize(void *block, size_t size) { return cached_realloc(block, size); }

void ccurl_memory_free(void *block) { cached_free(block); }
