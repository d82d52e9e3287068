import Testing
import TrellisTesting

@testable import TrellisCore

/// The exchanges of a handle whose request is retried very often.
@Suite(.timeLimit(.minutes(3)))
struct ManyExchangesTests {
    @Test func theLastOnesAreKept() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse(status: 503) })
        // A few more than are kept.
        let count = 1_010
        let retrier = Retrier { _, context in context.attempt <= count ? .retry : .doNotRetry }
        let handle = session.request(Request("http://a.example/").withRetrier(retrier))
        #expect(try await handle.response(of: .data).status.code == 503)
        #expect(handle.exchanges.count <= 1_000)
        #expect(handle.exchanges.last?.attempt == count + 1)
        #expect(handle.retryCount == count)
    }
}
