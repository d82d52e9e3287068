import CurlEngine
@_spi(Transport) public import TrellisCore

/// A transport that sends nothing: each request fails with an error that names its URL, and is a problem of the test.
public final class NoNetworkTransport: TestTransport {
    private let problems = Locked<[TestProblem]>([])

    /// Creates a transport.
    public init() {}

    /// `false`: the session asks no resolver and reads no certificates.
    @_spi(Transport) public var makesConnections: Bool { false }

    /// Ends an attempt with a failure.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let text = "the test has no network, and \(request.method.rawValue) \(request.redactedURL) was not sent"
        problems.withLock { $0.append(TestProblem(text)) }
        events.transportDidEnd(TransportEnd(failure: TransportFailure(.other(text))))
        return EndedTask.shared
    }

    /// Returns a problem for each request, in order.
    public func finish(hasFailed: Bool) -> [TestProblem] { problems.withLock { $0 } }
}
