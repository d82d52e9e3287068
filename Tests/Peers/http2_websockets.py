"""WebSockets over HTTP/2 (RFC 8441), of the packages h2 and wsproto. Prints {"ca": PATH, "ports": {NAME: PORT}}.

    tls         HTTP/2 by ALPN, with SETTINGS_ENABLE_CONNECT_PROTOCOL
    cleartext   the same with prior knowledge
    without     as tls, without that setting

Paths: /echo sends messages back; /fields sends the fields of the request, as JSON, and then messages back; /close/CODE sends `first` and closes with
the code and the reason `why`; /half/CODE does so too, and ends its half of the stream at once; /reset resets the stream after the first message;
/goaway sends a GOAWAY after the first message, and goes on; /flood sends messages of 64 KiB without end; /total/unread grants the bytes of a message
late, and closes with the number of bytes as its reason; /refused and /redirect do so. Other requests get the response `plain`. The command "seen"
tells what there was since the last one: {"connections", "requests": [PATH], "codes": [CODE of the client's Close], "ended": streams that the client has
ended, "sent": bytes of floods}.
"""

import json

import h2.settings
import peer
from certificates import Authority
from http2_connection import Connection
from wsproto.connection import Connection as WebSocket, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

SEEN = {}


def seen():
    answer = dict(SEEN)
    SEEN.update(connections=0, requests=[], codes=[], ended=0, sent=0)
    return answer


class Conversation:
    """A WebSocket on a stream."""

    def __init__(self, stream):
        self.stream, self.protocol = stream, WebSocket(ConnectionType.SERVER)

    async def send(self, event):
        await self.stream.data(self.protocol.send(event))

    async def events(self):
        """Returns the client's frames until its end of the stream."""
        async for piece in self.stream.pieces():
            self.protocol.receive_data(piece)
            for event in self.protocol.events():
                if isinstance(event, CloseConnection):
                    SEEN["codes"].append(event.code)
                yield event
        SEEN["ended"] += 1

    async def send_back(self):
        async for event in self.events():
            if isinstance(event, (TextMessage, BytesMessage)):
                await self.send(type(event)(data=event.data, message_finished=event.message_finished))
            elif isinstance(event, Ping):
                await self.send(event.response())
            elif isinstance(event, CloseConnection):
                await self.send(event.response())
                self.stream.end()

    async def count(self):
        total, protocol = 0, self.stream.connection.protocol
        async for piece in self.stream.pieces():
            # The client has nothing more to send before it may.
            await self.stream.answered()
            protocol.acknowledge_received_data(len(piece), self.stream.id)
            self.stream.connection.flush()
            self.protocol.receive_data(piece)
            for event in self.protocol.events():
                if isinstance(event, BytesMessage):
                    total += len(event.data)
                elif isinstance(event, TextMessage):
                    await self.send(CloseConnection(1000, str(total)))
                elif isinstance(event, CloseConnection):
                    self.stream.end()


async def play(stream):
    SEEN["requests"].append(stream.path)
    if stream.headers[b":method"] != b"CONNECT":
        await stream.body()
        stream.head(fields=[("content-length", "5")])
        return await stream.data(b"plain", end=True)
    if stream.path == "/refused":
        stream.head(403, [("content-length", "9")])
        return await stream.data(b"no cookie", end=True)
    if stream.path == "/redirect":
        return stream.head(302, [("location", "/echo")], end=True)
    offered = stream.headers.get(b"sec-websocket-protocol", b"").split(b", ")
    stream.head(200, [("sec-websocket-protocol", "news")] if b"news" in offered else [])
    socket = Conversation(stream)
    kind, _, rest = stream.path.partition("?")[0][1:].partition("/")
    if kind == "fields":
        fields = {name.decode(): value.decode() for name, value in stream.headers.items()}
        await socket.send(TextMessage(data=json.dumps(fields)))
    if kind in ("close", "half"):
        await socket.send(TextMessage(data="first"))
        await stream.data(socket.protocol.send(CloseConnection(int(rest), "why")), end=kind == "half")
        async for event in socket.events():
            if isinstance(event, CloseConnection) and kind == "close":
                stream.end()
    elif kind == "flood":
        while True:
            await socket.send(BytesMessage(data=bytes(64 << 10)))
            SEEN["sent"] += 64 << 10
    elif kind == "total":
        await socket.count()
    elif kind in ("reset", "goaway"):
        await stream.begun()
        if kind == "reset":
            return stream.reset(8)
        stream.goaway(stream.id)
        await socket.send_back()
    else:
        await socket.send_back()


def serving(settings):
    async def serve(reader, writer):
        SEEN["connections"] += 1
        connection = Connection(reader, writer, play)
        connection.protocol.local_settings = h2.settings.Settings(client=False, initial_values=settings)
        await connection.run()

    return serve


async def main():
    seen()
    authority = Authority()
    connections = peer.Connections()
    context = authority.context(alpn=("h2", "http/1.1"))
    offering = serving({h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL: 1})
    ports = {
        "tls": await connections.listen(offering, context),
        "cleartext": await connections.listen(offering),
        "without": await connections.listen(serving({}), context),
    }
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, {b"seen": seen})


if __name__ == "__main__":
    peer.run(main)
