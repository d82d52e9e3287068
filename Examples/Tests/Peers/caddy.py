"""caddy with HTTP/1.1, HTTP/2 and, over UDP, HTTP/3, which it names in Alt-Svc, for localhost. Prints {"ca": PATH, "port": PORT}.

It responds with the version of HTTP, such as `HTTP/2.0`.
"""

import asyncio
import os
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../Tests/Peers"))

import peer
from certificates import Authority
from real_servers import free_port, start

CADDYFILE = """
{{
    admin off
    auto_https off
}}
https://localhost:{port} {{
    bind 127.0.0.1
    tls {chain} {key}
    respond "{{http.request.proto}}"
}}
"""


async def main():
    authority, port = Authority(), free_port()
    chain, key = authority.files("localhost")
    path = os.path.join(authority.folder, "Caddyfile")
    with open(path, "w") as file:
        file.write(CADDYFILE.format(port=port, chain=chain, key=key))
    process = start("caddy", "run", "--adapter", "caddyfile", "--config", path, folder=authority.folder)
    while not accepts(port):
        if process.poll() is not None:
            raise RuntimeError(f"caddy has ended with status {process.returncode}")
        await asyncio.sleep(0.02)
    await peer.serve_until_stdin_ends({"ca": authority.path, "port": port}, peer.Connections())


def accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    peer.run(main)
