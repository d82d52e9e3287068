"""A server with Digest authentication (RFC 7616), which checks all values that a client sends: Werkzeug reads the credentials,
Python's hashlib computes. Prints {"ca": "", "ports": {"http": PORT}}.

The user is `Jäsøn Doe`, the password `Secret, or "not"?`. Every path is a protection space of its own, whose parts are:

    /ALGORITHM/QOP      of the challenge; `none` for no such parameter
    /FLAG,FLAG          userhash     the name is to be hashed
                        stale        a nonce is good for two requests
                        next         every response names the next nonce
                        beside       offered in a second field, after Basic and a challenge of an unknown scheme
                        quiet        a nonce is good for two requests, but the server does not report that it is stale
    /…                  anything else

The body of a 200 is JSON: the user, the count, and the number of requests that the space has seen.
"""

import asyncio
import hashlib
import json
import secrets

from werkzeug.http import parse_dict_header

import peer

USER, PASSWORD, REALM = "Jäsøn Doe", 'Secret, or "not"?', 'a "realm", of sorts'
HASHES = {"md5": "md5", "sha-256": "sha256", "sha-512-256": "sha512_256"}


class Space:
    def __init__(self, path):
        parts = path.strip("/").split("/")
        self.algorithm = None if parts[0] == "none" else parts[0]
        self.qop = None if parts[1] == "none" else parts[1]
        self.flags = set(parts[2].split(",")) if len(parts) > 2 else set()
        self.requests = 0
        self.opaque = secrets.token_hex(8)
        self.nonces = {}
        self.sessions = {}
        name = (self.algorithm or "MD5").lower()
        self.is_session = name.endswith("-sess")
        self.hash = HASHES[name.removesuffix("-sess")]

    def digest(self, text):
        return hashlib.new(self.hash, text if isinstance(text, bytes) else text.encode()).hexdigest()

    def new_nonce(self):
        nonce = secrets.token_urlsafe(16)
        self.nonces[nonce] = 0
        return nonce

    def challenge(self, stale):
        realm = REALM.replace('"', '\\"')
        parameters = [f'realm="{realm}"', f'nonce="{self.new_nonce()}"', f'opaque="{self.opaque}"', "charset=UTF-8"]
        if self.qop:
            parameters.append(f'qop="{self.qop}"')
        if self.algorithm:
            parameters.append(f"algorithm={self.algorithm}")
        if "userhash" in self.flags:
            parameters.append("userhash=true")
        if stale and "quiet" not in self.flags:
            parameters.append("stale=true")
        digest = "Digest " + ", ".join(parameters)
        if "beside" in self.flags:
            return [f'Basic realm="{realm}", Digest realm="x", nonce="y", algorithm=SHA-9000, Negotiate YQ==', digest]
        return [digest]

    def check(self, method, target, body, authorization):
        """Returns None for correct credentials, and otherwise whether only the nonce was too old."""
        if not authorization or not authorization.startswith("Digest "):
            return False
        got = parse_dict_header(authorization[7:])
        if got.get("opaque") != self.opaque or got["nonce"] not in self.nonces:
            return False  # The nonce is that of another space.
        key = self.digest(f"{USER}:{REALM}:{PASSWORD}")
        user = self.digest(f"{USER}:{REALM}") if "userhash" in self.flags else USER
        nonce, count = got["nonce"], int(got.get("nc", "1"), 16)
        assert got["realm"] == REALM and got["uri"] == target, got
        assert got.get("algorithm") == self.algorithm, got
        assert got.get("userhash", "false") == str("userhash" in self.flags).lower(), got
        if got["username"] != user:
            return False
        if self.is_session:
            # The nonce of the first request counts, and stays when the nonce changes.
            session = self.sessions.setdefault(got["cnonce"], nonce)
            key = self.digest(f"{key}:{session}:{got['cnonce']}")
        request = f"{method}:{target}"
        if got.get("qop") == "auth-int":
            request += ":" + self.digest(body)
        request = self.digest(request)
        if self.qop:
            assert got["qop"] in self.qop.split(","), got
            text = f"{key}:{nonce}:{got['nc']}:{got['cnonce']}:{got['qop']}:{request}"
        else:
            assert "qop" not in got and "nc" not in got and "cnonce" not in got, got
            text = f"{key}:{nonce}:{request}"
        if got["response"] != self.digest(text):
            return False
        if {"stale", "quiet"} & self.flags and self.nonces[nonce] >= 2:
            return True
        if self.qop:
            assert count == self.nonces[nonce] + 1, (count, self.nonces[nonce])
        self.nonces[nonce] += 1
        self.count = count
        return None

    def answer(self, method, target, body, authorization):
        self.requests += 1
        stale = self.check(method, target, body, authorization)
        if stale is not None:
            return 401, [f"WWW-Authenticate: {challenge}" for challenge in self.challenge(stale)], b"no"
        lines = [f'Authentication-Info: nextnonce="{self.new_nonce()}"'] if "next" in self.flags else []
        text = json.dumps({"user": USER, "count": self.count, "requests": self.requests})
        return 200, lines, text.encode()


async def main():
    connections = peer.Connections()
    spaces = {}

    async def serve(reader, writer):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            fields = dict(line.split(": ", 1) for line in head[1:] if line)
            fields = {name.lower(): value.encode("latin-1").decode() for name, value in fields.items()}
            body = await reader.readexactly(int(fields.get("content-length", "0")))
            path = target.split("?")[0]
            if path not in spaces:
                spaces[path] = Space(path)
            space = spaces[path]
            try:
                status, lines, answer = space.answer(method, target, body, fields.get("authorization"))
            except (AssertionError, KeyError) as error:
                status, lines, answer = 400, [], repr(error).encode()
            lines = [f"HTTP/1.1 {status} Status", *lines, f"Content-Length: {len(answer)}", "", ""]
            writer.write("\r\n".join(lines).encode() + answer)
            await writer.drain()

    port = await connections.listen(serve)
    await peer.serve_until_stdin_ends({"ca": "", "ports": {"http": port}}, connections)


if __name__ == "__main__":
    peer.run(main)
