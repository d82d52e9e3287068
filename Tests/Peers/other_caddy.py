"""caddy on another machine, which is a network namespace: `other_caddy.py NAMESPACE ADDRESS`.

Prints {"ca": PATH, "ports": {"caddy": PORT, "persisting": PORT}}. Both ports have HTTP/1.1, HTTP/2 and, over UDP, HTTP/3, which
caddy names in Alt-Svc; the second one says that this persists beyond a change of the network (RFC 7838, section 3.1). The response
to every request is the address of the client and the version of HTTP, as `198.51.100.2 HTTP/2.0`.
"""

import asyncio
import os
import socket
import sys

import peer
from certificates import Authority
from other_machine import enter
from real_servers import is_bound_over_udp, start

CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2 h3
    }}
}}
https://{address}:{port} {{
    bind {address}
    tls {chain} {key}
    respond "{{remote_host}} {{http.request.proto}}"
}}
https://{address}:{persisting} {{
    bind {address}
    tls {chain} {key}
    header Alt-Svc `h3=":{persisting}"; ma=3600; persist=1`
    respond "{{remote_host}} {{http.request.proto}}"
}}
"""


async def main():
    namespace, address = sys.argv[1:]
    enter(namespace)
    # No other program uses the ports of the namespace.
    ports = {"caddy": 4433, "persisting": 4434}
    authority = Authority()
    chain, key = authority.files(address)
    path = os.path.join(authority.folder, "Caddyfile")
    with open(path, "w") as file:
        file.write(CADDYFILE.format(address=address, port=4433, persisting=4434, chain=chain, key=key))
    process = start("caddy", "run", "--adapter", "caddyfile", "--config", path, folder=authority.folder)
    for port in ports.values():
        # caddy takes TCP connections before it is bound to the UDP port.
        while not (accepts(address, port) and is_bound_over_udp(port)):
            if process.poll() is not None:
                raise RuntimeError(f"caddy has ended with status {process.returncode}")
            await asyncio.sleep(0.02)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, peer.Connections())


def accepts(address, port):
    with socket.socket() as client:
        return client.connect_ex((address, port)) == 0


if __name__ == "__main__":
    peer.run(main)
