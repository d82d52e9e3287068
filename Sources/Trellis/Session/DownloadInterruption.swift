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

    private var isInterruption: Bool { self is Interruption || (self as? TrellisError)?.isPassing == true }

    fileprivate var mayBeMended: Bool { isInterruption && !Task.isCancelled }
}

extension DownloadPatience {
    /// How long to wait after an error; `nil`: no more.
    ///
    /// - Throws: The error, where waiting does not mend it.
    mutating func delay(after error: any Error) throws -> Duration? {
        guard error.mayBeMended else { throw error.cause }
        return delay(random: .random(in: 0..<1))
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
    /// Waits on the session's clock before a download goes on.
    func wait(_ duration: Duration, within deadline: CallDeadline, of request: Request) async throws {
        if let remaining = deadline.remaining, remaining <= duration {
            throw TrellisError(.timedOut(.total), method: request.method, url: request.url)
        }
        guard duration > .zero else { return }
        guard try await engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}
