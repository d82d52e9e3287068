"""Servers of HTTP/2 by several makers: http2_servers.py [go] [node], with Go's and Node's server if they are named.

Prints {"ca": PATH, "ports": {NAME: PORT}}. The names are nginx, nghttpd, caddy, hypercorn, go and node, and these:

    nginx-away      leaves with GOAWAY after each 20 requests of a connection
    hypercorn-away  the same
    nghttpd-early   responds when the head of a request has come

Paths, as far as a server can do that (HTTP2ServersTests has the list):

    /small      11 bytes
    /sink       reads the body, and responds with the number of its bytes
    /trailers   11 bytes, and the trailer X-Sum with 42
    /hints      an informational response (103) before the 11 bytes
    /early      413 before the body is read
    /away       11 bytes, with GOAWAY

nginx and caddy pass /sink, and caddy also /trailers, on to a server of this file. nghttpd has the file small alone, with the trailer, and
responds to a POST as to a GET.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys

import peer
from certificates import Authority
from hypercorn.asyncio import serve
from hypercorn.config import Config
from real_servers import accepting, free_port, start

HELLO = b"hello world"
# The sockets of hypercorn, which knows their numbers alone.
LISTENERS = []

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    ssl_certificate {chain};
    ssl_certificate_key {key};
    server {{
        listen 127.0.0.1:{port} ssl http2;
        client_max_body_size 0;
        location = /small {{ return 200 "hello world"; }}
        location = /trailers {{
            add_trailer X-Sum 42;
            root {folder};
            try_files /small =404;
        }}
        location = /early {{ return 413 "enough"; }}
        location = /sink {{
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_pass http://127.0.0.1:{upstream};
        }}
    }}
    server {{
        listen 127.0.0.1:{away_port} ssl http2;
        keepalive_requests 20;
        location / {{ return 200 "hello world"; }}
    }}
}}
"""

CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2
    }}
}}
https://127.0.0.1:{port} {{
    bind 127.0.0.1
    tls {chain} {key}
    respond /small "hello world"
    respond /early "enough" 413
    header /away Connection close
    respond /away "hello world"
    route /hints {{
        header Link "</style.css>"
        respond 103
        respond "hello world"
    }}
    reverse_proxy 127.0.0.1:{upstream} {{
        flush_interval -1
    }}
}}
"""


async def upstream(reader, writer):
    """Serves /sink and /trailers over HTTP/1.1."""
    while head := (await reader.readuntil(b"\r\n\r\n")).lower():
        path = head.split(b" ", 2)[1]
        count = 0
        if b"\r\ntransfer-encoding: chunked" in head:
            while size := int((await reader.readline()).split(b";")[0], 16):
                await reader.readexactly(size + 2)
                count += size
            while (await reader.readline()).strip():
                pass
        elif b"\r\ncontent-length:" in head:
            rest = int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
            while rest:
                piece = await reader.read(min(rest, 1 << 16))
                if not piece:
                    return
                count += len(piece)
                rest -= len(piece)
        if path == b"/trailers":
            fields = b"Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\n%s\r\nb\r\n%s\r\n0\r\nX-Sum: 42\r\n\r\n" % (fields, HELLO))
        else:
            text = b"%d" % count
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        await writer.drain()


async def application(scope, receive, send):
    """The program of hypercorn."""
    if scope["type"] != "http":
        return
    path, body, status = scope["path"], HELLO, 200
    if path == "/hints":
        await send({"type": "http.response.early_hint", "links": [b"</style.css>"]})
    elif path == "/early":
        status, body = 413, b"enough"
    elif path == "/sink":
        count, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            count += len(message["body"])
            more = message.get("more_body", False)
        body = b"%d" % count
    trailers = path == "/trailers"
    await send({"type": "http.response.start", "status": status, "headers": [], "trailers": trailers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
    if trailers:
        await send({"type": "http.response.trailers", "headers": [(b"x-sum", b"42")], "more_trailers": False})


def start_hypercorn(chain, key, requests):
    """Starts hypercorn, which leaves after a number of requests; returns its port."""
    listener = peer.listening()
    listener.set_inheritable(True)
    LISTENERS.append(listener)
    config = Config()
    config.certfile, config.keyfile = chain, key
    config.bind = [f"fd://{listener.fileno()}"]
    config.accesslog = config.errorlog = None
    config.graceful_timeout = 0.1
    # The usual five seconds end a connection whose client has been delayed.
    config.keep_alive_timeout = 300
    config.keep_alive_max_requests = requests
    peer._keep(serve(application, config))
    return listener.getsockname()[1]


def built_go_server():
    """Builds Go's server, and returns its path."""
    folder = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(peer.temporary_folder(), "server")
    # The cache of Go's build, which the comparison of HTTP/1.1 uses too.
    cache = os.path.join(folder, "../../.build-peers/go")
    environment = {"HOME": os.path.dirname(program), **os.environ, "GOCACHE": os.path.abspath(cache), "GOFLAGS": "-mod=mod"}
    command = ["go", "build", "-o", program, os.path.join(folder, "servers/http2.go")]
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return program


def start_others(names, ports, chain, key, folder):
    """Starts the servers that are processes of their own."""
    def write(name, text):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
        return os.path.join(folder, name)

    if shutil.which("nginx"):
        ports["nginx"], ports["nginx-away"] = free_port(), free_port()
        text = NGINX.format(
            user="user root;" if os.geteuid() == 0 else "", folder=folder, chain=chain, key=key, port=ports["nginx"],
            away_port=ports["nginx-away"], upstream=ports["upstream"],
        )
        start("nginx", "-c", write("nginx.conf", text), folder=folder, ending=signal.SIGTERM)
    if shutil.which("nghttpd"):
        for name, options in [("nghttpd", ["--trailer=x-sum: 42"]), ("nghttpd-early", ["--early-response"])]:
            ports[name] = free_port()
            start("nghttpd", "--address=127.0.0.1", *options, f"--htdocs={folder}", str(ports[name]), key, chain, folder=folder)
    if shutil.which("caddy"):
        ports["caddy"] = free_port()
        text = CADDYFILE.format(port=ports["caddy"], chain=chain, key=key, upstream=ports["upstream"])
        start("caddy", "run", "--adapter", "caddyfile", "--config", write("Caddyfile", text), folder=folder)
    if "go" in names:
        ports["go"] = free_port()
        start(built_go_server(), f"127.0.0.1:{ports['go']}", chain, key, folder=folder)
    if "node" in names:
        ports["node"] = free_port()
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "servers/http2.js")
        start("node", program, str(ports["node"]), chain, key, folder=folder)


async def main():
    authority = Authority()
    chain, key = authority.files()
    folder = peer.temporary_folder()
    with open(os.path.join(folder, "small"), "wb") as file:
        file.write(HELLO)
    connections = peer.Connections()
    ports = {"upstream": await connections.listen(upstream)}
    ports["hypercorn"] = start_hypercorn(chain, key, 1_000_000)
    ports["hypercorn-away"] = start_hypercorn(chain, key, 20)
    start_others(sys.argv[1:], ports, chain, key, folder)
    for port in ports.values():
        await accepting(port)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, connections)


if __name__ == "__main__":
    peer.run(main)
