import CurlEngine
public import FoundationEssentials

/// The session of the call that began a refresh, as ``Authenticator/refresh(_:using:)`` uses it: a sender of requests that cannot
/// wait for the refresh that sends them.
///
/// The requests share the session's connections, defaults, cookies, redirects, limits, network steps and observers. The
/// session's application steps, adapters, retriers and hedging are left out, so that no adapter or interceptor adds a
/// credential to the requests, and they wait for none. Credentials of other kinds are sent: the session's default fields, its
/// cookies, and those that a network step adds. A request's own steps (``Request/steps``) run.
///
/// The requests belong to the calls that wait for the refresh: they go out while the session drains
/// (``Session/shutdown(drainingFor:)``), until the drain is over.
public struct RefreshSession: Sendable {
    private let send: @Sendable (Request) async throws -> Answer
    /// Waits on the clock of the session.
    private let pause: @Sendable (Duration) async throws -> Void
    /// The mark of a session that was shut down before a request of the refresh was answered.
    private let end: End

    /// Creates a session of a closure, for tests of authenticators.
    ///
    /// - Parameter respond: Returns the body and the response to a request. Its errors reach the authenticator unchanged.
    public init(_ respond: @escaping @Sendable (Request) async throws -> (Data, Response)) {
        end = End(of: nil)
        pause = { try await Task.sleep(for: $0) }
        send = { request in
            let (data, response) = try await respond(request)
            return Answer(request: request, response: response, body: data)
        }
    }

    /// Creates the session of a call.
    init(of call: Call) {
        let sender = call.sender
        let end = End(of: sender.map { ObjectIdentifier($0) })
        self.end = end
        pause = { duration in
            guard let sender, try await sender.freeEngine.delay(for: duration) else {
                end.isReached.withLock { $0 = true }
                throw TrellisError(.cancelled(.sessionShutDown))
            }
        }
        send = { request in
            guard let sender else { throw TrellisError(.cancelled(.sessionShutDown)) }
            do {
                return try await sender.answer(inFlight: request)
            } catch let error as TrellisError where error.reason == .cancelled(.sessionShutDown) {
                end.isReached.withLock { $0 = true }
                throw error
            }
        }
    }

    /// The identity of the session, if it was shut down before a request of the refresh was answered; `nil` otherwise.
    var endedSession: ObjectIdentifier? { end.isReached.withLock { $0 } ? end.session : nil }

    /// The end of a session, as the requests of a refresh observe it.
    private final class End: Sendable {
        let session: ObjectIdentifier?
        let isReached = Locked(false)

        init(of session: ObjectIdentifier?) { self.session = session }
    }

    /// Sends a request and collects the response in memory. Any status is a response.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/cancelled`` after the session was shut down; the error of the
    ///   request's conversion; `CancellationError` in a cancelled task, such as a refresh that took too long.
    public func data(_ request: some RequestConvertible) async throws -> (Data, Response) {
        try await send(request.asRequest()).pair
    }

    /// Waits on the clock of the session, such as before the next question to a server that is not ready; a test's clock stands still until
    /// the test advances it.
    ///
    /// - Throws: `CancellationError` in a cancelled task, such as a refresh that took too long; ``TrellisError`` of kind
    ///   ``TrellisError/Kind/cancelled`` after the session was shut down.
    public func wait(for duration: Duration) async throws {
        try Task.checkCancellation()
        if duration > .zero { try await pause(duration) }
    }

    /// Sends a request and decodes the response, after a check of its status and content type: see <doc:Responses>.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request.
    ///   - decoder: The decoder, a `JSONDecoder` by default.
    /// - Throws: As ``data(_:)``; ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``,
    ///   ``TrellisError/Kind/unacceptableContentType`` or ``TrellisError/Kind/serialization``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json
    ) async throws -> Value {
        let reading = Reading(
            serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation())
        return try await reading.value(of: send(request.asRequest()))
    }
}
