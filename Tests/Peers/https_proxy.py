"""HTTPS proxies and an HTTPS server, each on a port of its own. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    proxy          an HTTP proxy over TLS, for 127.0.0.1, localhost and ::1, signed by `ca`
    wrong-host     as proxy, with a certificate for another name
    unknown-ca     as proxy, signed by an unknown authority
    expired        as proxy, but expired two days ago
    tls1.1         as proxy, but speaks TLS 1.1 at best
    wants          as proxy, but asks for a client certificate of `ca`, and responds itself with its common name
    requires       as proxy, but requires a client certificate of `ca`, and closes the connection after the handshake
    always-407     as proxy, but asks for credentials in response to each request
    200-garbage    as proxy, but sends bytes that are not TLS after the head of a tunnel
    200-silence    as proxy, but sends nothing after the head of a tunnel
    half-head      as proxy, but closes the connection within the head of a tunnel
    silent         accepts connections, and never begins the handshake
    server         an HTTPS server for 127.0.0.1, localhost and ::1, signed by `ca`
    wrong-server   as server, with a certificate for another name

A proxy makes tunnels, and responds itself to requests for http URLs, with the client's address if the path is /client. Its response and the command "seen" tell the requests that the
proxies have got: a list of [METHOD, TARGET, PROXY-AUTHORIZATION], emptied by the command. The servers respond with `server` and the value
of Proxy-Authorization, which must not reach them. The file client.pem beside `ca` has a client certificate and its key.
"""

import asyncio
import json
import socket
import ssl
import threading

import peer
from certificates import Authority

SEEN = []


def fields(head):
    lines = head.decode("latin-1").split("\r\n")
    return lines[0].split(" "), {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}


async def relay(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def proxy(reader, writer):
    while True:
        (method, target, _), values = fields(await reader.readuntil(b"\r\n\r\n"))
        SEEN.append([method, target, values.get("proxy-authorization")])
        if method != "CONNECT":
            body = f"proxy {target}".encode()
            if target.endswith("/client"):
                body = writer.get_extra_info("peername")[0].encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
            continue
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(relay(reader, far_writer), relay(far_reader, writer))
        return


async def ask_for_credentials(reader, writer):
    while True:
        (method, target, _), values = fields(await reader.readuntil(b"\r\n\r\n"))
        SEEN.append([method, target, values.get("proxy-authorization")])
        writer.write(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="a"\r\nContent-Length: 0\r\n\r\n')
        await writer.drain()


def answering(head):
    """Returns a proxy that sends the same bytes in response to its first request, and then nothing until the client leaves."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        await writer.drain()
        if not head.endswith(b"\r\n\r\n"):
            return
        await reader.read()

    return answer


async def be_silent(reader, writer):
    await reader.read()


async def name_client(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    certificate = writer.get_extra_info("peercert")
    names = [value for kind, value in certificate["subjectAltName"]] if certificate else ["-"]
    body = names[0].encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()


def asking_context(authority, mode=ssl.CERT_OPTIONAL):
    context = authority.context()
    context.load_verify_locations(authority.path)
    context.verify_mode = mode
    return context


async def serve(reader, writer):
    while True:
        _, values = fields(await reader.readuntil(b"\r\n\r\n"))
        body = f"server {values.get('proxy-authorization', '-')}".encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()


def require_certificates(context):
    """Accepts connections on a thread of its own, and returns the port. Unlike asyncio, OpenSSL sends the alert of a failed handshake."""
    listener = peer.listening()

    def accept():
        while True:
            raw, _ = listener.accept()
            connection = context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
            try:
                connection.do_handshake()
            except OSError:
                pass
            try:
                # In order, as a reset would discard the alert.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass
            connection.close()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def seen():
    requests = list(SEEN)
    SEEN.clear()
    return requests


async def main():
    authority = Authority()
    authority.write_client("client.pem", "ada@example.com")
    connections = peer.Connections()
    servers = {
        "proxy": (proxy, authority.context()),
        "wrong-host": (proxy, authority.context("other.example")),
        "unknown-ca": (proxy, authority.context_of_unknown_authority()),
        "expired": (proxy, authority.context(expired=True)),
        "tls1.1": (proxy, authority.old_context()),
        "wants": (name_client, asking_context(authority)),
        "always-407": (ask_for_credentials, authority.context()),
        "200-garbage": (answering(b"HTTP/1.1 200 OK\r\n\r\ngarbage"), authority.context()),
        "200-silence": (answering(b"HTTP/1.1 200 OK\r\n\r\n"), authority.context()),
        "half-head": (answering(b"HTTP/1.1 200 O"), authority.context()),
        "silent": (be_silent, None),
        "server": (serve, authority.context()),
        "wrong-server": (serve, authority.context("other.example")),
    }
    ports = {name: await connections.listen(*server) for name, server in servers.items()}
    ports["requires"] = require_certificates(asking_context(authority, ssl.CERT_REQUIRED))
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, {b"seen": seen})


if __name__ == "__main__":
    peer.run(main)
