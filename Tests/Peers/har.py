"""Reads a file as HAR 1.2 has it, independently of Trellis, and prints what is wrong: `har.py FILE`.

Prints {"entries": COUNT, "isSorted": BOOL, "problems": [TEXT…]}. The rules are those of the specification
(http://www.softwareishard.com/blog/har-12-spec/): the members that must be there, their types, instants in the form of ISO 8601 with a
zone, and `time` as the sum of the timings that are not -1. A member that the specification does not have must begin with an underscore.
Names and values are also compared with what Python's own parsers read in the same entry. Then haralyzer, a published reader, reads the
file, and what it has found is compared with the members themselves.
"""
import base64
import datetime
import ipaddress
import json
import re
import sys
import urllib.parse

import haralyzer

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

problems = []


def report(place, text):
    problems.append(f"{place}: {text}")


def rule(is_met):
    """Returns a check of a value that reports it unless a condition is met."""

    def check(value, place):
        if not is_met(value):
            report(place, f"is not valid: {json.dumps(value)}")

    return check


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_instant(value):
    if not isinstance(value, str) or not INSTANT.fullmatch(value):
        return False
    try:
        return datetime.datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


anything = rule(lambda _: True)
text = rule(lambda value: isinstance(value, str))
boolean = rule(lambda value: isinstance(value, bool))
integer = rule(is_integer)
instant = rule(is_instant)
size = rule(lambda value: is_integer(value) and value >= -1)
# A phase that need not occur, and one that every exchange has.
duration = rule(lambda value: is_number(value) and (value >= 0 or value == -1))
time_spent = rule(lambda value: is_number(value) and value >= 0)


def a_list(of):
    """Returns a check of a list whose elements have a check."""

    def check(value, place):
        if not isinstance(value, list):
            return report(place, "is no list")
        for index, element in enumerate(value):
            of(element, f"{place}[{index}]")

    return check


def an_object(required, optional=None):
    """Returns a check of an object whose members have checks of their own."""
    rules = {"comment": text, **(optional or {}), **required}

    def check(value, place):
        if not isinstance(value, dict):
            return report(place, "is no object")
        for name in sorted(required.keys() - value.keys()):
            report(place, f"has no {name}")
        for name, member in value.items():
            if name in rules:
                rules[name](member, f"{place}.{name}")
            elif not name.startswith("_"):
                report(place, f"has a member {name}, which HAR does not know")

    return check


record = an_object({"name": text, "value": text})
cookie = an_object(
    {"name": text, "value": text},
    {
        "path": text,
        "domain": text,
        "expires": instant,
        "httpOnly": boolean,
        "secure": boolean,
    },
)
parameter = an_object({"name": text}, {"value": text, "fileName": text, "contentType": text})
post_data = an_object({"mimeType": text}, {"params": a_list(parameter), "text": text})
content = an_object({"size": size, "mimeType": text}, {"compression": integer, "text": text, "encoding": text})
message = {
    "httpVersion": text,
    "cookies": a_list(cookie),
    "headers": a_list(record),
    "headersSize": size,
    "bodySize": size,
}
request = an_object({"method": text, "url": text, "queryString": a_list(record), **message}, {"postData": post_data})
response = an_object(
    {"status": integer, "statusText": text, "content": content, "redirectURL": text, **message}
)
timings = an_object(
    {"send": time_spent, "wait": time_spent, "receive": time_spent},
    {"blocked": duration, "dns": duration, "connect": duration, "ssl": duration},
)
entry = an_object(
    {
        "startedDateTime": instant,
        "time": time_spent,
        "request": request,
        "response": response,
        "cache": an_object({}, {"beforeRequest": anything, "afterRequest": anything}),
        "timings": timings,
    },
    {"pageref": text, "serverIPAddress": text, "connection": text},
)
creator = an_object({"name": text, "version": text})
log = an_object(
    {"version": text, "creator": creator, "entries": a_list(entry)},
    {"browser": creator, "pages": a_list(anything)},
)


def values(headers, name):
    return [header["value"] for header in headers if header["name"].lower() == name]


