"""A server on another machine, which is a network namespace: `other_machine.py NAMESPACE ADDRESS [proxies]`.

Prints {"ca": PATH, "ports": {"http": PORT, "https": PORT}}; `https` is HTTP/2 or HTTP/1.1, as ALPN agrees. The response to every request is the address
and the number of the client's connection, as `192.0.2.2 1`; to /held only after the command `answer`. With `proxies`, an
HTTP proxy, an HTTPS proxy and a SOCKS5 proxy are at the ports that URLs of proxies mean if they name none: 80, 443 and
1080. They respond themselves, in the same way.
"""

import asyncio
import ctypes
import os
import sys

import peer
from certificates import Authority
from http2_connection import Connection

CLONE_NEWNET = 0x40000000


def enter(namespace):
    """Moves this thread, and with it all of its sockets, into a namespace."""
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)


class Machine:
    def __init__(self):
        self.answering = asyncio.Event()
        self.count = 0

    def answer(self):
        self.answering.set()
        return {}

    def connection(self, writer):
        """Counts a connection, and returns the body of its responses."""
        self.count += 1
        return f"{writer.get_extra_info('peername')[0]} {self.count}".encode()

    async def wait(self, path):
        if path == "/held":
            await self.answering.wait()

    async def speak_http1(self, reader, writer):
        body = self.connection(writer)
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await self.wait(head.split()[1].decode())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async def speak_socks(self, reader, writer):
        """Makes a connection by name (RFC 1928, without credentials), and responds in place of the server."""
        methods = (await reader.readexactly(2))[1]
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        name = (await reader.readexactly(5))[4]
        await reader.readexactly(name + 2)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await self.speak_http1(reader, writer)

    async def speak_either(self, reader, writer):
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            return await self.speak_http1(reader, writer)
        body = self.connection(writer)

        async def respond(stream):
            await self.wait(stream.path)
            stream.head(fields=[("content-length", str(len(body)))])
            await stream.data(body, end=True)

        await Connection(reader, writer, respond).run()


async def main():
    namespace, address, *options = sys.argv[1:]
    enter(namespace)
    authority, connections, machine = Authority(), peer.Connections(), Machine()
    context = authority.context(address, alpn=("h2", "http/1.1"))
    ports = {
        "http": await connections.listen(machine.speak_http1, host=address),
        "https": await connections.listen(machine.speak_either, context, host=address),
    }
    if "proxies" in options:
        await connections.listen(machine.speak_http1, port=80, host=address)
        await connections.listen(machine.speak_http1, authority.context(address), port=443, host=address)
        await connections.listen(machine.speak_socks, port=1080, host=address)
    await peer.serve_until_stdin_ends(
        {"ca": authority.path, "ports": ports}, connections, {b"answer": machine.answer}
    )


if __name__ == "__main__":
    peer.run(main)
