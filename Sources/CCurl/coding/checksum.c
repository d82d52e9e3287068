#include <string.h>

#include "CCurl.h"

// XXH64 (xxHash specification, version 0.1.1, "XXH64 algorithm description"), on little-endian machines. Elsewhere the result differs, so
// that files are of use to machines of one kind only.
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

static inline void begin_lanes(uint64_t lanes[4], uint64_t seed) {
  lanes[0] = seed + prime1 + prime2;
  lanes[1] = seed + prime2;
  lanes[2] = seed;
  lanes[3] = seed - prime1;
}

// Mixes all complete groups of 32 bytes into the lanes. Returns the start of the rest.
static inline const uint8_t *mix(uint64_t lanes[4], const uint8_t *bytes, const uint8_t *end) {
  // In variables of their own, the lanes stay in registers.
  uint64_t first = lanes[0], second = lanes[1], third = lanes[2], fourth = lanes[3];
  for (; end - bytes >= 32; bytes += 32) {
    first = mixed(first, word(bytes));
    second = mixed(second, word(bytes + 8));
    third = mixed(third, word(bytes + 16));
    fourth = mixed(fourth, word(bytes + 24));
  }
  lanes[0] = first;
  lanes[1] = second;
  lanes[2] = third;
  lanes[3] = fourth;
  return bytes;
}

// Returns the checksum of `length` bytes. The last `length` % 32 are at `bytes`; the others have been mixed into the lanes.
static uint64_t ended(const uint64_t lanes[4], const uint8_t *bytes, uint64_t length, uint64_t seed) {
  const uint8_t *end = bytes + length % 32;
  uint64_t hash = seed + prime5;
  if (length >= 32) {
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

uint64_t ccurl_checksum(const void *start, size_t length, uint64_t seed) {
  const uint8_t *bytes = start;
  uint64_t lanes[4];
  begin_lanes(lanes, seed);
  return ended(lanes, mix(lanes, bytes, bytes + length), length, seed);
}

void ccurl_checksum_begin(struct ccurl_running_checksum *checksum, uint64_t seed) {
  begin_lanes(checksum->lanes, seed);
  checksum->seed = seed;
  checksum->length = 0;
}

void ccurl_checksum_add(struct ccurl_running_checksum *checksum, const void *start, size_t length) {
  if (length == 0) return;
  const uint8_t *bytes = start, *end = bytes + length;
  size_t filled = checksum->length % 32;
  checksum->length += length;
  if (filled > 0) {
    size_t room = 32 - filled;
    memcpy(checksum->rest + filled, bytes, length < room ? length : room);
    if (length < room) return;
    mix(checksum->lanes, checksum->rest, checksum->rest + 32);
    bytes += room;
  }
  bytes = mix(checksum->lanes, bytes, end);
  memcpy(checksum->rest, bytes, (size_t)(end - bytes));
}

uint64_t ccurl_checksum_end(const struct ccurl_running_checksum *checksum) {
  return ended(checksum->lanes, checksum->rest, checksum->length, checksum->seed);
}