def read_text(part, place):
    """Returns the bytes of a text in its encoding; None if there is none."""
    kept, encoding = part.get("text"), part.get("encoding", part.get("_encoding"))
    if kept is None:
        return None
    if encoding is None:
        return kept.encode("utf-8")
    if encoding != "base64":
        report(place, f"has the encoding {encoding}")
        return None
    try:
        return base64.b64decode(kept, validate=True)
    except ValueError:
        report(place, "is no base64")
        return None


def check_request(asked, place):
    if not METHOD.fullmatch(asked["method"]):
        report(place, "has no method")
    url = urllib.parse.urlsplit(asked["url"])
    if not url.scheme or not url.netloc or url.fragment:
        report(place, f"has a URL that is not absolute, or has a fragment: {asked['url']}")
    query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
    if [(item["name"], item["value"]) for item in asked["queryString"]] != query:
        report(place, f"has other items of the query than {query}")
    sent = [part.strip() for value in values(asked["headers"], "cookie") for part in value.split(";")]
    if [f"{item['name']}={item['value']}" for item in asked["cookies"]] != sent:
        report(place, f"has other cookies than {sent}")
    posted = asked.get("postData")
    if posted is None:
        return
    if "text" in posted and "params" in posted:
        report(place, "has a body as text and as parameters")
    body = read_text(posted, place)
    if body is None and "comment" not in posted:
        report(place, "does not say why its body has no text")
    if body is not None and "comment" not in posted and asked["bodySize"] not in (-1, len(body)):
        report(place, f"has a body of {len(body)} bytes, and a size of {asked['bodySize']}")


def check_response(answer, place):
    if answer["redirectURL"] != (values(answer["headers"], "location") or [""])[0]:
        report(place, "has a redirectURL that is not its field Location")
    received = [value.split("=")[0] for value in values(answer["headers"], "set-cookie")]
    if [item["name"] for item in answer["cookies"]] != received:
        report(place, f"has other cookies than {received}")
    body = read_text(answer["content"], place)
    if body is not None and "comment" not in answer["content"] and answer["content"]["size"] != len(body):
        report(place, f"has a body of {len(body)} bytes, and a size of {answer['content']['size']}")


def check_entry(whole, place):
    durations = [whole["timings"].get(name, -1) for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
    total = sum(duration for duration in durations if duration != -1)
    if abs(total - whole["time"]) > 1e-6 * max(1, total):
        report(place, f"has the time {whole['time']}, and timings whose sum is {total}")
    if whole["timings"].get("ssl", -1) > whole["timings"].get("connect", -1):
        report(place, "has a TLS handshake that is no part of the making of its connection")
    if "serverIPAddress" in whole:
        try:
            ipaddress.ip_address(whole["serverIPAddress"].strip("[]"))
        except ValueError:
            report(place, f"has the address {whole['serverIPAddress']}")
    check_request(whole["request"], f"{place}.request")
    check_response(whole["response"], f"{place}.response")


def check_with_haralyzer(document):
    read = [entry for page in haralyzer.HarParser(document).pages for entry in page.entries]
    entries = document["log"]["entries"]
    if len(read) != len(entries):
        report("haralyzer", f"reads {len(read)} entries of {len(entries)}")
        return
    for index, (found, whole) in enumerate(zip(read, entries)):
        asked, answer = whole["request"], whole["response"]
        seen = (found.request.method, found.request.url, found.response.status, found.time)
        if seen != (asked["method"], asked["url"], answer["status"], whole["time"]):
            report(f"entries[{index}]", f"is read by haralyzer as {seen}")
        if "text" in answer["content"] and found.response.text != answer["content"]["text"]:
            report(f"entries[{index}]", "has another body for haralyzer")
        if found.startTime != datetime.datetime.fromisoformat(whole["startedDateTime"]):
            report(f"entries[{index}]", f"begins at {found.startTime} for haralyzer")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    an_object({"log": log})(document, "document")
    entries = []
    if not problems:
        entries = document["log"]["entries"]
        if document["log"]["version"] != "1.2":
            report("log", "is not of version 1.2")
        for index, whole in enumerate(entries):
            check_entry(whole, f"entries[{index}]")
    if not problems:
        check_with_haralyzer(document)
    instants = [datetime.datetime.fromisoformat(whole["startedDateTime"]) for whole in entries]
    print(json.dumps({"entries": len(entries), "isSorted": instants == sorted(instants), "problems": problems}))


main()
