import CurlEngine
public import FoundationEssentials

/// A handle on one request whose response is collected in memory.
///
/// The request starts when its response, in any form, or the first value of its progress is asked for, or when ``resume()`` is called,
/// and is sent once however often the response is read. Copies, and the results of ``validate()`` and its like, are handles on
/// the same request; the request ends when the last handle is released.
///
/// ```swift
/// let user = try await session.request("https://api.example.com/users/1").validate().decode(User.self)
/// ```
public struct DataRequest: Sendable {
    let handle: RequestHandle
    /// The conditions that this handle has of the response.
    let validation: Validation

    init(_ call: Result<RequestActor, any Error>, session: Session) {
        self.init(RequestHandle(call, session: session), Validation())
    }

    init(_ handle: RequestHandle, _ validation: Validation) {
        self.handle = handle
        self.validation = validation
    }

    /// The request as it is sent, with its session's defaults.
    ///
    /// Each access prepares the request anew, on the calling thread: the sizes of the body's files are looked up, and a body whose
    /// compression is asked for is compressed. Keep the result if you need it again.
    ///
    /// - Throws: The reason why the request cannot be sent: ``TrellisError``, or the error that its conversion threw.
    public var request: Request {
        get throws { try handle.request() }
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of its events, and ``Response/callID``; `nil` if the request
    /// could not be made.
    public var callID: UInt64? { handle.callID }

    /// The exchanges of the request that have ended, in their order: each attempt and each redirect is one. A request with more than
    /// 1,000 shows the last ones.
    public var exchanges: [RequestExchange] { handle.exchanges }

    /// The number of attempts after the first one.
    public var retryCount: Int { handle.retryCount }

    /// The state of the request at this moment.
    public var state: RequestState {
        get async { await handle.state }
    }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() { try? handle.actor.get().resume(.of(validation, withDefaults: false)) }

    /// Suspends the request: a request that waits leaves the queue, a request in flight stops its traffic. The time limits continue,
    /// except ``Timeouts/idle`` and ``Timeouts/responseHead``.
    public func suspend() { try? handle.actor.get().suspend() }

    /// Cancels the request; its readers get an error of kind ``TrellisError/Kind/cancelled``. Does nothing if the request has
    /// ended already.
    public func cancel() { try? handle.actor.get().end(TrellisError(.cancelled(.explicitly))) }
}

extension DataRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method, the URL without its secrets, and the number of the call: `GET https://example.com/ (call 7)`.
    public var description: String { handle.description }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

/// Conditions that the response has to meet. Each method returns a handle on the same request with one more condition; conditions are
/// checked in their order, and the first failure wins. <doc:Responses> lists the methods that validate the response even if no
/// condition was added.
extension DataRequest {
    /// Requires a status of 200 to 299, and then a content type that the request's `Accept` includes.
    public func validate() -> DataRequest { validate(.successfulStatus).validate(.acceptedContentType) }

    /// Requires a status in a range, such as `..<400`.
    public func validate(statusCode range: some RangeExpression<Int>) -> DataRequest {
        validate(.statusCode(range))
    }

    /// Requires a status in a range, such as `200..<300` or `500...`.
    public func validate(statusCode range: some RangeExpression<Int> & Sequence<Int>) -> DataRequest {
        validate(.statusCode(range))
    }

    /// Requires one of several statuses, such as `[200, 404]`.
    public func validate(statusCode codes: some Sequence<Int>) -> DataRequest { validate(.statusCode(codes)) }

    /// Requires one of several content types, such as `application/json` or `image/*`: see ``Validator/contentType(_:)``.
    public func validate(contentType types: some Sequence<String>) -> DataRequest { validate(.contentType(types)) }

    /// Requires the condition of a closure, which gets the request, the response and the body. An error that the closure throws is
    /// the reader's.
    ///
    /// ```swift
    /// .validate { _, _, body in if body?.first != UInt8(ascii: "{") { throw NoObject() } }
    /// ```
    public func validate(_ check: @escaping Validator.Check) -> DataRequest { validate(Validator(check)) }

    /// Requires the condition of a validator.
    public func validate(_ validator: Validator) -> DataRequest { DataRequest(handle, validation.adding(validator)) }

    /// Removes all conditions so far, the default conditions of a reading included: any response is accepted. Conditions that are
    /// added later apply.
    public func withoutValidation() -> DataRequest { DataRequest(handle, .off) }
}

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

/// Awaits a response and reads it on the cooperative pool.
///
/// Validators and serializers are called on the pool, never on the caller's actor, in particular not on the main actor, and never on an
/// engine thread. The cost depends on the caller:
///
/// - a caller on the pool has no cost: `@concurrent` changes nothing, the arrival of the response resumes the task on the pool, and the
///   response is decoded there;
/// - a caller on an actor has no additional cost: the task leaves the actor before the request instead of after it;
/// - a task that prefers an engine's executor leaves the engine thread once and returns once, so that other requests are not delayed.
@concurrent
func readOnPool<Value: Sendable>(
    _ answer: @Sendable () async throws -> Answer, _ body: @escaping @Sendable (Answer) async throws -> Value
) async throws -> Value {
    let answer = try await answer()
    guard CallingThread.isEngine else { return try await body(answer) }
    // A child task can prefer another executor. A change of preference does not move a task that already runs on an executor.
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(executorPreference: globalConcurrentExecutor) { try await body(answer) }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
