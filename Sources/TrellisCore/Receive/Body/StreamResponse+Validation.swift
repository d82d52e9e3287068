import FoundationEssentials

/// The validation of a stream by its head, before the first byte of its body is returned:
///
/// ```swift
/// for try await line in try await session.stream(url).validate().lines { … }
/// ```
///
/// The transfer of a response that is not accepted is ended. The error has the beginning of the body, as far as it is received
/// within a second.
extension StreamResponse {
    /// Checks for a status of 200 to 299, and then for a content type that the request's `Accept` includes.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus`` or
    ///   ``TrellisError/Kind/unacceptableContentType``; `CancellationError` in a cancelled task.
    @discardableResult
    public func validate() async throws -> StreamResponse {
        try await validate([.successfulStatus, .acceptedContentType])
    }

    /// Checks for a status in a range, such as `..<400`.
    ///
    /// - Throws: As ``validate()``.
    @discardableResult
    public func validate(statusCode range: some RangeExpression<Int>) async throws -> StreamResponse {
        try await validate(.statusCode(range))
    }

    /// Checks for a status in a range, such as `200..<300` or `500...`.
    ///
    /// - Throws: As ``validate()``.
    @discardableResult
    public func validate(statusCode range: some RangeExpression<Int> & Sequence<Int>) async throws -> StreamResponse {
        try await validate(.statusCode(range))
    }

    /// Checks for one of several statuses, such as `[200, 404]`.
    ///
    /// - Throws: As ``validate()``.
    @discardableResult
    public func validate(statusCode codes: some Sequence<Int>) async throws -> StreamResponse {
        try await validate(.statusCode(codes))
    }

    /// Checks for one of several content types: see ``Validator/contentType(_:)``.
    ///
    /// - Throws: As ``validate()``.
    @discardableResult
    public func validate(contentType types: some Sequence<String>) async throws -> StreamResponse {
        try await validate(.contentType(types))
    }

    /// Checks with a closure, which gets `nil` as the body.
    ///
    /// - Throws: The error that the closure throws.
    @discardableResult
    public func validate(_ check: @escaping Validator.Check) async throws -> StreamResponse {
        try await validate(Validator(check))
    }

    /// Checks a condition.
    ///
    /// - Throws: ``TrellisError``, or the error that a validator of your own throws; `CancellationError` in a cancelled task.
    @discardableResult
    public func validate(_ validator: Validator) async throws -> StreamResponse {
        try await validate([validator])
    }

    /// Checks conditions in their order.
    ///
    /// - Parameter patience: The maximum time that the error waits for the beginning of the body.
    @discardableResult
    package func validate(
        _ validators: [Validator], patience: Duration = .seconds(1)
    ) async throws -> StreamResponse {
        guard !validators.isEmpty else { return self }
        let answer = Answer(to: sent, response: response, body: nil, observer: source.observer)
        do {
            try await validators.validate(answer)
        } catch let error as TrellisError where error.response != nil {
            throw try await refuse(error, patience: patience)
        } catch {
            breakOff()
            throw error
        }
        return self
    }

    /// Ends the transfer of a response that is not accepted, and returns the error with the beginning of the body.
    ///
    /// - Parameter patience: The maximum time that the error waits for the beginning of the body.
    package func refuse(_ error: TrellisError, patience: Duration = .seconds(1)) async throws -> TrellisError {
        var error = error
        error.bodyExcerpt = await excerpt(within: patience)
        breakOff()
        try Task.checkCancellation()
        return error
    }

    /// Returns the beginning of the body, up to the limit of an excerpt. Ends the transfer if that takes longer than `patience`.
    private func excerpt(within patience: Duration) async -> TrellisError.BodyExcerpt {
        await withTaskGroup(of: TrellisError.BodyExcerpt?.self) { [source] group in
            group.addTask {
                var bytes = Data()
                while bytes.count <= TrellisError.BodyExcerpt.limit {
                    do {
                        guard let chunk = try await source.next() else { return .init(bytes) }
                        bytes.append(chunk)
                    } catch {
                        break
                    }
                }
                return .init(bytes, isCut: true)
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            var excerpt: TrellisError.BodyExcerpt?
            for await result in group {
                if let result { excerpt = result }
                group.cancelAll()
            }
            return excerpt ?? .init(Data(), isCut: true)
        }
    }
}
