"""Checks of trailers in both directions, and of the permission to send them (TE)."""

FIELDS = "X-Sum: 7\r\nx-other: \xe4\r\nX-Hop: 1\r\nContent-Length: 5\r\nAuthorization: Basic eDp5\r\nKeep-Alive: 1\r\nX-Sum: 8\r\n"
PASSED = [(b"X-Sum", b"7"), (b"x-other", b"\xe4"), (b"X-Sum", b"8")]


def run(check, origin, start):
    """Checks the trailers of requests, of responses, and TE."""
    gateway = start()
    requests(check, gateway, origin)
    responses(check, gateway, origin)
    permission(check, gateway, origin)
    check("the gateway ends with 0", 0, gateway.end()[0])


def requests(check, gateway, origin):
    @origin.script
    def summed(connection, request):
        connection.body(request)
        connection.answer(request.body)
    origin.take()

    def sent(body, fields="", method="PUT"):
        answer = gateway.get("/summed", "Transfer-Encoding: chunked\r\nConnection: X-Hop\r\n" + fields, method, body.encode("latin-1"))
        request = origin.take()[-1]
        return [answer.status, answer.body, request.trailers, request.all("Trailer")]
    body = "5\r\nhello\r\n0\r\n" + FIELDS + "\r\n"
    check("trailers of a request", [200, b"hello", PASSED, ["X-Sum"]], sent(body, "Trailer: X-Sum\r\n"))
    check("trailers that were not announced", [200, b"hello", PASSED, []], sent(body, method="POST"))
    check("trailers behind an empty body", [200, b"", PASSED, []], sent("0\r\n" + FIELDS + "\r\n"))
    check("a body in chunks without trailers", [200, b"hello", [], []], sent("5\r\nhello\r\n0\r\n\r\n"))
    expecting = sent(body, "Expect: 100-continue\r\n")
    check("trailers behind a body that waits for its 100", [200, b"hello", PASSED, []], expecting)
    # The trailers of one request are not those of the next one on the same connection.
    connection = gateway.connect()
    head = "PUT /summed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.send(head + body + head + "0\r\n\r\n")
    answers = [connection.response(), connection.response()]
    check("trailers of one request alone", [[b"hello", b""], [3, 0]],
          [[answer.body for answer in answers], [len([f for f in request.trailers if f[0] != b"X-Hop"]) for request in origin.take()]])
    gateway.get("/summed", "Content-Length: 5\r\nTrailer: X-Sum\r\n", "PUT", b"hello")
    check("a body with a length announces no trailers", [], origin.take()[-1].all("Trailer"))


def responses(check, gateway, origin):
    origin.scripts["closing"] = lambda connection, _: connection.send(
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: X-Hop\r\n\r\n5\r\nhello\r\n0\r\n" + FIELDS
         + "\r\n").encode("latin-1"))
    got = gateway.get("/closing")
    check("trailers of a response, without those of the connection", [b"hello", PASSED, ["X-Sum"]], [got.body, got.trailers, got.all("Trailer")])
    origin.scripts["announcing"] = lambda connection, _: connection.answer("hello", "Trailer: X-Sum\r\n")
    got = gateway.get("/announcing")
    check("trailers that are announced and do not come", [b"hello", True, []], [got.body, got.is_complete, got.trailers])
    got = gateway.get("/announcing", method="HEAD")
    check("and the length of a response to HEAD", ["5", []], [got.get("Content-Length"), got.all("Transfer-Encoding")])
    got = gateway.ask("GET /announcing HTTP/1.0\r\n\r\n")
    check("and that for a client of HTTP/1.0", ["5", b"hello", []], [got.get("Content-Length"), got.body, got.all("Transfer-Encoding")])


def permission(check, gateway, origin):
    for value, wanted in [("trailers", ["trailers"]), ("gzip;q=0.5, Trailers", ["trailers"]), ("gzip", []), ("trailers;q=1", []), ("", [])]:
        gateway.get("/", "TE: %s\r\nConnection: TE\r\n" % value)
        sent = origin.take()[-1]
        check("TE: %s" % value, [wanted, ["TE"] if wanted else []], [sent.all("TE"), sent.all("Connection")])
    gateway.ask("GET / HTTP/1.0\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
    sent = origin.take()[-1]
    check("a client of HTTP/1.0 takes no trailers", [[], []], [sent.all("TE"), sent.all("Connection")])
