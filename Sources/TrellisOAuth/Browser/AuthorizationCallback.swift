import CurlEngine
import TrellisCore

/// The judge of the requests that reach the loopback port while a person signs in (RFC 6749, section 4.1.2; RFC 8252, section 7.3).
struct AuthorizationCallback: Sendable, RedactedDescription {
    /// The judgement of a request.
    enum Outcome: Sendable, Hashable {
        /// The server has agreed, and this is the code.
        case code(String)
        /// The server, or the person, has refused.
        case refused(OAuthRefusal)
        /// The request is none of the sign-in's.
        case notFound
    }

    static let path = "/callback"

    /// The port, which the field `Host` must name: a page of another site, whose name leads here, is not the server.
    let port: UInt16
    /// The value that the server repeats.
    let state: String
    /// The issuer that the parameter `iss` must name, if there is one (RFC 9207).
    let issuer: String?
    /// Whether the server always sends the parameter, so that an answer without it is another server's (RFC 9207, section 2.4).
    var requiresIssuer = false

    /// The URL to which the browser is sent.
    var redirectURI: String { "http://127.0.0.1:\(port)\(Self.path)" }

    /// Judges the head of a request.
    func outcome(ofHead head: [UInt8]) -> Outcome {
        let lines = String(decoding: head, as: UTF8.self).utf8.split(separator: 0x0A).map { line in
            Substring(line.last == 0x0D ? line.dropLast() : line)
        }
        guard let words = lines.first?.utf8.split(separator: 0x20), words.count == 3,
            words[0].elementsEqual("GET".utf8),
            words[2].starts(with: "HTTP/1.".utf8)
        else { return .notFound }
        let hosts = lines.dropFirst().compactMap { line -> String? in
            let name = line.prefix(beforeBytes: ":")
            guard name.hasSameToken(as: "host") else { return nil }
            return Substring(line.utf8.dropFirst(name.utf8.count + 1)).withoutBlanks
        }
        guard hosts == ["127.0.0.1:\(port)"] else { return .notFound }
        let target = Substring(words[1])
        let path = target.prefix(beforeBytes: "?")
        guard path.hasSameBytes(as: Self.path) else { return .notFound }
        guard let items = Self.items(Substring(target.utf8.dropFirst(path.utf8.count + 1))) else { return .notFound }
        guard let found = items["state"], found.hasSameBytes(as: state) else { return .notFound }
        if let issuer, !(items["iss"].map { $0.hasSameBytes(as: issuer) } ?? !requiresIssuer) { return .notFound }
        if let error = items["error"] {
            return .refused(
                OAuthRefusal(
                    ShownText.line(error), explanation: items["error_description"].map { ShownText.line($0) },
                    page: items["error_uri"].map { ShownText.line($0) }))
        }
        guard let code = items["code"], !code.isEmpty else { return .notFound }
        return .code(code)
    }

    /// Returns the items of a query; `nil` if a name is there twice (RFC 6749, section 3.1) or cannot be decoded: the request is not the
    /// server's.
    private static func items(_ query: Substring) -> [String: String]? {
        var items: [String: String] = [:]
        for item in query.split(atByte: "&") {
            let name = item.prefix(beforeBytes: "=")
            let value = Substring(item.utf8.dropFirst(name.utf8.count + 1))
            guard let name = decoded(name), let value = decoded(value), items.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return items
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentEncoding.decode(String(text).replacing(byte: "+", with: " "))
    }

    /// Returns the answer that the browser shows.
    static func page(_ outcome: Outcome) -> [UInt8] {
        let (status, text) =
            switch outcome {
            case .code: ("200 OK", "You are signed in. You can close this window.")
            case .refused: ("200 OK", "The sign-in was refused. You can close this window.")
            case .notFound: ("404 Not Found", "Not found.")
            }
        let body = "<!doctype html><meta charset=utf-8><title>Sign-in</title><p>\(text)</p>\n"
        return Array(
            """
            HTTP/1.1 \(status)\r
            Content-Type: text/html; charset=utf-8\r
            Content-Length: \(body.utf8.count)\r
            Content-Security-Policy: default-src 'none'\r
            Referrer-Policy: no-referrer\r
            X-Content-Type-Options: nosniff\r
            Cache-Control: no-store\r
            Connection: close\r
            \r
            \(body)
            """.utf8)
    }
}
