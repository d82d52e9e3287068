"""Checks of what passes through the gateway unchanged, and of what does not."""

import gzip, socket, threading, time

from gateway_peers import CONTINUE_LIMIT, LIMIT, can_read, request, within


def fields(message, *without):
    """Returns the fields of a message in order, as text."""
    names = [name.lower().encode() for name in without]
    return [n.decode("latin-1") + ": " + v.decode("latin-1") for n, v in message.fields if n.lower() not in names]


def run(check, origin, start):
    gateway = start()
    requests(check, gateway, origin)
    responses(check, gateway, origin)
    bodies(check, gateway, origin)
    informational(check, gateway, origin)
    continuing(check, gateway, origin)
    streaming(check, gateway, origin)
    check("the gateway ends with 0", 0, gateway.end()[0])


def requests(check, gateway, origin):
    gateway.get("/a?b=c", "X-A: 1\r\nx-b: 2\r\nCookie: a=1\r\nX-A: 3\r\nX-Empty:\r\nX-Octets: \xe4\xff\r\nCookie: b=2\r\n")
    sent = origin.take()[0]
    check("a request line", b"GET /a?b=c HTTP/1.1", sent.first)
    check("the fields of a request, in order, and nothing but Via added", ["Host: " + origin.authority, "X-A: 1", "x-b: 2",
          "Cookie: a=1", "X-A: 3", "X-Empty: ", "X-Octets: \xe4\xff", "Cookie: b=2", "Via: 1.1 trellis"], fields(sent))
    origin.scripts["ordered"] = lambda connection, request: connection.body(request) or connection.send(
        "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 5\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nX-B: 2\r\nX-A: 3\r\n\r\nhello")
    got = gateway.ask("POST /ordered HTTP/1.1\r\nX-A: 1\r\nContent-Length: 3\r\nX-B: 2\r\nHost: x\r\nX-A: 3\r\n\r\nabc", "POST")
    check("the other fields around Host and Content-Length stay in order", [["X-A: 1", "X-B: 2", "X-A: 3", "Via: 1.1 trellis"], ["3"]],
          [fields(sent := origin.take()[0], "Host", "Content-Length"), sent.all("Content-Length")])
    check("the fields of a response stay in order, with Content-Length in its place", ["X-A: 1", "Content-Length: 5",
          "Date: Mon, 01 Jan 2024 00:00:00 GMT", "X-B: 2", "X-A: 3", "Via: 1.1 trellis"], fields(got))
    gateway.get("/", "Via: 1.0 other\r\nUser-Agent: me\r\nAccept: a/b\r\nAccept-Encoding: br\r\nCache-Control: x-unknown=1, max-age=0\r\n")
    check("the client's own Via, and fields that libcurl knows", ["Via: 1.0 other", "User-Agent: me", "Accept: a/b",
          "Accept-Encoding: br", "Cache-Control: x-unknown=1, max-age=0", "Via: 1.1 trellis"], fields(origin.take()[0], "Host"))
    for target in ["/a/../b/./c", "/%2e%2e/%41", "/a?", "//x//", "/'\"<>{}|\\^`[]", "/?q='\"<>{}|\\^`[]??", "/a%zz%", "/;x=1"]:
        gateway.get(target)
        check("the target %s as it is" % target, "GET %s HTTP/1.1" % target, origin.take()[0].first)
    for target, wanted in [("http://other.example/a?b", "/a?b"), ("HTTPS://other.example:1?b", "/?b"), ("http://x", "/")]:
        gateway.get(target)
        check("the absolute target %s" % target, ["GET %s HTTP/1.1" % wanted, origin.authority],
              [(r := origin.take()[0]).first, r.get("Host")])
    for method in ["PUT", "M-SEARCH", "PURGE", "get", "QUERY", "!#$%&'*+-.^_`|~09az", "DELETE"]:
        check("the method " + method, [200, method], [gateway.get("/", method=method).status, origin.take()[0].first.split(b" ")[0]])
    for method, length in [("POST", ["0"]), ("PUT", ["0"]), ("DELETE", []), ("FOO", [])]:
        gateway.get("/", method=method)
        check("%s without a body" % method, length, origin.take()[0].all("Content-Length"))
    gateway.get("/", "Content-Length: 0\r\n", method="DELETE")
    check("a length of zero is kept", ["0"], origin.take()[0].all("Content-Length"))
    hop = ("Connection: X-Foo , keep-alive,\tx-bar\r\nX-Foo: 1\r\nX-Bar: 1\r\nX-Bar: 2\r\nKeep-Alive: timeout=5\r\nTE: gzip\r\n"
           "Proxy-Connection: keep-alive\r\nUpgrade: websocket, h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
           "Proxy-Authorization: Basic eDp5\r\nX-Baz: 1\r\nAuthorization: Basic eDp5\r\n")
    gateway.get("/", hop)
    check("fields of the connection are dropped from a request", ["X-Baz: 1", "Authorization: Basic eDp5", "Via: 1.1 trellis"],
          fields(origin.take()[0], "Host"))
    gateway.ask("GET /old HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")
    check("a request of HTTP/1.0", ["GET /old HTTP/1.1", ["Host: " + origin.authority, "Via: 1.0 trellis"]],
          [(r := origin.take()[0]).first, fields(r)])
    for method in ["OPTIONS", "TRACE", "GET"]:
        gateway.get("/", "Max-Forwards: 3\r\n", method=method)
    check("Max-Forwards of OPTIONS and TRACE is decremented, that of GET is not", ["2", "2", "3"],
          [r.get("Max-Forwards") for r in origin.take()])
    for value, wanted in [("1", ["0"]), ("00", []), ("99999999999999999999", [str((1 << 63) - 2)]), ("x", ["x"]), ("-1", ["-1"]), ("", [""])]:
        gateway.get("/", "Max-Forwards: %s\r\n" % value, method="OPTIONS")
        check("Max-Forwards: %s" % value, wanted, [r.get("Max-Forwards") for r in origin.take()])
    answers = [gateway.get(target, "Max-Forwards: 0\r\n", method="OPTIONS") for target in ["*", "/"]]
    check("OPTIONS that ends here", [[(200, "0")] * 2, []], [[(a.status, a.get("Content-Length")) for a in answers], origin.take()])
    check("TRACE that ends here", [501, []], [gateway.get("/", "Max-Forwards: 0\r\n", method="TRACE").status, origin.take()])
    origin.scripts["*"] = lambda connection, _: connection.answer("", "Allow: GET, PURGE\r\n")
    for target in ["*", "http://x", "HTTPS://x:1"]:
        answer = gateway.get(target, "Max-Forwards: 1\r\n", method="OPTIONS")
        check("OPTIONS %s asks the origin about itself" % target, [200, "GET, PURGE", b"OPTIONS * HTTP/1.1", origin.authority, "0"],
              [answer.status, answer.get("Allow"), (r := origin.take()[0]).first, r.get("Host"), r.get("Max-Forwards")])
    for target, wanted in [("/", "/"), ("http://x/", "/"), ("http://x?q", "/?q")]:
        gateway.get(target, method="OPTIONS")
        check("OPTIONS %s" % target, "OPTIONS %s HTTP/1.1" % wanted, origin.take()[0].first)
    gateway.get("/", method="OPTIONS")
    check("the request after OPTIONS * is one for its own target", "OPTIONS / HTTP/1.1", origin.take()[0].first)
    check("a loop ends", [508, []], [gateway.get("/", "Via: 1.1 trellis\r\n" * 10).status, origin.take()])


