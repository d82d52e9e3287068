"""Checks of the limits of time for clients and origins, with clients that are slow."""

import socket, threading, time

from gateway_peers import LIMIT, can_read, is_gone, request, until


def run(check, origin, start):
    # The time of the origin counts for the tests about it alone.
    gateway, impatient = start("--client-timeout", "10"), start("--idle-timeout", "8")
    # They wait most of the time, and so at once. Their results are checked in the order in which they are listed.
    tests = [(test, gateway) for test in (unfinished, trickling_head, trickling_body, slow_reader, taking_nothing)]
    tests += [(test, impatient) for test in (silent, stalling)]
    results = [[] for _ in tests]

    def note(number):
        return lambda *result: results[number].append(result)
    threads = [threading.Thread(target=test, args=(note(number), gateway, origin), daemon=True)
               for number, (test, gateway) in enumerate(tests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in sum(results, []):
        check(*result)
    check("the gateways still serve", [200, 200, 0, 0],
          [gateway.get("/").status, impatient.get("/").status, gateway.end()[0], impatient.end()[0]])


def unfinished(check, gateway, origin):
    # Half of --client-timeout for a head, all of it for the next bytes of a body.
    ended, has_ended = [], threading.Event()

    def script(connection, request):
        connection.body(request)
        ended.append(request.is_complete)
        has_ended.set()
        connection.answer()
    origin.scripts["unfinished"] = script
    head, body = gateway.connect(), gateway.connect()
    head.send("GET / HTTP/1.1\r\nHost:")
    body.send(request("/unfinished", "Content-Length: 10\r\n", "POST", b"hello"))
    check("a head that does not end", [408, b""], [head.response().status, head.rest()])
    check("a body that does not end", [408, b""], [body.response().status, body.rest()])
    has_ended.wait(LIMIT)
    check("the origin gets no end of it", [False], ended)


def trickling_head(check, gateway, origin):
    # Each byte arrives in time, and the head as a whole does not.
    connection = gateway.connect()
    data, count = request("/", "X: %s\r\n" % ("y" * 1000)), 0
    while count < len(data) and not can_read(connection.socket, 0.1):
        connection.send(data[count:count + 1])
        count += 1
    answer = connection.response()
    check("a head whose bytes trickle in is refused", [408, True], [answer and answer.status, count < len(data)])


def trickling_body(check, gateway, origin):
    # A body may take longer than the limit as long as it makes progress. A slow machine has most of the limit between two bytes.
    origin.scripts["trickling"] = lambda connection, request: connection.body(request) or connection.answer(request.body)
    connection = gateway.connect()
    connection.send(request("/trickling", "Content-Length: 12\r\n", "PUT"))
    for _ in range(12):
        time.sleep(1)
        connection.send(b"x")
    check("a body may trickle in", b"x" * 12, connection.response().body)


def slow_reader(check, gateway, origin):
    # So may a response that is taken slowly.
    size = 12 << 20
    origin.scripts["large"] = lambda connection, _: connection.answer(b"z" * size)
    connection = gateway.connect()
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    connection.send(request("/large"))
    head = connection.head()
    count, start = len(connection.buffer), time.monotonic()
    connection.buffer = b""
    while count < size:
        if time.monotonic() < start + 12:
            time.sleep(0.2)
        data = connection.socket.recv(65536)
        if not data:
            break
        count += len(data)
    check("a response may be taken slowly", [200, size], [head.status, count])


def taking_nothing(check, gateway, origin):
    gone, left = [], threading.Event()

    def endless(connection, _):
        connection.send("HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.socket.sendall(b"x" * 65536)
        except ConnectionError:
            gone.append("cut")
        left.set()
        return True
    origin.scripts["endless"] = endless
    connection = gateway.connect()
    connection.send(request("/endless"))
    left.wait(LIMIT)
    connection.socket.close()
    check("a client that takes nothing loses its response", ["cut"], gone)


def silent(check, gateway, origin):
    count = []

    def script(connection, request):
        count.append(request)
        is_gone(connection.socket)
        return True
    origin.scripts["silent"] = script
    answer = gateway.get("/silent")
    # The origin may be slower than the limit.
    until(lambda: count)
    check("an origin that does not respond in time is a 504", [504, "trellis; error=http_response_timeout", 1],
          [answer.status, answer.get("Proxy-Status"), len(count)])


def stalling(check, gateway, origin):
    def script(connection, _):
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        is_gone(connection.socket)
        return True
    origin.scripts["stalling"] = script
    answer = gateway.get("/stalling")
    check("a body that stalls is cut", [200, False, b"hello"], [answer.status, answer.is_complete, answer.body])
