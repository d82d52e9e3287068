"""HTTP/2 servers, and the proxies on the ways to them. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    tls         HTTP/2, and HTTP/1.1 for a client that does not offer HTTP/2; also at the Unix domain socket tls.sock beside `ca`
    http1       as tls, but agrees on HTTP/1.1 alone
    cleartext   HTTP/2 with prior knowledge; also at cleartext.sock
    proxy       an HTTP proxy that makes tunnels
    tls-proxy   the same over TLS; it would agree on h2, and speaks HTTP/1.1
    socks       a SOCKS 5 proxy

Paths: /together/N responds when N requests are there, on one connection; /echo responds with the body; /large with 4 MiB; /cut with a part of
a body, and then ends the connection. The command "seen" tells what there was since the last one: {"tunnels": [TARGET], "connections": N,
"protocols": [ALPN of tls-proxy]}.
"""

import asyncio
import os

import peer
from certificates import Authority
from http2_connection import Connection
from https_proxy import fields, relay

SEEN = {"tunnels": [], "connections": 0, "protocols": []}
LARGE = bytes(range(256)) * (4 << 12)


async def play(stream):
    kind, _, number = stream.path[1:].partition("/")
    if kind == "together":
        waiting = stream.connection.__dict__.setdefault("waiting", [])
        waiting.append(asyncio.Event())
        if len(waiting) == int(number):
            for event in waiting:
                event.set()
            waiting.clear()
        else:
            await waiting[-1].wait()
    body = LARGE if kind == "large" else await stream.body()
    stream.head(fields=[("content-length", str(len(body) + (kind == "cut")))])
    if kind == "cut":
        await stream.answered()
        stream.connection.writer.transport.abort()
    else:
        await stream.data(body, end=True) if body else stream.end()


async def serve(reader, writer):
    SEEN["connections"] += 1
    await Connection(reader, writer, play).run()


async def make_tunnel(target, reader, writer, answer):
    SEEN["tunnels"].append(target)
    host, _, port = target.rpartition(":")
    far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
    writer.write(answer)
    await asyncio.gather(relay(reader, far_writer), relay(far_reader, writer))


async def proxy(reader, writer):
    if secure := writer.get_extra_info("ssl_object"):
        SEEN["protocols"].append(secure.selected_alpn_protocol())
    (method, target, _), _ = fields(await reader.readuntil(b"\r\n\r\n"))
    if method == "CONNECT":
        await make_tunnel(target, reader, writer, b"HTTP/1.1 200 Connection established\r\n\r\n")


async def socks(reader, writer):
    _, count = await reader.readexactly(2)
    await reader.readexactly(count)
    writer.write(b"\5\0")
    kind = (await reader.readexactly(4))[3]
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = ".".join(map(str, await reader.readexactly(4)))
    port = int.from_bytes(await reader.readexactly(2), "big")
    await make_tunnel(f"{host}:{port}", reader, writer, b"\5\0\0\1" + bytes(6))


def seen():
    answer = dict(SEEN)
    SEEN.update(tunnels=[], connections=0, protocols=[])
    return answer


async def main():
    authority = Authority()
    connections = peer.Connections()
    context = authority.context(alpn=("h2", "http/1.1"))

    async def serve_path(name, context=None):
        async def handle(reader, writer):
            connections.enter()
            try:
                await serve(reader, writer)
            except (asyncio.IncompleteReadError, OSError):
                pass
            finally:
                writer.close()
                connections.leave()

        path = os.path.join(os.path.dirname(authority.path), name)
        await asyncio.start_unix_server(handle, path=path, ssl=context)

    await serve_path("tls.sock", context)
    await serve_path("cleartext.sock")
    ports = {
        "tls": await connections.listen(serve, context),
        "http1": await connections.listen(serve, authority.context()),
        "cleartext": await connections.listen(serve),
        "proxy": await connections.listen(proxy),
        "tls-proxy": await connections.listen(proxy, authority.context(alpn=("h2", "http/1.1"))),
        "socks": await connections.listen(socks),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, {b"seen": seen})


if __name__ == "__main__":
    peer.run(main)