def responses(check, gateway, origin):
    @origin.script
    def answer(connection, request):
        connection.answer("\x00\xff body", "Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nSet-Cookie: a=1\r\nX-One: 1\r\nset-cookie: b=2\r\n"
                          "X-Octets: \xe4\xff\r\nX-Empty:\r\nConnection: X-Foo, close\r\nX-Foo: 1\r\nKeep-Alive: timeout=5\r\n"
                          "Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nAlt-Svc: h3=\":443\"\r\nX-One: 2\r\nVia: 1.0 inner\r\n", "299 Quite all Right")
        return True
    got = gateway.get("/answer")
    check("a status line as it is", b"HTTP/1.1 299 Quite all Right", got.first)
    check("the fields of a response, in order, without those of the connection, and with Via", [
        "Date: Mon, 01 Jan 2024 00:00:00 GMT", "Set-Cookie: a=1", "X-One: 1", "set-cookie: b=2", "X-Octets: \xe4\xff", "X-Empty: ",
        "X-One: 2", "Via: 1.0 inner", "Content-Length: 7", "Via: 1.1 trellis"], fields(got))
    check("a body as it is", b"\x00\xff body", got.body)
    check("a missing Date is added", True, "GMT" in gateway.get("/").get("Date", ""))

    @origin.script
    def coded(connection, request):
        connection.answer(gzip.compress(b"hello"), "Content-Encoding: gzip\r\n")
    got = gateway.get("/coded")
    check("a coded body is not decoded", ["gzip", b"hello"], [got.get("Content-Encoding"), gzip.decompress(got.body)])

    @origin.script
    def moved(connection, request):
        connection.answer("", "Location: /elsewhere\r\nSet-Cookie: a=1\r\n", "302 Found")
    origin.take()
    got = gateway.get("/moved")
    gateway.get("/")
    check("a redirect is not followed", [302, "/elsewhere", 2], [got.status, got.get("Location"), len(sent := origin.take())])
    check("there is no cookie jar", None, sent[1].get("Cookie"))
    origin.scripts["bad-target"] = lambda connection, _: connection.answer("", "Location: file:///etc\r\n", "301 Moved")
    check("a redirect that no client would follow", 301, gateway.get("/bad-target").status)

    connection = gateway.connect()
    connection.send(request("/1") + request("/2", "Connection: Close\r\n"))
    got = [connection.response(), connection.response()]
    check("requests on one connection, sent together", [[200, None], [200, "close"], b""],
          [[a.status, a.get("Connection")] for a in got] + [connection.rest()])


