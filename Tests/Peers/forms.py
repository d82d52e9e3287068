"""Reads forms with three parsers. A line of the input names a form: FILE CONTENT-TYPE

Prints one line of JSON for each form: for each parser the list of parts, each with name, filename, type and content in
Base64. The parsers are those of Werkzeug, of python-multipart and of Python's own email package.
"""
import base64
import email.parser
import email.policy
import io
import json
import sys


def part(name, filename, kind, content):
    return {"name": name, "filename": filename, "type": kind, "content": base64.b64encode(content).decode()}


def werkzeug(body, content_type):
    from werkzeug.formparser import MultiPartParser
    from werkzeug.http import parse_options_header
    boundary = parse_options_header(content_type)[1]["boundary"]
    fields, files = MultiPartParser(max_form_memory_size=None, max_form_parts=None).parse(
        io.BytesIO(body), boundary.encode(), len(body))
    parts = [part(n, None, None, v.encode("utf-8", "surrogateescape")) for n, v in fields.items(multi=True)]
    return parts + [part(n, f.filename, f.content_type, f.read()) for n, f in files.items(multi=True)]


def python_multipart(body, content_type):
    from python_multipart.multipart import MultipartParser, parse_options_header
    parts, head, current = [], {}, {}

    def finish():
        options = parse_options_header(head.get("content-disposition", b""))[1]
        decoded = {key.decode(): value.decode() for key, value in options.items()}
        kind = head.get("content-type")
        parts.append(part(decoded.get("name"), decoded.get("filename"), kind and kind.decode(),
                          bytes(current["body"])))

    def begin():
        head.clear()
        current.update(body=bytearray(), name=b"", value=b"")

    def collect(key):
        return lambda data, start, end: current.update({key: current[key] + data[start:end]})

    def end_header():
        head[current["name"].decode().lower()] = current["value"]
        current.update(name=b"", value=b"")

    boundary = parse_options_header(content_type)[1][b"boundary"]
    parser = MultipartParser(boundary, {
        "on_part_begin": begin, "on_part_data": collect("body"), "on_part_end": finish,
        "on_header_field": collect("name"), "on_header_value": collect("value"), "on_header_end": end_header,
    })
    for start in range(0, len(body), 1000):
        parser.write(body[start:start + 1000])
    parser.finalize()
    return parts


def stdlib(body, content_type):
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    assert message.is_multipart() and not message.defects, message.defects

    def text(value):  # bytes beyond ASCII come as surrogates
        return value and value.encode("utf-8", "surrogateescape").decode("utf-8")

    def parameter(item, key):
        return text(item.get_param(key, header="content-disposition"))

    def parts(message, around=None):
        for item in message.iter_parts():
            name = parameter(item, "name") or around
            if item.is_multipart():
                yield from parts(item, name)
            else:
                kind = item.get("content-type")
                yield part(name, parameter(item, "filename"), kind and str(kind),
                           item.get_payload(decode=True))

    return list(parts(message))


if __name__ == "__main__":
    parsers = {"werkzeug": werkzeug, "python-multipart": python_multipart, "email": stdlib}
    for line in sys.stdin:
        path, _, content_type = line.strip().partition(" ")
        with open(path, "rb") as file:
            content = file.read()
        print(json.dumps({name: parse(content, content_type) for name, parse in parsers.items()}), flush=True)
