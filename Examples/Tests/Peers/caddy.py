"""caddy with HTTP/1.1, HTTP/2 and, over UDP, HTTP/3, which it names in Alt-Svc, for localhost. Prints {"ca": PATH, "port": PORT}.

It responds with the version of HTTP, such as `HTTP/2.0`. The command "http3" answers {} once caddy speaks HTTP/3 alone at the same port: it
may take connections over TCP then, and says nothing on them.
"""

import os
import socket
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../Tests/Peers"))

import peer
from certificates import Authority
from real_servers import free_port, start

CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols {protocols}
    }}
}}
https://localhost:{port} {{
    bind 127.0.0.1
    tls {chain} {key}
    respond "{{http.request.proto}}"
}}
"""


class Caddy:
    def __init__(self):
        self.authority, self.port, self.process = Authority(), free_port(), None
        self.chain, self.key = self.authority.files("localhost")

    def run(self, protocols, is_ready):
        """Runs caddy with some protocols, in place of the one before."""
        if self.process:
            self.process.kill()
            self.process.wait()
        path = os.path.join(self.authority.folder, "Caddyfile")
        with open(path, "w") as file:
            file.write(CADDYFILE.format(port=self.port, chain=self.chain, key=self.key, protocols=protocols))
        self.process = start("caddy", "run", "--adapter", "caddyfile", "--config", path, folder=self.authority.folder)
        while not is_ready(self.port):
            if self.process.poll() is not None:
                raise RuntimeError(f"caddy has ended with status {self.process.returncode}")
            time.sleep(0.02)

    def speak_http3_alone(self):
        self.run("h3", takes_datagrams)
        return {}


async def main():
    caddy = Caddy()
    caddy.run("h1 h2 h3", accepts)
    await peer.serve_until_stdin_ends(
        {"ca": caddy.authority.path, "port": caddy.port}, peer.Connections(), {b"http3": caddy.speak_http3_alone}
    )


def takes_datagrams(port):
    with open("/proc/net/udp") as table:
        return f" 0100007F:{port:04X} " in table.read()


def accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    peer.run(main)
