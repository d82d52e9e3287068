"""Checks of clients that end their side of the connection after their request, and of clients that end all of it."""

import contextlib, socket, threading

from gateway_peers import LIMIT, is_gone, request, reset, until, until_read


def run(check, origin, start):
    gateway = start()
    halves(check, gateway, origin)
    departures(check, gateway, origin)
    check("the gateway still serves", [200, 0], [gateway.get("/").status, gateway.end()[0]])


def halves(check, gateway, origin):
    large = bytes(range(256)) * 12000

    def half(data):
        """Sends requests on a connection of its own, and ends the client's side."""
        has_ended.clear()
        connection = gateway.connect()
        connection.send(data)
        connection.socket.shutdown(socket.SHUT_WR)
        until_read(connection)
        has_ended.set()
        return connection
    has_ended = threading.Event()

    @origin.script
    def late(connection, request):
        connection.body(request)
        has_ended.wait(LIMIT)
        connection.answer(large)
    connection = half(request("/late"))
    answer = connection.response()
    check("a client that has ended its side gets the whole response", [200, True, b""],
          [answer.status, answer.body == large, connection.rest()])
    connection = half(request("/late", "Content-Length: 5\r\n", "PUT", b"hello"))
    check("so does one with a body", [200, True], [(a := connection.response()).status, a.body == large])
    connection = half(b"GET /late HTTP/1.0\r\n\r\n")
    check("and one of HTTP/1.0", [200, True], [(a := connection.response()).status, a.body == large])
    connection = half(request("/a") + request("/b", "Transfer-Encoding: chunked\r\n", "PUT", b"1\r\na\r\n0\r\n\r\n") + request("/late"))
    answers = [connection.response() for _ in range(3)]
    check("and one with several requests", [[200, 200, 200], True, b""],
          [[a and a.status for a in answers], answers[2] and answers[2].body == large, connection.rest()])
    connection = half(request("/a") + request("/b")[:20])
    check("a request that is not complete gets none", [200, b""], [connection.response().status, connection.rest()])
    connection = half(request("/a") + b"nonsense\r\n\r\n")
    check("a malformed one gets its refusal", [200, 400, b""], [connection.response().status, connection.response().status, connection.rest()])

    # The client is probed: with informational heads before the head, and with zeros before the size of a chunk. The origin waits for both. The
    # other clients have waited for longer by then.
    had_heads, had_zeros = threading.Event(), threading.Event()

    @origin.script
    def slow(connection, request):
        had_heads.wait(LIMIT)
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in ["one", "two", "three"]:
            connection.send("%x\r\n%s\r\n" % (len(piece), piece))
            if piece == "two":
                had_zeros.wait(LIMIT)
        connection.send("0\r\n\r\n")
    old, whole = half(request("/slow").replace(b"HTTP/1.1", b"HTTP/1.0")), gateway.connect()
    whole.send(request("/slow"))
    probed = half(request("/slow"))
    heads = [probed.head().first]
    had_heads.set()
    answer = probed.head()
    while answer.status == 100:
        heads.append(answer.first)
        answer = probed.head()
    until(lambda: b"two\r\n0" in probed.buffer or not probed.fill())
    had_zeros.set()
    probed.body(answer)
    check("a client that waits for long is probed", [200, {b"HTTP/1.1 100 Continue"}, True, b"onetwothree", True, b""],
          [answer.status, set(heads), len(heads) <= 4, answer.body, answer.is_complete, probed.rest()])
    answer = old.response()
    check("but not one of HTTP/1.0", [200, [], b"onetwothree"], [answer.status, answer.informational, answer.body])
    check("nor one that has not ended its side", [], whole.response().informational)

    gone, arrived = [], threading.Event()

    @origin.script
    def upload(connection, request):
        arrived.set()
        connection.body(request)
        gone.append(request.is_complete)
        arrived.set()
        return True
    for fields, body in [("Content-Length: 100\r\n", b"hello"), ("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n")]:
        gone.clear()
        arrived.clear()
        connection = gateway.connect()
        connection.send(request("/upload", fields, "PUT", body))
        arrived.wait(LIMIT)
        arrived.clear()
        connection.socket.shutdown(socket.SHUT_WR)
        arrived.wait(LIMIT)
        check("a client that ends its side in its own body gets no response, and the origin no end", [[False], b""],
              [gone, connection.rest()])


def departures(check, gateway, origin):
    gone, arrived, left, go = [], threading.Event(), threading.Event(), threading.Event()

    # The origin's text before the client leaves, and afterwards: in a body with a length, nothing but the next bytes tells that it has.
    for name, text, more in [("before the response", "", ""), ("in a body in chunks", "HTTP/1.1 200 OK\r\n\r\nhello", ""),
                             ("in a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "wor")]:
        for end in [lambda s: s.close(), reset]:
            def wait(connection, _):
                connection.send(text)
                arrived.set()
                go.wait(LIMIT)
                for byte in more:
                    with contextlib.suppress(ConnectionError):
                        connection.send(byte)
                    if is_gone(connection.socket, 1):
                        break
                gone.append(is_gone(connection.socket))
                left.set()
                return True
            origin.scripts["wait"] = wait
            gone.clear()
            for event in (arrived, left, go):
                event.clear()
            connection = gateway.connect()
            connection.send(request("/wait"))
            if text:
                # Bytes that a client has not read would turn its end into a reset.
                head = connection.head()
                length = int(connection.line(), 16) if head.get("Transfer-Encoding") else 5
                connection.exactly(length + (2 if head.get("Transfer-Encoding") else 0))
            arrived.wait(LIMIT)
            end(connection.socket)
            go.set()
            left.wait(LIMIT)
            check("a client that leaves %s cancels its request" % name, [True], gone)
