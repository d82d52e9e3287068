"""HTTPS servers, good and bad, each on a port of its own. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    valid         127.0.0.1, localhost and ::1, signed by `ca`
    expired       as valid, but expired two days ago
    wrong-host    for another name
    unknown-ca    signed by an unknown authority
    no-san        common name localhost, no subject alternative name
    tls1.1        speaks TLS 1.1 at best
    cut-off       reads the client's hello and closes
    reset         reads the client's hello and resets
    stalled       reads the client's hello and sends nothing more
    unaccepting   no TCP connection can be made: the queue is full, and no connection is accepted
    together      as valid, but responds only when 50 requests have come, each on a connection of its own
    cut-in-body   a good handshake and head, then the connection ends without a close_notify, the body unfinished

The good servers respond to any request with `secure`.
"""

import asyncio
import socket
import struct

import peer
from certificates import Authority


async def answer(reader, writer):
    """Responds to requests until the client leaves."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b"" if head.startswith(b"HEAD ") else b"secure"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n" + body)
        await writer.drain()


def answer_together(count):
    """Returns a handler that responds when that many connections have sent a request."""
    asked = 0
    everybody = asyncio.Event()

    async def wait(reader, writer):
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        if asked == count:
            everybody.set()
        await everybody.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        await answer(reader, writer)

    return wait


async def cut_in_body(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsecure")
    await writer.drain()
    writer.transport.abort()


async def cut_off(reader, writer):
    await reader.read(65536)
    writer.close()


async def reset(reader, writer):
    await reader.read(65536)
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def stall(reader, writer):
    while await reader.read(65536):
        pass


def unaccepting():
    """Returns a port whose queue is full, and its sockets, which the caller keeps."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return listener.getsockname()[1], [listener, *fillers]


async def main():
    authority = Authority()
    connections = peer.Connections()

    def start(handler, context=None):
        return connections.listen(handler, context)

    full, _sockets = unaccepting()
    ports = {
        "valid": await start(answer, authority.context()),
        "together": await start(answer_together(50), authority.context()),
        "expired": await start(answer, authority.context(expired=True)),
        "wrong-host": await start(answer, authority.context("elsewhere.example")),
        "unknown-ca": await start(answer, authority.context_of_unknown_authority()),
        "no-san": await start(answer, authority.context_without_alternative_name()),
        "tls1.1": await start(answer, authority.old_context()),
        "cut-in-body": await start(cut_in_body, authority.context()),
        "cut-off": await start(cut_off),
        "reset": await start(reset),
        "stalled": await start(stall),
        "unaccepting": full,
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
