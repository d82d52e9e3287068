#include <stdlib.h>

#include "CCurl.h"
#include "zlib_abi.h"

struct ccurl_deflate {
  z_stream_abi stream;
  bool encodes;
  size_t input_bytes, final_blocks;  // of the current message, for decompressors
};

// The largest window of deflate.
enum { WINDOW_SIZE = 32768 };

struct ccurl_deflate *ccurl_deflate_create(bool encodes, int window_bits, int level, int memory_level) {
  if (!ccurl_codec_exists(CCURL_CODING_DEFLATE, encodes)) return NULL;
  struct ccurl_deflate *deflate = calloc(1, sizeof(*deflate));
  if (deflate == NULL) return NULL;
  deflate->encodes = encodes;
  z_stream_abi *stream = &deflate->stream;
  // A negative number of bits means a raw stream.
  int code = encodes ? ccurl_zlib.deflate_init(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY,
                                               ccurl_zlib.version(), sizeof(*stream))
                     : ccurl_zlib.inflate_init(stream, -window_bits, ccurl_zlib.version(), sizeof(*stream));
  if (code == Z_OK) return deflate;
  free(deflate);
  return NULL;
}

// Returns whether a message has more final blocks than are allowed: a few, and one for each 256 bytes of input. Each costs a copy of the
// window, so that a message of empty final blocks would only take processor time.
static bool has_too_many_blocks(const struct ccurl_deflate *deflate) {
  return deflate->final_blocks > 64 + deflate->input_bytes / 256;
}

// Begins another stream with the window of the one that has ended.
static int continue_with_window(z_stream_abi *stream) {
  unsigned length = 0;
  uint8_t *window = malloc(WINDOW_SIZE);
  if (window == NULL) return Z_MEM_ERROR;
  int code = ccurl_zlib.inflate_get_dictionary(stream, window, &length);
  if (code == Z_OK) code = ccurl_zlib.inflate_reset(stream);
  if (code == Z_OK && length > 0) code = ccurl_zlib.inflate_set_dictionary(stream, window, length);
  free(window);
  return code;
}

int32_t ccurl_deflate_run(struct ccurl_deflate *deflate, struct ccurl_flow *flow) {
  z_stream_abi *stream = &deflate->stream;
  int code;
  if (deflate->encodes) {
    code = ccurl_zlib_step(stream, flow, ccurl_zlib.deflate, Z_SYNC_FLUSH);
  } else {
    do {
      size_t before = flow->in_left;
      code = ccurl_zlib_step(stream, flow, ccurl_zlib.inflate, Z_SYNC_FLUSH);
      deflate->input_bytes += before - flow->in_left;
      if (code != Z_STREAM_END) break;
      deflate->final_blocks++;
      if (has_too_many_blocks(deflate)) return CCURL_CODEC_CORRUPT;
      code = continue_with_window(stream);
    } while (code == Z_OK && flow->in_left > 0 && flow->out_left > 0);
  }
  switch (code) {
    case Z_OK:
    case Z_BUF_ERROR: return CCURL_CODEC_MORE;  // no progress, because input or room is missing
    case Z_MEM_ERROR: return CCURL_CODEC_NO_MEMORY;
    default: return CCURL_CODEC_CORRUPT;
  }
}

bool ccurl_deflate_reset(struct ccurl_deflate *deflate) {
  return (deflate->encodes ? ccurl_zlib.deflate_reset : ccurl_zlib.inflate_reset)(&deflate->stream) == Z_OK;
}

void ccurl_deflate_begin_message(struct ccurl_deflate *deflate) { deflate->input_bytes = deflate->final_blocks = 0; }

bool ccurl_deflate_is_between_blocks(const struct ccurl_deflate *deflate) {
  // Set by zlib on the return from inflate (zlib.h).
  return (deflate->stream.data_type & 128) != 0;
}

void ccurl_deflate_free(struct ccurl_deflate *deflate) {
  if (deflate == NULL) return;
  (void)(deflate->encodes ? ccurl_zlib.deflate_end : ccurl_zlib.inflate_end)(&deflate->stream);
  free(deflate);
}
