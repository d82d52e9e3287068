import CurlEngine

/// The observer of an attempt's validations. Observers of the session are told of them before the next attempt, or after the call has
/// finished: only then is it known whether the attempt was the last one.
final class ValidationRecorder: ReadingObserver {
    private let call: Call

    init(_ call: Call) { self.call = call }

    func didValidate(_ error: (any Error)?) { call.record.withLock { $0.validations.append(error) } }

    func didSerialize(in duration: Duration, _ error: (any Error)?) { call.observer?.didSerialize(in: duration, error) }
}

extension Call: ListedCall {
    /// The URL of the request, completed with the session's base URL and default query items if the URL is valid.
    var completeURL: String { (try? (sender as? Session)?.preparation.completingURL(of: request))?.url ?? request.url }

    /// Returns an error, completed with the traffic of the call before the failed exchange, and with the call's request if the error has
    /// none.
    func completed(_ error: any Error) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL) }
        error.wasThrown(by: id)
        error.earlierTraffic = max(error.earlierTraffic, traffic)
        return error
    }

    /// Ends the call with an error, and sends its last events. Returns the error for the callers.
    func ended(with error: any Error) -> any Error {
        let error = completed(error)
        tellEnd(.failure(error))
        return error
    }

    /// Ends the call with its result, and sends its last events. A final response is a failure if its body was cut off at the limit on
    /// bodies.
    @inline(never)
    func ended(with result: Result<StepResponse, any Error>) -> Result<StepResponse, any Error> {
        let answer: StepResponse
        switch result {
        case .failure(let error): return .failure(ended(with: error))
        case .success(let received): answer = received
        }
        guard case .tooLarge(let limit)? = answer.response.bodyCut else {
            if observer != nil { tellEnd(.success(answer.response)) }
            return result
        }
        var error = TrellisError(
            .invalidResponse(.bodyTooLarge(limit: limit)), method: answer.sent.sentRequest.method,
            url: URLRedaction.redact(answer.response.url), phase: .receiving, metrics: answer.response.metrics)
        error.followed = answer.response.redirects
        return .failure(ended(with: error))
    }

    /// Sends the last events of the call.
    private func tellEnd(_ result: Result<Response, any Error>) {
        guard let observer else { return }
        switch result {
        case .success(let response):
            observer.tell(.finished(response))
            tellValidations()
        case .failure(let error):
            tellValidations()
            observer.tell(.failed(error))
        }
        observer.close()
    }

    /// Sends the events of the last attempt's validations, once.
    func tellValidations() {
        guard let observer else { return }
        let errors = existingRecord?.withLock { record in
            defer { record.validations = [] }
            return record.validations
        }
        for error in errors ?? [] { observer.didValidate(error) }
    }
}
