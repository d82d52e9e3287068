"""Checks of the gateway's cache with bodies that are under way, parts, stale responses and origins that fail."""

import itertools, os, threading

from gateway_peers import LIMIT, SHARING_LIMIT, can_read, is_gone, request, reset, until, until_idle, until_read, within


def run(check, origin, start, folder):
    for name, storage in (("memory", "memory"), ("disk", os.path.join(folder, "stored"))):
        gateway = start("--cache", storage)
        named = lambda what, wanted, got: check("%s (%s)" % (what, name), wanted, got)
        run_with(named, gateway, origin)
        named("and it ends with 0", 0, gateway.end()[0])


def run_with(check, gateway, origin):
    streams(check, gateway, origin)
    sharing(check, gateway, origin)
    parts(check, gateway, origin)
    stale(check, gateway, origin)
    rules(check, gateway, origin)


def own_status(answer):
    """Returns the gateway's own member of Cache-Status."""
    return answer.all("Cache-Status")[-1]


def is_stored(answer):
    """Returns whether an answer comes from the cache."""
    return "hit" in own_status(answer)


def streams(check, gateway, origin):
    go = threading.Event()

    def half(connection, request):
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello")
        go.wait(LIMIT)
        connection.send("world")
    origin.scripts["half"] = half
    origin.take()
    connection = gateway.connect()
    connection.send(request("/half"))
    head, first = connection.head(), connection.exactly(5)
    go.set()
    rest = connection.exactly(5)
    connection.end()
    again = gateway.get("/half")
    check("a body that is stored arrives as it comes", [200, b"hello", b"world", b"helloworld", True, 1],
          [head.status, first, rest, again.body, is_stored(again), len(origin.take())])
    origin.scripts["chunky"] = lambda connection, _: connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")
    got = [gateway.get("/chunky") for _ in range(2)]
    check("a body in chunks is stored", [b"hello", b"hello", True, True],
          [got[0].body, got[1].body, got[1].is_complete, is_stored(got[1])])
    large = bytes(range(256)) * 12000
    origin.scripts["big"] = lambda connection, _: connection.answer(large, "Cache-Control: max-age=60\r\n")
    got = [gateway.get("/big") for _ in range(2)]
    check("three megabytes from the cache", [True, True, True], [got[0].body == large, got[1].body == large, is_stored(got[1])])
    client = gateway.connect()
    client.send(request("/big"))
    client.head()
    client.socket.close()
    check("a client may leave in a stored body", True, gateway.get("/big").body == large)


def sharing(check, gateway, origin):
    names = ("led%d" % number for number in itertools.count())

    def led_by_another():
        arrived, again, go, count, name = threading.Event(), threading.Event(), threading.Event(), [0], next(names)

        def led(connection, request):
            count[0] += 1
            arrived.set()
            if count[0] == 1:
                # The first client leaves, and its request is cancelled.
                is_gone(connection.socket)
                return True
            again.set()
            go.wait(LIMIT)
            connection.answer("led", "Cache-Control: max-age=60\r\n")
        origin.scripts[name] = led
        leader = gateway.connect()
        leader.send(request("/" + name))
        arrived.wait(LIMIT)
        followers = [gateway.connect() for _ in range(5)]
        for follower in followers:
            follower.send(request("/" + name))
        until_read(*followers)
        early = can_read(followers[0].socket, 0.2)
        reset(leader.socket)
        again.wait(LIMIT)
        # The others wait for the second response by then.
        until_idle(gateway)
        go.set()
        return [early, [follower.response().body for follower in followers], count[0]]
    wanted = [False, [b"led"] * 5, 2]
    check("clients that wait for another's response go on when that client leaves", wanted, within(SHARING_LIMIT, wanted, led_by_another))
    go = threading.Event()

    def endless(connection, request):
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        go.wait(LIMIT)
        return True
    origin.scripts["endless"] = endless
    clients = [gateway.connect() for _ in range(3)]
    for client in clients:
        client.send(request("/endless"))
    got = []
    for client in clients:
        client.head()
        got.append(client.exactly(int(client.line(), 16)))
    go.set()
    check("streams that are not stored are not shared, and none waits for another", [b"data: 1\n\n"] * 3, got)


def parts(check, gateway, origin):
    whole = b"0123456789"

    def ranged(connection, request):
        asked = request.get("Range")
        if asked == "bytes=2-4":
            connection.answer(whole[2:5], "Cache-Control: max-age=60\r\nETag: \"r\"\r\nContent-Range: bytes 2-4/10\r\n", "206 Partial")
        elif asked and "," in asked:
            connection.answer("--b--", "Content-Type: multipart/byteranges; boundary=b\r\n", "206 Partial")
        elif asked == "bytes=99-":
            connection.answer("", "Content-Range: bytes */10\r\n", "416 Range Not Satisfiable")
        else:
            connection.answer(whole, "Cache-Control: max-age=60\r\nETag: \"r\"\r\nAccept-Ranges: bytes\r\n")
    origin.scripts["ranged"] = ranged
    origin.scripts["several"] = ranged
    origin.take()
    got = [gateway.get("/ranged", "Range: bytes=%s\r\n" % part) for part in ("2-4", "3-4", "99-")]
    check("a part is passed on and stored, and answers for what it has", [[206, b"234", "bytes 2-4/10"], [206, b"34", "bytes 3-4/10"],
          [416, b"", "bytes */10"]], [[a.status, a.body, a.get("Content-Range")] for a in got])
    sent = [r.get("Range") for r in origin.take()]
    check("with two requests to the origin", ["bytes=2-4", "bytes=99-"], sent)
    got = gateway.get("/several", "Range: bytes=0-1,4-5\r\n")
    check("several ranges are the origin's", [206, b"--b--", "multipart/byteranges; boundary=b"],
          [got.status, got.body, got.get("Content-Type")])
    gateway.get("/several")
    got = [gateway.get("/several", fields) for fields in (
        "Range: bytes=-3\r\n", "Range: bytes=7-\r\nIf-Range: \"r\"\r\n", "Range: bytes=7-\r\nIf-Range: \"other\"\r\n", "Range: lines=1-2\r\n")]
    check("parts of a whole response", [[206, b"789"], [206, b"789"], [200, whole], [200, whole]], [[a.status, a.body] for a in got])
    got = gateway.get("/several", "Range: bytes=2-3\r\n", method="HEAD")
    check("HEAD has no ranges", [200, "10", b""], [got.status, got.get("Content-Length"), got.body])


