import CurlEngine
import FoundationEssentials
import TrellisCore

/// The records of a store, in memory and, if the store has a file, in the file.
///
/// The file is read once. A change is in memory at once, and soon in the file: a new record with the next write, at most one second later;
/// a record whose end alone has changed with a later write, unless the end has moved by a tenth of the time that is left. Servers send the
/// same fields with every response, which must not cause a write for each.
final class RecordStore<Format: RecordFormat>: Sendable {
    typealias Record = Format.Record

    private struct State {
        var records: [String: Record] = [:]
        /// The ends of the records in the file.
        var savedEnds: [String: Date] = [:]
        /// The changes that are not in the file yet.
        var changes = RecordChanges<Record>()
        /// The changes that are being written.
        var writing = RecordChanges<Record>()
        /// Whether the changes are to be written soon.
        var mustSave = false
        var isLoaded: Bool
        var failure: FileFailure?
        /// The task that reads the file.
        var loading: Task<Void, Never>?
        /// The task that writes the changes.
        var saving: Task<Void, Never>?
        /// The pause after the last write.
        var pause: Task<Void, Never>?
        /// The number of calls that wait until everything is written, so that there is no pause.
        var flushes = 0
    }

    /// The shortest time between two writes.
    private static var interval: Duration { .seconds(1) }

    private let file: RecordFile<Format>?
    private let now: @Sendable () -> Date
    private let state: Locked<State>

    /// - Parameter path: The path of the file; `nil` for a store in memory alone.
    init(path: String?, now: @escaping @Sendable () -> Date) {
        file = path.map { RecordFile(path: $0) }
        self.now = now
        state = Locked(State(isLoaded: path == nil))
    }

    /// The path of the file; `nil` if there is none.
    var path: String? { file?.path }

    /// The present date.
    var date: Date { now() }

    /// The number of changes that are not in the file yet.
    var changeCount: Int { state.withLock { $0.changes.records.count } }

    // MARK: Records

    /// Whether the records of the file are known. The file is read with ``load()``.
    var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// The reason why the file could not be read or written the last time; `nil` if it could.
    var failure: FileFailure? { state.withLock { $0.failure } }

    /// Whether changes are being written.
    var isSaving: Bool { state.withLock { $0.saving != nil } }

    /// Calls `body` with the records by their keys. The records may have expired.
    func withRecords<Result>(_ body: ([String: Record]) -> Result) -> Result {
        state.withLock { body($0.records) }
    }

    /// The records that have not expired, in the order of their keys.
    var all: [Record] {
        let now = now()
        return withRecords { $0.values.filter { now < $0.end } }.sorted { $0.key < $1.key }
    }

    /// Stores a record.
    func insert(_ record: Record) {
        let now = now()
        state.withLock { state in
            let old = state.records.updateValue(record, forKey: record.key)
            if state.records.count > Format.limit { makeRoom(&state, at: now) }
            guard file != nil else { return }
            state.changes.records[record.key] = .some(record)
            let isSaved = old.map { record.differsOnlyInItsEnd(from: $0) } ?? false
            let moved = state.savedEnds[record.key].map { abs(record.end.timeIntervalSince($0)) } ?? .infinity
            if !isSaved || moved > max(1, record.end.timeIntervalSince(now) / 10) { save(&state) }
        }
    }

    /// Removes the record with a key, if there is one.
    func remove(_ key: String) {
        state.withLock { state in
            let wasKnown = state.records.removeValue(forKey: key) != nil || !state.isLoaded
            guard file != nil else { return }
            // Another process may have added the record to the file since. While the file cannot be written, the number of removals of
            // records that are not in it is limited.
            let mayBeInFile = !state.isLoaded || state.savedEnds[key] != nil || state.writing.records[key] != nil
            let count = state.changes.records.count + state.writing.records.count
            guard mayBeInFile || count < Format.limit else {
                state.changes.records[key] = nil
                return
            }
            state.changes.records[key] = .some(nil)
            if wasKnown { save(&state) }
        }
    }

