"""Checks of `trellis gateway` against a scripted origin: gateway.py TRELLIS FOLDER. Prints a line for each: the name, the wanted and the
actual value as JSON, with tabs between them."""

import json, os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gateway_cache, gateway_connections, gateway_ends, gateway_halves, gateway_memory, gateway_messages, gateway_refusals  # noqa: E402
import gateway_stored, gateway_trailers  # noqa: E402
from gateway_peers import Gateway, Origin  # noqa: E402

program, folder = sys.argv[1:3]


def check(name, wanted, got):
    clean = lambda value: value.decode("latin-1") if isinstance(value, bytes) else str(value)
    print("\t".join(["gateway: " + name] + [json.dumps(value, default=clean) for value in (wanted, got)]), flush=True)


origin = Origin()
url = "http://" + origin.authority
gateway = Gateway(program, url, "--idle-timeout", "2", "--client-timeout", "4")
version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
libcurl = tuple(map(int, re.search(r"libcurl/(\d+)\.(\d+)", version).groups()))
check("one line tells the port", ["listening on 127.0.0.1:%d\n" % gateway.port, True], [gateway.line, gateway.port > 0])
for part in (gateway_messages, gateway_refusals, gateway_connections, gateway_ends):
    part.run(check, gateway, origin)
gateway_trailers.run(check, gateway, origin, libcurl)
check("SIGTERM ends with 0, and nothing more is printed", [0, b"", b""], gateway.end())
start = lambda *options, **named: Gateway(program, named.pop("origin", url), *options, **named)
gateway_halves.run(check, origin, start)
gateway_memory.run(check, origin, start)
gateway_connections.kept(check, origin, start)
gateway_connections.unreachable(check, start)
for storage in ("memory", os.path.join(folder, "gateway-stored")):
    gateway = start("--cache", storage)
    named = lambda name, wanted, got: check(name + (" (memory)" if storage == "memory" else " (disk)"), wanted, got)
    gateway_stored.run(named, gateway, origin)
    check("and it ends with 0", 0, gateway.end()[0])
gateway_cache.run(check, origin, start, folder)
