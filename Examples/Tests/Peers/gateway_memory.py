"""Checks of bodies that are much larger than what the gateway may keep in memory."""

import threading

from gateway_peers import request

SIZE = 320 << 20


def run(check, origin, start):
    # glibc then returns freed blocks to the system at once: the peak is that of the memory in use, not of what the allocator keeps, which
    # depends on the order in which threads run.
    gateway = start(environment={"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"})

    def peak():
        """Returns the largest resident size of the gateway so far, in bytes."""
        with open("/proc/%d/status" % gateway.process.pid) as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))

    def drained(reader):
        """Reads and drops as many bytes as the body should have, and returns how many were there."""
        count = len(reader.buffer)
        reader.buffer = b""
        while count < SIZE and (data := reader.socket.recv(1 << 20)):
            count += len(data)
        return count
    origin.scripts["sink"] = lambda connection, _: connection.answer(str(drained(connection)))

    def source(connection, request):
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
        for _ in range(SIZE >> 20):
            connection.send(b"y" * (1 << 20))
    origin.scripts["source"] = source
    gateway.get("/")
    before = peak()
    connection = gateway.connect()
    connection.send(request("/sink", "Content-Length: %d\r\n" % SIZE, "PUT"))
    sender = threading.Thread(target=lambda: [connection.send(b"x" * (1 << 20)) for _ in range(SIZE >> 20)])
    sender.start()
    answer = connection.response()
    sender.join()
    check("320 MiB to the origin, in little memory", [str(SIZE), True], [answer.body, peak() - before < 64 << 20])
    before = peak()
    connection.send(request("/source"))
    head = connection.head()
    check("320 MiB from the origin, in little memory", [200, SIZE, True], [head.status, drained(connection), peak() - before < 64 << 20])
    gateway.end()
