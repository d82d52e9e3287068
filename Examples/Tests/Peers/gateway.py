"""Checks of `trellis gateway` against a scripted origin: gateway.py TRELLIS FOLDER PART, where the part is the name of a module without
`gateway_`. Prints a line for each check: the name, the wanted and the actual value as JSON, with tabs between them."""

import importlib, inspect, json, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gateway_peers import Gateway, Origin  # noqa: E402

program, folder, part = sys.argv[1:]


def check(name, wanted, got):
    clean = lambda value: value.decode("latin-1") if isinstance(value, bytes) else str(value)
    print("\t".join(["gateway: " + name] + [json.dumps(value, default=clean) for value in (wanted, got)]), flush=True)


def start(*options, **named):
    """Starts a gateway in front of the origin, or of another one."""
    return Gateway(program, named.pop("origin", "http://" + origin.authority), *options, **named)


origin = Origin()
run = importlib.import_module("gateway_" + part).run
given = {"check": check, "origin": origin, "start": start, "folder": folder}
run(*(given[name] for name in inspect.signature(run).parameters))
