"""Checks of the examples of services: services.py FOLDER-OF-PROGRAMS PART, where the part is a function below. Prints a line for each check:
the name, the wanted and the actual value as JSON, with tabs between them."""

import atexit, json, os, socket, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import services_otlp  # noqa: E402
from gateway_peers import LIMIT, Origin, Reader, until  # noqa: E402

programs, part = sys.argv[1:]


def check(name, wanted, got):
    print("\t".join(["services: " + name, json.dumps(wanted), json.dumps(got)]), flush=True)


def outcome(reader, path, kept=False):
    """Sends a request, and reads its response. Returns the status, the body and whether the response is the last of its connection,
    "unanswered" if the connection ended without a byte, or "cut" if the response is not complete."""
    try:
        fields = b"" if kept else b"Connection: close\r\n"
        reader.socket.sendall(b"GET %s HTTP/1.1\r\nHost: front.example\r\n%s\r\n" % (path.encode(), fields))
        response = reader.response()
    except ConnectionError:
        return "cut" if reader.buffer else "unanswered"
    if response is None:
        return "cut" if reader.buffer else "unanswered"
    return [response.status, response.body.decode(), response.get("Connection") == "close"] if response.is_complete else "cut"


class Service:
    """The running service-example in front of an origin."""

    def __init__(self, origin, **variables):
        environment = dict(os.environ, HTTP_BASE_URL="http://%s/" % origin.authority, **variables)
        self.process = subprocess.Popen([os.path.join(programs, "service-example")], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        atexit.register(self.process.kill)
        self.line = self.process.stdout.readline().decode()
        self.port = int(self.line.rsplit(":", 1)[1]) if self.line.startswith("listening on ") else 0

    def connect(self):
        # A slow request waits for the beginning of the load and for the announcement.
        return Reader(socket.create_connection(("127.0.0.1", self.port), timeout=2 * LIMIT))

    def get(self, path):
        """Sends a request on a connection of its own. Returns its status and its body, "refused" if there was no connection, or the outcome
        that is no response."""
        try:
            reader = self.connect()
        except ConnectionError:
            return "refused"
        with reader.socket:
            result = outcome(reader, path)
            return result if isinstance(result, str) else result[:2]

    def refuses(self):
        try:
            self.connect().socket.close()
            return False
        except ConnectionRefusedError:
            return True
        except ConnectionError:
            return False

    def end(self):
        out, err = self.process.communicate(timeout=LIMIT)
        # The loader's remark about a libcurl other than the system's is of no interest.
        errors = "".join(line for line in err.decode().splitlines(True) if "no version information available" not in line)
        return [self.process.returncode, out.decode(), errors]


def in_threads(functions):
    threads = [threading.Thread(target=function, daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    return threads


origin = Origin()
held, release, answered = [], threading.Event(), []


@origin.script
def users(connection, request):
    number = int(request.first.split(b" ")[1].decode().split("/")[2])
    if number == 404:
        connection.answer("nobody", status="404 Not Found")
        return
    if number == 405:
        return True
    if number < 100:
        held.append(number)
        release.wait(2 * LIMIT)
    else:
        time.sleep(0.01)
    answered.append(number)
    connection.answer('{"name": "user %d"}' % number, "Content-Type: application/json\r\n")


def user(number):
    return [200, '{"name":"user %d"}' % number]


def load():
    """Ends a service under load. The clients play a load balancer: they send requests as long as the service says that it is healthy. Between
    the answer of a client's probe and the arrival of its next request passes far less time than the announcement takes."""
    # The slow requests wait for longer than the usual limits of 60 seconds if the load takes long to begin.
    limits = {"HTTP_TIMEOUTS_" + name: "300" for name in ("RESPONSE_HEAD", "IDLE", "TOTAL")}
    service = Service(origin, ANNOUNCEMENT="30", GRACE="120", **limits)
    check("one line tells the port", "listening on 127.0.0.1:%d\n" % service.port, service.line)
    check("a user of the service behind", user(700), service.get("/users/700"))
    check("a user that is not there", 404, service.get("/users/404")[0])
    status, text = service.get("/users/405")
    check("a failure tells nothing about the service behind", [502, False, False],
          [status, "127.0.0.1" in text, origin.authority.split(":")[1] in text])
    check("the state of the session", [200, "running\n"], service.get("/health"))

    slow, fast, probes, numbers = {}, [], [], iter(range(1000, 10**9))
    lock = threading.Lock()

    def is_healthy():
        probe = service.get("/health")
        probes.append(probe)
        return probe == [200, "running\n"]

    def next_number():
        with lock:
            return next(numbers)

    def send():
        """Sends each request on a connection of its own."""
        while is_healthy():
            number = next_number()
            fast.append((number, service.get("/users/%d" % number)))

    def send_on_kept_connections():
        """Sends requests on a connection until a response is the last one of it."""
        while is_healthy():
            try:
                reader = service.connect()
            except ConnectionError:
                fast.append((0, "refused"))
                continue
            with reader.socket:
                is_last = False
                while not is_last:
                    number = next_number()
                    result = outcome(reader, "/users/%d" % number, kept=True)
                    is_last = isinstance(result, str) or result[2]
                    fast.append((number, result if isinstance(result, str) else result[:2]))

    slow_threads = in_threads([lambda number=number: slow.__setitem__(number, service.get("/users/%d" % number)) for number in range(1, 17)])
    check("slow requests are in flight", True, until(lambda: len(held) == 16))
    idle = service.connect()
    check("a response before SIGTERM is not the last one of its connection", user(800) + [False], outcome(idle, "/users/800", kept=True))
    fast_threads = in_threads([send, send_on_kept_connections] * 4)
    check("the load has begun", True, until(lambda: len(fast) >= 200))
    service.process.terminate()
    for thread in fast_threads:
        thread.join(LIMIT)
    check("after SIGTERM, the load ends", [False, False], [any(thread.is_alive() for thread in fast_threads), service.refuses()])
    check("because the end is announced", [[503, "shutting down\n"]] * 8, [probe for probe in probes if probe[0] != 200])
    late = service.connect()
    check("what comes all the same is served, with the last response of its connection", user(900) + [True],
          outcome(late, "/users/900", kept=True))
    check("an error is announced too", [404, True], outcome(service.connect(), "/users/404", kept=True)[::2])
    check("after the announcement, connections are refused", True, until(service.refuses))
    check("requests in flight are waited for", [None, {}], [service.process.poll(), slow])
    check("idle connections end without a byte", ["", ""], [idle.rest().decode(), late.rest().decode()])
    release.set()
    for thread in slow_threads:
        thread.join(LIMIT)
    check("and are answered", {number: user(number) for number in range(1, 17)}, dict(sorted(slow.items())))
    lost = [(number, result) for number, result in fast if result != user(number)]
    check("every request of the load is answered completely", [], lost)
    # The requests that are not of the load: 16 slow ones, and six at the beginning and at the end.
    total = len(fast) + 16 + 6
    status, out, errors = service.end()
    check("the service has got no others", [0, "ended after %d requests\n" % total], [status, out])
    check("the log alone has the reason of the failure", [1, True], [len(errors.splitlines()), "The service behind has failed" in errors])
    check("and has sent each to the service behind", len(fast) + 16 + 3, len(answered))


def grace():
    """Ends a service while a request takes longer than the grace."""
    slow = {}
    service = Service(origin, GRACE="0.3", ANNOUNCEMENT="0")
    slow_threads = in_threads([lambda: slow.__setitem__(0, service.get("/users/0"))])
    check("a slow request is in flight", True, until(lambda: len(held) == 1))
    service.process.terminate()
    check("the service ends after its grace", True, until(lambda: service.process.poll() is not None))
    slow_threads[0].join(LIMIT)
    check("and the slow request has no response of the service behind", True, slow[0] in ("cut", "unanswered") or slow[0][0] in (500, 502, 503))
    release.set()


def settings():
    service = Service(origin, HTTP_TIMEOUTS_CONNECT="soon")
    status, out, err = service.end()
    check("a setting that cannot be used ends the program", [78, "", True],
          [status, out, "the setting http.timeouts.connect cannot be used: a number or none is expected" in err])


def without_sockets():
    out = subprocess.run([os.path.join(programs, "in-process-example")], stdout=subprocess.PIPE, timeout=LIMIT)
    check("a router is called without a socket", [0, [
        'GET /users/7 200 {"name":"Ada"}', "GET /users/8 404 ", "GET /users/x 400", "GET /health 200 running", "GET /nowhere 404 ",
        "GET /users/7 503", "GET /health 503 ended", "POST /echo 200 a=b%20c a body",
    ]], [out.returncode, [line[:16] if " 400 " in line or "/users/7 503" in line else line for line in out.stdout.decode().splitlines()]])


def otlp():
    services_otlp.run(check, os.path.join(programs, "otlp-exporter"))


{"load": load, "grace": grace, "settings": settings, "without-sockets": without_sockets, "otlp": otlp}[part]()
