"""Servers that ask for https (RFC 6797) and name alternative services (RFC 7838). Prints {"ca": PATH, "ports": {NAME: PORT}}.

    hsts          https; each response asks for https for 1,000 seconds, /forget takes that back, and /back redirects to http
    hsts-expired  as hsts, with a certificate that has expired
    plain         as hsts, over http
    alternative   https; names the service of the port `h3`
    same          https; names its own port, on which it also serves HTTP/3
    dead          https; names a port without a server
    silent        https; names a port whose server sends nothing
    foreign       https; names a service whose certificate is for another host
    h3            HTTP/3: responds with `h3`, the field Alt-Used and the body of the request; with 421 to /misdirected

Servers without HTTP/3 respond with `origin`, the field Alt-Used, the body of the request and the lines of its trailers.
"""

import socket

from aioquic.asyncio import serve
from aioquic.h3.connection import H3_ALPN
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

import http3
import peer
from certificates import Authority
from real_servers import free_port

connections = http3.connections


class Service(http3.Protocol):
    """A QUIC connection of an alternative service."""

    def _handle(self, event):
        if isinstance(event, HeadersReceived):
            self._fields = dict(event.headers)
        super()._handle(event)

    def play(self, stream, name, arguments, body):
        used = self._fields.get(b"alt-used", b"").decode()
        text = b"" if name == "misdirected" else f"h3 {used} ".encode() + body
        self.head(stream, 421 if name == "misdirected" else 200, [("content-length", len(text))])
        self._http.send_data(stream, text, True)


async def request(reader):
    """Reads a request, and returns its path, its fields and its body."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return lines[0].split()[1], fields, await read_body(reader, fields)


async def read_body(reader, fields):
    """Reads the body of a request, and returns it with the lines of its trailers, each behind a blank."""
    if fields.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(fields.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    while line := (await reader.readline()).strip():
        body += b" " + line
    return body


def server(*headers):
    """Returns a handler whose responses have these header lines."""

    async def answer(reader, writer):
        while True:
            path, fields, body = await request(reader)
            text = f"origin {fields.get('alt-used', '')} ".encode() + body
            lines = [f"Content-Length: {len(text)}", *headers]
            status = "200 OK"
            if path == "/forget":
                lines[1:] = ["Strict-Transport-Security: max-age=0"]
            elif path == "/back":
                status = "301 Moved Permanently"
                lines.append(f"Location: http://{fields['host']}/back")
            writer.write("\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + text)
            await writer.drain()

    return answer


async def serve_quic(port, files):
    # A connection whose client is delayed does not end. Some tests wait for the end of one that its client has given up.
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False, idle_timeout=15)
    configuration.load_cert_chain(*files)
    await serve("127.0.0.1", port, configuration=configuration, create_protocol=Service)


async def main():
    authority = Authority()
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    h3, foreign, same = free_port(), free_port(), free_port()
    await serve_quic(h3, authority.files())
    await serve_quic(same, authority.files())
    await serve_quic(foreign, authority.files("elsewhere.example"))
    strict = server("Strict-Transport-Security: max-age=1000; includeSubDomains")

    def start(service, port=0):
        handler = server(f'Alt-Svc: h2=":1", h3="{service}"; ma=1000; persist=1')
        return connections.listen(handler, authority.context(), port)

    ports = {
        "hsts": await connections.listen(strict, authority.context()),
        "hsts-expired": await connections.listen(strict, authority.context(expired=True)),
        "plain": await connections.listen(strict),
        "alternative": await start(f"127.0.0.1:{h3}"),
        "same": await start(f":{same}", same),
        "dead": await start(f":{free_port()}"),
        "silent": await start(f":{silent.getsockname()[1]}"),
        "foreign": await start(f":{foreign}"),
        "h3": h3,
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
