"""Checks of the gateway's cache."""

import itertools, os, re, signal, threading

from gateway_peers import LIMIT, SHARING_LIMIT, request, until_idle, until_read, within


def run(check, origin, start, folder):
    shared(check, origin, start("--cache", "memory"))
    others(check, origin, start, folder)


def answers(origin, name, fields, body=None, status="200 OK"):
    """Sets the responses for a path. Their body is the number of the request unless it is given."""
    count = [0]

    def script(connection, request):
        count[0] += 1
        connection.body(request)
        connection.answer(str(count[0]) if body is None else body, fields, status)
    origin.scripts[name] = script
    return count


def statuses(answer):
    """Returns the values of Cache-Status. The times are rounded up to tens of seconds, for slow machines."""
    return [re.sub(r"ttl=(\d+)", lambda time: "ttl=%d" % (-(-int(time[1]) // 10) * 10), value) for value in answer.all("Cache-Status")]


def shared(check, origin, gateway):
    answers(origin, "fresh", "Cache-Control: max-age=60\r\nAge: 10\r\nSet-Cookie: a=1\r\nX-Octets: \xe4\r\nConnection: X-Foo\r\nX-Foo: 1\r\n"
            "Cache-Status: inner; hit\r\nCache-Status: middle; fwd=miss\r\n")
    first, second = [gateway.get("/fresh") for _ in range(2)]
    check("a response is stored", [b"1", "10", ["inner; hit", "middle; fwd=miss", "trellis; fwd=uri-miss; ttl=50; stored"]],
          [first.body, first.get("Age"), statuses(first)])
    status = second.all("Cache-Status")
    check("and used again, with the Cache-Status of the caches behind before its own", [b"1", "a=1", "\xe4", None, True,
          ["inner; hit", "middle; fwd=miss"], "trellis; hit; ttl="], [second.body, second.get("Set-Cookie"), second.get("X-Octets"),
          second.get("X-Foo"), int(second.get("Age")) in range(10, 20), status[:-1], status[-1][:18]])
    check("with one Age, Date and Via", [1, 1, 1], [len(second.all(name)) for name in ("Age", "Date", "Via")])
    got = gateway.get("/fresh", method="HEAD")
    check("HEAD from the cache", [200, "1", b"", True], [got.status, got.get("Content-Length"), got.body, "hit" in got.all("Cache-Status")[-1]])
    got = gateway.get("/fresh", "Cache-Control: x-unknown, max-stale=x\r\n")
    check("an unknown request directive is inert", b"1", got.body)
    got = gateway.get("/fresh", "Cache-Control: no-cache\r\n")
    check("a known one is not", [b"2", "trellis; fwd=request; ttl=50; stored"], [got.body, statuses(got)[-1]])
    got = gateway.get("/other", "Cache-Control: only-if-cached\r\n")
    check("only-if-cached without a stored response", [504, "trellis; detail=only-if-cached"], [got.status, got.get("Cache-Status")])

    answers(origin, "dotted", "Cache-Control: max-age=60\r\n")
    origin.scripts[".."] = origin.scripts["dotted"]
    bodies = [gateway.get(target).body for target in ["/dotted/a/../b", "/dotted/b", "/dotted/%62", "/dotted/b?", "/dotted/a/../b"]]
    check("targets that differ are stored apart", [b"1", b"2", b"3", b"4", b"1"], bodies)
    answers(origin, "host", "Cache-Control: max-age=60\r\n")
    got = [gateway.ask("GET /host HTTP/1.1\r\nHost: %s\r\n\r\n" % host).body for host in ("a.example", "b.example")]
    check("the Host of a client decides nothing", [b"1", b"1"], got)
    answers(origin, "vary", "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n")
    got = [gateway.get("/vary", "Accept-Language: %s\r\n" % language).body for language in ("de", "fr", "de")]
    check("a response varies", [b"1", b"2", b"1"], got)
    answers(origin, "secret", "Cache-Control: private, max-age=60\r\n")
    got = [gateway.get("/secret") for _ in range(2)]
    check("the shared cache does not store what is private", [b"2", "trellis; fwd=uri-miss; detail=private"],
          [got[1].body, got[1].get("Cache-Status")])
    answers(origin, "cdn", "Cache-Control: no-store\r\nCDN-Cache-Control: max-age=60\r\n")
    check("a targeted field counts only if it is asked for", b"2", [gateway.get("/cdn").body for _ in range(2)][1])
    count = answers(origin, "changed", "Cache-Control: max-age=60\r\n")
    got = [gateway.get("/changed", method=method).body for method in ("GET", "GET", "M-SEARCH", "GET", "GET")]
    check("an unknown method invalidates", [b"1", b"1", b"2", b"3", b"3"], got)
    answers(origin, "range", "Cache-Control: max-age=60\r\nETag: \"a\"\r\n", "0123456789")
    gateway.get("/range")
    got = gateway.get("/range", "Range: bytes=2-4\r\n")
    check("a part of a stored response", [206, b"234", "bytes 2-4/10", "3"], [got.status, got.body, got.get("Content-Range"), got.get("Content-Length")])
    got = gateway.get("/range", "If-None-Match: \"a\"\r\n")
    check("a condition is answered", [304, '"a"', b"", True], [got.status, got.get("ETag"), got.body, "hit" in got.get("Cache-Status")])

    def validated(connection, request):
        if request.get("If-None-Match"):
            connection.send("HTTP/1.1 304 Same\r\nETag: \"v\"\r\nCache-Control: max-age=60\r\n\r\n")
        else:
            connection.answer("body", "Cache-Control: max-age=0\r\nETag: \"v\"\r\n")
    origin.scripts["validated"] = validated
    got = [gateway.get("/validated") for _ in range(2)]
    check("a stale response is validated", [b"body", "trellis; fwd=stale; fwd-status=304; ttl=60; stored"], [got[1].body, statuses(got[1])[0]])
    origin.scripts["double"] = lambda connection, _: connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    got = [gateway.get("/double") for _ in range(2)]
    check("a length beside chunks is not stored", [b"hello", b"hello", True], [a.body for a in got] + [got[1].is_complete])
    fresh = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello"
    origin.scripts["cut"] = lambda connection, _: connection.send(fresh) or True
    got = [gateway.get("/cut") for _ in range(2)]
    check("a body that is cut is not stored", [False, False, "trellis; fwd=uri-miss; ttl=60; stored"],
          [a.is_complete for a in got] + statuses(got[1]))
    origin.scripts["bare"] = lambda connection, _: connection.answer("x", "Cache-Control: max-age=60\r\n")
    gateway.get("/bare")
    got = gateway.get("/bare")
    check("a stored response without a Date has one", [True, 1], ["hit" in got.get("Cache-Status"), len(got.all("Date"))])

    # One request for a hundred clients that want the same.
    names = ("slow%d" % number for number in itertools.count())

    def shared_by_a_hundred():
        go, name = threading.Event(), next(names)

        def slow(connection, request):
            go.wait(LIMIT)
            connection.answer("same", "Cache-Control: max-age=60\r\n")
        origin.scripts[name] = slow
        origin.take()
        clients = [gateway.connect() for _ in range(100)]
        for client in clients:
            client.send(request("/" + name))
        until_read(*clients)
        # One that has found nothing stored, and not begun to wait, would send its request if the response were stored by then.
        until_idle(gateway)
        go.set()
        return [[client.response().body for client in clients], len(origin.take())]
    wanted = [[b"same"] * 100, 1]
    check("a hundred clients share one response", wanted, within(SHARING_LIMIT, wanted, shared_by_a_hundred))
    check("SIGINT ends with 0", 0, gateway.end(signal.SIGINT)[0])


def others(check, origin, start, folder):
    gateway = start("--cache", "memory", "--private", "--targeted", "Other-Cache-Control,CDN-Cache-Control")
    answers(origin, "secret", "Cache-Control: private, max-age=60\r\n")
    answers(origin, "cdn", "Cache-Control: no-store\r\nCDN-Cache-Control: max-age=60\r\n")
    check("--private", b"1", [gateway.get("/secret").body for _ in range(2)][1])
    check("--targeted", b"1", [gateway.get("/cdn").body for _ in range(2)][1])
    gateway.end()
    answers(origin, "kept", "Cache-Control: max-age=60\r\n")
    path = os.path.join(folder, "gateway-cache")
    bodies = []
    for _ in range(2):
        gateway = start("--cache", path)
        bodies.append(gateway.get("/kept").body)
        gateway.end()
    check("--cache DIR keeps responses for the next gateway", [b"1", b"1"], bodies)
    gateway = start()
    got = [gateway.get("/kept") for _ in range(2)]
    check("without --cache nothing is stored", [b"3", None], [got[1].body, got[1].get("Cache-Status")])
    gateway.end()
