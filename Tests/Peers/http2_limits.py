"""An HTTP/2 server whose limit of concurrent streams is changed while requests are in flight.

Prints {"ca": PATH, "ports": {NAME: PORT}}: `tls` is h2 by ALPN, `cleartext` h2 with prior knowledge, `late` h2 by ALPN
with a server that allows one stream, says so only after the first requests, and refuses all streams beyond (REFUSED_STREAM).
The path `/ok` gets a response at once, and `/hold` when the test wants it. Further commands:

    limit N     sets the limit of all connections, now and later (1, 2, 3, 4, 10 or 100)
    release     answers the requests that wait, and all later ones at once
    release one answers the request that has waited longest
    hold        lets later requests to `/hold` wait again, and begins to count anew
    counts      answers {"open", "streams", "peakOpen", "peakStreams", "accepted", "violations"}: the connections that are
                open, the number of streams on each, the largest number of both, the number of connections since `hold`,
                and the number of connections that ended because the client exceeded the limit
"""

import asyncio

import h2.errors
import h2.events
import h2.exceptions
import h2.settings

import peer
from certificates import Authority
from http2_connection import Connection

LIMIT = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS
INITIAL = 100


class Server:
    def __init__(self):
        self.limit = INITIAL
        self.open = {}
        # The events for which requests wait, by connection and stream.
        self.waiting = {}
        self.is_released = False
        self.peak_open = self.peak_streams = self.accepted = self.violations = 0

    async def handle(self, reader, writer):
        connection = Connection(reader, writer, self.play)
        connection.protocol.local_settings = h2.settings.Settings(client=False, initial_values={LIMIT: self.limit})
        receive = connection.protocol.receive_data

        def counted(data):
            try:
                events = receive(data)
            except h2.exceptions.TooManyStreamsError:
                self.violations += 1
                raise
            for event in events:
                if isinstance(event, h2.events.StreamReset):
                    self.forget(connection, event.stream_id)
            return events

        connection.protocol.receive_data = counted
        self.open[connection] = 0
        self.accepted += 1
        self.peak_open = max(self.peak_open, len(self.open))
        try:
            await connection.run()
        finally:
            del self.open[connection]
            for key in [key for key in self.waiting if key[0] is connection]:
                del self.waiting[key]

    async def play(self, stream):
        connection = stream.connection
        self.open[connection] += 1
        self.peak_streams = max(self.peak_streams, self.open[connection])
        try:
            if stream.path.startswith("/hold") and not self.is_released:
                released = self.waiting[connection, stream.id] = asyncio.Event()
                await released.wait()
            stream.head(fields=[("content-length", "2")])
            await stream.data(b"ok", end=True)
        finally:
            if connection in self.open:
                self.open[connection] -= 1

    def forget(self, connection, stream_id):
        """Ends the wait of a request that the client has given up."""
        if event := self.waiting.pop((connection, stream_id), None):
            event.set()

    def set_limit(self, limit):
        self.limit = limit
        for connection in self.open:
            connection.protocol.update_settings({LIMIT: limit})
            connection.flush()
        return {}

    def release(self):
        self.is_released = True
        for event in self.waiting.values():
            event.set()
        self.waiting = {}
        return {}

    def release_one(self):
        if self.waiting:
            self.waiting.pop(next(iter(self.waiting))).set()
        return {}

    def hold(self):
        self.is_released = False
        self.peak_open, self.accepted = len(self.open), 0
        self.peak_streams = max(self.open.values(), default=0)
        return {}

    def counts(self):
        return {
            "open": len(self.open),
            "streams": sorted(self.open.values(), reverse=True),
            "peakOpen": self.peak_open,
            "peakStreams": self.peak_streams,
            "accepted": self.accepted,
            "violations": self.violations,
        }


class LateConnection(Connection):
    """A connection whose first frame, with the limit, is sent when the first requests have come."""

    is_silent = True

    def flush(self):
        if not self.is_silent:
            super().flush()


async def handle_late(reader, writer):
    active = 0

    async def play(stream):
        nonlocal active
        stream.connection.is_silent = False
        if active > 0:
            return stream.reset(h2.errors.ErrorCodes.REFUSED_STREAM)
        active += 1
        try:
            await stream.answered()
            stream.head(fields=[("content-length", "2")])
            await stream.data(b"ok", end=True)
        finally:
            active -= 1

    connection = LateConnection(reader, writer, play)
    initiate = connection.protocol.initiate_connection

    def initiate_with_limit():
        initiate()
        # Not as an initial value, beyond which the library would end the connection instead of the stream.
        connection.protocol.update_settings({LIMIT: 1})

    connection.protocol.initiate_connection = initiate_with_limit
    await connection.run()


async def main():
    authority, connections, server = Authority(), peer.Connections(), Server()
    ports = {
        "tls": await connections.listen(server.handle, authority.context(alpn=("h2", "http/1.1"))),
        "cleartext": await connections.listen(server.handle),
        "late": await connections.listen(handle_late, authority.context(alpn=("h2", "http/1.1"))),
    }
    questions = {
        b"release": server.release,
        b"release one": server.release_one,
        b"hold": server.hold,
        b"counts": server.counts,
    }
    for limit in (1, 2, 3, 4, 10, 100):
        questions[b"limit %d" % limit] = lambda limit=limit: server.set_limit(limit)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, questions)


if __name__ == "__main__":
    peer.run(main)
