"""An HTTP/3 server that misbehaves on request. Prints {"ca": PATH, "ports": {"h3": PORT, "h3-alone": PORT}}.

The same port number serves HTTP/2 over TCP with the scenarios of `http2_scenarios.py`, as a real server would. Over
QUIC the path selects the scenario, as there:

    /ok/SIZE  /echo  /trailers  /hints  /rst/WHERE/CODE  /truncated/HOW  /close/WHERE  /silent  /early/STATUS

WHERE is `before-head`, `after-head` or `in-body`; HOW is `end-stream` or `close`; CODE a name of HTTP/3's error codes.
"""

import asyncio
import os

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated

import http2
import peer
from certificates import Authority
from real_servers import free_port

HALF = b"x" * 50
connections = peer.Connections()


class Protocol(QuicConnectionProtocol):
    """A QUIC connection; each request is played once its body is whole."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._http = None
        self._requests = {}
        self._counted = False

    def quic_event_received(self, event):
        match event:
            case ProtocolNegotiated():
                self._http = H3Connection(self._quic)
            case HandshakeCompleted():
                connections.enter()
                self._counted = True
            case ConnectionTerminated() if self._counted:
                connections.leave()
                self._counted = False
        if self._http is not None:
            for received in self._http.handle_event(event):
                self._handle(received)

    def _handle(self, event):
        match event:
            case HeadersReceived(stream_id=stream, headers=headers):
                self._requests.setdefault(stream, (dict(headers)[b":path"].decode(), bytearray()))
            case DataReceived(stream_id=stream, data=data):
                self._requests[stream][1].extend(data)
        path, body = self._requests[event.stream_id]
        name, *arguments = path.strip("/").split("/")
        if event.stream_ended or name == "early":
            self._requests[event.stream_id] = ("/done", bytearray())
            self.play(event.stream_id, name, arguments, bytes(body))
            self.transmit()

    def head(self, stream, status=200, fields=(), end=False):
        fields = [(name.encode(), str(value).encode()) for name, value in [(":status", status), *fields]]
        self._http.send_headers(stream, fields, end_stream=end)

    def play(self, stream, name, arguments, body):
        data = self._http.send_data
        part = lambda where: self._part(stream, where)
        match [name, *arguments]:
            case ["ok", size]:
                self.head(stream, fields=[("content-length", size)])
                data(stream, b"x" * int(size), True)
            case ["echo"]:
                self.head(stream, fields=[("content-length", len(body))])
                data(stream, body, True)
            case ["trailers"]:
                self.head(stream)
                data(stream, HALF, False)
                self._http.send_headers(stream, [(b"x-checksum", b"1234")], end_stream=True)
            case ["hints"]:
                self.head(stream, 103, [("link", "</0.css>; rel=preload")])
                self.head(stream, fields=[("content-length", 2)])
                data(stream, b"xx", True)
            case ["rst", where, code]:
                part(where)
                self._quic.reset_stream(stream, ErrorCode[code])
            case ["truncated", "end-stream"]:
                self.head(stream, fields=[("content-length", 100)])
                data(stream, HALF, True)
            case ["close", where]:
                part(where)
                self.transmit()
                self._quic.close(error_code=ErrorCode.H3_INTERNAL_ERROR)
            case ["silent"] | ["done"]:
                pass
            case ["early", status]:
                self.head(stream, int(status), [("content-length", 2)])
                data(stream, b"xx", True)
                self._quic.stop_stream(stream, ErrorCode.H3_NO_ERROR)
            case _:
                self.head(stream, 404, end=True)

    def _part(self, stream, where):
        """Sends the part of a response before its fault."""
        if where != "before-head":
            self.head(stream, fields=[("content-length", 100)])
        if where == "in-body":
            self._http.send_data(stream, HALF, False)


async def stall(reader, writer):
    while await reader.read(65536):
        pass


async def main():
    authority = Authority()
    chain, key = authority.files()
    # A connection whose client is delayed does not end. Some tests wait for the end of one that its client has given up.
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False, idle_timeout=15)
    configuration.load_cert_chain(chain, key)
    # The port must be free for UDP too, of which other programs use many.
    port = await connections.listen(http2.handle, authority.context(alpn=("h2", "http/1.1")), port=free_port())
    # Over TCP, this one completes no handshake, so that HTTP/3 wins every race.
    alone = await connections.listen(stall, port=free_port())
    for each in (port, alone):
        await serve("127.0.0.1", each, configuration=configuration, create_protocol=Protocol)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": {"h3": port, "h3-alone": alone}}, connections)


if __name__ == "__main__":
    peer.run(main)
