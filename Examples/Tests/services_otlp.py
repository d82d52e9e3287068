"""Checks of what otlp-exporter sends, by the rules of OTLP/JSON: identities are hexadecimal, integers of 64 bits are strings, and
enumerations are numbers."""

import json, re, subprocess


def attributes(item):
    """Returns the attributes of an item: the key with the type and the value."""
    return {pair["key"]: next(iter(pair["value"].items())) for pair in item["attributes"]}


def is_count(text):
    return isinstance(text, str) and re.fullmatch("[0-9]+", text) is not None


def run(check, program):
    out = subprocess.run([program], stdout=subprocess.PIPE, timeout=60)
    lines = out.stdout.decode().splitlines()
    named = lambda name, wanted, got: check("otlp: " + name, wanted, got)
    named("the program ends", 0, out.returncode)
    messages = lines[1:-1]
    named("the refused message comes again, then the metrics, and the same of the service", ["/v1/traces", "/v1/metrics"] * 3,
          [line.split("\t")[0] for line in messages])
    parent = json.loads(lines[0])["traceparent"]
    contents = [json.loads(line.split("\t")[1]) for line in messages]
    check_spans(named, contents[0], parent)
    check_metrics(named, contents[1])
    names = lambda traces: [span["name"] for span in traces["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    named("a cancelled service sends each span once", [["first"], ["second"]], [names(contents[2]), names(contents[4])])
    named("the oldest spans are dropped and counted", "dropped 52", lines[-1])


def check_spans(named, traces, parent):
    (resource,) = traces["resourceSpans"]
    named("the resource", {"service.name": ("stringValue", "otlp-example")}, attributes(resource["resource"]))
    (scope,) = resource["scopeSpans"]
    named("the scope", {"name": "trellis.example"}, scope["scope"])
    spans = scope["spans"]
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
    named("the span's own attribute and event", [("intValue", "42"), ["done"]],
          [attributes(job)["job.number"], [event["name"] for event in job["events"]]])
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
    active = found["http.client.active_requests"]["sum"]
    named("no request is active", [0] * len(active["dataPoints"]), [point["asDouble"] for point in active["dataPoints"]])
    named("the active requests are a sum that goes up and down", [False, 2], [active["isMonotonic"], active["aggregationTemporality"]])
