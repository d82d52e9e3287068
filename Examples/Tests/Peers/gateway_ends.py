"""Checks of failures, of clients that leave, and of origins that do."""

import threading

from gateway_peers import LIMIT, is_gone, request, reset


def run(check, origin, start):
    gateway = start()
    failures(check, gateway, origin)
    cuts(check, gateway, origin)
    departures(check, gateway, origin)
    check("the gateway still serves", [200, 0], [gateway.get("/").status, gateway.end()[0]])


def failures(check, gateway, origin):
    origin.take()
    origin.scripts["leave"] = lambda connection, _: True
    for method in ["GET", "POST", "PUT"]:
        answer = gateway.get("/leave", method=method)
        check("%s to an origin that leaves is a 502, and is sent once" % method, [502, "trellis; error=http_response_incomplete", 1],
              [answer.status, answer.get("Proxy-Status"), len(origin.take())])
    connections = [gateway.connect() for _ in range(3)]
    for connection in connections:
        # The origin keeps a connection, and leaves it under its second request.
        connection.send(request("/"))
        connection.response()
        origin.take()
        connection.send(request("/leave"))
        answer = connection.response()
        check("so is a request on a kept connection", [502, 1], [answer.status, len(origin.take())])

    for name, text in {"no status line": "hello\r\n\r\n", "a malformed status": "HTTP/1.1 2x0 OK\r\n\r\n",
                       "lengths that differ": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                       "a malformed field": "HTTP/1.1 200 OK\r\nX(: 1\r\n\r\n", "a 101": "HTTP/1.1 101 Switching\r\n\r\n",
                       "a huge head": "HTTP/1.1 200 OK\r\nX: " + "y" * 90000 + "\r\n\r\n"}.items():
        def malformed(connection, _):
            connection.send(text)
            return True
        origin.scripts["malformed"] = malformed
        check("%s from the origin is a 502" % name, 502, gateway.get("/malformed").status)


def cuts(check, gateway, origin):
    start = {"with a length": "Content-Length: 10\r\n\r\nhello", "in chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
             "in a chunk": "Transfer-Encoding: chunked\r\n\r\n50\r\nhello", "with a bad chunk": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"}
    for name, text in start.items():
        for is_reset in [False, True]:
            def cut(connection, _):
                connection.send("HTTP/1.1 200 OK\r\n" + text)
                if is_reset:
                    # The gateway has passed the beginning on before the connection is reset.
                    arrived.wait(LIMIT)
                    reset(connection.socket)
                return True
            origin.scripts["cut"] = cut
            arrived = threading.Event()
            connection = gateway.connect()
            connection.send(request("/cut"))
            head = connection.head()
            if is_reset:
                arrived.set()
            connection.body(head)
            check("a body %s that is cut%s is cut for the client" % (name, " by a reset" if is_reset else ""),
                  [200, False, b""], [head.status, head.is_complete, connection.rest()])
            if "chunk" in name:
                arrived = threading.Event()
                connection = gateway.connect()
                connection.send("GET /cut HTTP/1.0\r\n\r\n")
                connection.was_reset = False
                head = connection.head()
                arrived.set()
                connection.rest()
                check("a body %s that is cut%s is a reset for HTTP/1.0" % (name, " by a reset" if is_reset else ""),
                      [200, True], [head and head.status, connection.was_reset])


def departures(check, gateway, origin):
    arrived, lengths = threading.Event(), []

    def upload(connection, request):
        arrived.set()
        connection.body(request)
        lengths.append((len(request.body), request.is_complete))
        left.set()
        return True
    origin.scripts["upload"] = upload
    for fields, body in [("Content-Length: 100\r\n", b"hello"), ("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n")]:
        lengths.clear()
        arrived.clear()
        left = threading.Event()
        connection = gateway.connect()
        connection.send(request("/upload", fields, "PUT", body))
        arrived.wait(LIMIT)
        connection.socket.close()
        left.wait(LIMIT)
        check("a client that leaves in its own body: the origin gets no end", [(5, False)],
              [(count if count else 5, complete) for count, complete in lengths])

    def early(connection, request):
        connection.answer("enough", "", "413 Enough")
        is_gone(connection.socket)
        return True
    origin.scripts["early"] = early
    connection = gateway.connect()
    connection.send(request("/early", "Content-Length: 30000000\r\n", "PUT", b"x" * 100000))
    answer = connection.response()
    check("an early response arrives, and ends the connection", [413, b"enough", b""], [answer.status, answer.body, connection.rest()])
