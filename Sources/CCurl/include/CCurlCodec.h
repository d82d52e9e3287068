// Content codings, the compression of messages, and hash functions.
#ifndef TRELLIS_CCURL_CODEC_H
#define TRELLIS_CCURL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Content codings, through the zlib, brotli and zstd that libcurl has loaded, or otherwise the system's. The libraries are looked up at run
// time, so that the build needs no headers.
#define CCURL_CODING_GZIP 0
#define CCURL_CODING_DEFLATE 1
#define CCURL_CODING_BROTLI 2
#define CCURL_CODING_ZSTD 3
#define CCURL_CODEC_MORE 0        // needs more input or more room
#define CCURL_CODEC_ENDED 1       // at a point where the stream may end
#define CCURL_CODEC_CORRUPT (-1)
#define CCURL_CODEC_TRAILING (-2) // bytes after the end
#define CCURL_CODEC_NO_MEMORY (-3)
struct ccurl_codec;
// The remaining input, and the remaining room for output; both are updated as they are used.
struct ccurl_flow {
  const uint8_t *_Nullable in;
  size_t in_left;
  uint8_t *_Nullable out;
  size_t out_left;
};
bool ccurl_codec_exists(int32_t coding, bool encodes);
// Creates a codec; NULL if the library is missing or memory has run out. `level` is the coding's, for encoders.
struct ccurl_codec *_Nullable ccurl_codec_create(int32_t coding, bool encodes, int level);
// Encodes or decodes as far as input and room allow, or to the end of a member or frame. `is_last`, for encoders, means that no input
// follows. Returns a CCURL_CODEC_ value; after a negative one the codec must only be freed.
int32_t ccurl_codec_run(struct ccurl_codec *_Nonnull codec, struct ccurl_flow *_Nonnull flow, bool is_last);
void ccurl_codec_free(struct ccurl_codec *_Nullable codec);

// The compression of messages that share a context (RFC 7692): raw deflate streams that are flushed at the end of each message, through the
// same zlib.
struct ccurl_deflate;
// Creates a compressor with a window of 9 to 15 bits, or a decompressor with one of 8 to 15 bits; NULL if zlib is missing or memory has run
// out. `level` and `memory_level` are zlib's, for compressors.
struct ccurl_deflate *_Nullable ccurl_deflate_create(bool encodes, int window_bits, int level, int memory_level);
// Compresses or decompresses as far as input and room allow. A compressor flushes at the end of the input (Z_SYNC_FLUSH); the flush is
// complete if there is room left. A decompressor continues after a final block with the same window (RFC 7692, section 7.2.3.4). Returns
// CCURL_CODEC_MORE, CCURL_CODEC_CORRUPT or CCURL_CODEC_NO_MEMORY.
int32_t ccurl_deflate_run(struct ccurl_deflate *_Nonnull deflate, struct ccurl_flow *_Nonnull flow);
// Returns whether the input of a decompressor has ended between two blocks.
bool ccurl_deflate_is_between_blocks(const struct ccurl_deflate *_Nonnull deflate);
// Begins another message, for a decompressor.
void ccurl_deflate_begin_message(struct ccurl_deflate *_Nonnull deflate);
// Forgets the context.
bool ccurl_deflate_reset(struct ccurl_deflate *_Nonnull deflate);
void ccurl_deflate_free(struct ccurl_deflate *_Nullable deflate);

// A hash function, through the OpenSSL that libcurl has loaded, or otherwise the system's. OpenSSL is looked up at run time, so that the
// build needs no headers.
#define CCURL_DIGEST_CAPACITY 64
// Creates a digest by OpenSSL's name; NULL if the library or the function is missing or memory has run out.
void *_Nullable ccurl_digest_create(const char *_Nonnull name);
bool ccurl_digest_update(void *_Nonnull digest, const void *_Nullable bytes, size_t count);
// Writes at most CCURL_DIGEST_CAPACITY bytes and returns their number; 0 after a failure. Afterwards the digest must only be freed.
size_t ccurl_digest_finish(void *_Nonnull digest, uint8_t *_Nonnull result);
void ccurl_digest_free(void *_Nullable digest);

// Returns the checksum XXH64 of bytes, which detects damage. It is not made against attackers.
uint64_t ccurl_checksum(const void *_Nullable bytes, size_t length, uint64_t seed);

// The same checksum of bytes that arrive in parts.
struct ccurl_running_checksum {
  uint64_t lanes[4], seed, length;
  // The last length % 32 bytes, which are not in the lanes yet.
  uint8_t rest[32];
};
void ccurl_checksum_begin(struct ccurl_running_checksum *_Nonnull checksum, uint64_t seed);
void ccurl_checksum_add(struct ccurl_running_checksum *_Nonnull checksum, const void *_Nullable bytes, size_t length);
// Returns the checksum of the bytes up to now, after which more may be added.
uint64_t ccurl_checksum_end(const struct ccurl_running_checksum *_Nonnull checksum);

#endif
