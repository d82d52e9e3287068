"""Checks of requests that must not reach the origin, or not as if they were complete."""

from gateway_peers import request, until_read

HOST = "Host: gateway.example\r\n"

MALFORMED = {
    "both lengths": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "the same length twice": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a list of lengths": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 5, 5\r\n\r\nhello",
    "a length with a sign": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: +5\r\n\r\nhello",
    "a negative length": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: -5\r\n\r\nhello",
    "an empty length": "POST / HTTP/1.1\r\n" + HOST + "Content-Length:\r\n\r\n",
    "a hexadecimal length": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 0x5\r\n\r\nhello",
    "a length beyond all numbers": "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 99999999999999999999\r\n\r\n",
    "chunks in HTTP/1.0": "POST / HTTP/1.0\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a line end without CR": "GET / HTTP/1.1\n" + HOST + "\r\n",
    "a head without CR": "GET / HTTP/1.1\nHost: a\n\n",
    "a CR in a value": "GET / HTTP/1.1\r\n" + HOST + "X: a\rb\r\n\r\n",
    "a NUL in a value": "GET / HTTP/1.1\r\n" + HOST + "X: a\0b\r\n\r\n",
    "a folded field": "GET / HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n",
    "a fold before the first field": "GET / HTTP/1.1\r\n " + HOST + "\r\n",
    "a blank before the colon": "GET / HTTP/1.1\r\n" + HOST + "Content-Length : 5\r\n\r\n",
    "a field without a colon": "GET / HTTP/1.1\r\n" + HOST + "nonsense\r\n\r\n",
    "a field without a name": "GET / HTTP/1.1\r\n" + HOST + ": a\r\n\r\n",
    "a name with a bracket": "GET / HTTP/1.1\r\n" + HOST + "X(: a\r\n\r\n",
    "a name that is not ASCII": "GET / HTTP/1.1\r\n" + HOST + "X\xe4: a\r\n\r\n",
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "two Hosts": "GET / HTTP/1.1\r\n" + HOST + HOST + "\r\n",
    "a Host with a path": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "a Host with a user": "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "a request line without a version": "GET /\r\n" + HOST + "\r\n",
    "a request line with two blanks": "GET  / HTTP/1.1\r\n" + HOST + "\r\n",
    "a request line with a tab": "GET\t/ HTTP/1.1\r\n" + HOST + "\r\n",
    "a blank in the target": "GET /a b HTTP/1.1\r\n" + HOST + "\r\n",
    "a fragment": "GET /a#b HTTP/1.1\r\n" + HOST + "\r\n",
    "a target that is not ASCII": "GET /\xe4 HTTP/1.1\r\n" + HOST + "\r\n",
    "a target without a slash": "GET a HTTP/1.1\r\n" + HOST + "\r\n",
    "a target that is an authority": "GET a.example:80 HTTP/1.1\r\n" + HOST + "\r\n",
    "a target of another scheme": "GET ftp://a/ HTTP/1.1\r\n" + HOST + "\r\n",
    "a target with a user": "GET http://a@b/ HTTP/1.1\r\n" + HOST + "\r\n",
    "a target without a host": "GET http:///a HTTP/1.1\r\n" + HOST + "\r\n",
    "a star for another method": "GET * HTTP/1.1\r\n" + HOST + "\r\n",
    "a method that is no token": "GE(T / HTTP/1.1\r\n" + HOST + "\r\n",
    "a version without a number": "GET / HTTP/x.y\r\n" + HOST + "\r\n",
    "a lower-case version": "GET / http/1.1\r\n" + HOST + "\r\n",
    "HEAD with a body": "HEAD / HTTP/1.1\r\n" + HOST + "Content-Length: 5\r\n\r\nhello",
    "TRACE with a body": "TRACE / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}

OTHERS = {
    "an unknown transfer coding": (501, "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "two transfer codings": (501, "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
    "a transfer coding with a prefix": (501, "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "CONNECT": (501, "CONNECT a.example:443 HTTP/1.1\r\n" + HOST + "\r\n"),
    "HTTP/2": (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/0.9 with a version": (505, "GET / HTTP/0.9\r\n" + HOST + "\r\n"),
    "a huge field": (431, "GET / HTTP/1.1\r\n" + HOST + "X: " + "y" * 70000 + "\r\n\r\n"),
    "a head without an end": (431, "GET / HTTP/1.1\r\n" + "X: y\r\n" * 20000),
    "many fields": (431, "GET / HTTP/1.1\r\n" + HOST + "X: y\r\n" * 1001 + "\r\n"),
}

# Bodies in chunks whose beginning is good.
CHUNKS = {
    "a size that is no number": "z\r\nabc\r\n0\r\n\r\n",
    "a negative size": "-1\r\nabc\r\n0\r\n\r\n",
    "an empty size": "\r\n0\r\n\r\n",
    "a size beyond all numbers": "fffffffffffffffff\r\n",
    "a size line without CR": "3\nabc\r\n0\r\n\r\n",
    "an extension with CR": "3;a\rb\r\nabc\r\n0\r\n\r\n",
    "an extension without a semicolon": "3 a\r\nabc\r\n0\r\n\r\n",
    "a chunk that is too long": "3\r\nabcd\r\n0\r\n\r\n",
    "a chunk without its line end": "3\r\nabc0\r\n\r\n",
    "a trailer that is no field": "0\r\nnonsense\r\n\r\n",
    "a folded trailer": "0\r\nX: 1\r\n 2\r\n\r\n",
    "a huge extension": "3;" + "x" * 5000 + "\r\nabc\r\n",
    "huge trailers": "0\r\n" + "X: y\r\n" * 4000,
}


def run(check, origin, start):
    gateway = start()
    rows = [(name, 400, text) for name, text in MALFORMED.items()] + [(name, *row) for name, row in OTHERS.items()]
    for name, status, text in rows:
        connection = gateway.connect()
        # A second request is behind the first one, and is never served.
        connection.send(text + request("/smuggled").decode())
        answer = connection.response()
        check("%s is refused" % name, [status, "close", b"", []],
              [answer and answer.status, answer and answer.get("Connection"), connection.rest(), origin.take()])
    ended = []

    @origin.script
    def chunked(connection, request):
        connection.body(request)
        ended.append(request.is_complete)
        connection.answer()
    for name, text in CHUNKS.items():
        ended.clear()
        connection = gateway.connect()
        connection.send(request("/chunked", "Transfer-Encoding: chunked\r\n", "POST"))
        connection.send("5\r\nhello\r\n" + text)
        answer = connection.response()
        # The refusal may come before the request has gone to the origin.
        check("%s is refused, and the origin gets no end" % name, [400, b"", []],
              [answer and answer.status, connection.rest(), [e for e in ended if e]])
    answer = gateway.ask("\r\n\r\n" + request("/empty-lines").decode())
    check("empty lines before a request are ignored", 200, answer.status)
    got = gateway.ask(request("/large", "X: " + "y" * 60000 + "\r\n"))
    check("a large head is passed on", [200, [60000]], [got.status, [len(r.get("X")) for r in origin.requests if b"/large" in r.first]])
    connection = gateway.connect()
    connection.send(request("/pieces")[:20])
    until_read(connection)
    connection.send(request("/pieces")[20:])
    check("a head in pieces", 200, connection.response().status)
    # Nothing goes to the origin any more.
    check("the gateway ends with 0", 0, gateway.end()[0])
    origin.settle()
    known = [b"GET /empty-lines HTTP/1.1", b"GET /large HTTP/1.1", b"GET /pieces HTTP/1.1"]
    check("the requests of the other clients arrive once", known, [r.first for r in origin.requests if r.first in known])
    sent = [request.first for request in origin.take() if request.first not in known]
    check("nothing behind a bad chunk has gone to the origin", [True, [], []],
          [0 < len(sent) <= len(CHUNKS), [first for first in sent if first != b"POST /chunked HTTP/1.1"], [e for e in ended if e]])
