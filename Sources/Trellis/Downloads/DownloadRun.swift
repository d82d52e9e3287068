import CurlEngine
import Synchronization

/// What the handles on a download and the task that does it share.
///
/// The work is a task of its own, which reads bodies and writes a file: none of it happens on the engine thread or on the pool,
/// and a slow disk pushes back on the network.
final class DownloadRun: SessionWork {
    typealias Work = @Sendable (DownloadRun) async throws -> DownloadedFile

    private struct State: Sendable {
        var call = RequestState.initialized
        var validation = Validation()
        var task: Task<DownloadedFile, any Error>?
        /// Why it was ended.
        var end: (any Error)?
        var keepsPartialFile = false
        /// A batch starts it when its turn has come.
        var isInBatch = false
        var sources: [ObjectIdentifier: any ChunkSource] = [:]
        /// Those who wait until it goes on.
        var whenResumed: [Int: CheckedContinuation<Void, Never>] = [:]
        var waiterCount = 0
        /// A batch waits for its end.
        var isAwaitedByBatch = false
        var result: Result<DownloadedFile, any Error>?
        var whenEnded: [Int: CheckedContinuation<DownloadedFile, any Error>] = [:]
        var response: Result<Response, any Error>?
        var whenAnswered: [Int: CheckedContinuation<Response, any Error>] = [:]
        var resumeData: ResumeData?

        mutating func nextWaiter() -> Int {
            waiterCount += 1
            return waiterCount
        }

        /// Somebody waits for its file or for its response besides one reader.
        var hasOtherReaders: Bool { isAwaitedByBatch || whenEnded.count + whenAnswered.count > 1 }

        /// What is to be done about its cancellation; `nil`: it has ended already.
        mutating func cancel(_ error: any Error, keepingPartialFile keeps: Bool = false) -> Cancellation? {
            guard !call.isFinished else { return nil }
            _ = call.handle(.cancel)
            end = error
            keepsPartialFile = keeps
            defer { whenResumed = [:] }
            return Cancellation(task: task, held: Array(whenResumed.values))
        }
    }

    /// What a cancellation leaves to be done.
    private struct Cancellation: Sendable {
        let task: Task<DownloadedFile, any Error>?
        /// Those who waited until it goes on.
        let held: [CheckedContinuation<Void, Never>]
    }

    let progress: ProgressBroadcaster
    let account: DownloadAccount
    private let work: Work
    private let state = Locked(State())

    init(clock: any EngineClock, work: @escaping Work) {
        account = DownloadAccount(clock: clock)
        progress = ProgressBroadcaster(clock: clock)
        self.work = work
    }

    // It may never have begun.
    deinit { progress.finish() }

    // MARK: Called by handles

    var currentState: RequestState { state.withLock { $0.call } }

    var resumeData: ResumeData? { state.withLock { $0.call.isFinished ? $0.resumeData : nil } }

    /// `false`: it has started, and what it wants of an answer may have been asked already.
    func add(_ validator: Validator) -> Bool {
        state.withLock { state in
            guard state.task == nil else { return false }
            state.validation = state.validation.adding(validator)
            return true
        }
    }

    /// From now on it starts when a batch says so, and not with its readers of progress.
    func joinBatch() { state.withLock { $0.isInBatch = true } }

    /// Starts for a batch, which waits for the end.
    func beginInBatch() -> Task<DownloadedFile, any Error> {
        state.withLock { $0.isAwaitedByBatch = true }
        return begin()
    }

    /// The batch ends. Without it the download would never start, and its readers of progress would wait for ever.
    func leaveBatch() { perform(state.withLock { $0.task == nil ? $0.cancel(CancellationError()) : nil }) }

    /// Somebody reads its progress.
    func beginForReader() {
        guard state.withLock({ !$0.isInBatch && $0.task == nil && !$0.call.isFinished }) else { return }
        _ = begin()
    }

    /// Starts the work, once, in the task that asks first: its priority and its task-local values are the download's.
    func begin() -> Task<DownloadedFile, any Error> {
        let (task, isEnded) = state.withLock { state in
            if let task = state.task { return (task, false) }
            let task = Task(executorPreference: DiskExecutor.shared) { try await self.run() }
            state.task = task
            account.start()
            if !state.call.isFinished { _ = state.call.handle(.begin) }
            return (task, state.call.isFinished)
        }
        if isEnded { task.cancel() }
        return task
    }

    func resume() { handle(.resume) }

    func suspend() { handle(.suspend) }

    private func handle(_ event: RequestState.Event) {
        let (sources, waiters, isHeld) = state.withLock { state in
            let effect = state.call.handle(event)
            guard effect != .nothing else {
                return ([any ChunkSource](), [CheckedContinuation<Void, Never>](), false)
            }
            let isHeld = state.call == .suspended
            defer { if !isHeld { state.whenResumed = [:] } }
            return (Array(state.sources.values), isHeld ? [] : Array(state.whenResumed.values), isHeld)
        }
        for source in sources { hold(source, isHeld) }
        for waiter in waiters { waiter.resume() }
    }

    /// Tells a source whether it is held up. The download may be let go on meanwhile, and others tell the source that: the last word
    /// has to be what is true by then.
    private func hold(_ source: any ChunkSource, _ isHeld: Bool) {
        source.hold(isHeld)
        let isHeldNow = currentState == .suspended
        if isHeldNow != isHeld { hold(source, isHeldNow) }
    }

    func cancel(_ error: any Error) { cancel(error, keepingPartialFile: false) }

