import CurlEngine
import Testing

@testable import TrellisCore

/// A URL that begins with a host instead of a scheme is an error that proposes the URL with a scheme, with every libcurl.
struct MissingSchemeTests {
    private static func reason(_ error: TrellisError) -> String? {
        if case .invalidRequest(.url(let reason)) = error.reason { reason } else { nil }
    }

    private static let rows: [(String, String?)] = [
        ("localhost:8102/echo", "localhost:8102/echo"), ("127.0.0.1:8101/x", "127.0.0.1:8101/x"),
        ("LOCALHOST", "LOCALHOST"), ("a.example/b", "a.example/b"), ("host:80", "host:80"),
        ("[::1]:8101/", "[::1]:8101/"), ("a.example?token=hush&b", "a.example?token=REDACTED&b"),
        ("users/7", nil), ("/a.example", nil), ("../a", nil), ("?a=http://b", nil), ("#a.b", nil),
    ]

    @Test(arguments: rows)
    func theURLWithASchemeIsProposed(_ text: String, _ proposal: String?) throws {
        let preparation = RequestPreparation(SessionConfiguration())
        let error = #expect(throws: TrellisError.self) { try preparation.url(of: Request(text)) }
        let expected = proposal.map { "it has no scheme (did you mean http://\($0) ?)" } ?? "it is not absolute"
        #expect(error.flatMap(Self.reason) == expected)
    }

    /// A scheme to one version of libcurl is a part of a relative reference to another.
    @Test(arguments: [WireURL.ParseFailure.relative, .unsupportedScheme("localhost")])
    func theVersionOfLibcurlDoesNotMatter(_ failure: WireURL.ParseFailure) {
        for (isWebSocket, scheme) in [(false, "http"), (true, "ws")] {
            let error = TrellisError.unusableURL("localhost:8102/echo", failure, isWebSocket: isWebSocket)
            #expect(Self.reason(error) == "it has no scheme (did you mean \(scheme)://localhost:8102/echo ?)")
        }
    }

    @Test(arguments: ["mailto:ann", "a:b", "tel:123456", "ann:hush@a.example", "data:1,2"])
    func aSchemeIsNoHost(_ text: String) {
        let error = TrellisError.unusableURL(text, .unsupportedScheme("x"), isWebSocket: false)
        #expect(Self.reason(error) == "its scheme is x, not http or https")
    }
}
