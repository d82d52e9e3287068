"""microsocks, a SOCKS5 proxy, which lets ada with the password s3cret through. Prints its port."""

import os
import socket
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../Tests/Peers"))

import peer
from real_servers import free_port, start


async def main():
    port = free_port()
    command = ["microsocks", "-i", "127.0.0.1", "-p", str(port), "-u", "ada", "-P", "s3cret"]
    process = start(*command, folder=peer.temporary_folder())
    while not accepts(port):
        if process.poll() is not None:
            raise RuntimeError(f"microsocks has ended with status {process.returncode}")
        time.sleep(0.02)
    await peer.serve_until_stdin_ends(port, peer.Connections())


def accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    peer.run(main)
