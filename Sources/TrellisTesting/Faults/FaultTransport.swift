import CurlEngine
@_spi(Transport) public import TrellisCore

/// A transport that plays planned faults in front of another transport, such as a ``MockTransport``.
///
/// ```swift
/// let mock = MockTransport { _ in .text("hello") }
/// let transport = FaultTransport(wrapping: mock, faults: [.first(1, .reset(after: 2))])
/// let session = Session(transport: transport)
/// ```
///
/// A request whose exchange fails before its response does not reach the other transport, as it would not reach the code of a server.
/// Every attempt of a request makes a connection, so that no attempt finds a connection of an earlier one.
///
/// With a ``TestClock``, which should be the session's too, latencies and drips last until the test moves the clock:
///
/// ```swift
/// let clock = TestClock()
/// let transport = FaultTransport(wrapping: mock, faults: [.always(.latency(.seconds(9), .responseHead))], clock: clock)
/// let session = Session(transport: transport, clock: clock)
/// let call = Task { try await session.string("http://example.com/") }
/// try await transport.waitUntilFaults(count: 1)
/// await clock.advance(by: .seconds(9))
/// ```
///
/// The expectations of the other transport stay the test's: at its end, ``withTransport(_:_:)-(Transport,_)`` and the traits of
/// `TrellisTestTraits` ask for its problems, such as the routes of a ``MockRouter`` that were not requested.
public final class FaultTransport: TestTransport {
    fileprivate let transport: any Transport
    private let schedule: FaultSchedule
    private let asked = Locked<[String]>([])

    /// The maximum number of requests that are kept for messages.
    private static let keptNames = 9

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - transport: The transport that carries the requests. An attempt that waits before it is connected is started from another thread
    ///     than the session's.
    ///   - faults: The faults. The predicates of their rules run on the session's thread, and must return at once.
    ///   - clock: The clock of latencies and drips; `nil`, the default, for real time.
    public init(wrapping transport: any Transport, faults: FaultPlan, clock: TestClock? = nil) {
        self.transport = transport
        schedule = FaultSchedule(faults, clock: clock)
    }

    /// The value of the other transport.
    @_spi(Transport) public var makesConnections: Bool { transport.makesConnections }

    /// Starts an attempt, with the faults that the plan has for it.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        guard !schedule.isEmpty else { return transport.start(request, events: events) }
        asked.withLock { asked in
            if asked.count < Self.keptNames { asked.append("\(request.method.rawValue) \(request.redactedURL)") }
        }
        let faults = schedule.next(nil, FaultedRequest(request))
        guard !faults.isEmpty else { return transport.start(request, events: events) }
        let attempt = FaultAttempt(request, faults: faults, events: events, transport, schedule: schedule)
        attempt.begin()
        return attempt
    }

    /// The first requests, for messages: methods and URLs without secrets.
    var requestNames: [String] { asked.withLock { $0 } }

    /// The faults that have begun, in order.
    public var faults: [Fault] { schedule.begun.value }

    /// Ends the use of the other transport, and returns its problems, if it is a ``TestTransport``.
    ///
    /// - Throws: The other transport's error.
    public func finish(hasFailed: Bool) async throws -> [TestProblem] {
        guard let test = transport as? any TestTransport else { return [] }
        return try await test.finish(hasFailed: hasFailed)
    }

    /// Waits until `count` faults, counted from the start, have begun. A latency that has begun ends when its time is over, counted from
    /// that moment.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilFaults(count: Int) async throws { try await schedule.begun.wait { $0.count >= count } }
}

extension Transport {
    /// The innermost transport: without the ``FaultTransport``s around it.
    var innermost: any Transport { (self as? FaultTransport)?.transport.innermost ?? self }
}
