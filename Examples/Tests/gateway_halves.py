"""Checks of clients that end their side of the connection after their request, and of clients that end all of it."""

import socket, threading, time

from gateway_peers import is_gone, request, reset


def run(check, origin, start):
    # Nothing but the client's leaving ends a request.
    gateway = start("--idle-timeout", "60", "--client-timeout", "60")
    halves(check, gateway, origin)
    departures(check, gateway, origin)
    check("the gateway still serves", [200, 0], [gateway.get("/").status, gateway.end()[0]])


def halves(check, gateway, origin):
    large = bytes(range(256)) * 12000

    def half(data):
        """Sends requests on a connection of its own, and ends the client's side."""
        connection = gateway.connect()
        connection.send(data)
        connection.socket.shutdown(socket.SHUT_WR)
        return connection

    @origin.script
    def late(connection, request):
        connection.body(request)
        time.sleep(0.3)
        connection.answer(large)
    connection = half(request("/late"))
    answer = connection.response()
    check("a client that has ended its side gets the whole response", [200, True, [], b""],
          [answer.status, answer.body == large, answer.informational, connection.rest()])
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

    # The client is probed: with informational heads before the head, and with zeros before the size of a chunk.
    @origin.script
    def slow(connection, request):
        time.sleep(3.5)
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in ["one", "two", "three"]:
            connection.send("%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(2.5 if piece == "two" else 0)
        connection.send("0\r\n\r\n")
    # The three are slow at once.
    probed, old, whole = half(request("/slow")), half(request("/slow").replace(b"HTTP/1.1", b"HTTP/1.0")), gateway.connect()
    whole.send(request("/slow"))
    answer = probed.response()
    check("a client that waits for long is probed", [200, True, {b"HTTP/1.1 100 Continue"}, b"onetwothree", True, b""],
          [answer.status, 1 <= len(answer.informational) <= 4, {head.first for head in answer.informational}, answer.body,
           answer.is_complete, probed.rest()])
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
        arrived.wait(10)
        arrived.clear()
        connection.socket.shutdown(socket.SHUT_WR)
        arrived.wait(10)
        check("a client that ends its side in its own body gets no response, and the origin no end", [[False], b""],
              [gone, connection.rest()])


def departures(check, gateway, origin):
    gone, arrived, left, go = [], threading.Event(), threading.Event(), threading.Event()

    # The origin's text before the client leaves, and afterwards: in a body with a length, nothing but the next bytes tells that it has.
    for name, text, more in [("before the response", "", ""), ("in a body in chunks", "HTTP/1.1 200 OK\r\n\r\nhello", ""),
                             ("in a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "w")]:
        for end in [lambda s: s.close(), reset]:
            def wait(connection, _):
                connection.send(text)
                arrived.set()
                go.wait(10)
                try:
                    for _ in range(2 * len(more)):
                        connection.send(more)
                        time.sleep(0.2)
                except ConnectionError:
                    pass
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
            arrived.wait(10)
            end(connection.socket)
            go.set()
            left.wait(20)
            check("a client that leaves %s cancels its request" % name, [True], gone)
