import CurlEngine

/// The observer of an attempt's validations. Observers of the session are told of them before the next attempt, or after the call has
/// finished: only then is it known whether the attempt was the last one.
final class ValidationRecorder: ReadingObserver {
    private let call: Call

    init(_ call: Call) { self.call = call }

    func didValidate(_ error: (any Error)?) { call.record.withLock { $0.validations.append(error) } }

    func didSerialize(in duration: Duration, _ error: (any Error)?) { call.observer?.didSerialize(in: duration, error) }
}

extension Call {
    /// Sends the last events of the call.
    func tellEnd(_ result: Result<Response, any Error>) {
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
