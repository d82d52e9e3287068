"""Checks of the gateway's beginning and end, and of origins that it cannot reach."""

import os, signal, socket, subprocess, threading

from gateway_peers import LIMIT, Client, Origin, is_gone, request, until, until_idle


def run(check, origin, start, folder):
    gateway = start()
    check("one line tells the port", ["listening on 127.0.0.1:%d\n" % gateway.port, True], [gateway.line, gateway.port > 0])
    gateway.get("/")
    check("SIGTERM ends with 0, and nothing more is printed", [0, b"", b""], gateway.end())
    starting(check, start)
    ending(check, origin, start)
    origins(check, start, folder)


def origins(check, start, folder):
    certificate, key = os.path.join(folder, "gateway.pem"), os.path.join(folder, "gateway.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj",
                    "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    secure = Origin(certificate, key)
    gateway = start("--cacert", certificate, origin="https://" + secure.authority)
    got = gateway.get("/")
    check("an origin over TLS", [200, b"hello", secure.authority], [got.status, got.body, secure.requests[0].get("Host")])
    gateway.end()
    gateway = start(origin="https://" + secure.authority)
    got = gateway.get("/")
    check("an origin that is not trusted is a 502", [502, "trellis; error=tls_certificate_error"], [got.status, got.get("Proxy-Status")])
    gateway.end()
    # A socket that does not listen keeps the port from others.
    stopped = socket.socket()
    stopped.bind(("127.0.0.1", 0))
    gateway = start(origin="http://127.0.0.1:%d" % stopped.getsockname()[1])
    got = gateway.get("/")
    check("an origin that cannot be reached is a 502", [502, "trellis; error=connection_refused"], [got.status, got.get("Proxy-Status")])
    gateway.end()
    # A resolver may ask several name servers, five seconds each and more than once, before it gives up.
    gateway = start("--connect-timeout", "50", origin="http://gateway.invalid")
    got = gateway.get("/")
    check("an origin without an address is a 502", [502, "trellis; error=dns_error"], [got.status, got.get("Proxy-Status")])
    gateway.end()
    unreachable(check, start)



def starting(check, start):
    taken = socket.create_server(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % taken.getsockname()[1]
    gateway = start(listen=address)
    check("an address that is in use is a failure", [1, 0], [gateway.end()[0], gateway.port])
    taken.close()
    # Another program may take the port meanwhile.
    for _ in range(10):
        gateway = start(listen=address)
        line, status = gateway.line, gateway.end()[0]
        if status == 0:
            break
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = "127.0.0.1:%d" % other.getsockname()[1]
    check("the port that was asked for", ["listening on %s\n" % address, 0], [line, status])
    gateway = start(listen="[::1]:0")
    sock = socket.create_connection(("::1", gateway.port), timeout=LIMIT)
    client = Client(sock)
    client.send(request("/"))
    check("an IPv6 address", [True, 200], [gateway.line.startswith("listening on [::1]:"), client.response().status])
    gateway.end()


def refuses(gateway):
    """Returns whether the gateway refuses a connection."""
    try:
        gateway.connect().socket.close()
        return False
    except ConnectionRefusedError:
        return True
    except ConnectionError:
        return False


def ending(check, origin, start):
    gateway = start()
    go, arrived = threading.Event(), threading.Event()

    def slow(connection, request):
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        arrived.set()
        go.wait(LIMIT)
        connection.send("world")
    origin.scripts["slow"] = slow
    idle, busy, waiting = gateway.connect(), gateway.connect(), gateway.connect()
    idle.send(request("/"))
    idle.response()
    busy.send(request("/slow"))
    arrived.wait(LIMIT)

    def late(connection, request):
        arrived.set()
        go.wait(LIMIT)
        connection.answer("late")
    origin.scripts["late"] = late
    arrived.clear()
    waiting.send(request("/late"))
    arrived.wait(LIMIT)
    gateway.process.send_signal(signal.SIGTERM)
    is_idle_gone = is_gone(idle.socket)
    is_refused = until(lambda: refuses(gateway))
    # The connections learn of the end one after the other.
    until_idle(gateway)
    go.set()
    answer = waiting.response()
    check("SIGTERM: idle connections end, new ones are refused, responses under way go on", [True, True, b"helloworld", b"late", "close"],
          [is_idle_gone, is_refused, busy.response().body, answer.body, answer.get("Connection")])
    for client in (busy, waiting):
        client.socket.close()
    out, err = gateway.process.communicate(timeout=LIMIT)
    check("and it ends with 0", [0, b"", b""], [gateway.process.returncode, out, err])
    gateway = start("--drain", "0.5")
    go.clear()
    busy = gateway.connect()
    busy.send(request("/slow"))
    head = busy.head()
    gateway.process.send_signal(signal.SIGTERM)
    busy.body(head)
    go.set()
    check("--drain ends what takes longer", [False, 0], [head.is_complete, gateway.process.wait(LIMIT)])


def unreachable(check, start):
    """Checks of an origin whose queue of connections is full: nothing answers, as if a firewall dropped everything."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        fillers.append(filler)
    gateway = start("--connect-timeout", "1", origin="http://127.0.0.1:%d" % listener.getsockname()[1])
    answer = gateway.get("/")
    check("an origin that accepts no connection in time is a 504", [504, "trellis; error=connection_timeout"],
          [answer.status, answer.get("Proxy-Status")])
    gateway.end()
    for filler in fillers:
        filler.close()
    listener.close()
