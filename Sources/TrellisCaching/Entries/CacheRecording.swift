import CurlEngine
import FoundationEssentials
import TrellisCore

/// The storing of a response while its body is received: completely, or not at all.
final class CacheRecording: Sendable {
    private enum State {
        case open
        /// An operation of the writer is under way.
        case busy
        /// An operation of the writer is under way, after which the entry is dropped. It is late if the storage takes too long for it.
        case leaving(isLate: Bool)
        /// The writer drops the entry.
        case dropping(isRefused: Bool)
        /// The entry was stored.
        case stored
        /// The entry was dropped, because its body was not received completely.
        case dropped
        /// The entry was dropped, because the storage has failed, or a newer response takes its place.
        case refused
    }

    /// The longest time for which a response waits for its storage: a disk may hang.
    private static let maximumWait = Duration.seconds(5)

    private let writer: any CacheWriter
    private let head: CachedHead
    private let ticket: CacheTicket
    private let cache: HTTPCache
    /// The deadline of the call, on its clock.
    private let deadline: CallDeadline
    /// Is called if the storage fails, and has not failed before.
    private let onFailure: @Sendable (any Error) -> Void
    private let state = Locked(State.open)
    /// The task that makes the entry visible.
    private let committing = Locked<Task<Void, Never>?>(nil)

    init(
        _ writer: any CacheWriter, _ head: CachedHead, ticket: CacheTicket, in cache: HTTPCache,
        deadline: CallDeadline, onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        (self.writer, self.head, self.ticket) = (writer, head, ticket)
        (self.cache, self.deadline, self.onFailure) = (cache, deadline, onFailure)
    }

    deinit {
        if case .open = state.withLock({ $0 }) { Task { [writer] in await writer.discard() } }
    }

    /// Whether the response is stored, or will be if the rest of its body is received.
    var isStored: Bool {
        state.withLock { state in
            switch state {
            case .open, .busy, .stored: true
            case .leaving, .dropping, .dropped, .refused: false
            }
        }
    }

    /// Whether the response is not stored for another reason than that its body was not received completely.
    var isRefused: Bool {
        state.withLock { state in
            switch state {
            case .refused, .leaving(isLate: true), .dropping(isRefused: true): true
            case .open, .busy, .leaving, .dropping, .stored, .dropped: false
            }
        }
    }

    /// Adds bytes to the entry, unless it was dropped. A cancelled task, which waits for no disk, drops the entry.
    func write(_ bytes: Data) async {
        guard begin() else { return }
        if cache.memory != nil { return await append(bytes) }
        if await !ends(Task.immediate { await append(bytes) }) { giveUp() }
    }

    private func append(_ bytes: Data) async {
        do {
            try await writer.write(bytes)
            await end(.open)
        } catch is CancellationError {
            await end(.dropped)
        } catch {
            await fail(error)
        }
    }

    /// Waits for an operation of the writer, unless the task is cancelled. Returns whether the operation has ended.
    private func ends(_ operation: Task<Void, Never>) async -> Bool {
        guard isBusy else { return true }
        let (limit, clock) = (min(deadline.remaining ?? Self.maximumWait, Self.maximumWait), deadline.clock)
        let wait = Task { _ = await waitForEnd(of: [operation], within: limit, on: clock) }
        await BlockingThreadPool.waitUnlessCancelled(for: wait)
        return !isBusy
    }

    /// Drops an entry whose storage takes too long, unless it has ended just now: the response goes on without it.
    private func giveUp() {
        let isLate = !Task.isCancelled && deadline.remaining != .zero
        let isDropped = state.withLock { state in
            guard case .busy = state else { return false }
            state = .leaving(isLate: isLate)
            return true
        }
        guard isDropped else { return }
        ticket.settle(.notStored)
        if isLate { tell(SlowStorage()) }
    }

    /// Makes the entry visible, unless it was dropped, or its response is out of date. A cancelled task does not wait for that.
    func commit() async {
        guard begin() else { return }
        if cache.memory != nil { return await finish() }
        // A storage that does not suspend has stored the entry at once.
        let task = Task.immediate { await finish() }
        committing.withLock { $0 = task }
        if await !ends(task), !Task.isCancelled { giveUp() }
    }

    /// Waits until an entry that was committed is visible or dropped, in a cancelled task too.
    func waitForCommit() async { await committing.withLock { $0 }?.value }

    private func finish() async {
        guard ticket.mayStore(head.variant) else { return await end(.refused) }
        do {
            try await writer.commit()
        } catch {
            return await fail(error)
        }
        // The entry may have become visible just after an invalidation has removed the others, or instead of a newer one.
        guard ticket.isLatest(head.variant) else {
            state.withLock { $0 = .refused }
            if let failure = await cache.removeLate(head, for: ticket.key) { tell(failure) }
            return ticket.settle(.left)
        }
        state.withLock { $0 = .stored }
        cache.recordStoring()
        ticket.settle(.stored)
    }

    /// Drops the entry, unless it was stored. Any thread may call the method.
    func discard() {
        let isOpen = state.withLock { state in
            switch state {
            case .open:
                state = .dropped
                return true
            case .busy:
                state = .leaving(isLate: false)
                return false
            case .leaving, .dropping, .stored, .dropped, .refused: return false
            }
        }
        if isOpen { Task { [writer] in await writer.discard() } }
    }

    /// Ends the wait of equal requests, because they cannot have this response.
    func release(_ outcome: CacheFlight.Outcome) { ticket.settle(outcome) }

    private var isBusy: Bool {
        switch state.withLock({ $0 }) {
        case .busy, .dropping: true
        case .open, .leaving, .stored, .dropped, .refused: false
        }
    }

    private func begin() -> Bool {
        state.withLock { state in
            guard case .open = state else { return false }
            state = .busy
            return true
        }
    }

    private func end(_ next: State) async {
        let isRefused = state.withLock { state -> Bool? in
            if case .leaving(let isLate) = state { state = isLate ? .refused : .dropped } else { state = next }
            switch state {
            case .dropped: state = .dropping(isRefused: false)
            case .refused: state = .dropping(isRefused: true)
            case .open, .busy, .leaving, .dropping, .stored: return nil
            }
            return if case .dropping(isRefused: true) = state { true } else { false }
        }
        guard let isRefused else { return }
        await writer.discard()
        state.withLock { $0 = isRefused ? .refused : .dropped }
        ticket.settle(.notStored)
    }

    private func fail(_ error: any Error) async {
        // That the storage takes too long is a failure already.
        if state.withLock({ if case .leaving(isLate: true) = $0 { false } else { true } }) { tell(error) }
        await end(.refused)
    }

    private func tell(_ failure: any Error) { if cache.recordFailure(failure) { onFailure(failure) } }
}

/// The error of a storage that a call no longer waits for.
struct SlowStorage: Error, CustomStringConvertible {
    var description: String { "the storage of the cache takes too long" }
}
