import TrellisTesting

/// Routes with responses that are longer than usual, or that are malformed HTTP.
extension Routes {
    /// Returns a response with one line, event or JSON value of `count` bytes.
    static func long(_ count: Int, as kind: String) -> Answer {
        let text = String(repeating: "x", count: count)
        return switch kind {
        case "event": .text("data: \(text)\n\n", type: "text/event-stream")
        case "ndjson": .text("\"\(text)\"\n", type: "application/x-ndjson")
        default: .text("\(text)\n")
        }
    }

    /// Returns a response that is malformed in its head, in a chunk or in its trailers.
    static func malformed(_ what: String) -> Answer {
        let head = "HTTP/1.1 200 OK\r\n"
        let chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
        let text =
            switch what {
            case "status": "HTTP/1.1 2x0 OK\r\n\r\n"
            case "field": head + "Nonsense\r\n\r\n"
            case "name": head + "Na(me: value\r\n\r\n"
            case "fold": head + " folded\r\n\r\n"
            case "line": head + "X: \(String(repeating: "y", count: 110 << 10))\r\n\r\n"
            case "size": chunked + "zz\r\nhello\r\n0\r\n\r\n"
            case "chunk": chunked + "5\r\nhello, world\r\n0\r\n\r\n"
            case "trailer": chunked + "5\r\nhello\r\n0\r\nNonsense\r\n\r\n"
            case "trailer-fold": chunked + "5\r\nhello\r\n0\r\nX: y\r\n fold\r\n\r\n"
            default: "nonsense"
            }
        return Answer(
            body: .raw { connection in
                try connection.write(text)
                connection.shutdownWrite()
            })
    }
}
