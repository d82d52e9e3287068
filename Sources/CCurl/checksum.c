#include <string.h>

#include "CCurl.h"

// XXH64 (xxHash specification, version 0.1.1, "XXH64 algorithm description"), for bytes in one piece on little-endian machines. Elsewhere the
// result differs, so that files are of use to machines of one kind only.
static const uint64_t prime1 = 0x9e3779b185ebca87u, prime2 = 0xc2b2ae3d27d4eb4fu, prime3 = 0x165667b19e3779f9u,
                      prime4 = 0x85ebca77c2b2ae63u, prime5 = 0x27d4eb2f165667c5u;

static inline uint64_t rotated(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static inline uint64_t mixed(uint64_t lane, uint64_t input) { return rotated(lane + input * prime2, 31) * prime1; }

static inline uint64_t merged(uint64_t hash, uint64_t lane) { return (hash ^ mixed(0, lane)) * prime1 + prime4; }

static inline uint64_t word(const uint8_t *bytes) {
  uint64_t value;
  memcpy(&value, bytes, 8);
  return value;
}

uint64_t ccurl_checksum(const void *start, size_t length, uint64_t seed) {
  const uint8_t *bytes = start, *end = bytes + length;
  uint64_t hash = seed + prime5;
  if (length >= 32) {
    uint64_t lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    for (; end - bytes >= 32; bytes += 32) {
      for (int lane = 0; lane < 4; lane++) lanes[lane] = mixed(lanes[lane], word(bytes + 8 * lane));
    }
    hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
    for (int lane = 0; lane < 4; lane++) hash = merged(hash, lanes[lane]);
  }
  hash += length;
  for (; end - bytes >= 8; bytes += 8) hash = rotated(hash ^ mixed(0, word(bytes)), 27) * prime1 + prime4;
  if (end - bytes >= 4) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    hash = rotated(hash ^ value * prime1, 23) * prime2 + prime3;
    bytes += 4;
  }
  for (; bytes < end; bytes++) hash = rotated(hash ^ *bytes * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}
