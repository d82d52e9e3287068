public import FoundationEssentials
public import HTTPTypes

/// Verbs that send a request and read the response as a value. They check status and content type first: see <doc:Validation>.
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
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            { try request.asRequest().adjusted(query, headers, timeout, timeouts, interceptor) },
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation()))
    }

    /// Sends a request and decodes its response, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        let serializer = DecodableResponseSerializer(type, decoder: decoder)
        return try await read(
            { try request.asRequest().adjusted(query, headers, timeout, timeouts, interceptor) },
            Reading(
                serializer: serializer, validation: Validation(),
                errorReader: Reading<DecodableResponseSerializer<Value>>.errorReader(errorType, decoder)))
    }

    /// Sends a request and reads its response as text.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await read(
            { try request.asRequest().adjusted(query, headers, timeout, timeouts, interceptor) },
            Reading(serializer: StringResponseSerializer(encoding: encoding), validation: Validation()))
    }

    private func read<Serializer>(
        _ make: () throws -> Request, _ reading: Reading<Serializer>
    ) async throws -> Serializer.Value {
        let request = Result { try make() }
        return try await readOnPool {
            try await answer(request.get(), reading.conditions)
        } _: {
            try await reading.value(of: $0)
        }
    }
}
