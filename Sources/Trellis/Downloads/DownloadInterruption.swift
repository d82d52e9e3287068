import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A failure that a new attempt may mend, whatever it is.
struct Interruption: Error {
    let error: any Error

    init(_ error: any Error) { self.error = error }
}

extension Error {
    /// What the caller is told.
    var cause: any Error { (self as? Interruption)?.error ?? self }

    private var isInterruption: Bool { self is Interruption || (self as? TrellisError)?.isTransient == true }

    fileprivate var mayBeMended: Bool { isInterruption && !Task.isCancelled }
}

extension DownloadPatience {
    /// How long to wait after an error; `nil`: no more.
    ///
    /// - Parameter canGain: What comes can be kept.
    /// - Throws: The error, where waiting does not mend it.
    mutating func delay(after error: any Error, canGain: Bool) throws -> Duration? {
        guard error.mayBeMended else { throw error.cause }
        return delay(random: .random(in: 0..<1), canGain: canGain)
    }
}

extension Request {
    /// The request with a question, and with what is left of its time.
    func asking(_ question: DownloadQuestion, within deadline: CallDeadline) -> Request {
        var request = self
        for field in question.fields { request.headerFields[field.name] = field.value }
        if let remaining = deadline.remaining { request.timeouts?.total = remaining }
        return request
    }
}

extension Session {
    /// Waits on the session's clock before a download goes on: as long as the server asks for, if it does.
    ///
    /// - Throws: The error, where there is no time left to wait, or the server asks for more than a minute.
    func wait(_ duration: Duration, after error: any Error, within deadline: CallDeadline) async throws {
        let fields = (error.cause as? TrellisError)?.response?.headerFields
        let asked = fields.flatMap { RetryAfter.delay(in: $0, now: .now) } ?? .zero
        let duration = max(duration, asked)
        if asked > .seconds(60) { throw error.cause }
        if let remaining = deadline.remaining, remaining <= duration { throw error.cause }
        guard duration > .zero else { return }
        guard try await engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}
