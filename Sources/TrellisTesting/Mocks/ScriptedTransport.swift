@_spi(Transport) public import TrellisCore

/// A transport whose events are all sent by the test, in the order that the test chooses.
///
/// ```swift
/// let transport = ScriptedTransport()
/// let session = Session(transport: transport)
/// async let answer = session.data("http://example.com/")
/// let attempt = try await transport.nextAttempt()
/// attempt.connect()
/// attempt.receiveHead(status: 200)
/// attempt.receiveBody("hello")
/// attempt.end()
/// let (data, response) = try await answer
/// ```
public final class ScriptedTransport: Transport {
    private struct Record: Sendable {
        var attempts: [ScriptedAttempt] = []
        var handedOut = 0
    }

    private let clock: TestClock?
    private let record = LoopbackServer.Waiters(Record())

    /// Creates a transport that does nothing by itself.
    ///
    /// - Parameter clock: The session's clock, if it has one: the attempts then report when bytes last moved.
    public init(clock: TestClock? = nil) { self.clock = clock }

    /// Starts an attempt, which waits for the test.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let attempt = ScriptedAttempt(request, events: events, clock: clock)
        record.update { $0.attempts.append(attempt) }
        return attempt
    }

    /// The attempts that were started, in order.
    public var attempts: [ScriptedAttempt] { record.value.attempts }

    /// Returns the next attempt in the order of their start, as soon as it is started.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func nextAttempt() async throws -> ScriptedAttempt {
        let index = record.update { record in
            defer { record.handedOut += 1 }
            return record.handedOut
        }
        try await record.wait { $0.attempts.count > index }
        return record.value.attempts[index]
    }
}