    func cancel(_ error: any Error, keepingPartialFile keeps: Bool) {
        perform(state.withLock { $0.cancel(error, keepingPartialFile: keeps) })
    }

    private func perform(_ cancellation: Cancellation?) {
        guard let cancellation else { return }
        cancellation.task?.cancel()
        for waiter in cancellation.held { waiter.resume() }
        // Nobody else would say so.
        if cancellation.task == nil { progress.finish() }
    }

    func resumeDataAtEnd() async -> ResumeData? {
        guard let task = state.withLock({ $0.task }) else { return nil }
        if case .success = await task.result { return nil }
        return resumeData
    }

    /// The file, for one more reader. Starts the download, unless it was started. A cancelled task leaves it to the other readers;
    /// with the last of them the download ends, and its end is waited for.
    func value() async throws -> DownloadedFile { try await read(\.result, \.whenEnded) }

    /// The response that is accepted first, in the same way.
    func response() async throws -> Response { try await read(\.response, \.whenAnswered) }

    private func read<Value: Sendable>(
        _ result: any KeyPath<State, Result<Value, any Error>?> & Sendable,
        _ waiters: any WritableKeyPath<State, [Int: CheckedContinuation<Value, any Error>]> & Sendable
    ) async throws -> Value {
        let reader = state.withLock { $0.nextWaiter() }
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let known = state.withLock { state in
                        if state[keyPath: result] == nil { state[keyPath: waiters][reader] = continuation }
                        return state[keyPath: result]
                    }
                    if let known { return continuation.resume(with: known) }
                    // The handler may have come before it could find anything.
                    if Task.isCancelled { leave(reader) }
                    _ = begin()
                }
            } onCancel: {
                leave(reader)
            }
        } catch is CancellationError {
            if Task.isCancelled { throw CancellationError() }
            // It has ended with its other readers.
            throw account.complete(TrellisError(.cancelled(.explicitly)))
        }
    }

    /// Tasks that wait for the file or for the response; for tests.
    var readerCount: Int { state.withLock { $0.whenEnded.count + $0.whenAnswered.count } }

    /// A reader's task was cancelled.
    private func leave(_ reader: Int) {
        let (file, response, cancellation) = state.withLock { state in
            var cancellation: Cancellation?
            var file: CheckedContinuation<DownloadedFile, any Error>?
            var response: CheckedContinuation<Response, any Error>?
            if state.hasOtherReaders {
                file = state.whenEnded.removeValue(forKey: reader)
                response = state.whenAnswered.removeValue(forKey: reader)
            } else if state.whenEnded[reader] != nil || state.whenAnswered[reader] != nil {
                cancellation = state.cancel(CancellationError())
            }
            return (file, response, cancellation)
        }
        file?.resume(throwing: CancellationError())
        response?.resume(throwing: CancellationError())
        perform(cancellation)
    }

    // MARK: Called by the work

    var validation: Validation { state.withLock { $0.validation } }

    /// Whoever ended the download wants to go on with it.
    var keepsPartialFile: Bool { state.withLock { $0.keepsPartialFile } }

    func set(_ resumeData: ResumeData?) { state.withLock { $0.resumeData = resumeData } }

    /// A response was accepted before.
    var isAnswered: Bool { state.withLock { $0.response != nil } }

    /// A response was accepted.
    func accept(_ response: Response) { answer(.success(response)) }

    private func answer(_ response: Result<Response, any Error>) {
        let waiters = state.withLock { state in
            if state.response == nil { state.response = response }
            defer { state.whenAnswered = [:] }
            return state.whenAnswered.values
        }
        for waiter in waiters { waiter.resume(with: response) }
    }

    /// Reads from a source, which the handles hold up meanwhile.
    func reading<Value>(_ source: any ChunkSource, _ body: () async throws -> Value) async throws -> Value {
        let id = ObjectIdentifier(source)
        let isHeld = state.withLock { state in
            state.sources[id] = source
            return state.call == .suspended
        }
        defer { state.withLock { $0.sources[id] = nil } }
        if isHeld { hold(source, true) }
        return try await body()
    }

    /// Waits while the download is held up.
    ///
    /// - Throws: `CancellationError` when the task is cancelled meanwhile: a worker's among others, whatever the download does.
    func pass() async throws {
        try Task.checkCancellation()
        guard currentState == .suspended else { return }
        let id = state.withLock { $0.nextWaiter() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    // Cancelled later, the handler finds it here.
                    guard state.call == .suspended, !Task.isCancelled else { return false }
                    state.whenResumed[id] = continuation
                    return true
                }
                if !isHeld { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.whenResumed.removeValue(forKey: id) }?.resume()
        }
        try Task.checkCancellation()
    }

    private func run() async throws -> DownloadedFile {
        do {
            // It may have been ended before it began, and its cancellation be yet to come.
            guard !state.withLock({ $0.call.isFinished }) else { throw CancellationError() }
            try Task.checkCancellation()
            let file = try await work(self)
            finish(.success(file))
            return file
        } catch {
            let error = state.withLock { state in
                _ = state.call.handle(.finish)
                return state.end ?? error
            }
            let failure = account.complete(error)
            finish(.failure(failure))
            answer(.failure(failure))
            throw failure
        }
    }

    private func finish(_ result: Result<DownloadedFile, any Error>) {
        let readers = state.withLock { state in
            _ = state.call.handle(.finish)
            state.result = result
            defer { state.whenEnded = [:] }
            return state.whenEnded.values
        }
        progress.finish()
        for reader in readers { reader.resume(with: result) }
    }
}
