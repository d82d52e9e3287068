import CurlEngine
import Synchronization
import TrellisCore

/// The state that the handles on a download share with the task that performs it.
///
/// The work is a separate task, which reads bodies and writes a file: none of it runs on the engine thread or on the shared
/// pool, and a slow disk slows down the network.
final class DownloadTask: SessionOperation {
    typealias Work = @Sendable (DownloadTask) async throws -> DownloadedFile

    /// The state under the lock.
    private struct State: Sendable {
        var call = RequestState.initialized
        var validation = Validation()
        var task: Task<DownloadedFile, any Error>?
        /// The error with which the download was ended; `nil` while it runs or ends by itself.
        var end: (any Error)?
        /// Whether the partial file has to be kept for resume data.
        var keepsPartialFile = false
        /// Whether a batch starts the download in its turn.
        var isInBatch = false
        /// The bodies that are being read, which a suspension stops.
        var sources: [ObjectIdentifier: any ChunkSource] = [:]
        /// The continuations to resume when the download is no longer suspended.
        var whenResumed: [Int: CheckedContinuation<Void, Never>] = [:]
        /// The number of waiters so far, from which the IDs of the waiters are made.
        var waiterCount = 0
        /// Whether a batch waits for the end.
        var isAwaitedByBatch = false
        var result: Result<DownloadedFile, any Error>?
        /// The continuations of the tasks that wait for the file.
        var whenEnded: [Int: CheckedContinuation<DownloadedFile, any Error>] = [:]
        var response: Result<Response, any Error>?
        /// The continuations of the tasks that wait for the first accepted response.
        var onResponse: [Int: CheckedContinuation<Response, any Error>] = [:]
        var resumeData: ResumeData?

        mutating func nextWaiter() -> Int {
            waiterCount += 1
            return waiterCount
        }

        /// Whether anything besides one waiter needs the file or the response, now or in its turn.
        var hasOtherReaders: Bool { isInBatch || isAwaitedByBatch || whenEnded.count + onResponse.count > 1 }

        /// Marks the download as cancelled, and returns the work that is left to do; `nil` if the download has ended already.
        mutating func cancel(_ error: any Error, keepingPartialFile keeps: Bool = false) -> Cancellation? {
            guard !call.isFinished else { return nil }
            _ = call.handle(.cancel)
            end = error
            keepsPartialFile = keeps
            defer { whenResumed = [:] }
            return Cancellation(task: task, held: Array(whenResumed.values))
        }
    }

    /// The work that a cancellation leaves to be done outside the lock.
    private struct Cancellation: Sendable {
        let task: Task<DownloadedFile, any Error>?
        /// The continuations that waited for the resumption.
        let held: [CheckedContinuation<Void, Never>]
    }

    let progress: ProgressBroadcaster
    let report: DownloadReport
    private let work: Work
    /// The folder that the work needs, if it is known.
    private let folder: String?
    private let clock: any EngineClock
    private let state = Locked(State())

    /// The longest time for which the readers of a download that was cancelled, or is past its deadline, wait for its disk.
    private static let patience = Duration.seconds(5)

    init(clock: any EngineClock, folder: String? = nil, work: @escaping Work) {
        (self.clock, self.folder) = (clock, folder)
        report = DownloadReport(clock: clock)
        progress = ProgressBroadcaster(clock: clock)
        self.work = work
    }

    // A download that never began has not ended its progress yet.
    deinit { progress.finish() }

    // MARK: Interface of the handles

    var currentState: RequestState { state.withLock { $0.call } }

    var resumeData: ResumeData? { state.withLock { $0.call.isFinished ? $0.resumeData : nil } }

    /// Adds a validator. Returns `false` after the start, when a response may have been validated already.
    func add(_ validator: Validator) -> Bool {
        state.withLock { state in
            guard state.task == nil else { return false }
            state.validation = state.validation.adding(validator)
            return true
        }
    }

    /// Leaves the start of the download to a batch: a reader of its progress no longer starts it.
    func joinBatch() { state.withLock { $0.isInBatch = true } }

    /// Starts the download for a batch, which waits for the end.
    func beginInBatch() -> Task<DownloadedFile, any Error> {
        state.withLock { $0.isAwaitedByBatch = true }
        return begin()
    }

