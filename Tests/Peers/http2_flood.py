"""Frames without end and without content: a response that keeps its reader busy for as long as it reads."""

import asyncio

from http2_violations import DATA, WINDOW_UPDATE, frame

PADDED = 8
PIECE = 1 << 20


async def flood(stream, kind, where):
    """Sends frames of one KIND, before the head or in a body, until the client leaves."""
    if where == "in-body":
        stream.head()
        await stream.data(b"x")
        # Only a client that has seen the beginning can tell a flood from a slow server.
        await stream.answered()
    await flood_frames(stream, kind)


async def flood_frames(stream, kind, has_begun=None):
    """Sends frames of one KIND until the client leaves; sets `has_begun` when the first have been written."""
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
    # The flood ends by itself after 60 s, because the process that started the peer may be gone.
    end = asyncio.get_running_loop().time() + 60
    while not writer.is_closing() and asyncio.get_running_loop().time() < end:
        writer.write(piece)
        if has_begun is not None:
            has_begun.set()
        await writer.drain()
        # A client that keeps up never makes the flood wait, and the other connections need their turn.
        await asyncio.sleep(0)
