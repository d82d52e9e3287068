import CurlEngine
import HTTPTypes

/// The path and the query of a URL as they are sent (RFC 9112, section 3.2.1).
struct RequestTarget: Hashable, Sendable {
    /// The target in origin-form, such as `/users?page=2`; `*` for an `OPTIONS` request about the whole server.
    let text: String

    init(_ url: WireURL, of method: HTTPRequest.Method) {
        let text = url.target ?? String(Substring(url.text.utf8.dropFirst(url.origin.utf8.count)))
        // Only `OPTIONS` has a target without a path: the wire says `/` for the other methods.
        self.text = text == "*" && method != .options ? "/" : text
    }

    /// The path; `/` if it is empty.
    var path: String {
        let path = text.prefix(beforeBytes: "?")
        return path.isEmpty ? "/" : String(path)
    }

    /// The query without its question mark, if any.
    var query: String? {
        text.firstIndex(ofByte: "?").map { String(text[text.utf8.index(after: $0)...]) }
    }
}

extension WireURL {
    /// The host and any port other than the scheme's default, as in `Host`: in lower case, and without the zone of an IPv6 address.
    var authority: String {
        var bytes: [UInt8] = []
        appendAuthority(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Request {
    /// The path of ``url`` as it is sent: percent-encoded, without dot segments, and `/` if the URL has none. For a relative URL, which the
    /// session has not resolved yet, it is the path in the text.
    public var path: String { target?.path ?? URLReference(url).path }

    /// The query of ``url`` as it is sent, percent-encoded and without its question mark, if any: `page=2` for `/users?page=2`.
    public var query: String? { target.map(\.query) ?? URLReference(url).query }

    private var target: RequestTarget? {
        (try? WireURL(parsing: url, unchanged: sendsURLUnchanged)).map { RequestTarget($0, of: method) }
    }
}