    /// Removes all records.
    func removeAll() {
        state.withLock { state in
            state.records = [:]
            guard file != nil else { return }
            state.changes = RecordChanges(clears: true)
            save(&state)
        }
    }

    /// Removes the records that have expired and, above seven eighths of the limit, those that end first: the work is shared by the records
    /// that fill the room.
    private func makeRoom(_ state: inout State, at now: Date) {
        let old = state.records
        var left = old.filter { now < $0.value.end }
        let surplus = left.count - Format.limit * 7 / 8
        if surplus > 0 {
            for record in left.values.sorted(by: { $0.end < $1.end }).prefix(surplus) { left[record.key] = nil }
        }
        for key in old.keys where left[key] == nil {
            if case .some(.some) = state.changes.records[key] { state.changes.records[key] = nil }
        }
        state.records = left
    }

    // MARK: The file

    /// Reads the file, if that has not been done.
    func load() async {
        let task = state.withLock { state -> Task<Void, Never>? in
            if state.isLoaded { return nil }
            let task = state.loading ?? Task { await read() }
            state.loading = task
            return task
        }
        if let task { await BlockingThreadPool.waitUnlessCancelled(for: task) }
    }

    private func read() async {
        guard let file else { return }
        do throws(FileError) {
            take(try await file.read(at: now()), nil)
        } catch {
            state.withLock { $0.failure = FileFailure(path: file.path, reason: error.reason) }
        }
        state.withLock { state in
            state.isLoaded = true
            state.loading = nil
        }
    }

    /// Replaces the records in memory with the file's, and applies the changes that are not in the file yet.
    private func take(_ records: [String: Record], _ failure: FileFailure?) {
        let ends = records.mapValues(\.end)
        state.withLock { state in
            state.records = records
            state.savedEnds = ends
            state.writing = RecordChanges()
            state.changes.apply(to: &state.records)
            state.failure = failure
        }
    }

    /// Starts the task that writes the changes, if there is none.
    private func save(_ state: inout State) {
        state.mustSave = true
        if state.saving == nil { state.saving = Task { await drain() } }
    }

    /// Writes the changes to the file, until none is left that must be written or writing fails.
    private func drain() async {
        await load()
        while true {
            let pause = state.withLock { $0.pause }
            await pause?.value
            await write()
            let isDone = state.withLock { state in
                state.pause = state.flushes > 0 ? nil : Task { try? await Task.sleep(for: Self.interval) }
                guard state.failure != nil || !state.mustSave else { return false }
                state.mustSave = false
                state.saving = nil
                return true
            }
            if isDone { return }
        }
    }

    private func write() async {
        guard let file else { return }
        let (batch, isPatient) = state.withLock { state in
            state.writing = state.changes
            state.changes = RecordChanges()
            state.mustSave = false
            // A lock that another process holds for long is waited for once.
            return (state.writing, state.failure == nil)
        }
        do throws(FileError) {
            take(try await file.write(batch, isPatient: isPatient, at: now()), nil)
        } catch {
            let failure = FileFailure(path: file.path, reason: error.reason)
            state.withLock { state in
                state.changes = batch.followed(by: state.changes)
                state.writing = RecordChanges()
                state.failure = failure
            }
        }
    }

    /// Writes all changes now, also those that could not be written before.
    ///
    /// - Throws: ``FileFailure`` if the file cannot be read or written.
    func flush() async throws(FileFailure) {
        guard file != nil else { return }
        await load()
        let task = state.withLock { state -> Task<Void, Never>? in
            state.flushes += 1
            state.pause?.cancel()
            if !state.changes.isEmpty { save(&state) }
            return state.saving
        }
        // A cancelled task waits too: the end of a program is often a cancellation.
        await task?.value
        state.withLock { $0.flushes -= 1 }
        if let failure { throw failure }
    }
}