def stale(check, gateway, origin):
    def script(fields):
        count = [0]

        def run(connection, request):
            count[0] += 1
            connection.body(request)
            if count[0] > 1 and is_down[0]:
                return True
            connection.answer(str(count[0]), fields)
        return run
    is_down = [True]
    origin.scripts["erring"] = script("Cache-Control: max-age=0, stale-if-error=60\r\n")
    origin.scripts["strict"] = script("Cache-Control: max-age=0, stale-if-error=60, must-revalidate\r\n")
    origin.scripts["plain"] = script("Cache-Control: max-age=0\r\nETag: \"p\"\r\n")
    origin.scripts["tagged"] = script("Cache-Control: max-age=0, stale-if-error=60\r\nETag: \"t\"\r\n")
    names = ("strict", "erring", "plain", "tagged")
    for name in names:
        gateway.get("/" + name)
    got = {name: gateway.get("/" + name) for name in names}
    check("stale-if-error answers for an origin that fails", [[200, b"1", True]] * 2,
          [[got[name].status, got[name].body, "stale-if-error" in "".join(got[name].all("Cache-Status"))] for name in ("erring", "tagged")])
    check("so does what has no such permission, and is not stale for long; must-revalidate does not", [502, 200, b"1", True],
          [got["strict"].status, got["plain"].status, got["plain"].body, "detail=unreachable" in own_status(got["plain"])])
    count, refreshed = [0], threading.Event()

    def background(connection, request):
        count[0] += 1
        connection.answer(str(count[0]), "Cache-Control: max-age=%d, stale-while-revalidate=60\r\n" % (0 if count[0] == 1 else 60))
        if count[0] == 2:
            refreshed.set()
    origin.scripts["background"] = background
    first = gateway.get("/background")
    second = gateway.get("/background")
    refreshed.wait(LIMIT)
    # A request that takes the stale response would validate it once more.
    until(lambda: gateway.get("/background", "Cache-Control: only-if-cached, min-fresh=1\r\n").body == b"2")
    third = gateway.get("/background")
    check("stale-while-revalidate answers at once, and validates in the background", [b"1", b"1", True, b"2", 2],
          [first.body, second.body, "stale-while-revalidate" in own_status(second), third.body, count[0]])


def rules(check, gateway, origin):
    def counted(fields, status="200 OK"):
        count = [0]

        def run(connection, request):
            count[0] += 1
            connection.body(request)
            connection.answer(str(count[0]), fields, status)
        return run
    origin.scripts["headed"] = counted("Cache-Control: max-age=60\r\n")
    origin.take()
    got = gateway.get("/headed", method="HEAD")
    check("HEAD that is not stored goes to the origin as HEAD", [200, b"HEAD"], [got.status, origin.take()[0].first.split(b" ")[0]])
    for name, fields, wanted in [("closed", "Cache-Control: max-age=60\r\n", b"2"), ("open", "Cache-Control: public, max-age=60\r\n", b"1"),
                                 ("shared", "Cache-Control: s-maxage=60\r\n", b"1")]:
        origin.scripts[name] = counted(fields)
        got = [gateway.get("/" + name, "Authorization: Basic eDp5\r\n").body for _ in range(2)]
        check("a response to credentials is stored only if it says so: %s" % name, wanted, got[1])
    origin.scripts["gone"] = counted("Cache-Control: max-age=60\r\n", "404 Not Found")
    got = [gateway.get("/gone") for _ in range(2)]
    check("a 404 is stored if it is fresh", [404, b"1"], [got[1].status, got[1].body])
    origin.scripts["missing"] = counted("Cache-Control: s-maxage=60, max-age=0\r\n")
    check("s-maxage counts before max-age", b"1", [gateway.get("/missing").body for _ in range(2)][1])
    origin.scripts["put"] = counted("Cache-Control: max-age=60\r\nLocation: /put/other\r\n")
    got = [gateway.get("/put/" + name, method=method).body
           for name, method in [("this", "GET"), ("other", "GET"), ("this", "PUT"), ("this", "GET"), ("other", "GET"), ("other", "GET")]]
    check("PUT invalidates its URL and its Location", [b"1", b"2", b"3", b"4", b"5", b"5"], got)
    got = gateway.get("/never", "Cache-Control: only-if-cached, max-age=0\r\n")
    check("only-if-cached never reaches the origin", [504, []], [got.status, [r for r in origin.take() if b"/never" in r.first]])
