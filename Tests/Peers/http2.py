"""An HTTP/2 server that misbehaves on request: see `http2_scenarios.py`.

Prints {"ca": PATH, "ports": {"tls": PORT, "cleartext": PORT}}: h2 by ALPN, and with prior knowledge.
"""

import http2_scenarios
import peer
from certificates import Authority
from http2_connection import Connection


async def handle(reader, writer):
    await Connection(reader, writer, http2_scenarios.play).run()


async def main():
    authority = Authority()
    connections = peer.Connections()
    ports = {
        "tls": await connections.listen(handle, authority.context(alpn=("h2", "http/1.1"))),
        "cleartext": await connections.listen(handle),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
