"""The peers of the gateway's tests: an origin that follows a script for each path, and a client that sends raw bytes."""

import atexit, contextlib, os, re, select, socket, ssl, struct, subprocess, threading, time

# The seconds after which a wait fails, on the slowest machine.
LIMIT = 60


class Message:
    """A request or response: the first line, the field lines as bytes, and the body."""

    def __init__(self, first, fields, body=b"", trailers=None, informational=(), is_complete=True, number=0):
        self.first, self.fields, self.body = first, fields, body
        self.trailers, self.informational, self.is_complete = trailers, informational, is_complete
        self.number = number

    def get(self, name, default=None):
        """Returns the value of the first field with a name."""
        return next((v.decode("latin-1") for n, v in self.fields if n.lower() == name.lower().encode()), default)

    def all(self, name):
        """Returns the values of all fields with a name."""
        return [v.decode("latin-1") for n, v in self.fields if n.lower() == name.lower().encode()]

    @property
    def status(self):
        return int(self.first.split(b" ")[1])


class Reader:
    """Reads messages from a socket."""

    def __init__(self, sock):
        self.socket, self.buffer = sock, b""

    def fill(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            self.was_reset = True
            data = b""
        self.buffer += data
        return bool(data)

    def line(self):
        while b"\n" not in self.buffer:
            if not self.fill():
                return None
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def exactly(self, count):
        """Returns so many bytes, or fewer at the end of the connection."""
        while len(self.buffer) < count and self.fill():
            pass
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def rest(self):
        """Returns the bytes up to the end of the connection."""
        while self.fill():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def fields(self):
        fields = []
        while True:
            line = self.line()
            if line is None:
                return None
            if not line:
                return fields
            name, value = line.split(b":", 1)
            fields.append((name, value.strip(b" \t")))

    def head(self):
        first = self.line()
        if first is None:
            return None
        fields = self.fields()
        return None if fields is None else Message(first, fields)

    def chunks(self, message):
        """Reads the chunks of a body, and its trailers."""
        while True:
            size = self.line()
            if size is None:
                return False
            size = int(size, 16)
            if size == 0:
                message.trailers = self.fields()
                return message.trailers is not None
            data = self.exactly(size)
            message.body += data
            if len(data) < size or self.line() is None:
                return False

    def body(self, message, has_none=False, ends_with_connection=False):
        length = message.get("Content-Length")
        if has_none:
            return
        if (message.get("Transfer-Encoding") or "").lower() == "chunked":
            message.is_complete = self.chunks(message)
        elif length is not None:
            message.body = self.exactly(int(length))
            message.is_complete = len(message.body) == int(length)
        elif ends_with_connection:
            message.body = self.rest()

    def response(self, method="GET"):
        """Reads a response; None if the connection ends before its head."""
        informational = []
        while True:
            message = self.head()
            if message is None:
                return None
            if message.status >= 200:
                break
            informational.append(message)
        message.informational = informational
        self.body(message, method == "HEAD" or message.status in (204, 304), True)
        return message


def is_gone(sock, within=LIMIT):
    """Returns whether the peer ends the connection, at once or within some seconds. Drops what it sends."""
    sock.settimeout(within)
    try:
        while sock.recv(65536):
            pass
        return True
    except ConnectionResetError:
        return True
    except (socket.timeout, BlockingIOError):
        return False
    finally:
        sock.settimeout(LIMIT)


class Connection(Reader):
    """A connection of the origin, with the ports of its ends: the gateway's, and the origin's."""

    def __init__(self, sock, number):
        super().__init__(sock)
        self.number = number

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def answer(self, body="", fields="", status="200 OK"):
        """Sends a response with a length."""
        body = body if isinstance(body, bytes) else body.encode("latin-1")
        self.send(("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n" % (status, fields, len(body))).encode("latin-1") + body)


class Origin:
    """A server whose scripts are named by the first part of the path. A script gets the connection and the head of the request; it reads the
    body itself with `read`. The connection is kept if the script returns None."""

    def __init__(self, certificate=None, key=None):
        self.scripts, self.requests, self.connections, self.tls = {}, [], 0, None
        self.threads = []
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.authority = "127.0.0.1:%d" % self.port
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            sock, peer = self.listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            connection = Connection(sock, self.connections)
            connection.ends = (peer[1], self.port)
            thread = threading.Thread(target=self.serve, args=(connection,), daemon=True)
            thread.start()
            self.threads.append(thread)

    def serve(self, connection):
        try:
            if self.tls:
                connection.socket = self.tls.wrap_socket(connection.socket, server_side=True)
            while True:
                request = connection.head()
                if request is None:
                    break
                request.number = connection.number
                self.requests.append(request)
                path = request.first.split(b" ")[1].decode("latin-1")
                name = path.split("/")[1].split("?")[0] if path.startswith("/") else path
                script = self.scripts.get(name, default)
                if script(connection, request) is not None:
                    break
        except (ConnectionError, socket.timeout, ssl.SSLError):
            pass
        connection.socket.close()

    def script(self, function):
        self.scripts[function.__name__.replace("_", "-")] = function
        return function

    def settle(self):
        """Waits for the end of all scripts and connections, once nothing makes new ones."""
        for thread in self.threads:
            thread.join(LIMIT)

    def take(self):
        """Returns the requests since the last call."""
        requests, self.requests = self.requests, []
        return requests


def default(connection, request):
    connection.body(request)
    connection.answer("hello")


def reset(sock):
    """Ends a connection with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Gateway:
    """A running gateway."""

    def __init__(self, program, origin, *options, listen="127.0.0.1:0", environment={}):
        self.process = subprocess.Popen(
            [program, "gateway", "--listen", listen, "--origin", origin, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | environment)
        atexit.register(self.process.kill)
        self.line = self.process.stderr.readline().decode()
        # The loader's remark about a libcurl other than the system's.
        while "no version information available" in self.line:
            self.line = self.process.stderr.readline().decode()
        self.port = int(self.line.rsplit(":", 1)[1]) if self.line.startswith("listening on ") else 0

    def connect(self):
        client = Client(socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT))
        client.ends = (self.port, client.socket.getsockname()[1])
        return client

    def ask(self, data, method="GET"):
        """Sends the bytes of a request on a connection of its own, and returns the response."""
        client = self.connect()
        client.send(data)
        response = client.response(method)
        client.end()
        return response

    def get(self, target="/", fields="", method="GET", body=b""):
        return self.ask(request(target, fields, method, body), method)

    def end(self, signal=15):
        """Sends a signal, and returns the exit status with the rest of the output."""
        self.process.send_signal(signal)
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out, err


class Client(Reader):
    """A connection to the gateway, with the ports of its ends."""

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def end(self):
        """Ends the connection after the response. The gateway ends its side when it has stored the response, which the response does not
        show."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        is_gone(self.socket)
        self.socket.close()


def request(target="/", fields="", method="GET", body=b""):
    """Returns the bytes of a request. The fields are lines with CRLF at their ends."""
    head = "%s %s HTTP/1.1\r\nHost: gateway.example\r\n%s\r\n" % (method, target, fields)
    return head.encode("latin-1") + body


def can_read(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])


