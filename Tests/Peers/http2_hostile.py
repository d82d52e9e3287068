"""An HTTP/2 server that floods, refuses and goes away, each by a path `/name/argument/…`. KEY is any text that a test chooses.

Prints {"ca": PATH, "ports": {NAME: PORT}}: `tls` is h2 by ALPN, `cleartext` h2 with prior knowledge.
"""

import asyncio
import collections

import hyperframe.frame
from h2.errors import ErrorCodes

import peer
from certificates import Authority
from http2_connection import Connection
from http2_violations import DATA, HEADERS, SETTINGS, WINDOW_UPDATE, frame

PRIORITY, RST_STREAM, PUSH_PROMISE, PING, GOAWAY, CONTINUATION = 2, 3, 5, 6, 7, 9
ACK = 1
END_HEADERS = 4
PADDED = 8
STATUS_200, STATUS_103 = b"\x88", b"\x08\x03103"

_attempts = collections.Counter()
_held = collections.defaultdict(list)
_last, _streams = {}, collections.defaultdict(list)


async def play(stream):
    _streams[id(stream.connection)].append(stream.id)
    name, *arguments = stream.path.strip("/").split("/")
    await SCENARIOS[name](stream, *arguments)


async def ok(stream, size="2"):
    """Sends a good response of that many bytes."""
    stream.head(fields=[("content-length", size)], end=size == "0")
    await stream.data(b"x" * int(size), end=True)


async def flood(stream, kind):
    """Sends frames of one KIND without end until the client leaves."""
    number = stream.id
    first, one = {
        "ping": (b"", frame(PING, 0, 0, bytes(8))),
        "answers": (b"", frame(PING, ACK, 0, bytes(8))),
        "settings": (b"", frame(SETTINGS, 0, 0)),
        "settings-values": (b"", frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64" * 100)),
        "acknowledgements": (b"", frame(SETTINGS, ACK, 0)),
        "window-updates": (b"", frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")),
        "stream-window-updates": (b"", frame(WINDOW_UPDATE, 0, number, b"\0\0\0\1")),
        "resets": (b"", frame(RST_STREAM, 0, number, bytes(4))),
        "empty-data": (frame(HEADERS, END_HEADERS, number, STATUS_200), frame(DATA, 0, number)),
        "padding": (frame(HEADERS, END_HEADERS, number, STATUS_200), frame(DATA, PADDED, number, bytes([3, 0, 0, 0]))),
        "priority": (b"", frame(PRIORITY, 0, number, bytes([0, 0, 0, 0, 1]))),
        "unknown": (b"", frame(0xBB, 0, number, bytes(16))),
        "goaway": (b"", frame(GOAWAY, 0, 0, number.to_bytes(4, "big") + bytes(4))),
        "continuations": (frame(HEADERS, 0, number, STATUS_200), frame(CONTINUATION, 0, number)),
        "informational": (b"", frame(HEADERS, END_HEADERS, number, STATUS_103)),
        "indexed-fields": (frame(HEADERS, 0, number, STATUS_200), frame(CONTINUATION, 0, number, b"\x90" * 16_000)),
        "promise": (b"", frame(PUSH_PROMISE, END_HEADERS, number, b"\0\0\0\2" + b"\x82\x84\x87")),
    }[kind]
    stream.raw(first)
    piece = one * max(1, 65_536 // len(one))
    writer = stream.connection.writer
    # The flood ends by itself after 60 s, because the process that started the peer may be gone.
    end = asyncio.get_running_loop().time() + 60
    while not writer.is_closing() and asyncio.get_running_loop().time() < end:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)


async def begun(stream):
    """Sends a head, and no end."""
    stream.head()


async def data_after_reset(stream):
    """Sends content on a stream that the client has reset, far beyond its window, until the client leaves."""
    stream.head()
    await stream.data(b"x")
    await stream.left.wait()
    writer = stream.connection.writer
    for _ in range(1_000):
        if writer.is_closing():
            return
        stream.raw(frame(DATA, 0, stream.id, bytes(16_384)) * 16)
        await writer.drain()


async def goaway_pair(stream):
    """Sends a graceful pair of GOAWAY frames before a good response."""
    stream.goaway(2**31 - 1)
    await stream.answered()
    stream.goaway(stream.id)
    await ok(stream)


async def goaway_each(stream):
    """Sends a GOAWAY after each good response from the first one on, with the last stream of that time. Later ones are ignored, as by nginx
    once a connection has served its number of requests."""
    await stream.answered()
    last = _last.setdefault(id(stream.connection), max(_streams[id(stream.connection)]))
    if stream.id <= last:
        await ok(stream)
        stream.goaway(last)


async def goaway_burst(stream, key, count, served):
    """Waits for COUNT requests with KEY, and answers SERVED of them, after a GOAWAY that excludes the others. Those come again."""
    _attempts[key] += 1
    if _attempts[key] > int(count):
        return await ok(stream)
    _held[key].append(stream)
    if len(_held[key]) < int(count):
        return
    streams = sorted(_held.pop(key), key=lambda held: held.id)
    stream.goaway(streams[int(served) - 1].id)
    for held in streams[: int(served)]:
        await ok(held)


async def goaway_reason(stream, code, where):
    """Sends a GOAWAY with CODE and a text that covers the stream, `before-head` or `in-body`, and ends the connection."""
    if where == "in-body":
        stream.head(fields=[("content-length", "100")])
        await stream.data(b"x" * 50)
    going = hyperframe.frame.GoAwayFrame(0, stream.id, int(ErrorCodes[code]), b"too_many\x1b[31m\npings")
    stream.raw(going.serialize())
    stream.close_connection()


async def calm(stream, key):
    """Asks for calm with a GOAWAY that excludes the stream, each time, and ends the connection."""
    _attempts[key] += 1
    going = hyperframe.frame.GoAwayFrame(0, 0, int(ErrorCodes.ENHANCE_YOUR_CALM), b"header too large")
    stream.raw(going.serialize())
    stream.close_connection()


async def refuse(stream, key, count):
    """Refuses the stream COUNT times, and then sends a good response."""
    _attempts[key] += 1
    if _attempts[key] > int(count):
        return await ok(stream)
    stream.reset(ErrorCodes.REFUSED_STREAM)


async def refuse_beyond(stream, limit):
    """Refuses streams beyond LIMIT, which no settings name. The others get a good response after a round trip."""
    connection = stream.connection
    if _attempts[id(connection)] >= int(limit):
        return stream.reset(ErrorCodes.REFUSED_STREAM)
    _attempts[id(connection)] += 1
    try:
        await stream.answered()
        await ok(stream)
    finally:
        _attempts[id(connection)] -= 1


async def attempts(stream, key):
    """Sends as many bytes as there were requests with KEY."""
    await ok(stream, str(_attempts[key]))


SCENARIOS = {
    name.replace("_", "-"): function
    for name, function in list(globals().items())
    if asyncio.iscoroutinefunction(function) and name != "play"
}


async def handle(reader, writer):
    await Connection(reader, writer, play).run()


async def main():
    authority, connections = Authority(), peer.Connections()
    ports = {
        "tls": await connections.listen(handle, authority.context(alpn=("h2", "http/1.1"))),
        "cleartext": await connections.listen(handle),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
