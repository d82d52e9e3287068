#include <stdlib.h>

#include "CCurl.h"

// More than the kinds of data that libcurl has: each has a lock of its own, because libcurl may lock one inside another.
enum { lock_count = 16 };

struct shared_cache {
  CURLSH *share;
  void *locks[lock_count];
};

static void lock(CURL *easy, curl_lock_data data, curl_lock_access access, void *context) {
  (void)easy;
  (void)access;
  struct shared_cache *cache = context;
  if ((unsigned)data < lock_count) ccurl_mutex_lock(cache->locks[data]);
}

static void unlock(CURL *easy, curl_lock_data data, void *context) {
  (void)easy;
  struct shared_cache *cache = context;
  if ((unsigned)data < lock_count) ccurl_mutex_unlock(cache->locks[data]);
}

void *ccurl_shared_cache_create(bool with_tls_sessions) {
  struct shared_cache *cache = calloc(1, sizeof(struct shared_cache));
  if (cache == NULL) return NULL;
  cache->share = curl_share_init();
  for (int index = 0; index < lock_count; index++) cache->locks[index] = ccurl_mutex_create();
  if (cache->share != NULL && curl_share_setopt(cache->share, CURLSHOPT_LOCKFUNC, lock) == CURLSHE_OK &&
      curl_share_setopt(cache->share, CURLSHOPT_UNLOCKFUNC, unlock) == CURLSHE_OK &&
      curl_share_setopt(cache->share, CURLSHOPT_USERDATA, cache) == CURLSHE_OK &&
      curl_share_setopt(cache->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
      (!with_tls_sessions ||
       curl_share_setopt(cache->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK)) {
    return cache;
  }
  ccurl_shared_cache_free(cache);
  return NULL;
}

CURLSH *ccurl_shared_cache_handle(void *cache) { return ((struct shared_cache *)cache)->share; }

void ccurl_shared_cache_free(void *context) {
  struct shared_cache *cache = context;
  // libcurl refuses to free a handle that transfers use.
  if (cache->share != NULL && curl_share_cleanup(cache->share) != CURLSHE_OK) return;
  for (int index = 0; index < lock_count; index++) ccurl_mutex_destroy(cache->locks[index]);
  free(cache);
}
