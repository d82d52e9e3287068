"""Writes compressed bodies, good and bad, to files: `bodies.py FOLDER`. Prints {NAME: PATH}.

For gzip, deflate, br and zstd: CODING.valid (of `plain`), CODING.corrupt (a byte in the middle is wrong),
CODING.truncated (the second half is missing) and CODING.bomb (64 MiB of zeros; with TRELLIS_TEST_ALL, 1 GiB).
"""

import json
import os
import random
import struct
import sys
import zlib

import brotli
import zstandard

MEBIBYTE = bytes(1 << 20)
# The number of mebibytes in a bomb.
SIZE = 1024 if os.environ.get("TRELLIS_TEST_ALL") else 64
# The text has words, not noise: corruption must hit compressed symbols, not stored bytes.
_random = random.Random(2)
PLAIN = " ".join(_random.choice(["leaf", "vine", "post", "wire", "knot"]) for _ in range(20_000)).encode()


def compressors():
    return {
        "gzip": (zlib.compressobj(6, zlib.DEFLATED, 31), "compress"),
        "deflate": (zlib.compressobj(6, zlib.DEFLATED, 15), "compress"),
        "br": (brotli.Compressor(quality=1), "process"),
        "zstd": (zstandard.ZstdCompressor(level=1).compressobj(), "compress"),
    }


def compressed(coding, pieces):
    compressor, feed = compressors()[coding]
    feed = getattr(compressor, feed)
    finish = compressor.finish if coding == "br" else compressor.flush
    return b"".join([*map(feed, pieces), finish()])


def deflated_zeros():
    """Returns a bomb in the deflate format, without compressing all of them: after a full flush nothing refers
    back, so one piece repeats."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (compressor.compress(MEBIBYTE) + compressor.flush(zlib.Z_FULL_FLUSH)) * SIZE + compressor.flush()


def bomb(coding):
    if coding == "gzip":
        checksum = 0
        for _ in range(SIZE):
            checksum = zlib.crc32(MEBIBYTE, checksum)
        return b"\x1f\x8b\x08" + bytes(6) + b"\x03" + deflated_zeros() + struct.pack("<II", checksum, SIZE << 20)
    if coding == "deflate":
        checksum = ((SIZE << 20) % 65521) << 16 | 1  # Adler-32 of zeros
        return b"\x78\xda" + deflated_zeros() + struct.pack(">I", checksum)
    return compressed(coding, [MEBIBYTE] * SIZE)


def corrupted(body):
    """Inverts bytes in the middle, so that a symbol or a checksum is wrong in every format."""
    middle = len(body) // 2
    return body[:middle] + bytes(byte ^ 0xFF for byte in body[middle : middle + 64]) + body[middle + 64 :]


def main(folder):
    paths = {}

    def write(name, body):
        paths[name] = os.path.join(folder, name)
        with open(paths[name], "wb") as file:
            file.write(body)

    write("plain", PLAIN)
    for coding in compressors():
        body = compressed(coding, [PLAIN])
        write(f"{coding}.valid", body)
        write(f"{coding}.corrupt", corrupted(body))
        write(f"{coding}.truncated", body[: len(body) // 2])
        write(f"{coding}.bomb", bomb(coding))
    print(json.dumps(paths), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
