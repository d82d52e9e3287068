"""Scenarios for streams, selected by the path: `/name/argument/…` runs the function `name` with its arguments.

CODE is the name of an HTTP/2 error code, such as REFUSED_STREAM. KEY is any text that a test chooses, to tell the first
attempt of a request from the next.
"""

import asyncio
import collections

from h2.errors import ErrorCodes

from http2_flood import flood, flood_frames
from http2_violations import violation

HALF = b"x" * 50
_attempts = collections.Counter()
_held = collections.defaultdict(list)
_streams = collections.defaultdict(lambda: asyncio.get_running_loop().create_future())
_rests = collections.defaultdict(lambda: asyncio.get_running_loop().create_future())
_wanted, _begun = collections.defaultdict(asyncio.Event), collections.defaultdict(asyncio.Event)


async def play(stream):
    name, *arguments = stream.path.split("?")[0].strip("/").split("/")
    scenario = SCENARIOS.get(name)
    if scenario is None:
        stream.head(404, end=True)
    else:
        await scenario(stream, *arguments)


async def ok(stream, size="2"):
    """Sends a good response of that many bytes."""
    stream.head(fields=[("content-length", size)], end=size == "0")
    await stream.data(b"x" * int(size), end=True)


async def echo(stream):
    """Sends the request's body as the response's."""
    body = await stream.body()
    stream.head(fields=[("content-length", str(len(body)))], end=not body)
    await stream.data(body, end=True)


async def parts(stream):
    """Responds with the length that the request announces, the number of bytes of its body, and its trailers."""
    body = await stream.body()
    length = stream.headers.get(b"content-length", b"none").decode()
    trailers = [f"{name.decode()}={value.decode()}" for name, value in stream.request_trailers]
    stream.head()
    await stream.data(" ".join([length, str(len(body)), *trailers]).encode(), end=True)


async def lockstep(stream):
    """Sends each piece of the request's body back as soon as it comes, and after its end `bye` and the number of bytes as a trailer."""
    stream.head()
    async for piece in stream.pieces():
        await stream.data(piece)
    await stream.data(b"bye")
    stream.trailers([("x-count", str(len(stream.received)))])


async def rst(stream, where, code, length="with-length"):
    """Sends RST_STREAM with CODE, at `before-head`, `after-head` or `in-body`."""
    if where != "before-head":
        stream.head(fields=[("content-length", "100")] if length == "with-length" else [])
    if where == "in-body":
        await stream.data(HALF)
    stream.reset(ErrorCodes[code])


async def refused_once(stream, key):
    """Sends REFUSED_STREAM the first time, and a good response the next."""
    _attempts[key] += 1
    if _attempts[key] == 1:
        stream.reset(ErrorCodes.REFUSED_STREAM)
    else:
        await ok(stream)


async def refused_then(stream, code, key):
    """Sends REFUSED_STREAM the first time, RST_STREAM with CODE the next, and then good responses."""
    _attempts[key] += 1
    if _attempts[key] > 2:
        return await ok(stream)
    stream.reset(ErrorCodes.REFUSED_STREAM if _attempts[key] == 1 else ErrorCodes[code])


async def attempts(stream, key):
    """Sends as many bytes as there were requests with KEY."""
    await ok(stream, str(_attempts[key]))


async def ok_then_flood(stream, key):
    """Sends a good response, and frames without end on its connection once `flood-now` asks for them."""
    await ok(stream)
    await _wanted[key].wait()
    await flood_frames(stream, "unknown-frames", _begun[key])


async def flood_told(stream, key):
    """Sends frames without end before any head, and lets `sent` with KEY go on."""
    await flood_frames(stream, "unknown-frames", _begun[key])


async def flood_now(stream, key):
    """Sends a good response, once the flood with KEY has begun."""
    _wanted[key].set()
    await _begun[key].wait()
    await ok(stream)


async def rst_once(stream, code, key, then="nothing"):
    """Sends RST_STREAM with CODE the first time, and then `nothing` or the `close` of the connection; a good response the next."""
    _attempts[key] += 1
    if _attempts[key] > 1:
        return await ok(stream)
    stream.reset(ErrorCodes[code])
    if then == "close":
        stream.close_connection()


async def close_once(stream, key, goaway="without-goaway"):
    """Ends the connection the first time, `with-goaway` after a GOAWAY that covers the stream; sends a good response the next."""
    _attempts[key] += 1
    if _attempts[key] > 1:
        return await ok(stream)
    if goaway == "with-goaway":
        stream.goaway(stream.id)
    stream.close_connection()


