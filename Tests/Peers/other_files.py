"""A server with a file on another machine, which is a network namespace: `other_files.py NAMESPACE ADDRESS`.

Prints {"ca": "", "ports": {"http": PORT}}. The file, at every path, has 400,000 bytes, of which byte n is n modulo 251, a strong
validator, and ranges. Every response stops before the second half of the file, until the command `answer`. The command `ranges`
answers {"ranges": […]} with the first byte that each request has asked for.
"""

import asyncio
import re
import sys

import peer
from other_machine import enter

CONTENT = (bytes(range(251)) * 1600)[:400_000]


class Files:
    def __init__(self):
        self.answering = asyncio.Event()
        self.starts = []

    def answer(self):
        self.answering.set()
        return {}

    def ranges(self):
        return {"ranges": self.starts}

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        asked = re.search(r"(?im)^range: bytes=(\d+)-\r$", head)
        start = int(asked[1]) if asked and '"v1"' in head else 0
        self.starts.append(start)
        status = f"206 Part\r\nContent-Range: bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}" if start else "200 OK"
        fields = f'ETag: "v1"\r\nAccept-Ranges: bytes\r\nConnection: close\r\nContent-Length: {len(CONTENT) - start}'
        half = max(start, len(CONTENT) // 2)
        writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + CONTENT[start:half])
        await self.answering.wait()
        writer.write(CONTENT[half:])
        await writer.drain()


async def main():
    namespace, address = sys.argv[1:]
    enter(namespace)
    connections, files = peer.Connections(), Files()
    port = await connections.listen(files.serve, host=address)
    await peer.serve_until_stdin_ends(
        {"ca": "", "ports": {"http": port}}, connections, {b"answer": files.answer, b"ranges": files.ranges}
    )


if __name__ == "__main__":
    peer.run(main)
