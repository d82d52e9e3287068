import CurlEngine
import Synchronization

/// What the handles on a download and the task that does it share.
///
/// The work is a task of its own, which reads bodies and writes a file: none of it happens on the engine thread or on the pool,
/// and a slow disk pushes back on the network.
final class DownloadRun: Sendable {
    typealias Work = @Sendable (DownloadRun) async throws -> DownloadedFile

    private struct State: Sendable {
        var call = CallState()
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
        var response: Result<Response, any Error>?
        var whenAnswered: [CheckedContinuation<Response, any Error>] = []
        var resumeData: ResumeData?
        var start: EngineInstant?
        var request: Request?
        var tally = DownloadTally()
        /// How often it asked whether it may go on.
        var goings = 0
    }

    let progress: ProgressBroadcaster
    private let work: Work
    private let clock: any EngineClock
    private let state = Locked(State())

    init(clock: any EngineClock, work: @escaping Work) {
        self.clock = clock
        progress = ProgressBroadcaster(clock: clock)
        self.work = work
    }

    // It may never have begun.
    deinit { progress.finish() }

    // MARK: Called by handles

    var phase: RequestPhase { state.withLock { $0.call.phase } }

    var resumeData: ResumeData? { state.withLock { $0.call.isEnded ? $0.resumeData : nil } }

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

    /// Somebody reads its progress.
    func beginForReader() {
        guard state.withLock({ !$0.isInBatch && $0.task == nil && !$0.call.isEnded }) else { return }
        _ = begin()
    }

    /// Starts the work, once, in the task that asks first: its priority and its task-local values are the download's.
    func begin() -> Task<DownloadedFile, any Error> {
        let (task, isEnded) = state.withLock { state in
            if let task = state.task { return (task, false) }
            let task = Task(executorPreference: DiskExecutor.shared) { try await self.run() }
            state.task = task
            state.start = clock.now()
            if !state.call.isEnded { _ = state.call.handle(.begin) }
            return (task, state.call.isEnded)
        }
        if isEnded { task.cancel() }
        return task
    }

    func resume() { handle(.resume) }

    func suspend() { handle(.suspend) }

    private func handle(_ event: CallState.Event) {
        let (sources, waiters, isHeld) = state.withLock { state in
            let effect = state.call.handle(event)
            guard effect != .nothing else {
                return ([any ChunkSource](), [CheckedContinuation<Void, Never>](), false)
            }
            let isHeld = state.call.phase == .suspended
            defer { if !isHeld { state.whenResumed = [:] } }
            return (Array(state.sources.values), isHeld ? [] : Array(state.whenResumed.values), isHeld)
        }
        for source in sources { source.hold(isHeld) }
        for waiter in waiters { waiter.resume() }
    }

    func cancel(_ error: any Error, keepingPartialFile keeps: Bool = false) {
        let (task, waiters) = state.withLock { state in
            guard !state.call.isEnded else {
                return (Task<DownloadedFile, any Error>?.none, [CheckedContinuation<Void, Never>]())
            }
            _ = state.call.handle(.cancel)
            state.end = error
            state.keepsPartialFile = keeps
            defer { state.whenResumed = [:] }
            return (state.task, Array(state.whenResumed.values))
        }
        task?.cancel()
        for waiter in waiters { waiter.resume() }
        // Nobody else would say so.
        if task == nil, phase == .cancelled { progress.finish() }
    }

    func resumeDataAtEnd() async -> ResumeData? {
        guard let task = state.withLock({ $0.task }) else { return nil }
        if case .success = await task.result { return nil }
        return resumeData
    }

    func response() async throws -> Response {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let response = state.withLock { state in
                    if state.response == nil { state.whenAnswered.append(continuation) }
                    return state.response
                }
                if let response { continuation.resume(with: response) }
            }
        } onCancel: {
            cancel(CancellationError())
        }
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
            defer { state.whenAnswered = [] }
            return state.whenAnswered
        }
        for waiter in waiters { waiter.resume(with: response) }
    }

    /// Reads from a source, which the handles hold up meanwhile.
    func reading<Value>(_ source: any ChunkSource, _ body: () async throws -> Value) async throws -> Value {
        let id = ObjectIdentifier(source)
        let isHeld = state.withLock { state in
            state.sources[id] = source
            return state.call.phase == .suspended
        }
        defer { state.withLock { $0.sources[id] = nil } }
        if isHeld { source.hold(true) }
        return try await body()
    }

    /// Waits while the download is held up.
    ///
    /// - Throws: `CancellationError` when the task is cancelled meanwhile: a worker's among others, whatever the download does.
    func pass() async throws {
        try Task.checkCancellation()
        guard phase == .suspended else { return }
        let id = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    // Cancelled later, the handler finds it here.
                    guard state.call.phase == .suspended, !Task.isCancelled else { return false }
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
        defer { progress.finish() }
        do {
            // It may have been ended before it began, and its cancellation be yet to come.
            guard !state.withLock({ $0.call.isEnded }) else { throw CancellationError() }
            try Task.checkCancellation()
            let file = try await work(self)
            state.withLock { _ = $0.call.handle(.finish) }
            return file
        } catch {
            let error = state.withLock { state in
                _ = state.call.handle(.finish)
                return state.end ?? error
            }
            let failure = complete(error)
            answer(.failure(failure))
            throw failure
        }
    }

    // MARK: What it takes

    /// What is asked for.
    func begin(_ request: Request) { state.withLock { $0.request = request } }

    /// Whether it may go on once more; counts.
    func mayGoOn(atMost maximum: Int?) -> Bool {
        state.withLock { state in
            state.goings += 1
            return state.goings <= maximum ?? .max
        }
    }

    /// It was interrupted, and goes on.
    func interrupt() { state.withLock { $0.tally.interruptions += 1 } }

    var interruptions: Int { state.withLock { $0.tally.interruptions } }

    /// What all of it took up to now.
    var metrics: Metrics {
        let (tally, start) = state.withLock { ($0.tally, $0.start) }
        return tally.metrics(total: elapsed(since: start))
    }

    private func elapsed(since start: EngineInstant?) -> Duration {
        start.map { .nanoseconds(clock.now().nanoseconds(since: $0)) } ?? .zero
    }

    /// The error, with what is known of the download.
    private func complete(_ error: any Error) -> any Error {
        guard var failure = error as? TrellisError else { return error }
        let (tally, start, request) = state.withLock { ($0.tally, $0.start, $0.request) }
        tally.complete(&failure, total: elapsed(since: start))
        guard failure.url == nil, let request else { return failure }
        failure.method = request.method
        failure.url = URLRedaction.redact(request.url)
        return failure
    }

    /// Asks, deals with the answer, and keeps account of what that took.
    func asking<Value>(
        _ request: Request, of session: Session, _ body: (StreamResponse) async throws -> Value
    ) async throws -> Value {
        let answer: StreamResponse
        do {
            answer = try await session.open(request)
        } catch {
            if let error = error as? TrellisError {
                state.withLock { $0.tally.end(error.metrics, error.redirects) }
            }
            throw error
        }
        state.withLock { $0.tally.begin(answer.head.metrics) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(answer)) } catch { result = .failure(error) }
        // What nobody wants any more.
        answer.cancel()
        let metrics = await answer.source.spent ?? answer.head.metrics
        state.withLock { $0.tally.end(metrics, answer.head.redirects) }
        return try result.get()
    }
}