async def goaway(stream, where, key=""):
    """Sends GOAWAY `after` a whole response, in the `body` of one that goes on, in the body of one that is `cut` short with
    the connection, or `before` the stream, which the GOAWAY does not cover: then the next attempt gets its response."""
    if where == "before":
        _attempts[key] += 1
        if _attempts[key] == 1:
            stream.goaway(stream.id - 2 if stream.id > 1 else 0)
            return stream.close_connection()
        return await ok(stream)
    if where == "after":
        await ok(stream)
        return stream.goaway(stream.id)
    stream.head(fields=[("content-length", "100")])
    await stream.data(HALF)
    stream.goaway(stream.id)
    if where == "cut":
        stream.close_connection()
    else:
        await stream.data(HALF, end=True)


async def goaway_whole(stream, where, end):
    """Sends a GOAWAY that covers the stream, `before-head` or `in-body` of a whole response without a length, whose end comes
    `at-once` or in a frame of its `own`."""
    if where == "before-head":
        stream.goaway(stream.id)
    stream.head()
    if where == "in-body":
        stream.goaway(stream.id)
    await stream.data(HALF, end=end == "at-once")
    if end == "own":
        stream.end()


async def goaway_broken(stream, name, how, code="NO_ERROR"):
    """Sends a GOAWAY with CODE, which covers the stream, in a body without a length, and then the violation NAME: in a piece
    of its `own`, or `at-once` with the GOAWAY."""
    stream.head()
    await stream.data(HALF)
    await stream.answered()
    stream.connection.is_deaf = True
    if how == "own":
        stream.goaway(stream.id, ErrorCodes[code])
        await asyncio.sleep(0.05)
        stream.raw(violation(name, stream.id))
    else:
        stream.goaway(stream.id, ErrorCodes[code], violation(name, stream.id))


async def goaway_pinged(stream, key):
    """Sends a whole response without a length, and before its end a GOAWAY that covers the response, and a PING that the client
    must answer. The response ends once `go-on` asks for that."""
    stream.head()
    stream.goaway(stream.id)
    await stream.data(HALF)
    await stream.answered()
    _begun[key].set()
    await _wanted[key].wait()
    stream.end()


async def has_sent(stream, key):
    """Lets `sent` with KEY go on once the client's kernel has everything, or the client has left."""
    if key:
        try:
            await stream.delivered()
        finally:
            _begun[key].set()


async def sent(stream, key):
    """Sends a good response, once the scenario with KEY has sent everything."""
    await _begun[key].wait()
    await ok(stream)


async def pinged(stream, key):
    """Sends a good response, once the PING with KEY was answered."""
    await _begun[key].wait()
    await ok(stream)


async def go_on(stream, key):
    """Sends a good response, and lets the response that waits with KEY go on."""
    _wanted[key].set()
    await ok(stream)


async def broken(stream, name, where, length):
    """Sends the violation NAME, after which the connection stays open on this side: `before-head`, `after-head`, `in-body`,
    after a body that is `filled` but has not ended, or in one piece with part of the body (`at-once`)."""
    if where != "before-head":
        stream.head(fields=[("content-length", "100")] if length == "with-length" else [])
    if where in ("in-body", "filled"):
        await stream.data(HALF * (2 if where == "filled" else 1))
    if where in ("after-head", "in-body", "filled"):
        # The client must have read everything before the violation: the content of TLS records is read one by one, that of TCP is
        # not.
        await stream.answered()
    stream.connection.is_deaf = True
    if where == "at-once":
        await stream.data_with(HALF, violation(name, stream.id))
    else:
        stream.raw(violation(name, stream.id))


async def cut_when_filled(stream):
    """Sends a body that fills its length but does not end, and then ends the connection."""
    stream.head(fields=[("content-length", "50")])
    await stream.data(HALF)
    stream.close_connection()


async def goaway_error(stream, code):
    """Sends a GOAWAY with CODE that covers the stream, and ends the connection, before any head."""
    stream.goaway(stream.id, ErrorCodes[code])
    stream.close_connection()


async def truncated(stream, how, length="with-length"):
    """Sends half a body, ended by `end-stream`, by `rst` with NO_ERROR, or by `close` of the connection."""
    stream.head(fields=[("content-length", "100")] if length == "with-length" else [])
    if how == "end-stream":
        await stream.data(HALF, end=True)
    elif how == "rst":
        await stream.data(HALF)
        stream.reset(ErrorCodes.NO_ERROR)
    else:
        await stream.data(HALF)
        stream.close_connection()


async def overlong(stream):
    """Sends more body than content-length allows."""
    stream.head(fields=[("content-length", "10")])
    await stream.data(HALF, end=True)


