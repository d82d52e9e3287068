import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The event of the head of a request, which precedes that of its body.
@Suite(.timeLimit(.minutes(3)))
struct HeadSentEventTests {
    private let events = ConnectionEvents()

    private var session: Session {
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [events]
        return Session(configuration: configuration)
    }

    /// The events of the sending so far, and of the response.
    private var words: [String] {
        events.all.compactMap { event in
            switch event.kind {
            case .connected: "connected"
            case .requestHeadSent: "head sent"
            case .requestSent(let size): "sent \(size)"
            case .head(let head): "head \(head.status.code)"
            default: nil
            }
        }
    }

    /// The body begins after the event, which therefore does not wait for it.
    @Test func theHeadIsSentBeforeItsBody() async throws {
        let server = try LoopbackServer.http { .text("\($0.body.count)") }
        let session = session
        let mayBegin = LoopbackServer.Gate()
        let body = RequestBody.stream {
            AsyncStream<Data> { continuation in
                Task {
                    try? await mayBegin.opened()
                    continuation.yield(Data("hello".utf8))
                    continuation.finish()
                }
            }
        }
        async let answer = session.string(Request(server.url(), method: .post, body: body))
        while !words.contains("head sent"), !Task.isCancelled { await Task.yield() }
        #expect(words == ["connected", "head sent"])
        mayBegin.open()
        #expect(try await answer == "5")
        await session.shutdown()
        #expect(words == ["connected", "head sent", "sent 5", "head 200"])
    }

    @Test func theHeadOfABodyInMemoryIsSentFirst() async throws {
        let server = try LoopbackServer.http { .text("\($0.body.count)") }
        let session = session
        for body in [Data("hello".utf8), Data(repeating: 1, count: 60_000)] {
            _ = try await session.string(Request(server.url(), method: .post, body: .data(body)))
        }
        await session.shutdown()
        #expect(
            words == [
                "connected", "head sent", "sent 5", "head 200", "connected", "head sent", "sent 60000", "head 200",
            ])
    }

    @Test func aRequestWithoutABodyIsSentAtOnce() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = session
        _ = try await session.data(server.url())
        await session.shutdown()
        #expect(words == ["connected", "sent 0", "head 200"])
    }
}
