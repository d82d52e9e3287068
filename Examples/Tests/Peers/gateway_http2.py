"""Checks of `trellis gateway` in front of an origin that speaks HTTP/2: gateway_http2.py TRELLIS KIND, where the kind is "TLS" or "prior
knowledge". Prints lines as gateway.py does. The Python is that of .scripts/python-peers.sh, which has the module h2."""

import asyncio, json, os, re, shutil, subprocess, sys, threading

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "..", "Tests", "Peers")]

import h2.events  # noqa: E402
from certificates import Authority  # noqa: E402
from gateway_peers import CONTINUE_LIMIT, LIMIT, Gateway, request, until, within  # noqa: E402
from http2_connection import Connection  # noqa: E402
from peer import Connections  # noqa: E402


class Peer(Connection):
    """A connection of the origin that notes its streams that the gateway resets, or leaves with the connection."""

    async def run(self):
        try:
            await super().run()
        finally:
            for stream in self._streams.values():
                self.note(stream)

    def note(self, stream):
        if not stream.has_responded:
            ended.append(stream.path)
            has_ended.set()

    def _handle(self, event):
        if isinstance(event, h2.events.StreamReset):
            self.note(self._streams[event.stream_id])
        super()._handle(event)


def check(name, wanted, got):
    clean = lambda value: value.decode("latin-1") if isinstance(value, bytes) else str(value)
    print("\t".join(["gateway: %s (%s)" % (name, kind)] + [json.dumps(value, default=clean) for value in (wanted, got)]), flush=True)


program, kind = sys.argv[1:]
# The scripts run in the loop, which has a thread of its own, and are named by the first part of the path.
scripts, streams, ended, has_ended, over_http1, failed = {}, [], [], threading.Event(), [], []
connections = Connections()
large = bytes(range(256)) * 4000


def script(function):
    scripts[function.__name__] = function
    return function


@script
async def plain(stream):
    await stream.body()
    has_body = stream.headers[b":method"] != b"HEAD"
    stream.head(fields=[("content-length", "5"), ("set-cookie", "a=1"), ("x-one", "1"), ("set-cookie", "b=2")], end=not has_body)
    if has_body:
        await stream.data(b"hello", end=True)


@script
async def echo(stream):
    stream.head(fields=[("x-length", stream.headers.get(b"content-length", b"none"))])
    async for piece in stream.pieces():
        await stream.data(piece)
    stream.end()


@script
async def summed(stream):
    stream.head(fields=[("trailer", "x-sum")])
    await stream.data(b"hello")
    stream.trailers([("x-sum", "7"), ("authorization", "Basic eDp5")])


@script
async def measured(stream):
    stream.head(fields=[("trailer", "x-sum"), ("content-length", "5")])
    await stream.data(b"hello")
    stream.trailers([("x-sum", "7")])


@script
async def hinted(stream):
    stream.head(103, [("link", "</a>")])
    stream.head(204, end=True)


@script
async def permitted(stream):
    stream.head(100)
    body = await stream.body()
    stream.head()
    await stream.data(body, end=True)


@script
async def refused(stream):
    stream.head(413, end=True)


@script
async def cut(stream):
    stream.head()
    await stream.data(b"hello")
    await stream.answered()
    stream.reset(2)


async def fail(stream):
    """Fails the first request for a target as the name says: refuses the stream, or leaves it with a GOAWAY that does not cover it, or after
    which it may have been handled. With `-late` at the end of the name, its body has come before that."""
    name = stream.path.split("/")[1]
    body = await stream.body() if name.endswith("-late") else b""
    failed.append([stream.headers[b":method"].decode(), len(body)])
    if sum(other.path == stream.path for other in streams) > 1:
        return await plain(stream)
    if name.startswith("unprocessed"):
        return stream.reset(7)
    if name.startswith("leaving"):
        stream.goaway(stream.id - 2 if stream.id > 1 else 0)
    elif name.startswith("covered"):
        stream.goaway(stream.id)
    elif name.startswith("broken"):
        return stream.reset(2)
    stream.close_connection()


for name in ("unprocessed", "leaving", "covered", "broken", "closed"):
    scripts[name] = scripts[name + "-late"] = fail


@script
async def endless(stream):
    stream.head()
    while True:
        await stream.data(b"x" * 16384)


