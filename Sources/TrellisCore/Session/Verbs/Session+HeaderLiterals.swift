public import FoundationEssentials

/// The verbs and handles with their fields by text or as a list: `headers: ["X-Trace": "1"]`, see ``HeaderLiteral``. Everything else is as
/// in the method of the same name that takes `HTTPFields`.
extension Session {
    /// Sends a request and collects the response in memory.
    ///
    /// - Throws: As ``data(_:query:headers:timeout:timeouts:interceptor:)-(_,_,HTTPFields,_,_,_)``.
    @_disfavoredOverload
    public func data(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await answer(
            request.asRequest().adjusted(
                query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        ).pair
    }

    /// Sends a request and decodes its response.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await decode(
            type, from: request, decoder: decoder, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request and decodes its response, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    @_disfavoredOverload
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await decode(
            type, from: request, orError: errorType, decoder: decoder, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request, decodes its response, and returns the value with the head.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:], headers: HeaderLiteral, timeout: Duration? = nil,
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await response(
            type, from: request, decoder: decoder, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request, decodes its response, and returns the value with the head, or throws the body as the server's own error type if
    /// the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await response(
            type, from: request, orError: errorType, decoder: decoder, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request and reads its response as text.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await string(
            request, encoding: encoding, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request and waits until the head of the response has been received.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    @_disfavoredOverload
    public func stream(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> StreamResponse {
        try await open(
            request.asRequest().adjusted(
                query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor))
    }

    /// Sends a request and passes the head and the body of its response to `handle`.
    ///
    /// - Throws: An error that `handle` throws; ``TrellisError``; `CancellationError` in a cancelled task.
    @_disfavoredOverload
    public func withResponse<Value>(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, _ handle: (Response, ResponseBody) async throws -> Value
    ) async throws -> Value {
        try await withResponse(
            to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, handle)
    }

    /// Returns the pages of a list, each decoded.
    @_disfavoredOverload
    public func pages<Value: Decodable & Sendable>(
        of type: Value.Type, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        maximumPages: Int = 1_000, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> PageSequence<Value> {
        pages(
            of: type, from: request, decoder: decoder, maximumPages: maximumPages, query: query,
            headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a request that has not started yet.
    @_disfavoredOverload
    public func request(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        self.request(
            request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request whose response is read as a stream.
    @_disfavoredOverload
    public func streamRequest(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> StreamRequest {
        streamRequest(
            request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }
}
