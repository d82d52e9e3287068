"""A WebSocket server of the package websockets, with and without TLS, and proxies. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    ws          the server; agrees to permessage-deflate with windows of 4 KiB, and to the subprotocols `chat` and `news`
    ws-plain    the same without extensions
    wss         as ws, over TLS; offers HTTP/2 too, which must not be selected
    proxy       an HTTP proxy that makes tunnels
    tls-proxy   the same over TLS

Paths: /echo sends messages back; /flood sends binary messages of 64 KiB until the connection ends; /close/CODE sends `first` and
closes with the code and the reason `why`; /ping sends 100 pings, waits for the answer to the last one, and then sends `answered`. The
command "seen" tells the requests that the proxies have got: a list of [METHOD, TARGET, PROXY-AUTHORIZATION], emptied by the command.
"""

import asyncio
import functools

import peer
from certificates import Authority
from https_proxy import proxy, seen
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

connections = peer.Connections()


async def converse(socket, path):
    if path == "/flood":
        while True:
            await socket.send(bytes(64 << 10))
            # While there is room, sending does not let the connection's end be noticed.
            await asyncio.sleep(0)
    elif path.startswith("/close/"):
        await socket.send("first")
        await socket.close(int(path.split("/")[2]), "why")
    elif path == "/ping":
        answers = [await socket.ping(str(number)) for number in range(100)]
        await answers[-1]
        await socket.send("answered")
        await socket.wait_closed()
    else:
        async for message in socket:
            await socket.send(message)


def subprotocol(connection, offered):
    """Returns the first offered subprotocol that the server knows; None if there is none."""
    return next((name for name in offered if name in ("chat", "news")), None)


async def handle(socket):
    connections.enter()
    try:
        await converse(socket, socket.request.path)
    except ConnectionClosed:
        pass
    finally:
        await socket.wait_closed()
        connections.leave()


async def main():
    authority = Authority()
    context = authority.context(alpn=("h2", "http/1.1"))
    start = functools.partial(
        serve, handle, "127.0.0.1", 0, select_subprotocol=subprotocol, max_size=None, ping_interval=None, open_timeout=None
    )
    servers = {"ws": await start(), "ws-plain": await start(compression=None), "wss": await start(ssl=context)}
    ports = {name: server.sockets[0].getsockname()[1] for name, server in servers.items()}
    ports["proxy"] = await connections.listen(proxy)
    ports["tls-proxy"] = await connections.listen(proxy, authority.context())
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, {b"seen": seen})


if __name__ == "__main__":
    peer.run(main)
