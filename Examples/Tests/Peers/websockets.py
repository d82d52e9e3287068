"""A server of WebSockets: websockets.py FOLDER. Ends with its standard input. It prints a line of JSON: the URLs without and with TLS, the
certificate, its pin, and a Unix socket on which it listens too.

The path says what it does:

    /echo           sends messages back, as all others do that stay open
    /close/CODE     sends "first", and closes with the code, or with none for "none"
    /answer/CODE    answers the client's Close frame so
    /both, /three   send one and two messages and a Close frame at once
    /ask            sends a question, and closes with the answer as the reason
    /bytes          sends two bytes
    /fields         sends two fields of the request
    /pinged         sends "pinged" after a ping
    /deflate        agrees to compression
    /masked         breaks the protocol
    /garbled        answers the client's Close frame with a text that is not UTF-8
    /late           answers the client's Close frame after a while, and a message before that
    /ended          answers the client's Close frame with the end of the connection
    /cut            ends without a Close frame
    /deny           refuses
    /flood?NAME     sends many messages, and makes the file NAME.flooded once nothing else will come of the connection
    /noted?NAME     makes the file NAME.asked when it is asked, and NAME.code with the code of the client's Close frame
    /deaf?NAME      does the same, and does not answer that frame
    /silent?NAME    makes the file NAME.asked, and does not answer the handshake
"""

import base64, hashlib, json, os, socketserver, ssl, subprocess, sys, threading, time

folder = sys.argv[1]


class Handler(socketserver.StreamRequestHandler):
    def frame(self, first, payload):
        self.wfile.write(bytes([first, len(payload)]) + payload)

    def close(self, code):
        self.frame(0x88, b"" if code == "none" else int(code).to_bytes(2, "big") + b"why")

    def note(self, kind, text=""):
        """Makes a file, which is complete once it is there."""
        path = os.path.join(folder, self.name + "." + kind)
        with open(path + "~", "w") as file:
            file.write(text)
        os.rename(path + "~", path)

    def handle(self):
        self.path, _, self.name = self.rfile.readline().split()[1].decode().partition("?")
        try:
            self.talk(self.path)
        except ConnectionError:
            # The client has left.
            pass
        if self.path == "/flood":
            self.note("flooded")

    def talk(self, path):
        fields = {}
        while line := self.rfile.readline().decode().strip():
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        if path == "/deny":
            return self.wfile.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        if path in ("/noted", "/deaf", "/silent"):
            self.note("asked")
        if path == "/silent":
            return self.rfile.read()
        key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        chosen = fields.get("sec-websocket-protocol", "").split(",")[0]
        deflates = path == "/deflate" and "sec-websocket-extensions" in fields
        extensions = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n" if deflates else ""
        self.wfile.write((
            "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nStrict-Transport-Security: max-age=1000\r\n"
            f"{extensions}Sec-WebSocket-Accept: {accept}\r\n"
            + (f"Sec-WebSocket-Protocol: {chosen}\r\n" if chosen else "") + "\r\n").encode())
        if path.startswith("/close/"):
            self.frame(0x81, b"first")
            self.close(path.split("/")[2])
        elif path == "/both":
            self.wfile.write(b"\x81\x05first\x88\x02\x03\xe8")
        elif path == "/three":
            self.wfile.write(b"\x81\x05first\x81\x06second\x88\x02\x03\xe8")
        elif path == "/bytes":
            self.frame(0x82, b"\x00\xff")
        elif path == "/ask":
            self.frame(0x81, b"a question")
        elif path == "/fields":
            self.frame(0x81, f"{fields.get('x-test')} {fields.get('x-other')}".encode())
        elif path == "/masked":
            self.wfile.write(bytes([0x81, 0x80, 0, 0, 0, 0]))
        elif path == "/cut":
            return
        elif path == "/flood":
            self.wfile.write((b"\x81\x64" + b"x" * 100) * 50000)
        while head := self.rfile.read(2):
            count = head[1] & 0x7F
            if count == 126:
                count = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(count)))
            kind = head[0] & 15
            if kind == 8:
                if path in ("/noted", "/deaf"):
                    self.note("code", str(int.from_bytes(payload[:2], "big")))
                if path == "/deaf":
                    continue
                if path == "/ended":
                    return
                if path == "/garbled":
                    self.frame(0x81, b"\xff\xfe")
                if path == "/late":
                    time.sleep(1.3)
                    self.frame(0x81, b"late")
                if path.startswith("/answer/"):
                    return self.close(path.split("/")[2])
                if not path.startswith("/close/"):
                    self.frame(0x88, payload[:2])
                return
            if path == "/ask":
                self.frame(0x88, b"\x03\xe8" + payload[:100])
            elif count < 126:
                self.frame(0x8A if kind == 9 else head[0], payload)
                if path == "/pinged":
                    self.frame(0x81, b"pinged")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads, request_queue_size = True, 128


class SecureServer(Server):
    def finish_request(self, connection, address):
        """Makes the handshake, in the thread of the connection."""
        try:
            connection = context.wrap_socket(connection, server_side=True)
        except (ssl.SSLError, ConnectionError):
            # The client does not trust the server.
            return
        super().finish_request(connection, address)


class LocalServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


certificate, key = (os.path.join(folder, name) for name in ("certificate.pem", "key.pem"))
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                certificate, "-subj", "/CN=talker", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-days", "2"],
               check=True, capture_output=True)
public_key = subprocess.run(["openssl", "x509", "-in", certificate, "-pubkey", "-noout"], check=True, capture_output=True).stdout
pin = hashlib.sha256(base64.b64decode(b"".join(public_key.splitlines()[1:-1]))).digest()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
path = os.path.join(folder, "socket")
servers = [Server(("127.0.0.1", 0), Handler), SecureServer(("127.0.0.1", 0), Handler), LocalServer(path, Handler)]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
port, secure_port = (server.server_address[1] for server in servers[:2])
print(json.dumps({"url": f"ws://127.0.0.1:{port}", "secure": f"wss://127.0.0.1:{secure_port}", "port": port, "securePort": secure_port,
                  "certificate": certificate, "pin": base64.b64encode(pin).decode(), "socket": path}), flush=True)
sys.stdin.read()
