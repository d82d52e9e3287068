"""dnsmasq, and a server of DNS over HTTPS that passes its messages on: /known of one that knows names of example and nothing
else, /refusing of one that knows no names and no other server.
"""

import asyncio
import socket
import time

import peer
from real_servers import free_port, start

RECORDS = [
    "--local=/example/",
    "--host-record=both.example,192.0.2.7,2001:db8::7,300",
    "--host-record=v4.example,192.0.2.1",
    "--cname=www.example,web.example",
    "--cname=web.example,host.example",
    "--host-record=host.example,192.0.2.3,60",
    "--host-record=host.example,192.0.2.4,60",
    "--address=/local.example/127.0.0.1",
]


def start_dnsmasq(options, folder):
    port = free_port()
    start(
        "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=", "--pid-file=",
        f"--port={port}", "--listen-address=127.0.0.1", "--bind-interfaces", *options, folder=folder,
    )
    return port


def ask(port, question):
    """Returns the response to a question. It is sent again while dnsmasq does not listen."""
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(0.1)
        client.connect(("127.0.0.1", port))
        while True:
            try:
                client.send(question)
                return client.recv(65536)
            except TimeoutError:
                continue
            except ConnectionRefusedError:
                # The refusal comes at once.
                time.sleep(0.05)


async def main():
    folder = peer.temporary_folder()
    ports = {"/known": start_dnsmasq(RECORDS, folder), "/refusing": start_dnsmasq([], folder)}
    loop = asyncio.get_running_loop()

    async def serve(reader, writer):
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except asyncio.IncompleteReadError:
                return
            length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
            question = await reader.readexactly(length)
            answer = await loop.run_in_executor(None, ask, ports[head.split(" ")[1]], question)
            fields = f"Content-Type: application/dns-message\r\nContent-Length: {len(answer)}\r\n"
            writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode() + answer)
            await writer.drain()

    connections = peer.Connections()
    port = await connections.listen(serve)
    await peer.serve_until_stdin_ends({"ca": "", "ports": {"doh": port}}, connections)


if __name__ == "__main__":
    peer.run(main)