def bodies(check, gateway, origin):
    @origin.script
    def echo(connection, request):
        connection.body(request)
        connection.answer(request.body)
    got = gateway.get("/echo", "Content-Length: 6\r\nContent-Type: a/b\r\n", "POST", b"\x00\r\n\xff12")
    check("a body with a length", [b"\x00\r\n\xff12", "6", ["a/b"], []], [got.body, (r := origin.take()[-1]).get("Content-Length"),
          r.all("Content-Type"), r.all("Transfer-Encoding")])
    chunked = b"3;x=\"y\"\r\nabc\r\n0A \t;z\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n"
    got = gateway.get("/echo", "Transfer-Encoding: Chunked\r\nTrailer: X-Trailer\r\n", "FOO", chunked)
    check("a body in chunks", [b"abc0123456789", "chunked", [], []], [got.body, (r := origin.take()[-1]).get("Transfer-Encoding"),
          r.all("Content-Length"), r.all("Content-Type")])
    got = gateway.get("/echo", "Content-Length: 3\r\n", "GET", b"abc")
    check("a GET with a body", [b"abc", "3"], [got.body, origin.take()[-1].get("Content-Length")])
    large = bytes(range(256)) * 20000
    connection = gateway.connect()
    sender = threading.Thread(target=lambda: connection.send(request("/echo", "Content-Length: %d\r\n" % len(large), "PUT", large)))
    sender.start()
    check("five megabytes both ways", True, connection.response().body == large)
    connection.send(request("/next"))
    check("the connection is kept", 200, connection.response().status)

    origin.scripts["head"] = lambda connection, _: connection.send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    got = gateway.get("/head", method="HEAD")
    check("the length of a response to HEAD", ["99", b""], [got.get("Content-Length"), got.body])
    origin.scripts["head-chunked"] = lambda connection, _: connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    got = gateway.get("/head-chunked", method="HEAD")
    check("a response to HEAD without a length", [[], []], [got.all("Content-Length"), got.all("Transfer-Encoding")])
    origin.scripts["none"] = lambda connection, _: connection.send("HTTP/1.1 204 No\r\nContent-Length: 0\r\nX: 1\r\n\r\n")
    check("a 204 has no length", [204, "1", []], [(a := gateway.get("/none")).status, a.get("X"), a.all("Content-Length")])
    origin.scripts["same"] = lambda connection, _: connection.send("HTTP/1.1 304 Same\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n")
    got = gateway.get("/same", "If-None-Match: \"a\"\r\n")
    check("a 304", [304, '"a"', b""], [got.status, got.get("ETag"), got.body])
    trailing = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5;x\r\nhello\r\n0\r\nX-Sum: 7\r\nContent-Length: 1\r\n\r\n"
    origin.scripts["chunks"] = lambda connection, _: connection.send(trailing)
    got = gateway.get("/chunks")
    check("a response in chunks, with trailers", ["chunked", [], b"hello", [(b"X-Sum", b"7")]],
          [got.get("Transfer-Encoding"), got.all("Content-Length"), got.body, got.trailers])
    got = gateway.ask("GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    check("a client of HTTP/1.0 gets no chunks", [[], b"hello", "close"], [got.all("Transfer-Encoding"), got.body, got.get("Connection")])

    @origin.script
    def until_close(connection, request):
        connection.send("HTTP/1.0 200 OK\r\n\r\nhello")
        return True
    got = gateway.get("/until-close")
    check("a response that ends with its connection", ["chunked", b"hello", "1.0 trellis"],
          [got.get("Transfer-Encoding"), got.body, got.get("Via")])
    origin.scripts["zipped"] = lambda connection, _: connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    check("a transfer coding that was not asked for", 502, gateway.get("/zipped").status)


def informational(check, gateway, origin):
    go = threading.Event()

    @origin.script
    def hints(connection, request):
        connection.send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX: 1\r\nConnection: X\r\nLink: </b>\r\n\r\n")
        go.wait(LIMIT)
        go.clear()
        connection.answer("done")
    connection = gateway.connect()
    connection.send(request("/hints"))
    first, second = connection.head(), connection.head()
    go.set()
    check("102 and 103 arrive before the response", [b"HTTP/1.1 102 Processing", [], b"HTTP/1.1 103 Early Hints",
          ["Link: </a>", "Link: </b>"], [], b"done"],
          [first.first, fields(first), second.first, fields(second), (last := connection.response()).informational, last.body])
    go.set()
    origin.scripts["permitted"] = lambda connection, _: connection.send("HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n") or connection.answer("done")
    got = gateway.get("/permitted")
    check("a 100 that nobody has asked for is passed on, too", [[b"HTTP/1.1 100 Continue"], b"done"],
          [[head.first for head in got.informational], got.body])
    got = gateway.ask("GET /hints HTTP/1.0\r\n\r\n")
    check("a client of HTTP/1.0 gets none", [[], b"done"], [got.informational, got.body])


def continuing(check, gateway, origin):
    expecting = "Content-Length: 5\r\nExpect: 100-continue\r\n"
    go = threading.Event()

    @origin.script
    def permit(connection, request):
        go.wait(LIMIT)
        connection.send("HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n")
        connection.body(request)
        connection.answer(request.body)

    def permitted():
        go.clear()
        connection = gateway.connect()
        connection.send(request("/permit", expecting, "PUT"))
        is_early = can_read(connection.socket, 0.2)
        go.set()
        permission = connection.head()
        connection.send("hello")
        answer = connection.response()
        return [is_early, permission.status, answer.informational, answer.body, origin.take()[-1].get("Expect")]
    wanted = [False, 100, [], b"hello", "100-continue"]
    check("the body waits for the origin's 100", wanted, within(CONTINUE_LIMIT, wanted, permitted))

    @origin.script
    def silent(connection, request):
        connection.body(request)
        connection.answer(request.body)
    connection = gateway.connect()
    connection.send(request("/silent", expecting, "PUT"))
    permission = connection.head()
    connection.send("hello")
    check("an origin that says nothing gets the body after a while", [100, [], b"hello"],
          [permission.status, (a := connection.response()).informational, a.body])
    for status in ["413 Too Large", "417 No"]:
        def refused():
            connection = gateway.connect()
            origin.take()
            connection.send(request("/refuse", expecting, "PUT"))
            answer = connection.response()
            return [answer.first[9:].decode(), answer.informational, answer.body, len(origin.take()), connection.rest(),
                    answer.get("Connection")]
        origin.scripts["refuse"] = lambda connection, _: connection.answer("no", "", status) or True
        wanted = [status, [], b"no", 1, b"", "close"]
        check("a %s in place of the 100" % status, wanted, within(CONTINUE_LIMIT, wanted, refused))


def streaming(check, gateway, origin):
    @origin.script
    def pieces(connection, request):
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (size := int(connection.line(), 16)) > 0:
            data = connection.exactly(size)
            connection.line()
            connection.send("%x\r\n" % size + data.decode() + "\r\n")
        connection.line()
        connection.send("0\r\n\r\n")
    connection = gateway.connect()
    connection.send(request("/pieces", "Transfer-Encoding: chunked\r\n", "POST"))
    head, got = connection.head(), []
    for piece in ["one", "two", "three"]:
        connection.send("%x\r\n%s\r\n" % (len(piece), piece))
        got.append(connection.exactly(int(connection.line(), 16)).decode())
        connection.line()
    connection.send("0\r\n\r\n")
    check("pieces go both ways before either side is complete", [200, ["one", "two", "three"], b"0"],
          [head.status, got, connection.line()])

    # Until a send does not return for a second: the bytes that are between the two ends.
    def stalled(sock, data=b"x" * 65536):
        count, start = 0, time.monotonic()
        sock.settimeout(1)
        try:
            while time.monotonic() < start + 20 and count < 1 << 28:
                count += sock.send(data)
        except socket.timeout:
            return count
        finally:
            sock.settimeout(LIMIT)
        return -1
    counts, reading = [], threading.Event()

    @origin.script
    def endless(connection, request):
        connection.send("HTTP/1.1 200 OK\r\n\r\n")
        counts.append(stalled(connection.socket))
        reading.set()
        return True
    connection = gateway.connect()
    connection.send(request("/endless"))
    reading.wait(LIMIT)
    check("a client that does not read stops the origin", True, 0 < counts[0] < 40 << 20)
    check("it gets everything afterwards", True, len(connection.response().body) >= counts[0])
    end = threading.Event()

    @origin.script
    def deaf(connection, request):
        end.wait(LIMIT)
        connection.body(request)
        connection.answer(str(len(request.body)))
    connection = gateway.connect()
    connection.send(request("/deaf", "Content-Length: 1000000000\r\n", "POST"))
    count = stalled(connection.socket)
    check("an origin that does not read stops the client", True, 0 < count < 40 << 20)
    connection.socket.close()
    end.set()
