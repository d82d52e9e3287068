"""HTTPS servers whose certificates break one rule each, and servers that ask for a client certificate, each on a port of its own.
Prints {"ca": PATH, "folder": PATH, "ports": {NAME: PORT}}.

    valid            127.0.0.1 and localhost, signed by an intermediate of `ca`
    second           as valid, signed by second.pem
    expired          expired at 2020-01-02 03:04:05
    not-yet          valid from 2090-01-02 03:04:05
    expired-issuer   signed by an intermediate that expired at 2020-01-02 03:04:05
    wrong-host       for other.example, *.other.example and 192.0.2.1
    self-signed      its own issuer
    no-intermediate  as valid, but the intermediate is not sent
    unknown-root     signed by an unknown root, which is sent
    client-usage     for clients only
    no-san           common name localhost, no subject alternative name
    constrained      signed by an intermediate that may issue only for allowed.example
    not-an-issuer    signed by the certificate of a server
    weak-key         an RSA key of 1024 bits
    weaker-key       an RSA key of 512 bits; TLS 1.2 only, whose signatures are short enough for it
    weak-issuer      signed by an intermediate with an RSA key of 1024 bits
    sha1, md5        signed with this digest
    sha1-issuer      signed by an intermediate that the root has signed with SHA-1
    revoked          as valid, and in the list revoking.crl
    tls1.0, tls1.1, tls1.2, tls1.3    as valid, with this version of TLS only
    mtls, mtls1.2    ask for a client certificate of clients.pem
    wants            as mtls, but does not require it
    mtls-other       as mtls, but for certificates of second.pem
    asks-later       over HTTP/2, asks for a client certificate of clients.pem when a request has come
    stapled          as valid, with a stapled OCSP response; responds with a page of `openssl s_server`
    stapled-revoked  as stapled, but the response is that the certificate was revoked
    replaced         as valid, but the second request of a connection ends it without a response, and the next connection has the
                     certificate of `expired`

The folder contains:

    ca.pem, second.pem, clients.pem           roots
    client.pem, client.key                    a client certificate with its intermediate, and its key
    combined.pem                              both
    encrypted.key                             the key, encrypted with the passphrase `pa:ss wörd`
    client.p12, encrypted.p12                 both in PKCS#12: without encryption, with the same passphrase
    old.p12                                   the same with a cipher (RC2) that OpenSSL 3 does not load unless told to
    weak.pem                                  a certificate and its key, of 1024 bits
    md5.key, des.key                          the key with old ciphers and the same passphrase: PKCS#8 with MD5 and DES, OpenSSL's with DES
    renewed.pem, renewed.key                  another certificate with another key
    expired-client.pem                        a certificate of client.key that has expired
    empty.crl, revoking.crl, expired.crl      revocation lists of all authorities of `valid`

A server responds with the common name of the client's certificate and the number of its connection: `ada 1`.
"""

import asyncio
import ctypes
import itertools
import signal
import socket
import ssl
import subprocess
import threading
import warnings

import peer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID
from trust_certificates import DAY, FOLDER, FUTURE, NOW, PASSPHRASE, PAST, USUAL, Node, short_key, write


def context(node, chain=None, versions=None, clients=None, is_required=True):
    """Returns the context of a server with a certificate."""
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Weak keys and old versions need the lowest level.
    result.set_ciphers("ALL:@SECLEVEL=0")
    result.load_cert_chain(write("server.pem", node.key_pem() + (chain or node.chain() or node.pem())))
    result.set_alpn_protocols(["http/1.1"])
    if versions:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result.minimum_version = result.maximum_version = versions
    if clients:
        result.load_verify_locations(clients)
        result.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
    return result


# The numbers of the connections. Threads take them one by one.
CONNECTIONS = itertools.count(1)


def serve(raw, context, limit=None, end=None):
    """Serves one connection on a thread of its own. Unlike asyncio, OpenSSL sends the alert of a failed handshake here. The first request
    beyond a limit ends the connection, after a call of `end`."""
    connection = context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
    try:
        connection.do_handshake()
        number = next(CONNECTIONS)
        certificate = connection.getpeercert()
        name = dict(pair for part in certificate["subject"] for pair in part)["commonName"] if certificate else "-"
        body = f"{name} {number}".encode()
        data = b""
        count = 0
        while more := connection.recv(65536):
            if limit is not None and count == limit:
                end()
                break
            data += more
            if data.endswith(b"\r\n\r\n"):
                data = b""
                count += 1
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    except OSError:
        pass
    # Bytes of the client that are not read would reset the connection, and the client would lose the alert.
    with socket.socket(fileno=connection.detach()) as rest:
        try:
            rest.shutdown(socket.SHUT_WR)
            while rest.recv(65536):
                pass
        except OSError:
            pass


def frames(connection):
    """Returns the types and flags of the frames that an HTTP/2 client sends."""
    data, start = b"", len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while more := connection.recv(65536):
        data += more
        while len(data) >= start + 9 and len(data) >= (end := start + 9 + int.from_bytes(data[start : start + 3], "big")):
            yield data[start + 3], data[start + 4]
            start = end


