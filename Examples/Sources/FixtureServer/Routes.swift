import FoundationEssentials
import TrellisTesting

/// The responses of the fixture server, by path.
enum Routes {
    typealias Answer = LoopbackServer.Response

    static func answer(_ request: LoopbackServer.ReceivedRequest) -> Answer {
        let parts = request.path.split(separator: "/").map(String.init)
        let number = parts.dropFirst().first.flatMap { Int($0) }
        switch parts.first {
        case nil: return .text("hello world")
        // The request, shown in the response: its body, or its method, target and field lines.
        case "echo": return Answer(body: request.body)
        case "request": return description(of: request)
        case "mirror": return mirror(request)
        case "typed":
            return Answer(headers: [(name: "Content-Type", value: request["Content-Type"] ?? "")], body: request.body)
        case "status": return .text("so be it\n", status: number ?? 200)
        case "json": return .json(#"{"b": 1.0, "a": ["ü", true, null, {}], "big": 12345678901234567890}"#)
        case "repeated": return Answer(headers: repeated)
        case "dated": return dated(request)
        case "bytes": return bytes(number ?? 1024)
        case "binary": return Answer(headers: [("Content-Type", "image/x-test")], body: Data(UInt8.min...UInt8.max))
        case "ranges": return Ranges.answer(request, size: number ?? 1000, fate: parts.count > 2 ? parts[2] : "")
        case "lines": return lines(number ?? 3, every: .zero)
        case "events": return events(request, upTo: number ?? 3, then: parts.count > 2 ? Int(parts[2]) ?? 204 : 204)
        case "events-stuck":
            return begun("Content-Type: text/event-stream\r\n\r\ndata: one\n\n") { $0.waitUntilPeerCloses() }
        case "ndjson": return ndjson(endsBadly: parts.last == "bad")
        case "long": return long(number ?? 0, as: parts.last ?? "line")
        case "malformed": return malformed(parts.last ?? "")
        case "slow-lines": return lines(number ?? 100, every: .milliseconds(50))
        case "silence": return Answer(body: .raw { $0.waitUntilPeerCloses() })
        case "cut": return begun(cutShort) { _ in }
        case "nothing": return Answer(body: .raw { _ in })
        case "huge": return begun("Content-Length: 9223372036854775807\r\n\r\nx") { $0.waitUntilPeerCloses() }
        case "stuck": return begun(cutShort) { $0.waitUntilPeerCloses() }
        case "hints": return Answer(body: .raw(hints))
        case "redirect": return redirect(number ?? 1)
        case "fragment": return redirect(to: parts.count > 2 ? "/fragment/\(parts[2])" : "/request", parts[1])
        case "leave": return Answer(302, headers: [(name: "Location", value: "file:///etc/passwd")])
        case "flaky": return flaky(request, failures: number ?? 1)
        case "protected": return protected(request, by: parts.last ?? "Basic")
        case "cookies": return cookies(request)
        case "login":
            return Answer(
                302, headers: [(name: "Location", value: "/request"), (name: "Set-Cookie", value: "a=1; Path=/")])
        case "dns-query": return addresses(for: request)
        default: return .text("nothing here\n", status: 404)
        }
    }

    /// Returns the response of a DNS server that knows the address 127.0.0.1 for every name, and nothing else (RFC 8484, RFC 1035).
    private static func addresses(for request: LoopbackServer.ReceivedRequest) -> Answer {
        let question = [UInt8](request.body.dropFirst(12))
        // The type of the records, which is 1 for IPv4 addresses, is before the class at the end.
        let isIPv4 = question.count >= 4 && question[question.count - 3] == 1
        let head: [UInt8] = [0, 0, 0x81, 0x80, 0, 1, 0, isIPv4 ? 1 : 0, 0, 0, 0, 0]
        let record: [UInt8] = [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]
        return Answer(
            headers: [(name: "Content-Type", value: "application/dns-message")],
            body: Data(head + question + (isIPv4 ? record : [])))
    }

    private static let repeated = [("X-One", "1"), ("Set-Cookie", "a=1"), ("X-Two", "2"), ("Set-Cookie", "b=2")]
        .map { (name: $0.0, value: $0.1) }

    /// Returns the body of the request, with the fields that describe it.
    private static func mirror(_ request: LoopbackServer.ReceivedRequest) -> Answer {
        let names = ["Content-Type", "Content-Encoding"]
        let fields = names.compactMap { name in request[name].map { (name: "X-\(name)", value: $0) } }
        return Answer(headers: fields, body: request.body)
    }

    /// Returns the method, the target, the field lines and the body length of a request, as text.
    static func description(of request: LoopbackServer.ReceivedRequest) -> Answer {
        let fields = request.fields.map { "\($0.name): \($0.value)\n" }.joined()
        return .text("\(request.method) \(request.target)\n\(fields)body: \(request.bodyLength)\n")
    }

    private static let cutShort = "Content-Length: 100\r\n\r\nonly this"

    /// Returns a response that begins with the given bytes; `next` decides how the connection continues.
    private static func begun(_ answer: String, _ next: @escaping @Sendable (LoopbackServer.Connection) -> Void)
        -> Answer
    {
        Answer(
            body: .raw { connection in
                try connection.write("HTTP/1.1 200 OK\r\n\(answer)")
                next(connection)
            })
    }

    /// Returns the conditions of the request as text that is older than each `If-Modified-Since`, whatever that is.
    private static func dated(_ request: LoopbackServer.ReceivedRequest) -> Answer {
        let fields = [(name: "Last-Modified", value: "Sun, 06 Nov 1994 08:49:37 GMT")]
        if request["If-Modified-Since"] != nil { return Answer(304, headers: fields) }
        let text = request["If-Unmodified-Since"] ?? "new"
        return Answer(headers: fields, body: Data(text.utf8))
    }

    private static func bytes(_ count: Int) -> Answer {
        Answer(
            body: .sized(count) { body in
                let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
                var missing = count
                while missing > 0 {
                    try body.write(Array(piece.prefix(missing)))
                    missing -= piece.count
                }
            })
    }

    private static func lines(_ count: Int, every interval: Duration) -> Answer {
        Answer(
            body: .chunked { body in
                for number in 1...max(1, count) {
                    try body.write("line \(number)\r\n")
                    if interval > .zero { try body.connection.pause(for: interval) }
                }
            })
    }

    /// Returns a numbered event for each connection, and a response with `status` after the last event.
    private static func events(
        _ request: LoopbackServer.ReceivedRequest, upTo count: Int, then status: Int
    ) -> Answer {
        let number = request["Last-Event-ID"].flatMap { Int($0) } ?? 0
        guard number < count else { return Answer(status) }
        let retry = number == 0 ? "retry: 20\n" : ""
        return .text(
            ": a comment\n\n\(retry)id: \(number + 1)\nevent: tick\ndata: \"ü\"\ndata: \(number + 1)\n\n",
            type: "text/event-stream")
    }

    private static func ndjson(endsBadly: Bool) -> Answer {
        let lines =
            ["\u{FEFF} {\"b\": 1.0, \"a\": \"\\u00fc\"} \r", "", "[12345678901234567890]", "\"x\""]
            + (endsBadly ? ["{oops"] : [])
        return .text(lines.joined(separator: "\n"), type: "application/x-ndjson")
    }

    private static func hints(_ connection: LoopbackServer.Connection) throws {
        try connection.write("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")
        try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
        try connection.write("2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n")
    }
}
