// The part of zlib's ABI that this module uses (unchanged since zlib 1.2; zlib itself checks the size of its struct), for the functions that
// `ccurl_codec_exists` looks up at run time.
#ifndef TRELLIS_ZLIB_ABI_H
#define TRELLIS_ZLIB_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "CCurl.h"

typedef struct {
  const uint8_t *next_in;
  unsigned avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *msg;
  void *state;
  void *(*zalloc)(void *, unsigned, unsigned);
  void (*zfree)(void *, void *);
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} z_stream_abi;

enum { Z_OK = 0, Z_STREAM_END = 1, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };
enum { Z_NO_FLUSH = 0, Z_SYNC_FLUSH = 2, Z_FINISH = 4, Z_DEFLATED = 8, Z_DEFAULT_MEMORY = 8, Z_DEFAULT_STRATEGY = 0 };

struct ccurl_zlib_functions {
  const char *(*version)(void);
  int (*inflate_init)(z_stream_abi *, int, const char *, int);
  int (*inflate)(z_stream_abi *, int);
  int (*inflate_reset)(z_stream_abi *);
  int (*inflate_end)(z_stream_abi *);
  int (*inflate_get_dictionary)(z_stream_abi *, uint8_t *, unsigned *);
  int (*inflate_set_dictionary)(z_stream_abi *, const uint8_t *, unsigned);
  int (*deflate_init)(z_stream_abi *, int, int, int, int, int, const char *, int);
  int (*deflate)(z_stream_abi *, int);
  int (*deflate_reset)(z_stream_abi *);
  int (*deflate_end)(z_stream_abi *);
};

// The functions, once `ccurl_codec_exists` has found a coding of zlib.
__attribute__((visibility("hidden"))) extern struct ccurl_zlib_functions ccurl_zlib;

// Runs `step` on a stream as far as the input and the room allow. Returns its result.
__attribute__((visibility("hidden"))) int ccurl_zlib_step(
    z_stream_abi *stream, struct ccurl_flow *flow, int (*step)(z_stream_abi *, int), int flush);

#endif
