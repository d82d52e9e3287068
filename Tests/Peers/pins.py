"""HTTPS servers with chains of three certificates: a root (`ca`), an authority that it has signed, and the server's own.
Prints {"ca": PATH, "ports": {NAME: PORT}}.

    chain      sends its certificate and the authority's
    stray      sends a certificate of another root along, which plays no part in the chain
    unknown    has a certificate of a root that no client trusts
    changing   has another certificate on every connection
    h2         as chain, over HTTP/2: see `http2_scenarios.py`
    proxy      an HTTPS proxy with a certificate of the root, for 127.0.0.1
    asking     as proxy, but asks for a client certificate of the root, such as that of the file client.pem beside `ca`

The servers over HTTP/1.1 respond with a JSON object: the number of the request on its connection, and whether the connection has resumed
a TLS session. /close is the last request of its connection, and /to?URL is redirected to the URL. Commands:

    pins       the pins of the keys by name: leaf, intermediate, root, stray, unknown, proxy
    bytes      the number of bytes that the servers have received inside TLS since the last time
    resumed    a list with an entry for each connection to `asking` since the last time: whether it has resumed a TLS session
"""

import base64
import hashlib
import json
import os
import ssl

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

import certificates
import http2_scenarios
import https_proxy
import peer
from http2_connection import Connection

RECEIVED = 0


def pin(pem):
    key = x509.load_pem_x509_certificate(pem.bytes()).public_key()
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256/" + base64.b64encode(hashlib.sha256(encoded).digest()).decode()


def context(folder, leaf, chain, alpn="http/1.1"):
    """Returns a server context that sends these certificates after its own."""
    path = os.path.join(folder, "server.pem")
    with open(path, "wb") as file:
        for part in [leaf.private_key_pem, leaf.cert_chain_pems[0], *chain]:
            file.write(part.bytes())
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(path)
    made.set_alpn_protocols([alpn])
    return made


async def head(reader):
    """Returns the request line of the next request. Its bytes are counted as they come."""
    global RECEIVED
    bytes = b""
    while not bytes.endswith(b"\r\n\r\n"):
        more = await reader.readexactly(1)
        RECEIVED += 1
        bytes += more
    lines = bytes.decode("latin-1").split("\r\n")
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            RECEIVED += len(await reader.readexactly(int(value)))
    return lines[0]


async def answer(reader, writer):
    count = 0
    resumed = writer.get_extra_info("ssl_object").session_reused
    while True:
        _, target, _ = (await head(reader)).split(" ")
        count += 1
        if target.startswith("/to?"):
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {target[4:]}\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            body = json.dumps({"request": count, "resumed": resumed}).encode()
            close = b"Connection: close\r\n" if target == "/close" else b""
            writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (close, len(body), body))
        await writer.drain()
        if target == "/close":
            return


async def answer_h2(reader, writer):
    await Connection(reader, writer, http2_scenarios.play).run()


RESUMED = []


async def asking_proxy(reader, writer):
    RESUMED.append(writer.get_extra_info("ssl_object").session_reused)
    await https_proxy.proxy(reader, writer)


def resumed():
    list, RESUMED[:] = RESUMED[:], []
    return list


def received():
    global RECEIVED
    count, RECEIVED = RECEIVED, 0
    return count


async def main():
    folder = peer.temporary_folder()
    ec = trustme.KeyType.ECDSA
    root, other = trustme.CA(key_type=ec), trustme.CA(key_type=ec)
    root.cert_pem.write_to_path(os.path.join(folder, "ca.pem"))
    intermediate = root.create_child_ca(key_type=ec)

    def issue(authority=intermediate):
        return authority.issue_cert(*certificates.NAMES, key_type=ec)

    leaf, lone, proxy = issue(), issue(trustme.CA(key_type=ec)), issue(root)
    links = [intermediate.cert_pem]
    changing = context(folder, leaf, links)

    def change(object, name, initial):
        object.context = context(folder, issue(), links)

    changing.sni_callback = change
    root.issue_cert("ada@example.com", key_type=ec).private_key_and_cert_chain_pem.write_to_path(
        os.path.join(folder, "client.pem")
    )
    asking = context(folder, proxy, [])
    asking.load_verify_locations(os.path.join(folder, "ca.pem"))
    asking.verify_mode = ssl.CERT_OPTIONAL
    connections = peer.Connections()
    ports = {
        "chain": await connections.listen(answer, context(folder, leaf, links)),
        "stray": await connections.listen(answer, context(folder, leaf, [*links, other.cert_pem])),
        "unknown": await connections.listen(answer, context(folder, lone, [])),
        "changing": await connections.listen(answer, changing),
        "h2": await connections.listen(answer_h2, context(folder, leaf, links, "h2")),
        "proxy": await connections.listen(https_proxy.proxy, context(folder, proxy, [])),
        "asking": await connections.listen(asking_proxy, asking),
    }
    pins = {
        "leaf": pin(leaf.cert_chain_pems[0]),
        "intermediate": pin(intermediate.cert_pem),
        "root": pin(root.cert_pem),
        "stray": pin(other.cert_pem),
        "unknown": pin(lone.cert_chain_pems[0]),
        "proxy": pin(proxy.cert_chain_pems[0]),
    }
    announcement = {"ca": os.path.join(folder, "ca.pem"), "ports": ports}
    await peer.serve_until_stdin_ends(announcement, connections, {b"pins": lambda: pins, b"bytes": received, b"resumed": resumed})


if __name__ == "__main__":
    peer.run(main)
