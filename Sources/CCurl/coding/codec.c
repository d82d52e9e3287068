#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "CCurl.h"
#include "../system/lookup.h"
#include "zlib_abi.h"

// The parts of the ABIs of brotli and zstd that this file uses. Both projects have promised not to change them: brotli since 1.0, zstd since
// 1.4.

enum { ZLIB_BITS = 15, GZIP_BITS = 15 + 16, RAW_BITS = -15 };
enum { BROTLI_ERROR = 0, BROTLI_SUCCESS = 1, BROTLI_MORE_INPUT = 2 };
enum { BROTLI_OPERATION_PROCESS = 0, BROTLI_OPERATION_FINISH = 2, BROTLI_PARAM_QUALITY = 1, BROTLI_PARAM_LGWIN = 2 };
enum { ZSTD_E_CONTINUE = 0, ZSTD_E_END = 2, ZSTD_C_LEVEL = 100, ZSTD_C_CHECKSUM = 201, ZSTD_D_WINDOW_LOG_MAX = 100 };

typedef struct {
  const void *src;
  size_t size, pos;
} zstd_in_abi;
typedef struct {
  void *dst;
  size_t size, pos;
} zstd_out_abi;

struct ccurl_zlib_functions ccurl_zlib;

static struct {
  void *(*create)(void *, void *, void *);
  int (*run)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
  void (*destroy)(void *);
} brotli_decoder;

