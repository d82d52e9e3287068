"""A proxy that breaks connections as networks do, in front of caddy, which serves one large file without TLS.

    cutting_proxy.py SIZE CLOSES RESETS SILENCES

The file is /large, of SIZE bytes that do not repeat within a part; /digest is its SHA-256. The first connections through the port
"cut" fail after a random number of the server's bytes: so many are closed, are reset and fall silent. Further connections do not fail, and neither do those through the port "direct". The command "faults" returns the number of each kind so far.
"""

import asyncio
import collections
import hashlib
import os
import random
import shutil
import socket
import struct
import sys

import peer
from real_servers import accepting, free_port, start

CADDYFILE = """
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    bind 127.0.0.1
    root * {folder}
    file_server
}}
"""


class Faults:
    """The faults that are still to occur, in an order that is the same in every run."""

    def __init__(self, size, closes, resets, silences):
        self.random = random.Random(size)
        self.kinds = ["close"] * closes + ["reset"] * resets + ["silence"] * silences
        self.random.shuffle(self.kinds)
        # The limit lets all faults occur before the file is whole, with something to spare.
        self.longest = 3 * size // (2 * len(self.kinds))
        self.happened = collections.Counter()

    def next(self):
        """Returns the fault of the next connection, and the number of bytes before the fault."""
        kind = self.kinds.pop() if self.kinds else None
        return kind, self.random.randrange(1, self.longest)

    def give_back(self, kind):
        """Takes back a fault that has not occurred, because the connection ended by itself."""
        if kind:
            self.kinds.append(kind)


async def relay(reader, writer):
    """Forwards the bytes of the client."""
    try:
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def hand_on(upstream, writer, length):
    """Forwards the bytes of the server, up to a length. Returns False if the server sends fewer bytes."""
    while length > 0:
        chunk = await upstream.read(min(length, 1 << 18))
        if not chunk:
            return False
        length -= len(chunk)
        writer.write(chunk)
        await writer.drain()
    return True


def proxy(port, faults):
    """Returns the handler of a connection that is cut."""

    async def handle(reader, writer):
        upstream, upstream_writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        sending = asyncio.ensure_future(relay(reader, upstream_writer))
        kind, length = faults.next()
        try:
            if not await hand_on(upstream, writer, length if kind else sys.maxsize):
                return faults.give_back(kind)
        except OSError:
            return faults.give_back(kind)
        finally:
            if kind != "silence":
                sending.cancel()
                upstream_writer.close()
        faults.happened[kind] += 1
        if kind == "reset":
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif kind == "silence":
            await sending

    return handle


def write_file(path, size):
    """Writes the file, and returns its SHA-256. The pattern of the file repeats after a prime number of bytes."""
    pattern = random.Random(1).randbytes(1048583) * 2
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for offset in range(0, size, 1 << 20):
            start = offset % 1048583
            block = pattern[start : start + min(1 << 20, size - offset)]
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


async def main():
    size, *counts = map(int, sys.argv[1:])
    folder, home = peer.temporary_folder(), peer.temporary_folder()
    digest = write_file(os.path.join(folder, "large"), size)
    with open(os.path.join(folder, "digest"), "w") as file:
        file.write(digest)
    if not shutil.which("caddy"):
        sys.exit("caddy is not installed")
    direct = free_port()
    configuration = os.path.join(home, "Caddyfile")
    with open(configuration, "w") as file:
        file.write(CADDYFILE.format(port=direct, folder=folder))
    start("caddy", "run", "--adapter", "caddyfile", "--config", configuration, folder=home)
    await accepting(direct)
    faults, connections = Faults(size, *counts), peer.Connections()
    cut = await connections.listen(proxy(direct, faults))
    await peer.serve_until_stdin_ends(
        {"ca": "", "ports": {"direct": direct, "cut": cut}}, connections, {b"faults": lambda: faults.happened}
    )


if __name__ == "__main__":
    peer.run(main)
