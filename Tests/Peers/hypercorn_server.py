"""A server of the package hypercorn, whose program talks while it listens. Prints {"ca": PATH, "ports": {"tls", "cleartext"}}.

The port tls offers HTTP/2 and HTTP/1.1; cleartext speaks HTTP/1.1, and HTTP/2 with prior knowledge. A WebSocket gets a message with the version
of HTTP, and then its messages back. Paths:

    /echo       sends each part of the body back as soon as it comes
    /then/N     reads the body, and then sends N lines, each in a part of its own: the request ends first
    /talk/N     sends each part back as soon as it comes and, after the end of the body, N lines
    /early      sends `enough` and ends after the first part of the body: the response ends first

The response has the field `spoken` with the version of HTTP, and, over HTTP/2, the trailer `parts` with the number of parts of the body.
"""

import socket

import peer
from certificates import Authority
from hypercorn.asyncio import serve
from hypercorn.config import Config


async def parts(receive):
    """Yields the parts of a request's body."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        if message["body"]:
            yield message["body"]
        if not message.get("more_body"):
            return


async def converse(scope, receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": scope["http_version"]})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": message.get("bytes"), "text": message.get("text")})


async def application(scope, receive, send):
    if scope["type"] == "websocket":
        return await converse(scope, receive, send)
    if scope["type"] != "http":
        return
    path, count = scope["path"], 0
    has_trailers = "http.response.trailers" in scope.get("extensions", {}) and scope["http_version"] == "2"
    fields = [(b"spoken", scope["http_version"].encode())]
    await send({"type": "http.response.start", "status": 200, "headers": fields, "trailers": has_trailers})

    async def part(body):
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async for body in parts(receive):
        count += 1
        if path == "/echo" or path.startswith("/talk/"):
            await part(body)
        elif path == "/early":
            await part(b"enough")
            break
    if path.startswith(("/then/", "/talk/")):
        for number in range(int(path.split("/")[2])):
            await part(b"line %d\n" % number)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    if has_trailers:
        await send({"type": "http.response.trailers", "headers": [(b"parts", str(count).encode())], "more_trailers": False})


def listener():
    """Returns a socket that listens on a free port."""
    listener = peer.listening()
    listener.set_inheritable(True)
    return listener


async def main():
    authority = Authority()
    secure, plain = listener(), listener()
    config = Config()
    config.certfile, config.keyfile = authority.files()
    config.bind, config.insecure_bind = [f"fd://{secure.fileno()}"], [f"fd://{plain.fileno()}"]
    config.accesslog = config.errorlog = None
    config.graceful_timeout = 0.1
    # The usual five seconds end a connection whose client has been delayed.
    config.keep_alive_timeout = 300
    ports = {"tls": secure.getsockname()[1], "cleartext": plain.getsockname()[1]}
    peer._keep(serve(application, config))
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