async def trailers(stream, length="without-length"):
    stream.head(fields=[("content-length", "50")] if length == "with-length" else [])
    await stream.data(HALF)
    stream.trailers([("x-checksum", "1234")])


async def hints(stream, count="1"):
    """Sends 103 that many times, then the response."""
    for number in range(int(count)):
        stream.head(103, fields=[("link", f"</{number}.css>; rel=preload")])
    await ok(stream)


async def together(stream, key, count):
    """Sends no response until COUNT requests with KEY are in flight at once; then all get one."""
    _held[key].append(asyncio.Event())
    mine = _held[key][-1]
    if len(_held[key]) == int(count):
        for held in _held.pop(key):
            held.set()
    await mine.wait()
    await ok(stream)


async def silent(stream, where, key=""):
    """Sends nothing more, `before-head`, `after-head` or `in-body`. With a KEY, `sent` waits for what comes before that."""
    if where != "before-head":
        stream.head(fields=[("content-length", "100")])
    if where == "in-body":
        await stream.data(HALF)
    await has_sent(stream, key)


async def until_left(stream, key):
    """Sends the beginning of a body and nothing more, so that `left` can wait until the client has left the stream."""
    _streams[key].set_result(stream)
    await silent(stream, "in-body")


async def left(stream, key):
    """Sends a good response, once the client has reset the stream of `until-left` with KEY, or closed its connection."""
    await (await _streams[key]).left.wait()
    await ok(stream)


async def early(stream, status):
    """Sends a whole response before reading the request's body, then RST_STREAM with NO_ERROR (RFC 9113, section 8.1)."""
    await ok_with_status(stream, int(status))
    stream.reset(ErrorCodes.NO_ERROR)


async def early_end(stream, status, length, end, then="nothing"):
    """Sends a whole response before reading all of the request's body, `with-length` or `without-length`, whose end comes
    `at-once` or in a frame of its `own`; and then nothing, or for `reset` RST_STREAM with NO_ERROR (RFC 9113, section 8.1)."""
    await stream.begun()
    stream.head(int(status), fields=[("content-length", "2")] if length == "with-length" else [])
    await stream.data(b"xx", end=end == "at-once")
    if end == "own":
        # The client has read the bytes before the end.
        await stream.answered()
        stream.end()
    if then == "reset":
        stream.reset(ErrorCodes.NO_ERROR)


async def early_whole(stream, status, key, reading="read"):
    """Sends a whole response, with two bytes and their length unless its STATUS has no body, before the end of the request's body. With
    `unread` in its path, the client gets no more room for that body. `early_rest` with KEY tells how the body has ended."""
    await stream.begun()
    if status in ("204", "304"):
        stream.head(int(status), end=True)
    else:
        stream.head(int(status), fields=[("content-length", "2")])
        await stream.data(b"xx", end=True)
    ends = [asyncio.ensure_future(event.wait()) for event in (stream.ended, stream.left)]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # The end of the connection cancels the scenario.
        for end in ends:
            end.cancel()
        _rests[key].set_result("4" if stream.ended.is_set() else "5")


async def early_rest(stream, key):
    """Sends five bytes if the body with KEY was cut, and four if it has ended in order."""
    await ok(stream, await _rests[key])


async def continued(stream, status="100"):
    """Sends the request's body as the response's, after a 100 has asked for it; another STATUS is the response itself."""
    assert stream.headers.get(b"expect") == b"100-continue" and not stream.received
    if status != "100":
        return await ok_with_status(stream, int(status))
    stream.head(100)
    await echo(stream)


async def ok_with_status(stream, status):
    stream.head(status, fields=[("content-length", "2")])
    await stream.data(b"xx", end=True)


async def field(stream, kind):
    """Sends a response field that HTTP/2 forbids."""
    forbidden = {
        "uppercase": [("X-Upper", "1")],
        "connection": [("connection", "keep-alive")],
        "pseudo": [(":method", "GET")],
        "newline": [("x-newline", "a\r\nb: c")],
        # The size is made of pieces, as encoding a long value takes its length squared.
        "huge": [(f"x-huge-{number}", "y" * 4_000) for number in range(80)],
    }
    stream.head(fields=forbidden[kind], end=True)


async def status(stream, value):
    """Sends a status that may be malformed."""
    stream.head(value, end=True)


async def garbage(stream, key):
    """Sends bytes that are not frames, for which `sent` with KEY waits."""
    stream.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 10)
    await has_sent(stream, key)


SCENARIOS = {
    name.replace("_", "-"): function
    for name, function in list(globals().items())
    if asyncio.iscoroutinefunction(function) and name not in ("play", "has_sent")
}
