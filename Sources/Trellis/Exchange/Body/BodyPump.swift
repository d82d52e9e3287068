import CurlEngine
import FoundationEssentials

/// Brings the chunks of a request's body to the transport, one whenever it has room.
///
/// The source runs in a task of its own, off the engine thread, that ends with the request: nobody waits for a source that
/// does not notice its cancellation.
final class BodyPump: Sendable {
    private struct State {
        var hasRoom = true
        /// A file is on its way to the transport, whose room up to now is for that file.
        var handsOver = false
        var isStopped = false
        var waiter: CheckedContinuation<Void, any Error>?
        var task: Task<Void, Never>?
    }

    /// The request, which does not live longer because its source does.
    private struct Target: Sendable {
        weak let request: ExchangeActor?
        init(_ request: ExchangeActor) { self.request = request }
    }

    private let state = Locked(State())

    /// - Parameter readsFiles: The transport takes a file for its bytes.
    init(_ source: PreparedRequest.StreamedBody, into request: ExchangeActor, readsFiles: Bool) {
        let target = Target(request)
        let task = Task { [self] in
            do {
                if readsFiles, let path = source.file, let length = source.length {
                    try await send(fileAt: path, length: length, to: target)
                } else {
                    try await send(source, to: target)
                }
                target.request?.enter { $0.finishSending(from: self) }
            } catch {
                let failure = error as? TrellisError ?? TrellisError(.bodyFailed(.sourceFailed), underlying: error)
                target.request?.enter { $0.bodyFailed(failure, from: self) }
            }
        }
        state.withLock { $0.task = task }
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
            target.request?.enter { $0.send(chunk, from: self) }
        }
        let total = sent.withLock { $0 }
        if let length = source.length, total != length {
            throw TrellisError(.bodyFailed(.lengthMismatch(promised: length, given: total)))
        }
    }

    /// Opens the file, and closes it here too: by then the transport has let go of it.
    private func send(fileAt path: String, length: Int64, to target: Target) async throws {
        let file = try await FileChunks.open(path, length: length)
        defer { withExtendedLifetime(file) {} }
        try await awaitRoom()
        state.withLock { ($0.hasRoom, $0.handsOver) = (false, true) }
        target.request?.enter { $0.send(file, from: self) }
        try await awaitRoom()
    }

    /// The transport gets the file now, and has room again when it has read all of it.
    func willHandOver() { state.withLock { $0.handsOver = false } }

    /// Waits until the transport can take another chunk.
    private func awaitRoom() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if state.isStopped { return .failure(CancellationError()) }
                    if state.hasRoom {
                        state.hasRoom = false
                        return .success(())
                    }
                    state.waiter = waiter
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            stop()
        }
    }

    /// The transport can take another chunk.
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
        waiter?.resume()
    }

    /// Ends the source.
    func stop() {
        let (waiter, task) = state.withLock { state in
            state.isStopped = true
            defer { (state.waiter, state.task) = (nil, nil) }
            return (state.waiter, state.task)
        }
        waiter?.resume(throwing: CancellationError())
        task?.cancel()
    }
}
