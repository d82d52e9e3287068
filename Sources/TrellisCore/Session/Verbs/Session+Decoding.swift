public import FoundationEssentials
public import HTTPTypes

/// Verbs that send a request and read the response as a value. They check status and content type first: see <doc:Responses>.
extension Session {
    /// Sends a request and decodes its response.
    ///
    /// ```swift
    /// let user = try await session.decode(User.self, from: "https://api.example.com/users/1")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value. An ``EmptyResponse``, such as an optional, may be made of an empty body.
    ///   - request: The request.
    ///   - decoder: The decoder of the body; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value. For the head too, use
    ///   ``response(_:from:decoder:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)``.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request and decodes its response, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value.
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(type, orError: errorType, decoder, validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request and reads its response as text.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The text, empty if there is no body.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: StringResponseSerializer(encoding: encoding), validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request, and reads its response on the cooperative pool.
    func read<Serializer, Value: Sendable>(
        _ request: Request, _ reading: Reading<Serializer>,
        with body: @escaping @Sendable (Reading<Serializer>, Answer) async throws -> Value
    ) async throws -> Value {
        try await readOnPool({ try await answer(request, reading.conditions) }) { try await body(reading, $0) }
    }
}