def ask_later(raw, context):
    """Serves one request over HTTP/2, and asks for a certificate after its head. Responds with the common name in the certificate."""
    try:
        connection = context.wrap_socket(raw, server_side=True)
        connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        received = frames(connection)
        while next(received)[0] != 1:
            pass
        connection.verify_client_post_handshake()
        # The answer to a PING comes after the certificate.
        connection.sendall(bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"in order")
        while next(received) != (6, 1):
            pass
        certificate = connection.getpeercert()
        name = dict(pair for part in certificate["subject"] for pair in part)["commonName"] if certificate else "-"
        head = bytes([0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88])
        connection.sendall(head + bytes([0, 0, len(name), 0, 1, 0, 0, 0, 1]) + name.encode())
        for _ in received:
            pass
    except (OSError, StopIteration):
        pass  # The client has refused, and left.


class Replaced:
    """A server that ends each connection at its second request. The connection after that has another certificate."""

    def __init__(self, usual, other):
        self.usual, self.other, self.next = usual, other, usual

    def serve(self, raw):
        context, self.next = self.next, self.usual
        serve(raw, context, limit=1, end=self.replace)

    def replace(self):
        self.next = self.other


def listen(context):
    """Serves connections on threads; returns the port."""
    return listen_with(lambda raw: serve(raw, context))


