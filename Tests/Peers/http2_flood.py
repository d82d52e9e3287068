"""Frames without end that bring nothing: an answer that keeps its reader busy for as long as it reads."""

import asyncio

from http2_violations import DATA, WINDOW_UPDATE, frame

PADDED = 8
PIECE = 1 << 20


async def flood(stream, kind, where):
    """Frames of one KIND, before the head or in a body, until the client leaves."""
    if where == "in-body":
        stream.head()
        await stream.data(b"x")
        # Only who has heard of the beginning can tell a flood from a server that is slow.
        await stream.answered()
    await flood_frames(stream, kind)


async def flood_frames(stream, kind, has_begun=None):
    """Frames of one KIND until the client leaves; tells when the first have been written."""
    one = {
        "empty-data": frame(DATA, 0, stream.id),
        "padded-data": frame(DATA, PADDED, stream.id, bytes([3, 0, 0, 0])),
        "window-updates": frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
        "unknown-frames": frame(0x99, 0, stream.id),
    }[kind]
    piece = one * (PIECE // len(one))
    stream.connection.is_deaf = True
    writer = stream.connection.writer
    writer.transport.set_write_buffer_limits(high=8 * PIECE)
    # It ends by itself: whoever started the peer may be gone.
    end = asyncio.get_running_loop().time() + 60
    while not writer.is_closing() and asyncio.get_running_loop().time() < end:
        writer.write(piece)
        if has_begun is not None:
            has_begun.set()
        await writer.drain()
        # A client that keeps up never makes it wait, and the other connections want their turn.
        await asyncio.sleep(0)
