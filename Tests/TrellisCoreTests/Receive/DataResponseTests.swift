import FoundationEssentials
import Testing

@testable import TrellisCore

/// A response's value together with its head, metrics and request.
struct DataResponseTests {
    private struct Refusal: Error, Equatable {}

    private let response = DataResponse(
        request: Request("http://a.example/x"),
        response: Response(
            head: ResponseHead(status: .accepted, headers: [.server: "s"]), url: "http://a.example/x",
            metrics: {
                var metrics = Metrics()
                metrics.attemptCount = 3
                return metrics
            }(),
            redirects: [Redirect(status: .found, from: "http://a.example/", to: "http://a.example/x")]),
        data: Data("5".utf8), value: 5, serializationDuration: .milliseconds(7))

    @Test func mappingChangesTheValueAlone() throws {
        for mapped in [response.map { "\($0 + 1)" }, response.tryMap { "\($0 + 1)" }] {
            #expect(mapped.value == "6")
            #expect(mapped.request.url == "http://a.example/x")
            #expect(mapped.status == .accepted)
            #expect(mapped.headers[.server] == "s")
            #expect(mapped.data == Data("5".utf8))
            #expect(mapped.attemptCount == 3)
            #expect(mapped.metrics == response.metrics)
            #expect(mapped.serializationDuration == .milliseconds(7))
            #expect(mapped.redirects.map(\.status) == [.found])
        }
    }

    @Test func whatTheTransformThrowsComesUnchanged() {
        #expect(throws: Refusal()) { try response.tryMap { _ throws(Refusal) -> Int in throw Refusal() } }
    }
}
