import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// An error of any kind after which another attempt may succeed.
struct Interruption: Error {
    let error: any Error

    init(_ error: any Error) { self.error = error }
}

extension Error {
    /// The error that the caller gets.
    var cause: any Error { (self as? Interruption)?.error ?? self }

    private var isInterruption: Bool { self is Interruption || (self as? TrellisError)?.isTransient == true }

    /// Whether another attempt may succeed, and does no harm: a step may have changed the method of the request.
    fileprivate var mayBeMended: Bool {
        isInterruption && !Task.isCancelled && (cause as? TrellisError)?.mayBeMadeAgain(.get) ?? true
    }
}

extension DownloadBackoff {
    /// Returns the time to wait after an error; `nil` if no further attempt is allowed.
    ///
    /// - Parameters:
    ///   - canKeepBytes: Whether bytes that arrive can be kept.
    ///   - isOffline: Whether the network is missing.
    /// - Throws: The error, if another attempt cannot help.
    mutating func delay(after error: any Error, canKeepBytes: Bool, isOffline: Bool) throws -> Duration? {
        guard error.mayBeMended else { throw error.cause }
        return delay(random: .random(in: 0..<1), canKeepBytes: canKeepBytes, isOffline: isOffline)
    }
}

extension Request {
    /// Returns the request with the fields of a range request, and with the time that is left until the deadline.
    func requesting(_ rangeRequest: DownloadRangeRequest, within deadline: CallDeadline) -> Request {
        var request = self
        for field in rangeRequest.fields { request.headers[field.name] = field.value }
        if let remaining = deadline.remaining { request.timeouts?.total = remaining }
        // The missing part of a file comes from the server, because a stored response may be of another version. A request that must
        // not be sent keeps its mode, so that it gets the part of a stored response, or a 504.
        if case .part = rangeRequest, request.cacheMode != .onlyIfCached { request.cacheMode = .noStore }
        return request
    }
}

extension Session {
    /// Returns whether an attempt of a download failed because the network is missing.
    func isOffline(after error: any Error, of request: Request) async -> Bool {
        guard OfflineRetrier.mayBeOffline(after: error.cause, to: request.url) else { return false }
        return await configuration.reachability.status == .notReachable
    }

    /// Waits on the session's clock before a download resumes: for `duration`, or longer if the server asks for that.
    ///
    /// - Parameter isOffline: Whether the wait also ends when the network is back.
    /// - Throws: The error, if the deadline is first, or if the server asks for more than a minute.
    func wait(
        _ duration: Duration, after error: any Error, within deadline: CallDeadline, isOffline: Bool
    ) async throws {
        let head = (error.cause as? TrellisError)?.response?.head
        let asked = head.flatMap { RetryAfter.delay(in: $0, now: .now) } ?? .zero
        let duration = max(duration, asked)
        if asked > .seconds(60) { throw error.cause }
        if let remaining = deadline.remaining, remaining <= duration { throw error.cause }
        guard duration > .zero else { return }
        guard isOffline else { return try await wait(duration) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.wait(duration) }
            group.addTask { try await self.configuration.reachability.waitUntilReachable() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func wait(_ duration: Duration) async throws {
        guard try await timekeeper.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}
