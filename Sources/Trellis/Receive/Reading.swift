import FoundationEssentials

/// How an answer becomes a value: validated, then serialized.
struct Reading<Serializer: ResponseSerializer>: Sendable {
    /// Makes the typed error of an answer whose status is not accepted; `nil` where its body is none.
    typealias ErrorReader = @Sendable (Answer, TrellisError) -> (any Error)?

    let serializer: Serializer
    let validation: Validation
    var errorReader: ErrorReader?

    func value(of answer: Answer) async throws -> Serializer.Value {
        do {
            try await validation.validate(answer, withDefaults: serializer.validatesByDefault)
        } catch let error as TrellisError where error.kind == .unacceptableStatus {
            throw errorReader?(answer, error) ?? error
        }
        return try await serializer.serialize(
            request: answer.request, response: answer.response, data: answer.body ?? Data())
    }

    func dataResponse(of answer: Answer) async throws -> DataResponse<Serializer.Value> {
        let data = answer.body ?? Data()
        try await validation.validate(answer, withDefaults: serializer.validatesByDefault)
        let start = ContinuousClock.now
        let value = try await serializer.serialize(request: answer.request, response: answer.response, data: data)
        return DataResponse(
            request: answer.request, response: answer.response, data: data, value: value,
            serializationDuration: ContinuousClock.now - start)
    }
}

extension Reading {
    /// Reads the body of an answer whose status is not accepted as `type`.
    static func errorReader<Body: Decodable & Sendable>(
        _ type: Body.Type, _ decoder: some DataDecoder
    ) -> ErrorReader {
        { answer, error in
            guard let body = answer.body, !body.isEmpty, let value = try? decoder.decode(type, from: body) else {
                return nil
            }
            return ErrorResponse(body: value, response: answer.response, error: error)
        }
    }
}
