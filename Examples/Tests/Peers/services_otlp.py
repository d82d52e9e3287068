"""Checks of what otlp-exporter sends, by the rules of OTLP/JSON: identities are hexadecimal, integers of 64 bits are strings, and
enumerations are numbers."""

import json, re, subprocess, time

from gateway_peers import LIMIT, Origin


def attributes(item):
    """Returns the attributes of an item: the key with the type and the value."""
    return {pair["key"]: next(iter(pair["value"].items())) for pair in item["attributes"]}


def is_count(text):
    return isinstance(text, str) and re.fullmatch("[0-9]+", text) is not None


def collector():
    """Returns a server that is the collector and the server of the requests, the messages that the collector has accepted, as pairs of the
    path and the content, and the `traceparent` fields of the requests. The collector refuses the first message, and is slow."""
    server, messages, parents, refused = Origin(), [], [], []

    @server.script
    def v1(connection, request):
        connection.body(request)
        if not refused:
            refused.append(request)
            connection.answer("", "Retry-After: 0\r\n", status="503 Service Unavailable")
            return
        messages.append((request.first.split(b" ")[1].decode(), json.loads(request.body)))
        time.sleep(0.05)
        connection.answer("{}", "Content-Type: application/json\r\n")

    @server.script
    def users(connection, request):
        parents.append(request.get("traceparent"))
        connection.answer("{}")

    @server.script
    def moved(connection, request):
        connection.answer("", "Location: /users\r\n", status="302 Found")

    @server.script
    def missing(connection, request):
        connection.answer("", status="404 Not Found")

    @server.script
    def cut(connection, request):
        return True

    return server, messages, parents


def run(check, program):
    server, messages, parents = collector()
    url = "http://%s/" % server.authority
    out = subprocess.run([program, url] + [url + path for path in ("users", "moved", "missing", "cut")], stdout=subprocess.PIPE, timeout=LIMIT)
    named = lambda name, wanted, got: check("otlp: " + name, wanted, got)
    named("the program ends", [0, ""], [out.returncode, out.stdout.decode()])
    named("messages of both kinds", ["/v1/metrics", "/v1/traces"], sorted({path for path, _ in messages}))
    named("the metrics come last", "/v1/metrics", messages[-1][0])
    check_spans(named, [content for path, content in messages if path == "/v1/traces"], parents[0])
    check_metrics(named, messages[-1][1])
    gone = subprocess.run([program, "http://127.0.0.1:1/", url + "users"], stdout=subprocess.PIPE, timeout=LIMIT)
    named("a collector that is not there is told", [1, True],
          [gone.returncode, gone.stdout.startswith(b"otlp-exporter: the collector has not got everything: ")])
    usage = subprocess.run([program, url], stdout=subprocess.PIPE, timeout=LIMIT)
    named("without a URL it tells its usage", [64, True], [usage.returncode, usage.stdout.startswith(b"usage:")])


def check_spans(named, messages, parent):
    resources = [resource for content in messages for resource in content["resourceSpans"]]
    named("the resource", [{"service.name": ("stringValue", "otlp-example")}] * len(messages),
          [attributes(resource["resource"]) for resource in resources])
    scopes = [scope for resource in resources for scope in resource["scopeSpans"]]
    named("the scope", [{"name": "trellis.example"}] * len(messages), [scope["scope"] for scope in scopes])
    # The service is cancelled while the collector has not responded: nothing is lost, and nothing is sent twice.
    spans = [span for scope in scopes for span in scope["spans"]]
    named("a span for each request on the wire, and the one around them", ["GET"] * 5 + ["job"], sorted(span["name"] for span in spans))
    (job,) = [span for span in spans if span["name"] == "job"]
    requests = sorted((span for span in spans if span is not job), key=lambda span: int(span["startTimeUnixNano"]))
    named("identities", True, all(re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"])
                                  for span in spans) and len({span["spanId"] for span in spans}) == 6)
    named("one trace", {job["traceId"]}.__len__(), len({span["traceId"] for span in spans}))
    named("parents", [None, [job["spanId"]] * 5], [job.get("parentSpanId"), [span["parentSpanId"] for span in requests]])
    named("kinds", [1, [3] * 5], [job["kind"], [span["kind"] for span in requests]])
    named("the times are strings, in order", True, all(
        is_count(span["startTimeUnixNano"]) and is_count(span["endTimeUnixNano"])
        and 1.6e18 < int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans))
    named("the span's own attribute and event", [("intValue", "4"), ["done"]],
          [attributes(job)["job.requests"], [event["name"] for event in job["events"]]])
    named("statuses of the responses", [("intValue", code) for code in ("200", "302", "200", "404")],
          [attributes(span)["http.response.status_code"] for span in requests[:4]])
    named("errors", [{}, {}, {}, 2, 2], [span["status"].get("code", {}) for span in requests])
    named("the failure has a type and no status", [True, False],
          [name in attributes(requests[4]) for name in ("error.type", "http.response.status_code")])
    named("the context travels", "00-%s-%s-01" % (job["traceId"], requests[0]["spanId"]), parent)


def check_metrics(named, metrics):
    (resource,) = metrics["resourceMetrics"]
    named("the resource of the metrics", {"service.name": ("stringValue", "otlp-example")}, attributes(resource["resource"]))
    (scope,) = resource["scopeMetrics"]
    found = {metric["name"]: metric for metric in scope["metrics"]}
    named("each metric once", len(scope["metrics"]), len(found))
    duration = found["http.client.request.duration"]
    named("the unit of a duration", "s", duration["unit"])
    histogram = duration["histogram"]
    named("histograms are cumulative", 2, histogram["aggregationTemporality"])
    points = histogram["dataPoints"]
    named("the counts of a histogram are strings", True, all(
        is_count(point["count"]) and all(is_count(count) for count in point["bucketCounts"]) for point in points))
    named("the buckets fit the bounds and the counts", True, all(
        len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1
        and sum(int(count) for count in point["bucketCounts"]) == int(point["count"]) for point in points))
    named("all requests are counted", 5, sum(int(point["count"]) for point in points))
    codes = sorted(attributes(point).get("http.response.status_code", ("", ""))[1] for point in points)
    named("a series for each outcome", ["", "200", "302", "404"], codes)
    named("the time of a point", True, all(
        is_count(point["timeUnixNano"]) and int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"]) for point in points))
    units = {"http.client.active_requests": "{request}", "http.client.open_connections": "{connection}"}
    # Connections that are made and closed within a few milliseconds have no number.
    named("the units of the sums", [(name, unit) for name, unit in units.items() if name in found],
          [(name, found[name]["unit"]) for name in units if name in found])
    active = found["http.client.active_requests"]["sum"]
    named("no request is active", [0] * len(active["dataPoints"]), [point["asDouble"] for point in active["dataPoints"]])
    named("the active requests are a sum that goes up and down", [False, 2], [active["isMonotonic"], active["aggregationTemporality"]])
