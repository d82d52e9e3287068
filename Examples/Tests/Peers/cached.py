"""An HTTP server whose responses can be stored. Prints its URL, and answers each line with the number of requests so far.

The response to /NAME?AGE is fresh for AGE seconds, or for an hour. It begins with the digest of its rest, and each one is different. A
request that asks whether a stored response is still good gets a 304, unless the name ends with `-changed`.
"""

import hashlib
import http.server
import socketserver
import sys
import threading

SIZES = {"/0": 0, "/1": 10, "/2": 70_000, "/3": 2_500_000}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count, lock = 0, threading.Lock()

    def do_GET(self):
        with Handler.lock:
            Handler.count += 1
            count = Handler.count
        name, _, age = self.path.partition("?")
        is_confirmed = self.headers["If-None-Match"] and not self.has_changed(name)
        self.send_response(304 if is_confirmed else 200)
        self.send_header("Cache-Control", f"max-age={age or 3600}")
        self.send_header("ETag", f'"{name}"')
        if is_confirmed:
            return self.end_headers()
        body = f"{name} {count} ".encode() * (SIZES.get(name, 3_000) // 10)
        body = hashlib.sha256(body).hexdigest().encode() + body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def has_changed(self, name):
        return name.endswith("-changed")

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # A client that is killed leaves in the middle of a response.


if __name__ == "__main__":
    print(Server(Handler).url, flush=True)
    for _ in sys.stdin:
        print(Handler.count, flush=True)
