"""Checks that a file is a HAR 1.2 document, and prints the value of an expression over its entries e, or the first thing that is wrong.

    har.py FILE EXPRESSION
"""
import datetime
import json
import re
import sys

NUMBER = (int, float)

# The properties of each object: name, type, whether the property is required.
PROPERTIES = {
    "document": [("log", "log", True)],
    "log": [
        ("version", str, True), ("creator", "creator", True), ("browser", "creator", False), ("pages", list, False),
        ("entries", ["entry"], True), ("comment", str, False),
    ],
    "creator": [("name", str, True), ("version", str, True), ("comment", str, False)],
    "entry": [
        ("pageref", str, False), ("startedDateTime", "instant", True), ("time", NUMBER, True), ("request", "request", True),
        ("response", "response", True), ("cache", dict, True), ("timings", "timings", True), ("serverIPAddress", str, False),
        ("connection", str, False), ("comment", str, False),
    ],
    "request": [
        ("method", str, True), ("url", str, True), ("httpVersion", str, True), ("cookies", ["cookie"], True),
        ("headers", ["pair"], True), ("queryString", ["pair"], True), ("postData", "postData", False),
        ("headersSize", int, True), ("bodySize", int, True), ("comment", str, False),
    ],
    "response": [
        ("status", int, True), ("statusText", str, True), ("httpVersion", str, True), ("cookies", ["cookie"], True),
        ("headers", ["pair"], True), ("content", "content", True), ("redirectURL", str, True), ("headersSize", int, True),
        ("bodySize", int, True), ("comment", str, False),
    ],
    "cookie": [
        ("name", str, True), ("value", str, True), ("path", str, False), ("domain", str, False), ("expires", "instant", False),
        ("httpOnly", bool, False), ("secure", bool, False), ("comment", str, False),
    ],
    "pair": [("name", str, True), ("value", str, True), ("comment", str, False)],
    "postData": [("mimeType", str, True), ("params", list, False), ("text", str, False), ("comment", str, False)],
    "content": [
        ("size", int, True), ("compression", int, False), ("mimeType", str, True), ("text", str, False), ("encoding", str, False),
        ("comment", str, False),
    ],
    "timings": [
        ("blocked", NUMBER, False), ("dns", NUMBER, False), ("connect", NUMBER, False), ("send", NUMBER, True),
        ("wait", NUMBER, True), ("receive", NUMBER, True), ("ssl", NUMBER, False), ("comment", str, False),
    ],
}


def require(condition, place, what):
    if not condition:
        raise ValueError(f"{place}: {what}")


def check(value, kind, place):
    """Checks a value of a kind: a Python type, the name of an object above, or a list of such."""
    if isinstance(kind, list):
        require(isinstance(value, list), place, "no list")
        for index, element in enumerate(value):
            check(element, kind[0], f"{place}[{index}]")
    elif kind == "instant":
        require(isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), place, "no instant")
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    elif isinstance(kind, str):
        check_object(value, kind, place)
    else:
        require(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), place, f"no {kind}")


def check_object(value, kind, place):
    require(isinstance(value, dict), place, "no object")
    for name, type_, is_required in PROPERTIES[kind]:
        require(name in value or not is_required, place, f"no {name}")
        if name in value:
            check(value[name], type_, f"{place}.{name}")
    known = {name for name, _, _ in PROPERTIES[kind]}
    for name in value:
        require(name in known or name.startswith("_"), place, f"{name} is no property of HAR, and has no underscore in front")
    if kind == "entry":
        check_times(value, place)


def check_times(entry, place):
    timings = entry["timings"]
    for name in ("send", "wait", "receive"):
        require(timings[name] >= 0, place, f"{name} is negative")
    for name in ("blocked", "dns", "connect", "ssl"):
        require(timings[name] >= 0 or timings[name] == -1, place, f"{name} is negative")
    require(timings["ssl"] <= max(timings["connect"], 0), place, "ssl is no part of connect")
    total = sum(value for name, value in timings.items() if name != "ssl" and value != -1)
    require(abs(total - entry["time"]) < 1e-6, place, f"the time {entry['time']} is not the sum {total}")
    require(re.match(r"https?://[^/?#@]+([/?]|$)", entry["request"]["url"]), place, "no absolute URL without user information")


def main(path, expression):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        check(document, "document", "document")
        require(document["log"]["version"] == "1.2", "log", "another version")
        print(eval(expression, {"e": document["log"]["entries"], "json": json}))
    except (OSError, ValueError) as error:
        print(f"no HAR: {error}")


main(*sys.argv[1:])
