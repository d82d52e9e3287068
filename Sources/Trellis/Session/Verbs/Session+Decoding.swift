public import FoundationEssentials
public import HTTPTypes

/// Verbs that read the answer as something. They check status and content type first: see <doc:Validation>.
extension Session {
    /// Sends a request and decodes its answer.
    ///
    /// ```swift
    /// let user = try await session.decode(User.self, from: "https://api.example.com/users/1")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value. One that is an ``EmptyResponse``, such as an optional, may be made of nothing.
    ///   - request: The request.
    ///   - decoder: What decodes: a `JSONDecoder` unless given.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            request.adjusted(headers, timeouts, interceptor),
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation()))
    }

    /// Sends a request and decodes its answer, or the error of the server's own making where the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        let serializer = DecodableResponseSerializer(type, decoder: decoder)
        return try await read(
            request.adjusted(headers, timeouts, interceptor),
            Reading(
                serializer: serializer, validation: Validation(),
                errorReader: Reading<DecodableResponseSerializer<Value>>.errorReader(errorType, decoder)))
    }

    /// Sends a request and reads its answer as text.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await read(
            request.adjusted(headers, timeouts, interceptor),
            Reading(serializer: StringResponseSerializer(encoding: encoding), validation: Validation()))
    }

    private func read<Serializer>(
        _ request: some RequestConvertible, _ reading: Reading<Serializer>
    ) async throws -> Serializer.Value {
        try await readOnPool(engine) {
            try await answer(request, reading.conditions)
        } _: {
            try await reading.value(of: $0)
        }
    }
}
