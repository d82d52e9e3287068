"""A proxy for SOCKS 4 and 4a that answers every request itself with the destination and the name of the user, and refuses
port 9. Prints its address."""

import socketserver
import sys
import threading


class Proxy(socketserver.StreamRequestHandler):
    def text(self):
        text = b""
        while (byte := self.rfile.read(1)) not in (b"\0", b""):
            text += byte
        return text.decode()

    def handle(self):
        head = self.rfile.read(8)
        if len(head) < 8 or head[:2] != b"\x04\x01":
            return
        port, address, user = int.from_bytes(head[2:4], "big"), head[4:], self.text()
        form, host = "4", ".".join(map(str, address))
        if host.startswith("0.0.0."):
            form, host = "4a", self.text()
        self.wfile.write(b"\0" + (b"\x5b" if port == 9 else b"\x5a") + bytes(6))
        if port == 9:
            return
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            pass
        body = f"{form} {host}:{port} {user or '-'}".encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"127.0.0.1:{server.server_address[1]}", flush=True)
sys.stdin.read()
