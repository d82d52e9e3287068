"""squid with Digest authentication (RFC 7616), whose clients are overheard: lets zelda with the password pr0xySecret through.

Prints {"ca": PATH, "ports": {"squid": PORT, "squid-recorded": PORT, "squid-tls": PORT}}. The recorded port leads to the same proxy, and
what clients send there is kept. The last port is the same proxy over TLS. Commands, besides those of every peer:

    sent        answers {"text": "…"}, the bytes that clients have sent to the recorded port, as Latin-1
    log         answers {"lines": […]}: for each request that squid has ended the user, the method, the target, and the fields
                Proxy-Authorization, Authorization and Cookie, percent-encoded, with - for none
"""

import hashlib

import peer
import real_proxies
from certificates import Authority
from real_servers import free_port, squid

DIGEST = """
https_port 127.0.0.1:{tls_port} tls-cert={folder}/chain.pem tls-key={folder}/chain.pem
auth_param digest program /usr/lib/squid/digest_file_auth -c {folder}/digest
auth_param digest realm trellis
auth_param digest children 1
"""


class Squid(real_proxies.Proxy):
    def __init__(self, chain):
        self.chain = chain
        super().__init__("squid")

    def prepare_squid(self):
        self.tls_port = free_port()
        with open(self.chain) as file:
            self.write("chain.pem", file.read())
        user, password = real_proxies.USER, real_proxies.PASSWORD
        self.write("digest", f"{user}:trellis:" + hashlib.md5(f"{user}:trellis:{password}".encode()).hexdigest() + "\n")
        lines = real_proxies.SQUID.format(port=self.port, folder=self.folder).splitlines()
        text = "\n".join(line for line in lines if not line.startswith("auth_param basic"))
        # The schemes are set up before the rule that asks for a user.
        port, rest = text.strip().split("\n", 1)
        digest = DIGEST.format(tls_port=self.tls_port, folder=self.folder).strip()
        path = self.write("squid.conf", "\n".join([port, digest, rest, ""]))
        self.command, self.user = squid(path), "proxy"


async def main():
    authority = Authority()
    chain, _ = authority.files()
    proxy, connections = Squid(chain), peer.Connections()
    proxy.start()
    ports = {"squid": proxy.port, "squid-recorded": await connections.listen(proxy.relay), "squid-tls": proxy.tls_port}
    questions = {b"sent": proxy.overheard, b"log": proxy.log}
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections, questions)


if __name__ == "__main__":
    peer.run(main)
