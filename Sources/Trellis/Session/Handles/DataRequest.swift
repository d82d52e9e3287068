import CurlEngine
import FoundationEssentials

/// A handle on one request whose answer is collected in memory.
///
/// It starts when its answer is asked for, in whatever form, or ``resume()`` is called, and is sent once however often it is
/// read. Copies, and what ``validate()`` and its like return, are handles on the same request; when the last of them goes,
/// the request ends.
///
/// ```swift
/// let user = try await session.request("https://api.example.com/users/1").validate().decode(User.self)
/// ```
public struct DataRequest: Sendable {
    let owner: RequestOwner
    /// What this handle wants checked.
    let validation: Validation

    init(_ call: Result<RequestActor, any Error>, session: Session) {
        self.init(RequestOwner(call, session: session), Validation())
    }

    init(_ owner: RequestOwner, _ validation: Validation) {
        self.owner = owner
        self.validation = validation
    }

    /// The request as it is sent, with its session's defaults.
    ///
    /// - Throws: Why it cannot be sent: ``TrellisError``, or what its own making threw.
    public var request: Request {
        get throws { try owner.request() }
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of its events, and ``Response/callID``; `nil` where the request
    /// could not be made.
    public var callID: UInt64? { try? owner.call.get().call.id }

    /// The exchanges of the request that have ended, in their order: each attempt and each redirect is one.
    public var exchanges: [RequestExchange] {
        (try? owner.call.get())?.call.record.withLock { $0.exchanges } ?? []
    }

    /// The number of attempts after the first one.
    public var retryCount: Int { max((exchanges.last?.attempt ?? 1) - 1, 0) }

    /// The state of the request at this moment.
    public var state: RequestState {
        get async {
            guard case .success(let call) = owner.call else { return .finished }
            return await call.currentState
        }
    }

    /// Starts the request, or lets it go on.
    public func resume() { try? owner.call.get().resume(.of(validation, withDefaults: false)) }

    /// Holds the request up: a request that waits leaves the queue, one in flight stops its traffic. Time limits but
    /// ``Timeouts/idle`` and ``Timeouts/responseHead`` go on.
    public func suspend() { try? owner.call.get().suspend() }

    /// Ends the request; whoever reads it gets an error of kind ``TrellisError/Kind/cancelled``. Nothing happens if it has
    /// ended already.
    public func cancel() { try? owner.call.get().end(TrellisError(.cancelled(.explicitly))) }
}

extension DataRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method, the URL without its secrets, and the number of the call: `GET https://example.com/ (call 7)`.
    public var description: String { owner.description }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
