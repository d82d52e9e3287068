// The decoder of Redis' protocol (RESP2), through hiredis. Without the trait Redis, which defines TRELLIS_REDIS, there are declarations
// alone, and nothing of them is called.
#ifndef TRELLIS_CHIREDIS_H
#define TRELLIS_CHIREDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The tokens of a reply: a byte that says what follows, 8 bytes with a number in the order of this machine, and for the first three the
// number of bytes that it says. The elements of an array follow it.
#define CREDIS_TEXT '$'
#define CREDIS_STATUS '+'
#define CREDIS_ERROR '-'
#define CREDIS_INTEGER ':'
#define CREDIS_NOTHING '_'
#define CREDIS_ARRAY '*'

struct credis_reader;
// Creates a decoder of replies that take at most `limit` bytes, as they are received and as tokens. Returns NULL if memory has run out.
struct credis_reader *_Nullable credis_reader_create(size_t limit);
void credis_reader_free(struct credis_reader *_Nonnull reader);
// Adds bytes of the server. Returns false if memory has run out, a reply is too large, or an earlier call has failed.
bool credis_reader_feed(struct credis_reader *_Nonnull reader, const void *_Nonnull bytes, size_t count);
// Decodes the next reply. Returns the number of bytes of its tokens, 0 if the reply is not complete, or -1 if it is malformed or too large,
// or memory has run out.
ptrdiff_t credis_reader_next(struct credis_reader *_Nonnull reader);
// Returns the tokens of the reply that was decoded last, which stay valid until the next call.
const uint8_t *_Nonnull credis_reader_tokens(const struct credis_reader *_Nonnull reader);

#endif
