public import HTTPTypes

/// Verbs that read the response as a value, and return it with the head. They check status and content type first, as
/// ``decode(_:from:decoder:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)`` does.
extension Session {
    /// Sends a request, decodes its response, and returns the value with the request, the head and the bytes.
    ///
    /// ```swift
    /// let page = try await session.response([User].self, from: "https://api.example.com/users")
    /// print(page.value.count, page.headers["X-Total-Count"] ?? "?")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value. An ``EmptyResponse``, such as an optional, may be made of an empty body.
    ///   - request: The request.
    ///   - decoder: The decoder of the body; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value, with the response's head, its body and its metrics.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func response<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation())
        ) { try await $0.dataResponse(of: $1) }
    }

    /// Sends a request, decodes its response, and returns the value with the head, or throws the body as the server's own error type if
    /// the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value, with the response's head, its body and its metrics.
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func response<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(type, orError: errorType, decoder, validation: Validation())
        ) { try await $0.dataResponse(of: $1) }
    }
}
