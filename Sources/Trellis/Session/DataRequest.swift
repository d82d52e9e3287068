import CurlEngine
public import FoundationEssentials

/// A handle on one request whose answer is collected in memory.
///
/// It starts when ``response()`` is awaited or ``resume()`` is called. Dropping the handle ends the request.
public final class DataRequest: Sendable {
    private let request: Result<RequestActor, any Error>
    private let session: Session

    init(_ request: Result<RequestActor, any Error>, session: Session) {
        self.request = request
        self.session = session
    }

    deinit {
        if case .success(let request) = request { request.enter { $0.cancel(CancellationError()) } }
    }

    /// The state of the request at this moment.
    public var state: RequestPhase {
        get async {
            guard case .success(let request) = request else { return .finished }
            return await request.visiblePhase
        }
    }

    /// Starts the request, or lets it go on.
    public func resume() {
        guard case .success(let request) = request else { return }
        request.enter { $0.resume() }
    }

    /// Holds the request up: a request that waits leaves the queue, one in flight stops its traffic. Time limits but
    /// ``Timeouts/idle`` and ``Timeouts/responseHead`` go on.
    public func suspend() {
        guard case .success(let request) = request else { return }
        request.enter { $0.suspend() }
    }

    /// Ends the request; ``response()`` throws an error of kind ``TrellisError/Kind/cancelled``. Nothing happens if it has
    /// ended already.
    public func cancel() {
        guard case .success(let request) = request else { return }
        request.enter { $0.cancel(TrellisError(.cancelled(.explicitly))) }
    }

    /// The answer. Ask as often as you like: the request is sent once.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, which ends the request.
    public func response() async throws -> (Data, Response) {
        try await request.get().collected()
    }
}

extension RequestActor {
    fileprivate var visiblePhase: RequestPhase {
        switch state.phase {
        case .initialized: .initialized
        case .resumed: .resumed
        case .suspended: .suspended
        case .cancelled: .cancelled
        case .finished: .finished
        }
    }
}