@script
async def silent(stream):
    await stream.body()
    await asyncio.Event().wait()


async def play(stream):
    streams.append(stream)
    name = stream.path.split("/")[1].split("?")[0] if stream.path.startswith("/") else ""
    stream.has_responded = False
    await scripts.get(name, plain)(stream)
    stream.has_responded = True


async def serve(reader, writer):
    tls = writer.get_extra_info("ssl_object")
    if tls and tls.selected_alpn_protocol() != "h2":
        # A request in chunks.
        over_http1.append(await reader.readuntil(b"\r\n\r\n") + await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh1")
        await reader.read()
    else:
        await Peer(reader, writer, play).run()


async def listen():
    authority = Authority()
    context = authority.context(alpn=("h2", "http/1.1"))
    return authority, await connections.listen(serve, context), await connections.listen(serve)


def run(gateway, is_secure):
    got = gateway.get("/plain/a/../b?q='%41", "X-A: 1\r\nX-b: 2\r\nConnection: X-Foo\r\nX-Foo: 1\r\nTE: trailers\r\nKeep-Alive: 1\r\n")
    sent = streams[-1].headers
    check("a response", [200, ["5"], ["a=1", "b=2"], b"hello", "2 trellis", True],
          [got.status, got.all("Content-Length"), got.all("Set-Cookie"), got.body, got.get("Via"), "GMT" in got.get("Date")])
    check("its request", [b"GET", b"/plain/a/../b?q='%41", b"https" if is_secure else b"http", gateway.origin.encode(), b"1", b"2", b"1.1 trellis",
                          b"trailers"],
          [sent[name] for name in (b":method", b":path", b":scheme", b":authority", b"x-a", b"x-b", b"via", b"te")])
    check("without fields of the connection", [], [name for name in sent if name in (b"connection", b"host", b"keep-alive", b"x-foo")])
    for method in ["M-SEARCH", "PURGE", "get"]:
        check("the method " + method, [200, method], [gateway.get("/", method=method).status, streams[-1].headers[b":method"]])
    got = gateway.get("*", method="OPTIONS")
    check("OPTIONS *", [200, b"*"], [got.status, streams[-1].headers[b":path"]])
    got = gateway.get("/plain", method="HEAD")
    check("HEAD", [200, "5", b""], [got.status, got.get("Content-Length"), got.body])

    got = gateway.get("/echo", "Content-Length: %d\r\n" % len(large), "PUT", large)
    check("a body with a length", [str(len(large)), True], [got.get("x-length"), got.body == large])
    chunks = b"%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(large), large)
    got = gateway.get("/echo", "Transfer-Encoding: chunked\r\n", "PUT", chunks)
    check("a body in chunks", ["none", True], [got.get("x-length"), got.body == large])
    connection = gateway.connect()
    connection.send(request("/echo", "Transfer-Encoding: chunked\r\n", "PUT"))
    head, pieces = connection.head(), []
    for piece in ["one", "two"]:
        connection.send("3\r\n%s\r\n" % piece)
        pieces.append(connection.exactly(int(connection.line(), 16)))
        connection.line()
    connection.send("0\r\n\r\n")
    check("pieces go both ways before either side is complete", [200, [b"one", b"two"], b"0"], [head.status, pieces, connection.line()])

    got = gateway.get("/summed")
    check("trailers of a response", [b"hello", [(b"x-sum", b"7")]], [got.body, got.trailers])
    got = gateway.get("/measured")
    check("trailers behind a body with a length", [b"hello", True, [(b"x-sum", b"7")]], [got.body, got.is_complete, got.trailers])
    chunks = b"5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n"
    got = gateway.get("/echo", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n", "PUT", chunks)
    check("trailers of a request", [b"hello", b"X-Sum", [(b"x-sum", b"7")], []],
          [got.body, streams[-1].headers.get(b"trailer"), streams[-1].request_trailers, over_http1])

    got = gateway.get("/hinted")
    check("103", [204, [(103, "</a>")]], [got.status, [(head.status, head.get("link")) for head in got.informational]])

    def permission():
        connection = gateway.connect()
        connection.send(request("/permitted", "Content-Length: 5\r\nExpect: 100-continue\r\n", "PUT"))
        head = connection.head()
        connection.send("hello")
        return [head.status, (a := connection.response()).body, a.informational, streams[-1].headers.get(b"expect")]
    wanted = [100, b"hello", [], b"100-continue"]
    check("a body waits for the origin's 100", wanted, within(CONTINUE_LIMIT, wanted, permission))

    def refusal():
        got = gateway.get("/refused", "Content-Length: 5\r\nExpect: 100-continue\r\n", "PUT")
        return [got.status, got.informational]
    check("a refusal in place of the 100", [413, []], within(CONTINUE_LIMIT, [413, []], refusal))

    got = gateway.get("/cut")
    check("a stream that is reset is cut for the client", [200, b"hello", False], [got.status, got.body, got.is_complete])
    for end, path in [("before the response", "/silent"), ("in its body", "/endless")]:
        count = len(streams)
        connection = gateway.connect()
        connection.send(request(path))
        if path == "/endless":
            connection.head()
        until(lambda: len(streams) > count)
        has_ended.clear()
        ended.clear()
        connection.socket.close()
        for _ in range(LIMIT):
            # libcurl 7.88 sends the reset of a stream only with the next request on its connection.
            if has_ended.wait(1) or libcurl < (8, 1) and gateway.get("/plain").status != 200:
                break
        check("a client that leaves %s cancels its request" % end, [path], ended)

    # The engine itself repeats what the origin has not processed, unless bytes of its body were sent.
    for name, is_repeated in [("unprocessed", True), ("leaving", True), ("covered", False), ("broken", False), ("closed", False)]:
        for method in ["GET", "DELETE", "FOO"]:
            failed.clear()
            got = gateway.get("/%s/%s/%s" % (name, method, kind[:3]), method=method)
            wanted, result = [200, [[method, 0]] * 2] if is_repeated else [502, [[method, 0]]], [got.status, list(failed)]
            # libcurl 7.88 does not always tell that a stream was refused, or uses a connection that the origin is leaving.
            if is_repeated and libcurl < (8, 0) and result in ([502, [[method, 0]]], [502, []]):
                wanted = result
            check("a %s that the origin ends as %s" % (method, name), wanted, result)
        failed.clear()
        got = gateway.get("/%s-late/%s" % (name, kind[:3]), "Content-Length: 5\r\n", "POST", b"hello")
        check("a POST whose body was sent, and that the origin ends as %s, is not repeated" % name, [502, [["POST", 5]]], [got.status, failed])

    # A client that reads nothing, and others on the same connection to the origin.
    stalled = gateway.connect()
    stalled.send(request("/endless"))
    stalled.head()
    before = connections.accepted
    clients = [gateway.connect() for _ in range(40)]
    for client in clients:
        client.send(request("/echo", "Content-Length: 100000\r\n", "PUT", large[:100000]))
    got = [client.response().body == large[:100000] for client in clients]
    # Before 8.4, requests share no connection.
    check("a client that reads nothing does not stop others on few connections", [40, True],
          [sum(got), connections.accepted - before <= (4 if libcurl >= (8, 4) else 40)])
    stalled.socket.close()


loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
authority, secure_port, plain_port = asyncio.run_coroutine_threadsafe(listen(), loop).result()
version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
libcurl = tuple(map(int, re.search(r"libcurl/(\d+)\.(\d+)", version).groups()))
is_secure = kind == "TLS"
url = "https://127.0.0.1:%d" % secure_port if is_secure else "http://127.0.0.1:%d" % plain_port
# Before 8.4, HTTP/2 is spoken if it is demanded.
demanded = ["--http", "2-only"] if libcurl < (8, 4) else []
options = ["--cacert", authority.path, *demanded] if is_secure else ["--http", "2-prior-knowledge"]
gateway = Gateway(program, url, *options)
gateway.origin = url.split("//")[1]
run(gateway, is_secure)
check("it ends with 0", [0, b"", b""], gateway.end())
if is_secure:
    gateway = Gateway(program, url, *options, "--http", "1.1")
    over_http1.clear()
    got = gateway.get("/echo", "Transfer-Encoding: chunked\r\n", "PUT", b"0\r\n\r\n")
    check("--http 1.1", [b"h1", 1], [got.body, len(over_http1)])
    gateway.end()
shutil.rmtree(authority.folder)
sys.stdout.flush()
os._exit(0)
