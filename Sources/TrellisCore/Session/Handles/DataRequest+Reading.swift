public import FoundationEssentials

/// The forms in which the response is read. Each method sends the request if it has not been sent; all methods read the same
/// response, which can be read any number of times, in any number of forms.
///
/// All methods throw ``TrellisError`` if no response is received, and `CancellationError` in a cancelled task. A task that is cancelled
/// leaves the response to the other readers; with the last of them the request ends. The checks before each reading are in
/// <doc:Responses>.
extension DataRequest {
    /// Returns the body. Any status is a response, not an error, unless the request was told to validate. `response(of: .data)` returns the
    /// head too.
    ///
    /// - Throws: ``TrellisError``; an error that a validator throws; `CancellationError` in a cancelled task.
    public func data() async throws -> Data { try await validated().body ?? Data() }

    /// Returns the body as text.
    ///
    /// - Parameter encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    /// - Throws: As ``serialize(with:)``.
    public func string(encoding: String.Encoding? = nil) async throws -> String {
        try await serialize(with: StringResponseSerializer(encoding: encoding))
    }

    /// Returns the body as a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value. An ``EmptyResponse``, such as an optional, may be made of an empty body.
    ///   - decoder: The decoder of the body; a `JSONDecoder` unless given.
    /// - Throws: As ``serialize(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: some DataDecoder = .json
    ) async throws -> Value {
        try await serialize(with: DecodableResponseSerializer(type, decoder: decoder))
    }

    /// Returns the body as a value, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    /// - Throws: ``ErrorResponse`` of `errorType`. Everything else is as in ``serialize(with:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, orError errorType: Failure.Type, decoder: some DataDecoder = .json
    ) async throws -> Value {
        try await read(Reading(type, orError: errorType, decoder, validation: validation)) {
            try await $0.value(of: $1)
        }
    }

    /// Returns the value that a serializer makes of the response.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``, ``TrellisError/Kind/unacceptableContentType``
    ///   or ``TrellisError/Kind/serialization``, and of other kinds if no response is received; an error that a validator or serializer
    ///   of your own throws; `CancellationError` in a cancelled task.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Value {
        try await read(Reading(serializer: serializer, validation: validation)) { try await $0.value(of: $1) }
    }

    /// Returns the body as a value, together with the request, the response and its bytes.
    ///
    /// - Throws: As ``serialize(with:)``.
    public func response<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: some DataDecoder = .json
    ) async throws -> DataResponse<Value> {
        try await response(of: DecodableResponseSerializer(type, decoder: decoder))
    }

    /// Returns the value that a serializer makes of the response, together with the request, the response and its bytes:
    /// `response(of: .string)`.
    ///
    /// - Throws: As ``serialize(with:)``.
    public func response<Serializer: ResponseSerializer>(
        of serializer: Serializer
    ) async throws -> DataResponse<Serializer.Value> {
        try await read(Reading(serializer: serializer, validation: validation)) { try await $0.dataResponse(of: $1) }
    }

    /// Returns the body as a value, together with the request, the response and its bytes, or throws the body as the server's own error
    /// type if the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    /// - Throws: As ``decode(_:orError:decoder:)``.
    public func response<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        of type: Value.Type, orError errorType: Failure.Type, decoder: some DataDecoder = .json
    ) async throws -> DataResponse<Value> {
        try await read(Reading(type, orError: errorType, decoder, validation: validation)) {
            try await $0.dataResponse(of: $1)
        }
    }

    /// Waits for the response, and reads it on the cooperative pool.
    private func read<Serializer, Value: Sendable>(
        _ reading: Reading<Serializer>,
        with body: @escaping @Sendable (Reading<Serializer>, Answer) async throws -> Value
    ) async throws -> Value {
        try await readOnPool({ try await handle.answer(reading.conditions) }) { try await body(reading, $0) }
    }

    private func validated() async throws -> Answer {
        guard let conditions = ReadingConditions.of(validation, withDefaults: false) else {
            // Bytes are returned on the thread on which they arrive: nothing is computed.
            let answer = try await handle.answer(nil)
            try answer.requireWholeBody()
            return answer
        }
        return try await readOnPool({ try await handle.answer(conditions) }) { answer in
            try await conditions.check(answer)
            try answer.requireWholeBody()
            return answer
        }
    }
}
