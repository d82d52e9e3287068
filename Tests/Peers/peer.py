"""Functions that every peer shares: announcing its ports to the test, answering its commands, ending with the test.

A peer prints one line of JSON when it listens. Then it reads commands from stdin, one a line, and answers each with a
line of JSON; the end of stdin is its end. Commands:

    drained     answers {"open": 0} once no connection is open
    accepted    answers {"accepted": N}
"""

import asyncio
import contextlib
import errno
import glob
import json
import os
import shutil
import socket
import sys
import tempfile
import traceback


class Connections:
    """The number of connections of a peer, from the accepted socket on: one whose handshake fails counts, too."""

    def __init__(self):
        self.accepted = 0
        self.open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def enter(self):
        self.accepted += 1
        self.open += 1
        self._idle.clear()

    def leave(self):
        self.open -= 1
        if self.open == 0:
            self._idle.set()

    async def drained(self):
        while self.open:
            await self._idle.wait()

    async def listen(self, handler, context=None, port=0, host="127.0.0.1"):
        """Serves `handler(reader, writer)` on a port of an address, over TLS with a context; returns the port."""
        listener = listening(host, port)
        listener.setblocking(False)
        _keep(self._accept(listener, handler, context))
        return listener.getsockname()[1]

    async def _accept(self, listener, handler, context):
        while True:
            accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.enter()
            _keep(self._serve(accepted, handler, context))

    async def _serve(self, accepted, handler, context):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        writer = None
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted, ssl=context)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await handler(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass  # The client left, or refused the certificate: tests do both.
        finally:
            if writer:
                writer.close()
            else:
                accepted.close()
            self.leave()


def listening(host="127.0.0.1", port=0):
    """Returns a socket that listens on a port.

    The same port of ::1 is taken, and refuses connections: a client that asks for localhost would otherwise reach the server of another
    program there.
    """
    while True:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
        if host != "127.0.0.1" or port or not socket.has_ipv6:
            return listener
        other = socket.socket(socket.AF_INET6)
        try:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            other.bind(("::1", listener.getsockname()[1]))
        except OSError as error:
            other.close()
            if error.errno == errno.EADDRINUSE:
                listener.close()
                continue
            return listener  # This machine has no IPv6.
        _refusing.append(other)
        return listener


def temporary_folder():
    """Creates a folder that is removed when the peer ends."""
    _folders.append(tempfile.mkdtemp(prefix="trellis-peer-"))
    return _folders[-1]


def remove_at_end(pattern):
    """Removes the files whose paths match a pattern when the peer ends."""
    _patterns.append(pattern)


_folders = []
_patterns = []
_refusing = []
_tasks = set()


def _keep(coroutine):
    """Runs a coroutine beside the others, and keeps its task, because the loop itself holds tasks only weakly."""
    task = asyncio.ensure_future(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def say(message):
    print(json.dumps(message), flush=True)


async def serve_until_stdin_ends(announcement, connections, questions={}):
    """Announces the peer, obeys its commands, and answers questions of its own, until stdin ends."""
    say(announcement)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        match line.strip():
            case b"drained":
                await connections.drained()
                say({"open": connections.open})
            case b"accepted":
                say({"accepted": connections.accepted})
            case question if question in questions:
                say(questions[question]())
            case unknown:
                say({"error": f"unknown command {unknown!r}"})


def run(main):
    """Runs a peer and leaves at once, without waiting for connections that tests left open."""
    # A socket that the test's process had open when it started this process would stay open as long as this process lives.
    os.closerange(3, 4096)

    async def leave_at_once():
        status = 0
        try:
            await main()
        except BaseException:
            traceback.print_exc()
            status = 1
        for folder in _folders:
            shutil.rmtree(folder, ignore_errors=True)
        for path in [path for pattern in _patterns for path in glob.glob(pattern)]:
            with contextlib.suppress(OSError):
                os.unlink(path)
        os._exit(status)

    asyncio.run(leave_at_once())