static struct {
  void *(*create)(void *, void *, void *);
  int (*set)(void *, int, uint32_t);
  int (*run)(void *, int, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
  int (*is_finished)(void *);
  void (*destroy)(void *);
} brotli_encoder;

static struct {
  void *(*create_decoder)(void);
  size_t (*free_decoder)(void *);
  size_t (*set_decoder)(void *, int, int);
  size_t (*decompress)(void *, zstd_out_abi *, zstd_in_abi *);
  void *(*create_encoder)(void);
  size_t (*free_encoder)(void *);
  size_t (*set_encoder)(void *, int, int);
  size_t (*compress)(void *, zstd_out_abi *, zstd_in_abi *, int);
  unsigned (*is_error)(size_t);
} zstd;

static bool has_zlib, has_brotli_decoder, has_brotli_encoder, has_zstd;

// MARK: Library lookup

// Finds the functions of a library: first in the copy that libcurl has loaded, under any name; then under the library's usual name, which
// the process may have loaded separately; then in the system's copy.
static bool find(const char *soname, const char *const *names, void *functions, size_t size) {
  size_t count = size / sizeof(void *);
  return ccurl_find_functions_together(ccurl_library_of_curl(), names, functions, count) ||
         ccurl_find_functions_together(ccurl_system_library(soname), names, functions, count);
}

static void find_all(void) {
  static const char *const zlib_names[] = {"zlibVersion", "inflateInit2_",        "inflate",              "inflateReset",
                                           "inflateEnd",  "inflateGetDictionary", "inflateSetDictionary", "deflateInit2_",
                                           "deflate",     "deflateReset",         "deflateEnd"};
  static const char *const decoder_names[] = {"BrotliDecoderCreateInstance", "BrotliDecoderDecompressStream",
                                              "BrotliDecoderDestroyInstance"};
  static const char *const encoder_names[] = {"BrotliEncoderCreateInstance", "BrotliEncoderSetParameter",
                                              "BrotliEncoderCompressStream", "BrotliEncoderIsFinished",
                                              "BrotliEncoderDestroyInstance"};
  static const char *const zstd_names[] = {"ZSTD_createDCtx",        "ZSTD_freeDCtx",        "ZSTD_DCtx_setParameter",
                                           "ZSTD_decompressStream",  "ZSTD_createCCtx",      "ZSTD_freeCCtx",
                                           "ZSTD_CCtx_setParameter", "ZSTD_compressStream2", "ZSTD_isError"};
  has_zlib = find("libz.so.1", zlib_names, &ccurl_zlib, sizeof(ccurl_zlib));
  has_brotli_decoder = find("libbrotlidec.so.1", decoder_names, &brotli_decoder, sizeof(brotli_decoder));
  has_brotli_encoder = find("libbrotlienc.so.1", encoder_names, &brotli_encoder, sizeof(brotli_encoder));
  has_zstd = find("libzstd.so.1", zstd_names, &zstd, sizeof(zstd));
}

bool ccurl_codec_exists(int32_t coding, bool encodes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
  switch (coding) {
    case CCURL_CODING_GZIP:
    case CCURL_CODING_DEFLATE: return has_zlib;
    case CCURL_CODING_BROTLI: return encodes ? has_brotli_encoder : has_brotli_decoder;
    case CCURL_CODING_ZSTD: return has_zstd;
    default: return false;
  }
}

// MARK: Codec

struct ccurl_codec {
  int32_t coding;
  bool encodes;
  bool is_ended;
  bool has_stream;  // `stream` is initialised
  uint8_t header[2];
  unsigned header_count;
  z_stream_abi stream;
  void *other;  // brotli's or zstd's state
};

static bool start_inflate(struct ccurl_codec *codec, int bits) {
  codec->has_stream = ccurl_zlib.inflate_init(&codec->stream, bits, ccurl_zlib.version(), sizeof(codec->stream)) == Z_OK;
  return codec->has_stream;
}

static bool start_encoder(struct ccurl_codec *codec, int level) {
  switch (codec->coding) {
    case CCURL_CODING_GZIP:
    case CCURL_CODING_DEFLATE:
      codec->has_stream = ccurl_zlib.deflate_init(&codec->stream, level, Z_DEFLATED,
                                            codec->coding == CCURL_CODING_GZIP ? GZIP_BITS : ZLIB_BITS, Z_DEFAULT_MEMORY,
                                            Z_DEFAULT_STRATEGY, ccurl_zlib.version(), sizeof(codec->stream)) == Z_OK;
      return codec->has_stream;
    case CCURL_CODING_BROTLI:
      codec->other = brotli_encoder.create(NULL, NULL, NULL);
      return codec->other != NULL && brotli_encoder.set(codec->other, BROTLI_PARAM_QUALITY, (uint32_t)level) &&
             brotli_encoder.set(codec->other, BROTLI_PARAM_LGWIN, 22);
    default:
      codec->other = zstd.create_encoder();
      return codec->other != NULL && !zstd.is_error(zstd.set_encoder(codec->other, ZSTD_C_LEVEL, level)) &&
             !zstd.is_error(zstd.set_encoder(codec->other, ZSTD_C_CHECKSUM, 1));
  }
}

static bool start_decoder(struct ccurl_codec *codec) {
  switch (codec->coding) {
    case CCURL_CODING_GZIP: return start_inflate(codec, GZIP_BITS);
    case CCURL_CODING_DEFLATE: return true;  // the first bytes distinguish a zlib stream from a bare deflate stream
    case CCURL_CODING_BROTLI: return (codec->other = brotli_decoder.create(NULL, NULL, NULL)) != NULL;
    default:
      codec->other = zstd.create_decoder();
      // A window of 8 MiB is the largest that the content coding allows (RFC 9659, section 3).
      return codec->other != NULL && !zstd.is_error(zstd.set_decoder(codec->other, ZSTD_D_WINDOW_LOG_MAX, 23));
  }
}

struct ccurl_codec *ccurl_codec_create(int32_t coding, bool encodes, int level) {
  if (!ccurl_codec_exists(coding, encodes)) return NULL;
  struct ccurl_codec *codec = calloc(1, sizeof(*codec));
  if (codec == NULL) return NULL;
  codec->coding = coding;
  codec->encodes = encodes;
  if (encodes ? start_encoder(codec, level) : start_decoder(codec)) return codec;
  ccurl_codec_free(codec);
  return NULL;
}

void ccurl_codec_free(struct ccurl_codec *codec) {
  if (codec == NULL) return;
  if (codec->has_stream) (void)(codec->encodes ? ccurl_zlib.deflate_end : ccurl_zlib.inflate_end)(&codec->stream);
  if (codec->other != NULL && codec->coding == CCURL_CODING_BROTLI)
    (codec->encodes ? brotli_encoder.destroy : brotli_decoder.destroy)(codec->other);
  if (codec->other != NULL && codec->coding == CCURL_CODING_ZSTD)
    (void)(codec->encodes ? zstd.free_encoder : zstd.free_decoder)(codec->other);
  free(codec);
}

static unsigned clamped(size_t count) { return count > 1u << 30 ? 1u << 30 : (unsigned)count; }

int ccurl_zlib_step(z_stream_abi *stream, struct ccurl_flow *flow, int (*step)(z_stream_abi *, int), int flush) {
  // While zlib has only part of the input, the input has not ended.
  unsigned in = clamped(flow->in_left), out = clamped(flow->out_left);
  stream->next_in = flow->in;
  stream->avail_in = in;
  stream->next_out = flow->out;
  stream->avail_out = out;
  int code = step(stream, in == flow->in_left ? flush : Z_NO_FLUSH);
  flow->in = stream->next_in;
  flow->in_left -= in - stream->avail_in;
  flow->out = stream->next_out;
  flow->out_left -= out - stream->avail_out;
  stream->next_in = NULL;
  stream->next_out = NULL;
  return code;
}

static int run_zlib(struct ccurl_codec *codec, struct ccurl_flow *flow, int (*step)(z_stream_abi *, int), int flush) {
  int code = ccurl_zlib_step(&codec->stream, flow, step, flush);
  switch (code) {
    case Z_OK:
    case Z_BUF_ERROR: return CCURL_CODEC_MORE;  // no progress, because input or room is missing
    case Z_STREAM_END: codec->is_ended = true; return CCURL_CODEC_ENDED;
    case Z_MEM_ERROR: return CCURL_CODEC_NO_MEMORY;
    default: return CCURL_CODEC_CORRUPT;
  }
}

// Decodes gzip. Consecutive members are one body (RFC 1952, section 2.2).
static int decode_gzip(struct ccurl_codec *codec, struct ccurl_flow *flow) {
  int status;
  do {
    if (codec->is_ended) {
      if (flow->in_left == 0) return CCURL_CODEC_ENDED;
      if (flow->in[0] != 0x1f) return CCURL_CODEC_TRAILING;
      if (ccurl_zlib.inflate_reset(&codec->stream) != Z_OK) return CCURL_CODEC_NO_MEMORY;
      codec->is_ended = false;
    }
    status = run_zlib(codec, flow, ccurl_zlib.inflate, Z_NO_FLUSH);
  } while (status == CCURL_CODEC_ENDED && flow->in_left > 0);
  return status;
}

// Decodes deflate, which is a zlib stream (RFC 9110, section 8.4.1.2); some servers send a bare deflate stream instead. The first byte of a
// bare stream can equal a zlib header's first byte only if an encoder fills its padding with ones.
static int decode_deflate(struct ccurl_codec *codec, struct ccurl_flow *flow) {
  if (!codec->has_stream) {
    while (codec->header_count < 2 && flow->in_left > 0) {
      codec->header[codec->header_count++] = *flow->in++;
      flow->in_left--;
    }
    if (codec->header_count < 2) return CCURL_CODEC_MORE;
    unsigned first = codec->header[0], second = codec->header[1];
    bool is_wrapped = (first & 15) == Z_DEFLATED && first >> 4 <= 7 && (first << 8 | second) % 31 == 0;
    if (!start_inflate(codec, is_wrapped ? ZLIB_BITS : RAW_BITS)) return CCURL_CODEC_NO_MEMORY;
  }
  while (codec->header_count > 0) {
    // The header bytes come first, both at once unless the first one ends the stream or fills the room.
    struct ccurl_flow first = {codec->header + 2 - codec->header_count, codec->header_count, flow->out, flow->out_left};
    int status = run_zlib(codec, &first, ccurl_zlib.inflate, Z_NO_FLUSH);
    codec->header_count = (unsigned)first.in_left;
    flow->out = first.out;
    flow->out_left = first.out_left;
    if (status == CCURL_CODEC_ENDED && first.in_left > 0) return CCURL_CODEC_TRAILING;
    if (status != CCURL_CODEC_MORE) return status;
    if (first.in_left > 0 && flow->out_left == 0) return CCURL_CODEC_MORE;
  }
  if (codec->is_ended) return flow->in_left > 0 ? CCURL_CODEC_TRAILING : CCURL_CODEC_ENDED;
  return run_zlib(codec, flow, ccurl_zlib.inflate, Z_NO_FLUSH);
}

static int decode_brotli(struct ccurl_codec *codec, struct ccurl_flow *flow) {
  if (codec->is_ended) return flow->in_left > 0 ? CCURL_CODEC_TRAILING : CCURL_CODEC_ENDED;
  int code = brotli_decoder.run(codec->other, &flow->in_left, &flow->in, &flow->out_left, &flow->out, NULL);
  codec->is_ended = code == BROTLI_SUCCESS;
  return code == BROTLI_ERROR ? CCURL_CODEC_CORRUPT : codec->is_ended ? CCURL_CODEC_ENDED : CCURL_CODEC_MORE;
}

static size_t decode_zstd_step(struct ccurl_codec *codec, struct ccurl_flow *flow) {
  zstd_in_abi in = {flow->in, flow->in_left, 0};
  zstd_out_abi out = {flow->out, flow->out_left, 0};
  size_t code = zstd.decompress(codec->other, &out, &in);
  flow->in += in.pos;
  flow->in_left -= in.pos;
  flow->out += out.pos;
  flow->out_left -= out.pos;
  return code;
}

// Decodes zstd. Consecutive frames are one body (RFC 8878, section 3).
static int decode_zstd(struct ccurl_codec *codec, struct ccurl_flow *flow) {
  do {
    // At the end of a frame, a call without input would begin the next frame.
    if (codec->is_ended && flow->in_left == 0) return CCURL_CODEC_ENDED;
    size_t code = decode_zstd_step(codec, flow);
    if (zstd.is_error(code)) return codec->is_ended ? CCURL_CODEC_TRAILING : CCURL_CODEC_CORRUPT;
    codec->is_ended = code == 0;
  } while (codec->is_ended && flow->in_left > 0);
  return codec->is_ended ? CCURL_CODEC_ENDED : CCURL_CODEC_MORE;
}

static int encode_zstd(struct ccurl_codec *codec, struct ccurl_flow *flow, bool is_last) {
  zstd_in_abi in = {flow->in, flow->in_left, 0};
  zstd_out_abi out = {flow->out, flow->out_left, 0};
  size_t left = zstd.compress(codec->other, &out, &in, is_last ? ZSTD_E_END : ZSTD_E_CONTINUE);
  flow->in += in.pos;
  flow->in_left -= in.pos;
  flow->out += out.pos;
  flow->out_left -= out.pos;
  if (zstd.is_error(left)) return CCURL_CODEC_NO_MEMORY;
  codec->is_ended = is_last && left == 0;
  return codec->is_ended ? CCURL_CODEC_ENDED : CCURL_CODEC_MORE;
}

static int encode_brotli(struct ccurl_codec *codec, struct ccurl_flow *flow, bool is_last) {
  int operation = is_last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS;
  if (!brotli_encoder.run(codec->other, operation, &flow->in_left, &flow->in, &flow->out_left, &flow->out, NULL))
    return CCURL_CODEC_NO_MEMORY;
  codec->is_ended = is_last && brotli_encoder.is_finished(codec->other);
  return codec->is_ended ? CCURL_CODEC_ENDED : CCURL_CODEC_MORE;
}

int32_t ccurl_codec_run(struct ccurl_codec *codec, struct ccurl_flow *flow, bool is_last) {
  if (codec->encodes) {
    if (codec->is_ended) return CCURL_CODEC_ENDED;
    if (codec->coding == CCURL_CODING_BROTLI) return encode_brotli(codec, flow, is_last);
    if (codec->coding == CCURL_CODING_ZSTD) return encode_zstd(codec, flow, is_last);
    return run_zlib(codec, flow, ccurl_zlib.deflate, is_last ? Z_FINISH : Z_NO_FLUSH);
  }
  switch (codec->coding) {
    case CCURL_CODING_GZIP: return decode_gzip(codec, flow);
    case CCURL_CODING_DEFLATE: return decode_deflate(codec, flow);
    case CCURL_CODING_BROTLI: return decode_brotli(codec, flow);
    default: return decode_zstd(codec, flow);
  }
}
