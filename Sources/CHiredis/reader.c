#include "CHiredis.h"

#ifdef TRELLIS_REDIS

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

struct credis_reader {
  redisReader *decoder;
  uint8_t *tokens;
  size_t count, capacity, limit;
  // Whether the tokens are of a reply that was handed on.
  bool is_complete;
};

// hiredis wants an object for each part of a reply, and only looks whether there is one.
static char object;

// Adds a token. Returns NULL, which hiredis takes for a lack of memory, if the reply is too large.
static void *add(const redisReadTask *task, char kind, uint64_t number, const void *bytes, size_t length) {
  struct credis_reader *reader = task->privdata;
  size_t needed = 1 + sizeof(number) + length;
  if (needed > reader->limit || reader->count > reader->limit - needed) return NULL;
  if (reader->capacity - reader->count < needed) {
    size_t capacity = (reader->count + needed) * 2;
    uint8_t *tokens = realloc(reader->tokens, capacity);
    if (tokens == NULL) return NULL;
    reader->tokens = tokens;
    reader->capacity = capacity;
  }
  uint8_t *end = reader->tokens + reader->count;
  *end = (uint8_t)kind;
  memcpy(end + 1, &number, sizeof(number));
  if (length > 0) memcpy(end + 1 + sizeof(number), bytes, length);
  reader->count += needed;
  return &object;
}

static void *add_text(const redisReadTask *task, char *bytes, size_t length) {
  char kind = task->type == REDIS_REPLY_ERROR ? CREDIS_ERROR
              : task->type == REDIS_REPLY_STATUS ? CREDIS_STATUS
                                                 : CREDIS_TEXT;
  return add(task, kind, length, bytes, length);
}

static void *add_array(const redisReadTask *task, int count) {
  return add(task, CREDIS_ARRAY, (uint64_t)count, NULL, 0);
}

static void *add_integer(const redisReadTask *task, long long value) {
  return add(task, CREDIS_INTEGER, (uint64_t)value, NULL, 0);
}

static void *add_nothing(const redisReadTask *task) { return add(task, CREDIS_NOTHING, 0, NULL, 0); }

static void free_object(void *unused) { (void)unused; }

static redisReplyObjectFunctions functions = {
    .createString = add_text,
    .createArray = add_array,
    .createInteger = add_integer,
    .createNil = add_nothing,
    .freeObject = free_object,
};

struct credis_reader *credis_reader_create(size_t limit) {
  struct credis_reader *reader = calloc(1, sizeof(*reader));
  if (reader == NULL) return NULL;
  reader->decoder = redisReaderCreateWithFunctions(&functions);
  if (reader->decoder == NULL) {
    free(reader);
    return NULL;
  }
  reader->limit = limit;
  reader->decoder->privdata = reader;
  return reader;
}

void credis_reader_free(struct credis_reader *reader) {
  redisReaderFree(reader->decoder);
  free(reader->tokens);
  free(reader);
}

bool credis_reader_feed(struct credis_reader *reader, const void *bytes, size_t count) {
  size_t waiting = reader->decoder->len - reader->decoder->pos;
  if (count > reader->limit || waiting > reader->limit - count) return false;
  return redisReaderFeed(reader->decoder, bytes, count) == REDIS_OK;
}

ptrdiff_t credis_reader_next(struct credis_reader *reader) {
  if (reader->is_complete) {
    reader->count = 0;
    reader->is_complete = false;
    // The memory of a large reply is not kept for small ones.
    if (reader->capacity > 1 << 20) {
      free(reader->tokens);
      reader->tokens = NULL;
      reader->capacity = 0;
    }
  }
  void *reply = NULL;
  if (redisReaderGetReply(reader->decoder, &reply) != REDIS_OK) return -1;
  if (reply == NULL) return 0;
  reader->is_complete = true;
  return (ptrdiff_t)reader->count;
}

const uint8_t *credis_reader_tokens(const struct credis_reader *reader) { return reader->tokens; }

#endif
