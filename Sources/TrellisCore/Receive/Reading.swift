import FoundationEssentials

/// The conversion of a response to a value: validation, then serialization.
struct Reading<Serializer: ResponseSerializer>: Sendable {
    /// A function that makes the typed error of a response whose status is not accepted; `nil` if the body cannot be decoded as one.
    typealias ErrorReader = @Sendable (Answer, TrellisError) -> (any Error)?

    let serializer: Serializer
    /// The conditions that the response has to meet; `nil` if any response is accepted.
    let conditions: ReadingConditions?
    var errorReader: ErrorReader?

    init(serializer: Serializer, validation: Validation, errorReader: ErrorReader? = nil) {
        self.serializer = serializer
        self.errorReader = errorReader
        conditions = .of(validation, withDefaults: serializer.validatesByDefault)
    }

    /// Returns the value of a response.
    ///
    /// - Throws: The typed error of a response whose status is not accepted, if there is one; else the error of the failed step.
    func value(of answer: Answer) async throws -> Serializer.Value {
        try await check(answer)
        guard answer.observer != nil else { return try await serialize(answer) }
        return try await timed(answer).value
    }

    /// Returns the value of a response with the request, the response and the body.
    ///
    /// - Throws: As ``value(of:)``.
    func dataResponse(of answer: Answer) async throws -> DataResponse<Serializer.Value> {
        try await check(answer)
        let (value, duration) = try await timed(answer)
        return DataResponse(
            request: answer.request, response: answer.response, data: answer.body ?? Data(), value: value,
            serializationDuration: duration)
    }

    private func check(_ answer: Answer) async throws {
        do {
            try await conditions?.check(answer)
        } catch let error as TrellisError where error.kind == .unacceptableStatus {
            throw errorReader?(answer, error) ?? error
        }
        try answer.requireWholeBody()
    }

    private func serialize(_ answer: Answer) async throws -> Serializer.Value {
        try await serializer.serialize(
            request: answer.request, response: answer.response, data: answer.body ?? Data())
    }

    private func timed(_ answer: Answer) async throws -> (value: Serializer.Value, duration: Duration) {
        let start = ContinuousClock.now
        do {
            let value = try await serialize(answer)
            let duration = ContinuousClock.now - start
            answer.observer?.didSerialize(in: duration, nil)
            return (value, duration)
        } catch {
            answer.observer?.didSerialize(in: ContinuousClock.now - start, error)
            throw error
        }
    }
}

extension Reading {
    /// Creates a reading that decodes the body as a value, or as an error type if the status is not accepted.
    init<Value, Failure: Decodable & Sendable>(
        _ type: Value.Type, orError errorType: Failure.Type, _ decoder: some DataDecoder, validation: Validation
    ) where Serializer == DecodableResponseSerializer<Value> {
        self.init(serializer: Serializer(type, decoder: decoder), validation: validation) { answer, error in
            guard let body = answer.body, !body.isEmpty, let value = try? decoder.value(errorType, from: body) else {
                return nil
            }
            return ErrorResponse(body: value, response: answer.response, error: error)
        }
    }
}

/// An observer of each validation and serialization of a response.
package protocol ReadingObserver: AnyObject, Sendable {
    /// Reports that the validators of a reading have accepted the response, or that one of them has refused it with an error.
    func didValidate(_ error: (any Error)?)
    /// Reports that a serializer has returned after `duration`, with an error if it failed.
    func didSerialize(in duration: Duration, _ error: (any Error)?)
}
