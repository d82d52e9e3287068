"""caddy with HTTP/1.1, HTTP/2 and HTTP/3 for hosts whose certificates break one rule each. Prints
{"ca": PATH, "ports": {"caddy": PORT}}; the folder of the authority contains the other files.

    good.example             signed by an intermediate of `ca`
    other.example            signed by an intermediate of second.pem
    expired.example          expired at 2020-01-02 03:04:05
    not-yet.example          valid from 2090-01-02 03:04:05
    wrong-host.example       for else.example and *.else.example
    self-signed.example      its own issuer
    no-intermediate.example  as good.example, but the intermediate is not sent
    client-usage.example     for clients only
    constrained.example      signed by an intermediate that may issue only for allowed.example
    revoked.example          as good.example, and in the list revoking.crl
    mutual.example           as good.example; demands a client certificate of clients.pem

A request for /to/PORT/PATH is sent on to /PATH of that port, without TLS. The folder contains, besides these roots, the client
certificates of trust.py for clients.pem, foreign.pem with foreign.key, which is of second.pem, and the revocation lists empty.crl and
revoking.crl of all authorities of good.example.
"""

import os

import peer
import trust
from cryptography.x509.oid import ExtendedKeyUsageOID
from real_servers import accepting, bound_over_udp, free_port, start
from trust_certificates import DAY, FOLDER, FUTURE, PAST, Node, write

# caddy would compare the name in the handshake with the host, because of the client certificates. Its HTTP/3 does not know that name.
CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2 h3
        strict_sni_host insecure_off
    }}
}}
(everything) {{
    bind 127.0.0.1
    @to path_regexp to ^/to/([0-9]+)(/.*)$
    handle @to {{
        rewrite * {{re.to.2}}
        reverse_proxy 127.0.0.1:{{re.to.1}}
    }}
}}
{sites}
"""

SITE = """
https://{name}.example:{port} {{
    tls {folder}/{name}.chain {folder}/{name}.key {{
        {clients}
    }}
    import everything
}}
"""

CLIENTS = "client_auth {{\n mode require_and_verify\n trusted_ca_cert_file {folder}/clients.pem\n }}"


def write_certificates():
    """Writes all files; returns the names of the hosts."""
    root, second, clients = (Node(name, authority=True) for name in ["root", "second", "clients"])
    intermediate = Node("intermediate", root, authority=True)
    other = Node("other-intermediate", second, authority=True)
    limited = Node("limited", root, authority=True, permitted="allowed.example")
    named = lambda name, issuer=intermediate, **options: Node(name, issuer, [f"{name}.example"], **options)
    nodes = [
        named("good"),
        named("other", other),
        named("expired", valid=(PAST - DAY, PAST)),
        named("not-yet", valid=(FUTURE, FUTURE + DAY)),
        Node("wrong-host", intermediate, ["else.example", "*.else.example"]),
        named("self-signed", None),
        named("no-intermediate"),
        named("client-usage", usage=ExtendedKeyUsageOID.CLIENT_AUTH),
        named("constrained", limited),
        revoked := named("revoked"),
        named("mutual"),
    ]
    names = [node.certificate.subject.rfc4514_string().removeprefix("CN=") for node in nodes]
    for name, node in zip(names, nodes):
        is_alone = name in ["self-signed", "no-intermediate"]
        write(f"{name}.chain", node.pem() if is_alone else node.chain())
        write(f"{name}.key", node.key_pem())
    for name, node in {"ca": root, "second": second, "clients": clients}.items():
        write(f"{name}.pem", node.pem())
    trust.write_client_files(Node("clients-intermediate", clients, authority=True))
    foreign = Node("eve", other, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    write("foreign.pem", foreign.chain())
    write("foreign.key", foreign.key_pem())
    write("empty.crl", intermediate.revocation_list() + root.revocation_list())
    write("revoking.crl", intermediate.revocation_list([revoked]) + root.revocation_list())
    return names


async def main():
    names = write_certificates()
    port = free_port()
    sites = "".join(
        SITE.format(
            name=name, port=port, folder=FOLDER, clients=CLIENTS.format(folder=FOLDER) if name == "mutual" else ""
        )
        for name in names
    )
    configuration = write("Caddyfile", CADDYFILE.format(sites=sites).encode())
    start("caddy", "run", "--adapter", "caddyfile", "--config", configuration, folder=FOLDER)
    await accepting(port)
    await bound_over_udp(port)
    announcement = {"ca": os.path.join(FOLDER, "ca.pem"), "ports": {"caddy": port}}
    await peer.serve_until_stdin_ends(announcement, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
