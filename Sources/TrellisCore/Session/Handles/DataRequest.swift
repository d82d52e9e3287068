import CurlEngine
import FoundationEssentials

/// A handle on one request whose response is collected in memory.
///
/// The request starts when its response, in any form, or the first value of its progress is asked for, or when ``resume()`` is called,
/// and is sent once however often the response is read. Copies, and the results of ``validate()`` and its like, are handles on
/// the same request; the request ends when the last handle is released.
///
/// ```swift
/// let user = try await session.request("https://api.example.com/users/1").validate().decode(User.self)
/// ```
public struct DataRequest: Sendable {
    let handle: RequestHandle
    /// The conditions that this handle has of the response.
    let validation: Validation

    init(_ call: Result<RequestActor, any Error>, session: Session) {
        self.init(RequestHandle(call, session: session), Validation())
    }

    init(_ handle: RequestHandle, _ validation: Validation) {
        self.handle = handle
        self.validation = validation
    }

    /// The request as it is sent, with its session's defaults.
    ///
    /// - Throws: The reason why the request cannot be sent: ``TrellisError``, or the error that its conversion threw.
    public var request: Request {
        get throws { try handle.request() }
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of its events, and ``Response/callID``; `nil` if the request
    /// could not be made.
    public var callID: UInt64? { handle.callID }

    /// The exchanges of the request that have ended, in their order: each attempt and each redirect is one. A request with more than
    /// 1,000 shows the last ones.
    public var exchanges: [RequestExchange] { handle.exchanges }

    /// The number of attempts after the first one.
    public var retryCount: Int { handle.retryCount }

    /// The state of the request at this moment.
    public var state: RequestState {
        get async { await handle.state }
    }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() { try? handle.actor.get().resume(.of(validation, withDefaults: false)) }

    /// Suspends the request: a request that waits leaves the queue, a request in flight stops its traffic. The time limits continue,
    /// except ``Timeouts/idle`` and ``Timeouts/responseHead``.
    public func suspend() { try? handle.actor.get().suspend() }

    /// Cancels the request; its readers get an error of kind ``TrellisError/Kind/cancelled``. Does nothing if the request has
    /// ended already.
    public func cancel() { try? handle.actor.get().end(TrellisError(.cancelled(.explicitly))) }
}

extension DataRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method, the URL without its secrets, and the number of the call: `GET https://example.com/ (call 7)`.
    public var description: String { handle.description }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