    /// Cancels a download that has not started, when its batch ends: otherwise the download would never start, and the readers of
    /// its progress would wait forever. A download that others have started is left to its readers.
    func leaveBatch() {
        let cancellation = state.withLock { state in
            state.isInBatch = false
            return state.task == nil ? state.cancel(CancellationError()) : nil
        }
        perform(cancellation)
    }

    /// Returns the result for the outcome of a batch. A `CancellationError` would be about another task than the one that reads the
    /// outcome: the error of kind ``TrellisError/Kind/cancelled`` takes its place.
    func outcome(_ result: Result<DownloadedFile, any Error>) -> Result<DownloadedFile, any Error> {
        guard case .failure(is CancellationError) = result else { return result }
        return .failure(report.complete(TrellisError(.cancelled(.explicitly))))
    }

    /// Starts the download for a reader of its progress, unless a batch is to start it.
    func beginForReader() {
        guard state.withLock({ !$0.isInBatch && $0.task == nil && !$0.call.isFinished }) else { return }
        _ = begin()
    }

    /// Starts the work, once. Its task inherits the priority and the task-local values of the first caller.
    func begin() -> Task<DownloadedFile, any Error> {
        let (task, isEnded) = state.withLock { state in
            if let task = state.task { return (task, false) }
            let task = Task(executorPreference: BlockingExecutor.disk(at: folder)) { try await self.run() }
            state.task = task
            report.start()
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

    /// Suspends or resumes a source. Another thread may change the state of the download meanwhile, and notify the source as well:
    /// the last call has to carry the final state.
    private func hold(_ source: any ChunkSource, _ isHeld: Bool) {
        source.hold(isHeld)
        let isHeldNow = currentState == .suspended
        if isHeldNow != isHeld { hold(source, isHeldNow) }
    }

    func cancel(_ error: any Error) { cancel(error, keepingPartialFile: false) }

    func cancel(_ error: any Error, keepingPartialFile keeps: Bool) {
        perform(state.withLock { $0.cancel(error, keepingPartialFile: keeps) })
    }

    /// Performs the work that a cancellation has left, outside the lock.
    private func perform(_ cancellation: Cancellation?) {
        guard let cancellation else { return }
        cancellation.task?.cancelOffEngine()
        for waiter in cancellation.held { waiter.resume() }
        // A download without a task has nothing else that ends its progress.
        guard let task = cancellation.task else { return progress.finish() }
        unlessEnded(task, within: Self.patience) { [self] in
            let error = report.complete(state.withLock { $0.end } ?? CancellationError())
            finish(.failure(error))
            answer(.failure(error))
        }
    }

    /// Cancels the download if it has not ended soon after its deadline: its disk may hang.
    func watch(_ deadline: CallDeadline) {
        guard let remaining = deadline.remaining, let task = state.withLock({ $0.task }) else { return }
        unlessEnded(task, within: remaining + Self.patience) { [self] in cancel(TrellisError(.timedOut(.total))) }
    }

    private func unlessEnded(
        _ task: Task<DownloadedFile, any Error>, within time: Duration, _ body: @escaping @Sendable () -> Void
    ) {
        let end = Task { _ = await task.result }
        Task { [clock] in if await !waitForEnd(of: [end], within: time, on: clock) { body() } }
    }

    /// Waits until the download has ended, and returns the resume data; `nil` if the download did not start, succeeded, or left
    /// nothing to resume.
    func resumeDataAtEnd() async -> ResumeData? {
        guard let task = state.withLock({ $0.task }) else { return nil }
        if case .success = await task.result { return nil }
        return resumeData
    }

    /// Waits for the file. Starts the download, unless it was started. A cancelled task leaves the download to the other waiters;
    /// with the last of them the download ends, and its end is waited for.
    func value() async throws -> DownloadedFile { try await read(\.result, \.whenEnded) }

    /// Waits for the first accepted response, in the same way.
    func response() async throws -> Response { try await read(\.response, \.onResponse) }

    private func read<Value: Sendable>(
        _ result: any KeyPath<State, Result<Value, any Error>?> & Sendable,
        _ waiters: any WritableKeyPath<State, [Int: CheckedContinuation<Value, any Error>]> & Sendable
    ) async throws -> Value {
        let reader = state.withLock { $0.nextWaiter() }
        do {
            return try await withTaskCancellationHandler {
                try await withThrowingContinuation { continuation in
                    let known = state.withLock { state in
                        if state[keyPath: result] == nil { state[keyPath: waiters][reader] = continuation }
                        return state[keyPath: result]
                    }
                    if let known { return continuation.resume(with: known) }
                    // The task may have been cancelled before the continuation was stored.
                    if Task.isCancelled { leave(reader) }
                    _ = begin()
                }
            } onCancel: {
                leave(reader)
            }
        } catch is CancellationError {
            if Task.isCancelled { throw CancellationError() }
            // The download was cancelled by another waiter, by its batch, or with its last handle.
            throw report.complete(TrellisError(.cancelled(.explicitly)))
        }
    }

    /// The number of tasks that wait for the file or for the response; for tests.
    var readerCount: Int { state.withLock { $0.whenEnded.count + $0.onResponse.count } }

    /// Removes a waiter whose task was cancelled; the last waiter cancels the download instead.
    private func leave(_ reader: Int) {
        let (file, response, cancellation) = state.withLock { state in
            var cancellation: Cancellation?
            var file: CheckedContinuation<DownloadedFile, any Error>?
            var response: CheckedContinuation<Response, any Error>?
            if state.hasOtherReaders {
                file = state.whenEnded.removeValue(forKey: reader)
                response = state.onResponse.removeValue(forKey: reader)
            } else if state.whenEnded[reader] != nil || state.onResponse[reader] != nil {
                cancellation = state.cancel(CancellationError())
            }
            return (file, response, cancellation)
        }
        file?.resume(throwing: CancellationError())
        response?.resume(throwing: CancellationError())
        perform(cancellation)
    }

    // MARK: Interface of the work

    var validation: Validation { state.withLock { $0.validation } }

    /// Whether the partial file has to be kept, because the download was cancelled for its resume data.
    var keepsPartialFile: Bool { state.withLock { $0.keepsPartialFile } }

    /// Stores the resume data that the handles return after the end.
    func set(_ resumeData: ResumeData?) { state.withLock { $0.resumeData = resumeData } }

    /// Whether a response was accepted before.
    var isAnswered: Bool { state.withLock { $0.response != nil } }

    /// Records an accepted response; the first one resumes the tasks that wait for it.
    func accept(_ response: Response) { answer(.success(response)) }

    /// Stores the first response or failure, and resumes the tasks that wait for the response.
    private func answer(_ response: Result<Response, any Error>) {
        let waiters = state.withLock { state in
            if state.response == nil { state.response = response }
            defer { state.onResponse = [:] }
            return state.onResponse.values
        }
        for waiter in waiters { waiter.resume(with: response) }
    }

    /// Calls `body` to read from a source, which is suspended and resumed with the download meanwhile.
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

    /// Waits while the download is suspended, at most until its deadline.
    ///
    /// - Throws: ``TrellisError`` with the total timeout at the deadline; `CancellationError` if the task is cancelled meanwhile; a
    ///   worker's task may be, while the download continues.
    func waitWhileSuspended(until deadline: CallDeadline, on engine: EngineExecutor) async throws {
        try Task.checkCancellation()
        guard currentState == .suspended else { return }
        guard let end = deadline.end else { return try await waitForResumption() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.waitForResumption() }
            group.addTask {
                guard try await engine.delay(until: end) else { throw TrellisError(.cancelled(.sessionShutDown)) }
                throw TrellisError(.timedOut(.total))
            }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }

    /// Waits until the download is no longer suspended.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile.
    private func waitForResumption() async throws {
        let id = state.withLock { $0.nextWaiter() }
        await withTaskCancellationHandler {
            await withContinuation { continuation in
                let isHeld = state.withLock { state in
                    // The cancellation handler finds the continuation, if the task is cancelled later.
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

    /// Runs the work, and passes its result to the waiters.
    private func run() async throws -> DownloadedFile {
        do {
            // The download may have been cancelled before the work began, and its task not yet.
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
            let failure = report.complete(error)
            finish(.failure(failure))
            answer(.failure(failure))
            throw failure
        }
    }

    /// Stores the result, ends the progress, and resumes the tasks that wait for the file.
    private func finish(_ result: Result<DownloadedFile, any Error>) {
        let readers = state.withLock { state in
            _ = state.call.handle(.finish)
            // The disk of a download that nobody waits for may go on later.
            if state.result == nil { state.result = result }
            defer { state.whenEnded = [:] }
            return state.whenEnded.values
        }
        progress.finish()
        for reader in readers { reader.resume(with: result) }
    }
}
