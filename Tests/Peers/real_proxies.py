"""Real proxies whose clients are overheard: `real_proxies.py NAME…` starts those that are installed of

    squid      an HTTP proxy with Basic authentication, which logs the requests
    tinyproxy  an HTTP proxy with Basic authentication
    danted     a SOCKS5 proxy with names and passwords (RFC 1929), which needs root

Prints {"ca": "", "ports": {NAME: PORT, "NAME-recorded": PORT}}. All let zelda with the password pr0xySecret through, to every port.
The recorded port leads to the same proxy, and what clients send there is kept. Commands, besides those of every peer:

    sent NAME   answers {"text": "…"}, the bytes that clients have sent to the recorded port, as Latin-1
    log         answers {"lines": […]}: for each request that squid has ended the user, the method, the target, and the fields
                Proxy-Authorization, Authorization and Cookie, percent-encoded, with - for none
    stop NAME   kills the proxy, unless it has ended, and answers {}
    start NAME  starts it at the same port, unless it runs, and answers {} when it takes connections
"""

import asyncio
import ctypes
import hashlib
import os
import shutil
import socket
import sys
import time

import peer
from real_servers import SQUID_QUIET, free_port, squid, start

USER, PASSWORD = "zelda", "pr0xySecret"

SQUID = """
http_port 127.0.0.1:{port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth {folder}/passwords
auth_param basic realm trellis
auth_param basic children 1
acl users proxy_auth REQUIRED
http_access deny !users
http_access allow all
cache deny all
cache_mem 8 MB
logformat peer %un %rm %ru %{{Proxy-Authorization}}>h %{{Authorization}}>h %{{Cookie}}>h
access_log stdio:{folder}/access.log peer
buffered_logs off
""" + SQUID_QUIET

TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 60
Allow 127.0.0.1
BasicAuth zelda pr0xySecret
"""

DANTE = """
logoutput: {folder}/danted.log
internal: 127.0.0.1 port = {port}
external: lo
clientmethod: none
socksmethod: username
user.privileged: root
user.unprivileged: root
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
"""


def hashed(password):
    """Returns the SHA-512 hash of a password, as `shadow(5)` has it."""
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), b"$6$trellis").decode()


class Proxy:
    def __init__(self, name):
        self.name = name
        self.folder = peer.temporary_folder()
        os.chmod(self.folder, 0o777)
        self.port = free_port()
        self.process = None
        self.sent = bytearray()
        getattr(self, "prepare_" + name)()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def prepare_squid(self):
        self.write("passwords", f"{USER}:{hashlib.md5(PASSWORD.encode()).hexdigest()}\n")
        path = self.write("squid.conf", SQUID.format(port=self.port, folder=self.folder))
        self.command, self.user = squid(path), "proxy"

    def prepare_tinyproxy(self):
        path = self.write("tinyproxy.conf", TINYPROXY.format(port=self.port))
        self.command, self.user = ("tinyproxy", "-d", "-c", path), None

    def prepare_danted(self):
        # Dante asks the system about its users. A table of mounts of its own gives it a user that the machine does not have.
        with open("/etc/passwd") as file:
            users = file.read() + f"{USER}:x:64999:65534::/nonexistent:/usr/sbin/nologin\n"
        passwd = self.write("passwd", users)
        shadow = self.write("shadow", f"{USER}:{hashed(PASSWORD)}:19000:0:99999:7:::\n")
        path = self.write("danted.conf", DANTE.format(port=self.port, folder=self.folder))
        script = f"mount --bind {passwd} /etc/passwd && mount --bind {shadow} /etc/shadow && exec danted -f {path} -p {self.folder}/pid"
        self.command, self.user = ("unshare", "--mount", "sh", "-c", script), None

    def accepts(self):
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def start(self):
        if self.process is None:
            self.process = start(*self.command, folder=self.folder, user=self.user)
            while True:
                # A server that has ended is not the one that accepts.
                is_ready = self.accepts()
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.name} has ended with status {self.process.returncode}")
                if is_ready:
                    break
                time.sleep(0.02)
        return {}

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        return {}

    def overheard(self):
        return {"text": self.sent.decode("latin-1")}

    def log(self):
        path = os.path.join(self.folder, "access.log")
        if not os.path.exists(path):
            return {"lines": []}
        with open(path) as file:
            return {"lines": file.read().splitlines()}

    async def relay(self, reader, writer):
        """Connects a client with the proxy, and keeps the bytes of the client."""
        theirs, ours = await asyncio.open_connection("127.0.0.1", self.port)

        async def answer():
            while data := await theirs.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.close()

        answering = asyncio.ensure_future(answer())
        try:
            while data := await reader.read(1 << 16):
                self.sent += data
                ours.write(data)
                await ours.drain()
        finally:
            ours.close()
            answering.cancel()


async def main():
    connections, ports, questions = peer.Connections(), {}, {}
    for name in filter(shutil.which, sys.argv[1:]):
        proxy = Proxy(name)
        proxy.start()
        ports[name], ports[f"{name}-recorded"] = proxy.port, await connections.listen(proxy.relay)
        for word, method in [("sent", proxy.overheard), ("stop", proxy.stop), ("start", proxy.start)]:
            questions[f"{word} {name}".encode()] = method
        if name == "squid":
            questions[b"log"] = proxy.log
    await peer.serve_until_stdin_ends({"ca": "", "ports": ports}, connections, questions)


if __name__ == "__main__":
    peer.run(main)
