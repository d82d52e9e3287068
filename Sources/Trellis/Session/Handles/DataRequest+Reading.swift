public import FoundationEssentials

/// The forms in which an answer is read. All of them send the request if it has not been sent, and read the same answer: ask
/// as often, and in as many forms, as you like.
///
/// All throw ``TrellisError`` where no answer comes, and `CancellationError` in a cancelled task. A task that is cancelled leaves
/// the answer to the other readers; with the last of them the request ends. What they check before they read is in
/// <doc:Validation>.
extension DataRequest {
    /// The body and the response. Any status is an answer, unless the request was told to validate.
    ///
    /// - Throws: ``TrellisError``, what a validator throws; `CancellationError` in a cancelled task.
    public func data() async throws -> (Data, Response) {
        let answer = try await validated()
        return (answer.body ?? Data(), answer.response)
    }

    /// The body. Any status is an answer, unless the request was told to validate.
    ///
    /// - Throws: As ``data()``.
    public func bytes() async throws -> Data { try await validated().body ?? Data() }

    /// The body as text.
    ///
    /// - Parameter encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    /// - Throws: As ``serializing(with:)``.
    public func string(encoding: String.Encoding? = nil) async throws -> String {
        try await serialize(with: StringResponseSerializer(encoding: encoding))
    }

    /// The body as a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value. One that is an ``EmptyResponse``, such as an optional, may be made of nothing.
    ///   - decoder: What decodes: a `JSONDecoder` unless given.
    /// - Throws: As ``serializing(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: some DataDecoder = .json
    ) async throws -> Value {
        try await serialize(with: DecodableResponseSerializer(type, decoder: decoder))
    }

    /// The body as a value, or as an error of the server's own making where the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - errorType: What the server sends with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: What decodes both: a `JSONDecoder` unless given.
    /// - Throws: ``ErrorResponse`` of `errorType`; otherwise as ``serializing(with:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, orError errorType: Failure.Type, decoder: some DataDecoder = .json
    ) async throws -> Value {
        try await value(
            Reading(
                serializer: DecodableResponseSerializer(type, decoder: decoder), validation: validation,
                errorReader: Reading<DecodableResponseSerializer<Value>>.errorReader(errorType, decoder)))
    }

    /// What a serializer makes of the answer.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``,
    ///   ``TrellisError/Kind/unacceptableContentType`` or ``TrellisError/Kind/serialization``, and of others where no answer
    ///   comes; what a validator or serializer of your own throws; `CancellationError` in a cancelled task.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Value {
        try await value(Reading(serializer: serializer, validation: validation))
    }

    /// The body as a value, with all that belongs to it.
    ///
    /// - Throws: As ``serializing(with:)``.
    public func response<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: some DataDecoder = .json
    ) async throws -> DataResponse<Value> {
        try await response(of: DecodableResponseSerializer(type, decoder: decoder))
    }

    /// What a serializer makes of the answer, with all that belongs to it: `response(of: .string)`.
    ///
    /// - Throws: As ``serializing(with:)``.
    public func response<Serializer: ResponseSerializer>(
        of serializer: Serializer
    ) async throws -> DataResponse<Serializer.Value> {
        let reading = Reading(serializer: serializer, validation: validation)
        return try await onPool(reading.conditions) { try await reading.dataResponse(of: $0) }
    }

    private func value<Serializer>(_ reading: Reading<Serializer>) async throws -> Serializer.Value {
        try await onPool(reading.conditions) { try await reading.value(of: $0) }
    }

    private func validated() async throws -> Answer {
        guard let conditions = ReadingConditions.of(validation, withDefaults: false) else {
            // Bytes are handed over where they arrive: nothing is computed.
            let answer = try await owner.answer(nil)
            try answer.requireWholeBody()
            return answer
        }
        return try await onPool(conditions) { answer in
            try await conditions.check(answer)
            try answer.requireWholeBody()
            return answer
        }
    }

    private func onPool<Value: Sendable>(
        _ conditions: ReadingConditions?, _ body: @escaping @Sendable (Answer) async throws -> Value
    ) async throws -> Value {
        let engine = try owner.call.get().executor
        return try await readOnPool(engine, { try await self.owner.answer(conditions) }, body)
    }
}
