import CurlEngine
import FoundationEssentials

/// The pump that passes the chunks of a request's body to the transport, one each time that the transport has room.
///
/// The source runs in its own task, off the engine thread. The task is cancelled with the exchange; the exchange does not wait for a source
/// that ignores its cancellation.
final class BodyPump: Sendable {
    private struct State {
        var hasRoom = true
        /// Whether a file is being passed to the transport. Until it has arrived there, reports of room concern that file.
        var handsOver = false
        var isStopped = false
        var waiter: CheckedContinuation<Void, any Error>?
        var task: Task<Void, Never>?
    }

    /// A weak reference to the exchange, so that the source does not keep it alive.
    private struct Target: Sendable {
        weak let request: ExchangeActor?
        init(_ request: ExchangeActor) { self.request = request }
    }

    private let state = Locked(State())
    /// The source's task as a clock sees it that waits for tasks.
    private let work: ClockWork?

    /// Starts the source.
    ///
    /// - Parameter readsFiles: Whether the transport reads the bytes of a file itself.
    init(_ source: PreparedRequest.StreamedBody, into request: ExchangeActor, readsFiles: Bool) {
        let target = Target(request)
        work = request.executor.clock.beginWork(for: request.prepared.callID)
        let task = Task { [self] in
            defer { work?.end() }
            do {
                let trailers: HTTPFields?
                if let work {
                    trailers = try await work.perform { try await self.sendAll(source, to: target, readsFiles) }
                } else {
                    trailers = try await sendAll(source, to: target, readsFiles)
                }
                target.request?.submit { $0.finishSending(trailers: trailers, from: self) }
            } catch {
                let failure = error as? TrellisError ?? TrellisError(.bodyFailed(.sourceFailed), underlying: error)
                target.request?.submit { $0.bodyFailed(failure, from: self) }
            }
        }
        state.withLock { $0.task = task }
    }

    /// Sends the body, and returns the fields after it.
    private func sendAll(
        _ source: PreparedRequest.StreamedBody, to target: Target, _ readsFiles: Bool
    ) async throws -> HTTPFields? {
        if readsFiles, let path = source.file, let length = source.length {
            try await send(fileAt: path, length: length, to: target)
        } else {
            try await send(source, to: target)
        }
        return try await source.trailers?()
    }

    private func send(_ source: PreparedRequest.StreamedBody, to target: Target) async throws {
        let sent = Locked(Int64(0))
        try await source.chunks { chunk in
            try await self.awaitRoom()
            let total = sent.withLock { total in
                total += Int64(chunk.count)
                return total
            }
            if let length = source.length, total > length {
                throw TrellisError(.bodyFailed(.lengthMismatch(promised: length, given: total)))
            }
            target.request?.submit { $0.send(chunk, from: self) }
        }
        let total = sent.withLock { $0 }
        if let length = source.length, total != length {
            throw TrellisError(.bodyFailed(.lengthMismatch(promised: length, given: total)))
        }
    }

    /// Opens a file and sends it. The file stays open until the transport has read it completely.
    private func send(fileAt path: String, length: Int64, to target: Target) async throws {
        let file = try await FileChunks.open(path, length: length)
        defer { withExtendedLifetime(file) {} }
        try await awaitRoom()
        state.withLock { ($0.hasRoom, $0.handsOver) = (false, true) }
        target.request?.submit { $0.send(file, from: self) }
        try await awaitRoom()
    }

    /// Records that the transport receives the file now. The transport reports room again after it has read the complete file.
    func willHandOver() { state.withLock { $0.handsOver = false } }

    /// Waits until the transport has room for another chunk.
    private func awaitRoom() async throws {
        try await withTaskCancellationHandler {
            try await withThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if state.isStopped { return .failure(CancellationError()) }
                    if state.hasRoom {
                        state.hasRoom = false
                        return .success(())
                    }
                    state.waiter = waiter
                    work?.pause()
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            stop()
        }
    }

    /// Resumes the source because the transport has room for another chunk.
    func transportHasRoom() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            if state.handsOver { return nil }
            guard let waiter = state.waiter else {
                state.hasRoom = true
                return nil
            }
            state.waiter = nil
            return waiter
        }
        resume(waiter)
    }

    /// Cancels the source.
    func stop() {
        let (waiter, task) = state.withLock { state in
            state.isStopped = true
            defer { (state.waiter, state.task) = (nil, nil) }
            return (state.waiter, state.task)
        }
        resume(waiter, with: .failure(CancellationError()))
        task?.cancelOffEngine()
    }

    private func resume(
        _ waiter: CheckedContinuation<Void, any Error>?, with result: Result<Void, any Error> = .success(())
    ) {
        guard let waiter else { return }
        work?.resume()
        waiter.resume(with: result)
    }
}
