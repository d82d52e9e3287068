import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// The events of calls in memory that have observers and no steps.
@Suite(.timeLimit(.minutes(1)))
struct ObservedCallTests {
    private static func session(
        _ monitor: EventWords, _ transport: MockTransport, baseURL: String? = "http://a.example/api/"
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.baseURL = baseURL
        configuration.eventMonitors = [monitor]
        return Session(configuration: configuration, transport: transport)
    }

    /// The call that continues is the same one, with the URL that the session has completed.
    @Test func aCallContinuesAfterARedirect() async throws {
        let monitor = EventWords(.calls)
        let transport = MockTransport { request in
            request.path == "/api/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : .text("there")
        }
        let session = Self.session(monitor, transport)
        let (data, response) = try await session.data("a")
        await session.shutdown()
        #expect(data == Data("there".utf8) && response.status == .ok)
        #expect(transport.requests.map(\.path) == ["/api/a", "/b"])
        #expect(monitor.words == ["created", "redirected 302", "finished 200"])
        #expect(Set(monitor.all.map(\.callID)).count == 1)
        #expect(Set(monitor.all.map(\.url)) == ["http://a.example/api/a"])
    }

    @Test func theFailureOfACallIsItsLastEvent() async throws {
        let monitor = EventWords(.calls)
        let transport = MockTransport { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }
        let session = Self.session(monitor, transport)
        let error = await #expect(throws: TrellisError.self) { try await session.bytes("a") }
        await session.shutdown()
        let words = monitor.words
        #expect(words.count == 2 && words.first == "created" && words.last?.hasPrefix("failed ") == true)
        #expect(error?.url == "http://a.example/api/a" && error?.callID == monitor.all.first?.callID)
    }

    @Test func aRequestThatCannotBeSentHasTheEventsOfACall() async throws {
        let monitor = EventWords()
        let session = Self.session(monitor, MockTransport { _ in .text("hello") }, baseURL: nil)
        let error = await #expect(throws: TrellisError.self) { try await session.bytes("users") }
        await session.shutdown()
        let words = monitor.words
        #expect(error?.kind == .invalidURL && words == ["created", "failed invalid_url"])
    }
}
