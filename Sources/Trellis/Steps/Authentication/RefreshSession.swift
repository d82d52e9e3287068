public import FoundationEssentials

/// The session of the call that began a refresh, as ``Authenticator/refresh(_:using:)`` uses it: a sender of requests that cannot
/// wait for the refresh that sends them.
///
/// The requests share the session's connections, defaults, cookies, redirects, limits, steps around each hop and observers. The
/// session's steps around the call, adapters, retriers and hedging are left out, so that the requests carry no credential and
/// wait for none. A request's own steps (``Request/steps``) run.
///
/// The requests belong to the calls that wait for the refresh: they go out while the session drains
/// (``Session/shutdown(drainingFor:)``), until the drain is over.
public struct RefreshSession: Sendable {
    private let send: @Sendable (Request) async throws -> Answer

    /// Creates a session of a closure, for tests of authenticators.
    ///
    /// - Parameter respond: Returns the body and the response to a request. Its errors reach the authenticator unchanged.
    public init(_ respond: @escaping @Sendable (Request) async throws -> (Data, Response)) {
        send = { request in
            let (data, response) = try await respond(request)
            return Answer(request: request, response: response, body: data)
        }
    }

    /// Creates the session of a call.
    init(of call: Call) {
        let sender = call.sender
        send = { request in
            guard let sender else { throw TrellisError(.cancelled(.sessionShutDown)) }
            return try await sender.answer(inFlight: request)
        }
    }

    /// Sends a request and collects the response in memory. Any status is a response.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/cancelled`` after the end of the session; the error of the request's
    ///   conversion; `CancellationError` in a cancelled task, such as that of a refresh that took too long.
    public func data(_ request: some RequestConvertible) async throws -> (Data, Response) {
        try await send(request.asRequest()).pair
    }

    /// Sends a request and decodes the response, after a check of its status and content type: see <doc:Validation>.
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
