"""Checks of the clients' connections: many requests at once, connections without a request, and fields that would change the framing."""

import threading

from gateway_peers import LIMIT, can_read, is_gone, request, until_read


def run(check, origin, start):
    gateway = start()
    pipelined(check, gateway, origin)
    framing(check, gateway, origin)
    check("the gateway ends with 0", 0, gateway.end()[0])
    kept(check, start)


def echo(connection, request):
    connection.body(request)
    connection.answer(request.first.split(b" ")[1] + b" " + request.body)


def pipelined(check, gateway, origin):
    origin.scripts["pipe"] = echo
    origin.take()
    connection = gateway.connect()
    parts, wanted = [], []
    for number in range(60):
        target = "/pipe/%d" % number
        if number % 3 == 0:
            parts.append(request(target))
        elif number % 3 == 1:
            parts.append(request(target, "Content-Length: 5\r\n", "POST", b"hello"))
        else:
            parts.append(request(target, "Transfer-Encoding: chunked\r\n", "PUT", b"5\r\nhello\r\n0\r\n\r\n"))
        wanted.append(target + (" hello" if number % 3 else " "))
    data = b"".join(parts)
    # The pieces end anywhere in the requests.
    sender = threading.Thread(target=lambda: [connection.send(data[start:start + 97]) for start in range(0, len(data), 97)])
    sender.start()
    got = [connection.response() for _ in range(60)]
    sender.join()
    check("sixty requests behind each other get their responses in order", [wanted, True],
          [[answer and answer.body.decode() for answer in got], len(origin.take()) == 60])

    go, arrived = threading.Event(), threading.Event()

    def first(connection, request):
        arrived.set()
        go.wait(LIMIT)
        connection.answer("first")
    origin.scripts["first"] = first
    connection = gateway.connect()
    connection.send(request("/first") + request("/second", method="POST"))
    arrived.wait(LIMIT)
    until_read(connection)
    is_early = can_read(connection.socket, 0.2)
    sent = len(origin.take())
    go.set()
    check("a request waits for the response to the one before it", [False, 1, b"first", b"hello"],
          [is_early, sent, connection.response().body, connection.response().body])
    connection.send(request("/pipe/a") + b"GET / HTTP/1.1\r\nHost\r\n\r\n" + request("/smuggled"))
    check("a malformed request behind another one ends the connection after its refusal", [200, 400, b"", 1],
          [connection.response().status, connection.response().status, connection.rest(), len(origin.take()) - 1])
    # More than the gateway reads ahead.
    go.clear()
    arrived.clear()
    connection = gateway.connect()
    large = request("/pipe/x", "X: " + "y" * 40000 + "\r\n")
    connection.send(request("/first"))
    arrived.wait(LIMIT)
    sender = threading.Thread(target=lambda: connection.send(large * 40))
    sender.start()
    go.set()
    got = [connection.response() for _ in range(41)]
    sender.join()
    check("requests that are larger than what is read ahead", [200] * 41, [answer and answer.status for answer in got])


def framing(check, gateway, origin):
    origin.scripts["echo"] = lambda connection, request: connection.body(request) or connection.answer(request.body)
    origin.take()
    for option in ["Content-Length", "Host", "Transfer-Encoding", "Via", "X, ,,Content-Length"]:
        answer = gateway.get("/echo", "Connection: %s\r\nContent-Length: 5\r\n" % option, "POST", b"hello")
        sent = origin.take()
        check("Connection: %s changes neither the body nor its destination" % option,
              [200, b"hello", ["5"], [origin.authority], ["1.1 trellis"], 1],
              [answer.status, answer.body, sent[0].all("Content-Length"), sent[0].all("Host"), sent[0].all("Via"), len(sent)])
    origin.scripts["named"] = lambda connection, _: connection.answer("hello", "Connection: Content-Length, Date, Via\r\nDate: x\r\n")
    answer = gateway.get("/named")
    check("a response whose Connection names its length", [b"hello", True, 1, 1],
          [answer.body, answer.is_complete, len(answer.all("Date")), len(answer.all("Via"))])
    origin.take()
    for name, text in {"a vertical tab before it": "Transfer-Encoding: \x0bchunked", "a comma before it": "Transfer-Encoding: , chunked",
                       "quotes around it": 'Transfer-Encoding: "chunked"', "another one behind it": "Transfer-Encoding: chunked, identity",
                       "twice": "Transfer-Encoding: chunked, chunked",
                       "a kelvin sign in it": "Transfer-Encoding: chun\xe2\x84\xaaed"}.items():
        connection = gateway.connect()
        connection.send(request("/echo", text + "\r\n", "POST", b"0\r\n\r\n") + request("/smuggled"))
        answer = connection.response()
        check("the coding chunked with %s is refused" % name, [True, b"", []],
              [answer.status in (400, 501), connection.rest(), origin.take()])
    answer = gateway.get("/echo", "Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "POST", b"hello")
    check("a field of a similar name is a field like others", [b"hello", "chunked"], [answer.body, origin.take()[0].get("Transfer_Encoding")])
    for size in ["0x5", "+5", " 5", "5 ", "5\t", "٥", "5;a=\x00", "5h"]:
        connection = gateway.connect()
        body = size.encode() + b"\r\nhello\r\n0\r\n\r\n"
        connection.send(request("/echo", "Transfer-Encoding: chunked\r\n", "POST", body) + request("/smuggled"))
        answer = connection.response()
        targets = [sent.first for sent in origin.take()]
        check("the chunk size %r is refused" % size, [400, b"", []],
              [answer and answer.status, connection.rest(), [target for target in targets if b"smuggled" in target]])


def kept(check, start):
    """Checks of a short time for connections without a request."""
    # On a slow machine, the time must be enough for a request of this client.
    gateway = start("--keep-alive", "10")
    fresh, used, half = gateway.connect(), gateway.connect(), gateway.connect()
    used.send(request("/"))
    answer = used.response()
    half.send(b"GET / HTTP/1.1\r\n")
    check("a connection without a request ends after a while, without a word", [200, b"", b""], [answer.status, fresh.rest(), used.rest()])
    half.send(b"Host: a\r\n\r\n")
    check("one with a part of a head does not", 200, half.response().status)
    half.send(request("/"))
    check("and it is kept for the next request", [200, True], [half.response().status, is_gone(half.socket)])
    gateway.end()
