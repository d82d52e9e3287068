"""Real servers, on files of their own making, each with a port of its own.

Prints {"ca": PATH, "ports": {NAME: PORT}} with the servers below that are installed:

    caddy      HTTP/1.1, HTTP/2 and, over UDP, HTTP/3
    nghttpd    HTTP/2
    tinyproxy  an HTTP proxy that lets ada with the password s3cret through, to the ports of the others

Both servers have /small (11 bytes) and /large (8 MiB of which byte n is n modulo 251); caddy's
/proxy-authorization is that field of the request, in brackets.
"""

import asyncio
import ctypes
import os
import shutil
import signal
import socket
import subprocess

import peer
from certificates import Authority

CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2 h3
    }}
}}
https://127.0.0.1:{port} {{
    bind 127.0.0.1
    tls {chain} {key}
    root * {folder}
    respond /proxy-authorization "[{{header.Proxy-Authorization}}]"
    file_server
}}
"""

TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 60
Allow 127.0.0.1
BasicAuth ada s3cret
{ports}
"""


def free_port():
    """Returns a port that is free for TCP and UDP at the moment. The port is not reserved until the server uses it."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        return tcp.getsockname()[1]


def start(*command, folder):
    """Starts a server that ends with this process, however this process ends."""

    def end_with_parent():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
    with open(os.path.join(folder, "log"), "ab") as log:
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=end_with_parent
        )


async def accepting(port):
    """Waits until the port takes connections."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            return writer.close()
        except OSError:
            await asyncio.sleep(0.02)


async def main():
    authority = Authority()
    chain, key = authority.files()
    folder = peer.temporary_folder()
    with open(os.path.join(folder, "small"), "wb") as file:
        file.write(b"hello world")
    with open(os.path.join(folder, "large"), "wb") as file:
        file.write((bytes(range(251)) * (1 << 16))[: 8 << 20])

    ports = {}
    if shutil.which("caddy"):
        ports["caddy"] = free_port()
        configuration = os.path.join(authority.folder, "Caddyfile")
        with open(configuration, "w") as file:
            file.write(CADDYFILE.format(port=ports["caddy"], chain=chain, key=key, folder=folder))
        start("caddy", "run", "--adapter", "caddyfile", "--config", configuration, folder=authority.folder)
    if shutil.which("nghttpd"):
        # Servers with the usual limit of concurrent streams, and with lower ones.
        for name, limit in [("nghttpd", 100), ("nghttpd-1", 1), ("nghttpd-2", 2), ("nghttpd-10", 10)]:
            ports[name] = free_port()
            options = ("--address=127.0.0.1", f"--max-concurrent-streams={limit}", f"--htdocs={folder}")
            start("nghttpd", *options, str(ports[name]), key, chain, folder=authority.folder)
    if shutil.which("tinyproxy"):
        allowed = "\n".join(f"ConnectPort {port}" for port in ports.values())
        ports["tinyproxy"] = free_port()
        configuration = os.path.join(authority.folder, "tinyproxy.conf")
        with open(configuration, "w") as file:
            file.write(TINYPROXY.format(port=ports["tinyproxy"], ports=allowed))
        start("tinyproxy", "-d", "-c", configuration, folder=authority.folder)
    for port in ports.values():
        await accepting(port)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
