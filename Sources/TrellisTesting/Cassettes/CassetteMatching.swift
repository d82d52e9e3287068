import CurlEngine
import TrellisCore
import TrellisDiagnostics

/// The parts of a request that identify its recording. The method is always one of them.
///
/// ```swift
/// cassette.matching.body = true
/// cassette.matching.headers = ["Accept"]
/// ```
public struct CassetteMatching: Sendable, Hashable {
    /// Whether the query of the URL is compared, in its order. The default is `true`.
    public var query = true
    /// Whether the body is compared, byte by byte. The default is `false`: a body may have a random boundary.
    public var body = false
    /// The names of the fields whose values are compared. The default is none.
    public var headers: [String] = []

    /// Creates the default: the method and the URL.
    public init() {}

    /// Whether a request can be compared only as a whole.
    var needsMessage: Bool { body || !headers.isEmpty }

    /// Returns the text that requests have in common if their methods and URLs match.
    func key(method: String, url: String) -> String {
        let end = query ? "#" : "?#"
        return "\(method) \(url.prefix(beforeBytes: end))"
    }

    /// Returns the names of the parts that differ between two requests with the same key.
    func differences(_ recorded: HARDocument.Request, _ asked: HARDocument.Request) -> [String] {
        var names = headers.filter { Self.values(of: $0, recorded) != Self.values(of: $0, asked) }.map {
            "header \($0)"
        }
        if body, Self.body(of: recorded) != Self.body(of: asked) { names.append("body") }
        return names
    }

    /// Returns the values of the fields with a name.
    static func values(of name: String, _ request: HARDocument.Request) -> [TextBytes] {
        request.headers.filter { $0.name.hasSameToken(as: name) }.map { TextBytes($0.value) }
    }

    /// Returns the body, with its encoding: bytes in Base64 are not the text that looks the same.
    private static func body(of request: HARDocument.Request) -> [TextBytes] {
        [TextBytes(request.postData?.encoding ?? ""), TextBytes(request.postData?.text ?? "")]
    }
}