def listen_with(handler):
    listener = peer.listening()

    def accept():
        while True:
            raw, _ = listener.accept()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=handler, args=(raw,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def write_client_files(intermediate):
    client = Node("ada", intermediate, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    renewed = Node("berta", intermediate, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    expired = Node(
        "carla", intermediate, usage=ExtendedKeyUsageOID.CLIENT_AUTH, valid=(PAST - DAY, PAST), key=client.key
    )
    write("client.pem", client.chain())
    write("client.key", client.key_pem())
    write("combined.pem", client.key_pem() + client.chain())
    write("encrypted.key", client.key_pem(PASSPHRASE))
    write("renewed.pem", renewed.chain())
    write("renewed.key", renewed.key_pem())
    write("expired-client.pem", expired.chain())
    for name, encryption in {
        "client.p12": serialization.NoEncryption(),
        "encrypted.p12": serialization.BestAvailableEncryption(PASSPHRASE),
    }.items():
        store = pkcs12.serialize_key_and_certificates(
            b"ada", client.key, client.certificate, [intermediate.certificate], encryption
        )
        write(name, store)
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-legacy", "-in", f"{FOLDER}/combined.pem", "-out", f"{FOLDER}/old.p12"]
        + ["-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-RC2-40", "-passout", "pass:" + PASSPHRASE.decode()],
        check=True,
    )
    secrets = ["-passout", "pass:" + PASSPHRASE.decode(), "-provider", "legacy", "-provider", "default"]
    for form, name in [(["pkcs8", "-topk8", "-v1", "PBE-MD5-DES"], "md5.key"), (["ec", "-des"], "des.key")]:
        subprocess.run(
            ["openssl", *form, "-in", f"{FOLDER}/client.key", "-out", f"{FOLDER}/{name}", *secrets],
            check=True, stderr=subprocess.DEVNULL,
        )
    weak = rsa.generate_private_key(65537, 1024)
    dora = Node("dora", intermediate, usage=ExtendedKeyUsageOID.CLIENT_AUTH, key=weak)
    write("weak.pem", dora.key_pem() + dora.chain())


async def staple(node, is_revoked):
    """Starts a server with a stapled OCSP response; returns its port."""
    response = (
        ocsp.OCSPResponseBuilder()
        .add_response(
            cert=node.certificate,
            issuer=node.issuer.certificate,
            algorithm=hashes.SHA1(),
            cert_status=ocsp.OCSPCertStatus.REVOKED if is_revoked else ocsp.OCSPCertStatus.GOOD,
            this_update=NOW - DAY,
            next_update=NOW + DAY,
            revocation_time=PAST if is_revoked else None,
            revocation_reason=x509.ReasonFlags.key_compromise if is_revoked else None,
        )
        .responder_id(ocsp.OCSPResponderEncoding.HASH, node.issuer.certificate)
        .sign(node.issuer.key, hashes.SHA256())
    )
    name = "revoked" if is_revoked else "good"
    files = {
        "-status_file": write(f"{name}.ocsp", response.public_bytes(serialization.Encoding.DER)),
        "-cert": write(f"{name}.pem", node.pem()),
        "-key": write(f"{name}.key", node.key_pem()),
        "-cert_chain": write(f"{name}-chain.pem", node.issuer.pem()),
    }
    server = await asyncio.create_subprocess_exec(
        *["openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-naccept", "1000"],
        *[part for pair in files.items() for part in pair],
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),  # PR_SET_PDEATHSIG
    )
    while line := (await server.stdout.readline()).decode():
        if line.startswith("ACCEPT"):
            SERVERS.append(server)
            return int(line.rsplit(":", 1)[1])
    raise RuntimeError("openssl s_server has ended")


SERVERS = []


def make_contexts():
    root = Node("Test Root", authority=True)
    intermediate = Node("Test Intermediate", root, authority=True)
    second = Node("Second Root", authority=True)
    clients = Node("Clients Root", authority=True)
    paths = {
        name: write(name, node.pem())
        for name, node in {"ca.pem": root, "second.pem": second, "clients.pem": clients}.items()
    }
    write_client_files(Node("Clients Intermediate", clients, authority=True))
    valid = Node("valid", intermediate, USUAL)
    revoked = Node("revoked", intermediate, USUAL)
    write("empty.crl", intermediate.revocation_list() + root.revocation_list())
    write("revoking.crl", intermediate.revocation_list([revoked]) + root.revocation_list())
    write("expired.crl", intermediate.revocation_list(until=PAST + DAY) + root.revocation_list(until=PAST + DAY))
    past = (PAST - 30 * DAY, PAST)
    old_issuer = Node("Old Intermediate", root, authority=True, valid=past)
    limited = Node("Limited Intermediate", root, authority=True, permitted="allowed.example")
    weak_issuer = Node("Weak Intermediate", root, authority=True, key=rsa.generate_private_key(65537, 1024))
    sha1_issuer = Node("SHA-1 Intermediate", root, authority=True, digest="sha1")
    rsa_issuer = Node("RSA Intermediate", root, authority=True, key=rsa.generate_private_key(65537, 2048))
    unknown = Node("Unknown Root", authority=True)
    foreign = Node("foreign", unknown, USUAL)
    alone = Node("alone", names=USUAL)
    contexts = {
        "valid": context(valid),
        "second": context(Node("second", second, USUAL)),
        "expired": context(Node("expired", intermediate, USUAL, valid=past)),
        "not-yet": context(Node("not-yet", intermediate, USUAL, valid=(FUTURE, FUTURE + DAY))),
        "expired-issuer": context(Node("of-expired", old_issuer, USUAL)),
        "wrong-host": context(Node("wrong", intermediate, ("other.example", "*.other.example", "192.0.2.1"))),
        "self-signed": context(alone, alone.pem()),
        "no-intermediate": context(valid, valid.pem()),
        "unknown-root": context(foreign, foreign.chain(with_root=True)),
        "client-usage": context(Node("client", intermediate, USUAL, usage=ExtendedKeyUsageOID.CLIENT_AUTH)),
        "no-san": context(Node("localhost", intermediate)),
        "constrained": context(Node("outside", limited, USUAL)),
        "not-an-issuer": context(Node("issued", valid, USUAL)),
        "weak-key": context(Node("weak", intermediate, USUAL, key=rsa.generate_private_key(65537, 1024))),
        "weaker-key": context(
            Node("weaker", intermediate, USUAL, key=short_key()), versions=ssl.TLSVersion.TLSv1_2
        ),
        "weak-issuer": context(Node("of-weak", weak_issuer, USUAL)),
        "sha1": context(Node("sha1", intermediate, USUAL, digest="sha1")),
        "md5": context(Node("md5", rsa_issuer, USUAL, digest="md5")),
        "sha1-issuer": context(Node("of-sha1", sha1_issuer, USUAL)),
        "revoked": context(revoked),
        "mtls": context(valid, clients=paths["clients.pem"]),
        "mtls1.2": context(valid, clients=paths["clients.pem"], versions=ssl.TLSVersion.TLSv1_2),
        "wants": context(valid, clients=paths["clients.pem"], is_required=False),
        "mtls-other": context(valid, clients=paths["second.pem"]),
        "asks-later": context(
            valid, clients=paths["clients.pem"], is_required=False, versions=ssl.TLSVersion.TLSv1_3
        ),
    }
    contexts["asks-later"].post_handshake_auth = True
    contexts["asks-later"].set_alpn_protocols(["h2"])
    for name, version in {
        "tls1.0": ssl.TLSVersion.TLSv1,
        "tls1.1": ssl.TLSVersion.TLSv1_1,
        "tls1.2": ssl.TLSVersion.TLSv1_2,
        "tls1.3": ssl.TLSVersion.TLSv1_3,
    }.items():
        contexts[name] = context(valid, versions=version)
    return paths["ca.pem"], contexts, valid


async def main():
    connections = peer.Connections()
    path, contexts, valid = make_contexts()
    ports = {name: listen(each) for name, each in contexts.items()}
    ports["replaced"] = listen_with(Replaced(contexts["valid"], contexts["expired"]).serve)
    ports["asks-later"] = listen_with(lambda raw: ask_later(raw, contexts["asks-later"]))
    ports["stapled"] = await staple(valid, is_revoked=False)
    ports["stapled-revoked"] = await staple(valid, is_revoked=True)
    await peer.serve_until_stdin_ends({"ca": path, "folder": FOLDER, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
