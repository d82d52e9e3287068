"""An HTTP/2 connection of the scripted server, and its streams as scenarios see them.

A client that speaks HTTP/1.1 instead, as after HTTP_1_1_REQUIRED, gets a good response to each request.
"""

import asyncio
import fcntl
import struct
import termios

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import hyperframe.frame


class Stream:
    """A request, with the operations of a scenario on its response."""

    def __init__(self, connection, stream_id, headers):
        self.id = stream_id
        self.headers = dict(headers)
        self.path = self.headers[b":path"].decode()
        self.connection = connection
        self.received = bytearray()
        self.request_trailers = []
        self.ended = asyncio.Event()
        # Set when the client has reset the stream, or left the connection.
        self.left = asyncio.Event()
        self._begun = asyncio.Event()
        self._news = asyncio.Event()

    async def begun(self):
        """Waits until bytes of the body have come."""
        await self._begun.wait()

    def receive(self, data):
        self.received += data
        self._begun.set()
        self._news.set()

    def finish(self):
        self.ended.set()
        self._news.set()

    async def pieces(self):
        """Returns the bytes of the request's body as they come, until its end."""
        position = 0
        while True:
            if position < len(self.received):
                piece = bytes(self.received[position:])
                position += len(piece)
                yield piece
            elif self.ended.is_set():
                return
            else:
                self._news.clear()
                await self._news.wait()

    async def body(self):
        """Waits for the end of the request's body, and returns the body."""
        await self.ended.wait()
        return bytes(self.received)

    def head(self, status=200, fields=(), end=False):
        self._do("send_headers", [(":status", str(status)), *fields], end_stream=end)

    def trailers(self, fields):
        self._do("send_headers", list(fields), end_stream=True)

    async def data(self, data, end=False):
        """Sends data as flow control allows."""
        protocol = self.connection.protocol
        while data:
            room = min(protocol.local_flow_control_window(self.id), protocol.max_outbound_frame_size)
            if room <= 0:
                await self.connection.window_opened()
                continue
            piece, data = data[:room], data[room:]
            self._do("send_data", piece, end_stream=end and not data)
            await self.connection.writer.drain()

    async def data_with(self, data, rest):
        """Sends data, and bytes that need not be HTTP/2, in one piece."""
        self.connection.protocol.send_data(self.id, data)
        self.raw(self.connection.protocol.data_to_send() + rest)

    async def answered(self):
        """Waits until the client has read all bytes so far, that is until the client has answered a PING."""
        await self.connection.ping()

    async def delivered(self):
        """Waits until the client's kernel has all bytes so far: for a client that does not answer a PING."""
        socket = self.connection.writer.get_extra_info("socket")
        await self.connection.writer.drain()
        # A socket that is closed has no number.
        while (number := socket.fileno()) >= 0 and struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)))[0]:
            await asyncio.sleep(0.001)

    def end(self):
        self._do("end_stream")

    def reset(self, code):
        self._do("reset_stream", int(code))

    def goaway(self, last_stream_id, code=0, rest=b""):
        """Sends a GOAWAY as a raw frame, followed by other bytes: after its own GOAWAY the library would end its connection."""
        frame = hyperframe.frame.GoAwayFrame(0, last_stream_id=last_stream_id, error_code=int(code))
        self.raw(frame.serialize() + rest)

    def raw(self, data):
        """Sends bytes that need not be HTTP/2."""
        self.connection.writer.write(data)

    def close_connection(self):
        """Ends this side in order; the client's bytes are still read, as unread bytes would turn the end into a reset."""
        writer = self.connection.writer
        writer.write_eof() if writer.can_write_eof() else writer.close()

    def _do(self, call, *arguments, **options):
        getattr(self.connection.protocol, call)(self.id, *arguments, **options)
        self.connection.flush()


class Connection:
    """A connection that reads frames, and runs a scenario for each request."""

    def __init__(self, reader, writer, play):
        configuration = h2.config.H2Configuration(
            client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.protocol = h2.connection.H2Connection(configuration)
        self.reader, self.writer, self.play = reader, writer, play
        # Set to ignore all further bytes of the client, even its GOAWAY.
        self.is_deaf = False
        self._streams, self._tasks = {}, set()
        self._window = asyncio.Event()
        self._pong = asyncio.Event()

    async def run(self):
        data = await self.reader.readexactly(16)
        if data != b"PRI * HTTP/2.0\r\n":
            return await self._run_http1(data)
        self.protocol.initiate_connection()
        self.flush()
        try:
            while data := data or await self.reader.read(65536):
                if not self.is_deaf:
                    for event in self.protocol.receive_data(data):
                        self._handle(event)
                    self.flush()
                data = b""
        except h2.exceptions.ProtocolError:
            self.flush()
        finally:
            # Scenarios handle what has come with the end of the connection.
            await asyncio.sleep(0)
            for stream in self._streams.values():
                stream.left.set()
            for task in self._tasks:
                task.cancel()

    async def _run_http1(self, start):
        while start + await self.reader.readuntil(b"\r\n\r\n"):
            self.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nover HTTP/1")
            start = b""

    def flush(self):
        if data := self.protocol.data_to_send():
            self.writer.write(data)

    async def ping(self):
        self._pong.clear()
        self.protocol.ping(b"in order")
        self.flush()
        await self._pong.wait()

    async def window_opened(self):
        self._window.clear()
        await self._window.wait()

    def _handle(self, event):
        match event:
            case h2.events.RequestReceived():
                stream = Stream(self, event.stream_id, event.headers)
                self._streams[event.stream_id] = stream
                task = asyncio.ensure_future(self._run(stream))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case h2.events.DataReceived():
                self._streams[event.stream_id].receive(event.data)
                if not self._streams[event.stream_id].path.endswith("/unread"):
                    self.protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.TrailersReceived():
                self._streams[event.stream_id].request_trailers = list(event.headers)
            case h2.events.StreamEnded():
                self._streams[event.stream_id].finish()
            case h2.events.StreamReset():
                self._streams[event.stream_id].left.set()
            case h2.events.PingAckReceived():
                self._pong.set()
            case h2.events.WindowUpdated() | h2.events.RemoteSettingsChanged():
                self._window.set()

    async def _run(self, stream):
        try:
            await self.play(stream)
        except (h2.exceptions.H2Error, OSError):
            pass  # The client reset the stream or left.
