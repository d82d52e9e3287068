import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Streams whose attempts last until the first byte of the body.
@Suite(.timeLimit(.minutes(3)))
struct FirstByteTests {
    private let transport = ScriptedTransport()
    private let request = Request("http://a.example/", method: .post, body: .string("question"))

    private func session(_ waits: Bool = true, _ methods: Set<HTTPRequest.Method> = [.post]) -> Session {
        var retry = RetryPolicy(retryLimit: 2, exponentialBackoffScale: .zero)
        retry.waitsForFirstByte = waits
        retry.retryableHTTPMethods.formUnion(methods)
        var configuration = SessionConfiguration()
        configuration.retry = retry
        return Session(configuration: configuration, transport: transport)
    }

    /// Returns the text of a stream.
    private static func text(_ stream: StreamResponse) async throws -> String {
        var body = Data()
        for try await chunk in stream.chunks { body.append(chunk) }
        return String(decoding: body, as: UTF8.self)
    }

    /// Lets the next attempt fail after its head, and returns it.
    private func failNext(after text: String? = nil) async throws {
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        if let text { attempt.receiveBody(text) }
        attempt.fail(.exchangeFailed(.connectionLost))
    }

    @Test func aFailureBeforeTheFirstByteIsRetried() async throws {
        let session = session()
        let answer = Task { [request] in try await Self.text(session.stream(request)) }
        try await failNext()
        let second = try await transport.nextAttempt()
        second.connect()
        second.receiveHead()
        second.receiveBody("one ")
        second.receiveBody("two")
        second.end()
        #expect(try await answer.value == "one two")
        #expect(transport.attempts.count == 2)
    }

    @Test func theLastFailureIsThatOfTheStream() async throws {
        let session = session()
        let answer = Task { [request] in try await session.stream(request) }
        for _ in 0..<3 { try await failNext() }
        let error = await #expect(throws: TrellisError.self) { _ = try await answer.value }
        #expect(error?.kind == .receive && error?.url == "http://a.example/" && transport.attempts.count == 3)
    }

    @Test func aFailureAfterTheFirstByteIsNotRetried() async throws {
        let session = session()
        let answer = Task { [request] in try await Self.text(session.stream(request)) }
        try await failNext(after: "one")
        await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(transport.attempts.count == 1)
    }

    /// Without the switch, the head ends the attempt; without the method, an answer may have been begun.
    @Test(arguments: [(false, true), (true, false)])
    func bothTheSwitchAndTheMethodAreNeeded(_ waits: Bool, _ isMethod: Bool) async throws {
        let session = session(waits, isMethod ? [.post] : [])
        let answer = Task { [request] in try await Self.text(session.stream(request)) }
        try await failNext()
        await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(transport.attempts.count == 1)
    }

    /// A cancellation ends no transfer that has ended, and takes nothing from its body.
    @Test(arguments: [true, false])
    func aCancellationAfterTheEndLeavesTheWholeBody(_ waits: Bool) async throws {
        let session = session(waits)
        let answer = Task { [request] in try await session.stream(request) }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        attempt.receiveBody("one ")
        attempt.receiveBody("two")
        attempt.end()
        let stream = try await answer.value
        await session.engines.settle()
        stream.cancel()
        #expect(try await Self.text(stream) == "one two")
    }

    @Test func anEmptyBodyIsAnAnswer() async throws {
        let session = session()
        let answer = Task { [request] in try await Self.text(session.stream(request)) }
        try await transport.nextAttempt().respond()
        #expect(try await answer.value == "")
    }

    /// The body of an error is its reader's, and a stream that is dropped ends its transfer.
    @Test func aStreamThatIsDroppedEndsItsTransfer() async throws {
        let session = session()
        let answer = Task { [request] in try await session.stream(request).response.status.code }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        attempt.receiveBody("one")
        #expect(try await answer.value == 200)
        try await attempt.wait(for: .cancel)
    }
}
