"""Debian's redis-server, with a port that asks for the password s3cret, a port with TLS that asks for it too, and the Unix domain socket
redis.sock in the folder of the authority. It keeps nothing when it ends.

Commands, each answered with {"done": true} when it is done:

    stop        stops the server, which closes nothing; continue lets it go on
    kill        kills it; start starts it again, with nothing in it
    full        leaves it no memory for more; roomy takes that back
"""

import os
import signal
import socket
import time

import peer
from certificates import Authority
from real_servers import free_port, start


class Server:
    def __init__(self):
        self.authority = Authority()
        self.chain, self.key = self.authority.files()
        self.ports = {"redis": free_port(), "redis-tls": free_port()}
        self.socket = os.path.join(self.authority.folder, "redis.sock")

    def start(self):
        folder = self.authority.folder
        options = {
            "bind": "127.0.0.1",
            "port": self.ports["redis"],
            "tls-port": self.ports["redis-tls"],
            "tls-cert-file": self.chain,
            "tls-key-file": self.key,
            "tls-ca-cert-file": self.authority.path,
            "tls-auth-clients": "no",
            "unixsocket": self.socket,
            "requirepass": "s3cret",
            "save": "",
            "dir": folder,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.process = start("redis-server", *words, folder=folder)
        self.tell()

    def tell(self, *commands):
        """Sends commands, and returns when each is answered with OK. The server may not listen yet."""
        while True:
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(10)
            try:
                client.connect(self.socket)
                break
            except OSError:
                client.close()
                assert self.process.poll() is None, "redis-server has ended"
                time.sleep(0.02)
        with client, client.makefile("rwb") as lines:
            for command in ["AUTH s3cret", *commands]:
                lines.write(command.encode() + b"\r\n")
                lines.flush()
                answer = lines.readline()
                assert answer == b"+OK\r\n", answer

    def kill(self):
        self.process.kill()
        self.process.wait()

    def done(self, act, *arguments):
        act(*arguments)
        return {"done": True}


async def main():
    server = Server()
    server.start()
    commands = {
        b"stop": lambda: server.process.send_signal(signal.SIGSTOP),
        b"continue": lambda: server.process.send_signal(signal.SIGCONT),
        b"kill": server.kill,
        b"start": server.start,
        b"full": lambda: server.tell("CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"),
        b"roomy": lambda: server.tell("CONFIG SET maxmemory 0"),
    }
    questions = {name: lambda act=act: server.done(act) for name, act in commands.items()}
    await peer.serve_until_stdin_ends({"ca": server.authority.path, "ports": server.ports}, peer.Connections(), questions)


if __name__ == "__main__":
    peer.run(main)
