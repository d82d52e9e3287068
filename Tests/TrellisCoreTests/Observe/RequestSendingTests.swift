import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// The events of a connection and of the request that is sent on it, over a transport that reports neither steps nor bytes.
@Suite(.timeLimit(.minutes(3)))
struct RequestSendingTests {
    private let events = EventWords()
    private let scripted: Scripted

    init() {
        let events = events
        scripted = Scripted { $0.eventMonitors = [events] }
    }

    /// Begins to send a request, and returns the attempt when it is connected.
    private func connected(_ request: Request) async throws -> (Task<Int, any Error>, ScriptedAttempt) {
        let session = scripted.session
        let task = Task { try await session.data(request).1.status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        return (task, attempt)
    }

    private func post(_ body: RequestBody) -> Request { Request("http://a.example/", method: .post, body: body) }

    /// Returns the words from `connected` on, after the end of the session.
    private func words() async -> [String] {
        await scripted.session.shutdownAfterEvents()
        return Array(events.words.drop { $0 != "connected" })
    }

    private func stream(_ text: String, after gate: LoopbackServer.Gate = .init()) -> RequestBody {
        .stream {
            try? await gate.opened()
            return AsyncStream { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            }
        }
    }

    @Test func aBodyInMemoryIsSentWithItsHead() async throws {
        let (task, attempt) = try await connected(post(.string("hello")))
        attempt.receiveHead()
        attempt.end()
        _ = try await task.value
        #expect(await words() == ["connected", "sent 5", "head 200", "ended", "finished 200"])
    }

    @Test func aStreamIsSentWithItsLastChunk() async throws {
        let gate = LoopbackServer.Gate()
        let (task, attempt) = try await connected(post(stream("hello", after: gate)))
        #expect(!events.words.contains("sent 5"))
        gate.open()
        try await attempt.wait(for: .finishSending)
        await scripted.session.settle()
        attempt.receiveHead()
        attempt.end()
        _ = try await task.value
        #expect(await words() == ["connected", "sent 5", "head 200", "ended", "finished 200"])
    }

    @Test(arguments: [200, 403])
    func aResponseBeforeTheEndOfTheBody(_ status: Int) async throws {
        let gate = LoopbackServer.Gate()
        let (task, attempt) = try await connected(post(stream("hello", after: gate)))
        attempt.receiveHead(status: status)
        await scripted.session.settle()
        gate.open()
        try await attempt.wait(for: status == 200 ? .finishSending : .stopSending)
        await scripted.session.settle()
        attempt.end()
        _ = try await task.value
        #expect(
            await words() == ["connected", "head \(status)"] + (status == 200 ? ["sent 5"] : [])
                + ["ended", "finished \(status)"])
    }

    @Test func aBodyThatIsDeclinedIsNotSent() async throws {
        let request = post(stream("hello")).withContinueExpectation(waiting: .seconds(1))
        let (task, attempt) = try await connected(request)
        attempt.receiveHead(status: 200)
        attempt.end()
        _ = try await task.value
        #expect(await words() == ["connected", "head 200", "ended", "finished 200"])
    }

    /// The attempt without the expectation has a connection of its own.
    @Test func aRequestThatIsSentWithoutItsExpectation() async throws {
        let gate = LoopbackServer.Gate()
        gate.open()
        let request = post(stream("hello", after: gate)).withContinueExpectation(waiting: .seconds(1))
        let (task, attempt) = try await connected(request)
        attempt.receiveHead(status: 417)
        let second = try await scripted.transport.nextAttempt()
        second.connect()
        try await second.wait(for: .finishSending)
        await scripted.session.settle()
        second.receiveHead()
        second.end()
        #expect(try await task.value == 200)
        let said = await words()
        #expect(said == ["connected", "connected", "sent 5", "head 200", "ended", "finished 200"])
    }

    @Test func aRequestThatIsSentAgainHasAnotherConnection() async throws {
        let (task, first) = try await connected(Request("http://a.example/"))
        first.report.isReusedConnection = true
        first.fail(.exchangeFailed(.http2("GOAWAY")), isConnectionFailure: true)
        let second = try await scripted.transport.nextAttempt()
        second.respond()
        _ = try await task.value
        #expect(await words() == ["connected", "sent", "connected", "sent", "head 200", "ended", "finished 200"])
    }

    /// A transport need not report that it is connected.
    @Test func aTransportWithoutConnections() async throws {
        let session = scripted.session
        let task = Task { try await session.data("http://a.example/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.receiveHead()
        attempt.end()
        _ = try await task.value
        await session.shutdownAfterEvents()
        #expect(events.words == ["created", "queued", "admitted", "head 200", "ended", "finished 200"])
    }

    @Test func theConnectionIsDescribedByTheReportOfTheTransport() async throws {
        let session = scripted.session
        let task = Task { try await session.data("https://a.example/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.report.peerHost = "2001:db8::1"
        attempt.report.peerPort = 443
        (attempt.report.nameLookup, attempt.report.connect, attempt.report.tls) = (1_000, 3_000, 7_000)
        attempt.connect()
        attempt.report.isConnectionKept = true
        attempt.receiveHead()
        attempt.end()
        let metrics = try await task.value.1.metrics
        await session.shutdownAfterEvents()
        guard case .connected(let connection)? = events.all.first(where: { $0.word == "connected" })?.kind else {
            Issue.record("\(events.words)")
            return
        }
        #expect(connection.peerAddress == "[2001:db8::1]:443" && connection.isSecure && !connection.isReused)
        #expect(connection.nameLookup == .microseconds(1) && connection.connect == .microseconds(2))
        #expect(connection.tls == .microseconds(4) && connection.version == nil && connection.localPort == nil)
        #expect(metrics.isConnectionKept == true)
    }
}
