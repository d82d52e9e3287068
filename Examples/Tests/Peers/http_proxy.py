"""An HTTP proxy that answers every request itself with its target and its credentials, and makes no tunnels. Prints its address."""

import http.server
import sys
import threading


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{self.path} {self.headers.get('Proxy-Authorization', '-')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.send_error(403)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
