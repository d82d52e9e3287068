import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// An event that is printed is the line that a verbose log writes.
@Suite(.timeLimit(.minutes(3)))
struct EventDescriptionTests {
    @Test func eventsOfACall() async throws {
        let monitor = EventWords()
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [monitor]
        let transport = MockTransport { _ in .text("hello") }
        let session = Session(configuration: configuration, transport: transport, clock: TestClock())
        _ = try await session.data(
            "http://ann:hush@a.example/b?token=hush", headers: [.authorization: "Bearer hush"])
        let words = try await monitor.words(until: "finished 200")
        let events = monitor.all.prefix(words.count)
        let call = try #require(events.first).callID
        #expect(
            events.map { "\($0)" }
                == [
                    "created", "queued", "admitted", "connected", "request sent", "head 200", "exchange ended", "200",
                ].map { "GET http://a.example/b?token=REDACTED \($0) 0 ms (call \(call))" })
    }

    @Test func lostEventsBelongToNoCall() {
        #expect("\(RequestEvent(dropped: 2, of: nil))" == "lost 2 events, because this log was too slow")
    }
}
