"""An HTTP/2 server that misbehaves on request: see `http2_scenarios.py`.

Prints {"ca": PATH, "ports": {NAME: PORT}}: `tls` is h2 by ALPN, `cleartext` h2 with prior knowledge, `other-tls` and
`other-cleartext` are the same for another origin, and `impostor` agrees on h2 by ALPN but speaks HTTP/1.1.
"""

import http2_scenarios
import peer
from certificates import Authority
from http2_connection import Connection


async def handle(reader, writer):
    await Connection(reader, writer, http2_scenarios.play).run()


async def speak_http1(reader, writer):
    """Sends a response over HTTP/1.1 to the first bytes that come, and keeps the connection."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxx"
    while await reader.read(65536):
        writer.write(answer)
        answer = b""


async def main():
    authority = Authority()
    connections = peer.Connections()
    ports = {
        "tls": await connections.listen(handle, authority.context(alpn=("h2", "http/1.1"))),
        "cleartext": await connections.listen(handle),
        "other-tls": await connections.listen(handle, authority.context(alpn=("h2", "http/1.1"))),
        "other-cleartext": await connections.listen(handle),
        "impostor": await connections.listen(speak_http1, authority.context(alpn=("h2",))),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
