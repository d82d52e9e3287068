import HTTPTypes
import Testing

@testable import TrellisCore

/// The descriptions of responses.
struct DescriptionTests {
    private static let url = "https://ann:hush1@a.example/x?token=hush2&page=3"

    @Test func aResponseTellsNoSecrets() {
        let redirect = Redirect(status: .found, from: Self.url, to: "https://b.example/?password=hush4")
        let response = Response(head: ResponseHead(status: .ok), url: Self.url, redirects: [redirect])
        #expect("\(redirect)" == "302 https://a.example/x?token=REDACTED&page=3 → https://b.example/?password=REDACTED")
        #expect("\(response)" == "200 https://a.example/x?token=REDACTED&page=3 (HTTP/1.1)")
        #expect(!"\([redirect]) \(RequestEvent.Kind.redirected(redirect))".contains("hush"))
    }
}
