"""Prints the names that OpenTelemetry publishes for HTTP clients and that are not deprecated, as one line of JSON.

The names are read from the package opentelemetry-semantic-conventions: those of attributes in the groups below, and those of metrics of
HTTP clients. A name that has only moved to the stable part of the package is not deprecated.
"""
import importlib.resources
import json
import re

GROUPS = ("error", "exception", "http", "network", "server", "url", "user_agent")
NAME = re.compile(r'^[A-Z0-9_]+: Final = "([^"]+)"\n"""\n(.*?)"""', re.MULTILINE | re.DOTALL)


def names(kind, groups):
    """Returns the names of a kind, attributes or metrics, in the stable and the other part of the package."""
    package = importlib.resources.files("opentelemetry.semconv")
    files = [part / kind / f"{group}_{kind}.py" for part in (package, package / "_incubating") for group in groups]
    found = [pair for file in files if file.is_file() for pair in NAME.findall(file.read_text(encoding="utf-8"))]
    return sorted({name for name, text in found if not text.startswith("Deprecated: ")})


metrics = [name for name in names("metrics", ["http"]) if name.startswith("http.client.")]
print(json.dumps({"attributes": names("attributes", GROUPS), "metrics": metrics}))
