package import CurlEngine
import Synchronization

/// An observer of the exchanges of a session's calls, inside of all steps: it gets each request that is sent, may add fields to
/// it, and gets the outcome. Responses of a cache, and requests that a limit refuses, are no exchanges.
///
/// Its functions do not wait. They are called in the task of the call, with the task-local values of the caller (of the first one, if
/// several calls share an exchange), and never on the session's thread.
package protocol ExchangeObserver: AnyObject, Sendable {
    /// The observer of the connections of each session that has this observer; `nil` if connections are not observed.
    var connectionObserver: (any ConnectionObserver)? { get }
    /// Begins the observation of an exchange. Returns the request to send, and the observation; `nil` if the exchange is not observed.
    func begin(_ request: Request, context: CallContext) -> (Request, (any ExchangeObservation)?)
    /// Handles the decision to make another attempt after a failed one.
    ///
    /// - Parameter delay: The time until the attempt begins.
    func willRetry(_ attempt: FailedAttempt, after delay: Duration, context: CallContext)
    /// Handles the change of the circuit of a host.
    ///
    /// - Parameter duration: The time for which the circuit is open; `nil` if it was closed.
    func didChangeCircuit(of host: String, openFor duration: Duration?, context: CallContext)
    /// Handles the use of the cache by a request.
    func didUseCache(_ status: CacheStatus, for request: Request, context: CallContext)
}

/// The observation of one exchange. It ends once.
package protocol ExchangeObservation: Sendable {
    /// Ends the observation with a response; with its head if the body is streamed.
    func end(with response: Response, isStreamed: Bool)
    /// Ends the observation with the error of the exchange.
    func end(with error: any Error)
    /// Handles the end of a streamed body, complete or not, after the end of the observation. Called on the pool; not called for a
    /// connection on which the protocols were switched.
    func endBody(with metrics: Metrics)
}

extension CallContext {
    /// Counts an exchange of the call. Returns the number of exchanges that were counted before, of all attempts and hops.
    package func countExchange() -> Int { call.exchangeCount.add(1, ordering: .relaxed).oldValue }

    /// The observer of the exchanges of the call: its request's, or else its session's.
    package var exchangeObserver: (any ExchangeObserver)? { call.exchangeObserver }

    /// The time since the call was made, in nanoseconds: ``elapsed`` without the arithmetic of 128 bits.
    package var elapsedNanoseconds: Int64 { call.clock.now().nanoseconds(since: call.beginning) }
}
