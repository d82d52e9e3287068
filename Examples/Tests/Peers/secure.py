"""HTTPS servers with certificates of their own making. Prints {"folder": PATH, "ports": {NAME: PORT}, "pins": {NAME: PIN}}.

    pinned   its certificate, of O=Example and CN=pinned, is its own issuer: pinned.pem
    chain    sends three certificates: leaf, intermediate, which root has signed, and stranger, which plays no part
    strict   for localhost, with strict.pem; asks for https (HSTS), and names alt.example:8443 in Alt-Svc
    dns      a DNS server (RFC 8484) for dns.invalid, with dns.pem; answers clients at 127.0.0.2 only

The folder has intermediate.pem and root.pem too. Each certificate has a pin by its name. The servers respond with `secure`, and the DNS
server with the address 127.0.0.1 for every name.
"""

import base64
import hashlib
import http.server
import os
import ssl
import subprocess
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../Tests/Peers"))

import peer
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from trust_certificates import FOLDER, Node, write


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fields = {}

    def do_GET(self):
        self.answer(b"secure", self.fields)

    def answer(self, body, fields):
        self.send_response(200)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Strict(Handler):
    fields = {
        "Strict-Transport-Security": "max-age=1000; includeSubDomains",
        "Alt-Svc": 'h2="alt.example:8443"; persist=1',
    }


class Resolver(Handler):
    def do_POST(self):
        question = self.rfile.read(int(self.headers["Content-Length"]))
        if self.client_address[0] != "127.0.0.2":
            return self.send_error(403)
        # The type of the records, which is 1 for IPv4 addresses, is before the class at the end.
        is_ipv4 = question[-3] == 1
        head = bytes([0, 0, 0x81, 0x80, 0, 1, 0, is_ipv4, 0, 0, 0, 0])
        record = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
        body = head + question[12:] + (record if is_ipv4 else b"")
        self.answer(body, {"Content-Type": "application/dns-message"})


class Server(http.server.ThreadingHTTPServer):
    """Makes the handshake of a connection on the connection's thread."""

    def __init__(self, handler, path):
        super().__init__(("127.0.0.1", 0), handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(path)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        with self.context.wrap_socket(request, server_side=True) as connection:
            self.RequestHandlerClass(connection, client_address, self)

    def handle_error(self, *_):
        pass


def pin(name):
    with open(os.path.join(FOLDER, f"{name}.pem"), "rb") as file:
        key = x509.load_pem_x509_certificate(file.read()).public_key()
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256/" + base64.b64encode(hashlib.sha256(encoded).digest()).decode()


def make_pinned():
    """Makes a certificate with an organization. Returns the path of its key and itself."""
    key, certificate = os.path.join(FOLDER, "pinned.key"), os.path.join(FOLDER, "pinned.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/O=Example/CN=pinned", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", key, "-out", certificate],
        check=True, stderr=subprocess.DEVNULL,
    )
    with open(key, "rb") as first, open(certificate, "rb") as second:
        return write("pinned-server.pem", first.read() + second.read())


async def main():
    root, stranger = Node("root", authority=True), Node("stranger", authority=True)
    intermediate = Node("intermediate", root, authority=True)
    leaf = Node("leaf", intermediate, ["127.0.0.1"])
    # Each of these is its own issuer.
    strict, dns = Node("strict", names=["localhost"]), Node("dns", names=["dns.invalid"])
    nodes = [root, stranger, intermediate, leaf, strict, dns]
    names = ["root", "stranger", "intermediate", "leaf", "strict", "dns"]
    for name, node in zip(names, nodes):
        write(f"{name}.pem", node.pem())
    servers = {
        "pinned": Server(Handler, make_pinned()),
        "chain": Server(
            Handler, write("chain.pem", leaf.key_pem() + leaf.pem() + intermediate.pem() + stranger.pem())
        ),
        "strict": Server(Strict, write("strict-server.pem", strict.key_pem() + strict.pem())),
        "dns": Server(Resolver, write("dns-server.pem", dns.key_pem() + dns.pem())),
    }
    pins = {name: pin(name) for name in [*names, "pinned"]}
    ports = {name: server.server_port for name, server in servers.items()}
    await peer.serve_until_stdin_ends({"folder": FOLDER, "ports": ports, "pins": pins}, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