def until(condition):
    """Waits until a condition is true. Returns whether it is."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def within(seconds, wanted, attempt):
    """Returns the result of a function, which is called again if it is not the wanted one and has taken longer than a limit of the gateway.
    On a slow machine, that limit may have decided the result. A gateway that is wrong is as slow, so the fifth result stands."""
    for _ in range(5):
        begin = time.monotonic()
        result = attempt()
        if result == wanted or time.monotonic() < begin + seconds:
            break
    return result


# The longest time for which a body is held back that the origin has not asked for with a 100, in seconds.
CONTINUE_LIMIT = 1
# The longest time for which a request waits for the response to an equal one, in seconds.
SHARING_LIMIT = 5


def until_read(*connections):
    """Waits until the gateway has read everything that peers have sent, and the end of their side: the queues of both ends are empty."""
    ends = {connection.ends for connection in connections}

    def are_empty():
        with open("/proc/net/tcp") as table:
            rows = re.findall(r": \w+:(\w+) \w+:(\w+) \w+ (\w+):(\w+) ", table.read())
        return not any((local, remote) in ends and unread or (remote, local) in ends and unsent
                       for local, remote, unsent, unread in ([int(number, 16) for number in row] for row in rows))
    return until(are_empty)


def until_idle(gateway):
    """Waits until all threads of a gateway wait: it has done what there is to do with what it has read."""
    def threads():
        """Returns the state of each thread, and how often it has begun to wait."""
        found, folder = {}, "/proc/%d/task" % gateway.process.pid
        for number in os.listdir(folder):
            with contextlib.suppress(OSError), open(os.path.join(folder, number, "status")) as status:
                found[number] = re.findall(r"^(?:State|voluntary_ctxt_switches):\s+(\w+)", status.read(), re.M)
        return found

    def is_idle():
        before = threads()
        return all(thread[0] == "S" for thread in before.values()) and threads() == before
    return until(is_idle)
