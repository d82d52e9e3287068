"""An HTTPS server that switches protocols and then sends back all bytes. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    tls     responds to each request with status 101; offers HTTP/2 too, which must not be selected
    mtls    as tls, and asks for a client certificate, which the folder of `ca` has as client.pem
    tls1.2  as tls, with TLS 1.2 only

Paths: /echo sends back all bytes; /first sends `first` in one record with the head; /flood sends 8 MiB of zeros and ends the
connection; /records sends 100 bytes in records of one byte; /no responds 403.
"""

import ssl

import peer
from certificates import Authority

connections = peer.Connections()
HEAD = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n"


async def serve(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    path = head.split()[1]
    if path == b"/no":
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nbody")
        return await writer.drain()
    writer.write(HEAD + (b"first" if path == b"/first" else b""))
    if path == b"/flood":
        for _ in range(128):
            writer.write(bytes(64 << 10))
            await writer.drain()
        return
    if path == b"/records":
        for number in range(100):
            writer.write(bytes([number]))
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def main():
    authority = Authority()
    authority.write_client("client.pem", "client@example.org")
    asking = authority.context()
    asking.load_verify_locations(authority.path)
    asking.verify_mode = ssl.CERT_REQUIRED
    old = authority.context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    ports = {
        "tls": await connections.listen(serve, authority.context(alpn=("h2", "http/1.1"))),
        "mtls": await connections.listen(serve, asking),
        "tls1.2": await connections.listen(serve, old),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
