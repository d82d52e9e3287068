import CurlEngine
import Synchronization

/// What the handles on a download and the task that does it share.
///
/// The work is a task of its own on the pool, which reads bodies and writes a file: none of it happens on the engine thread,
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
        var sources: [ObjectIdentifier: any ChunkSource] = [:]
        var whenResumed: [CheckedContinuation<Void, Never>] = []
        var response: Result<Response, any Error>?
        var whenAnswered: [CheckedContinuation<Response, any Error>] = []
        var resumeData: ResumeData?
    }

    let progress: ProgressBroadcaster
    private let work: Work
    private let state = Locked(State())

    init(progress: ProgressBroadcaster, work: @escaping Work) {
        self.progress = progress
        self.work = work
    }

    // It may never have begun.
    deinit { progress.finish() }

    // MARK: Called by handles

    var phase: RequestPhase { state.withLock { $0.call.phase } }

    var resumeData: ResumeData? { state.withLock { $0.call.isEnded ? $0.resumeData : nil } }

    func add(_ validator: Validator) {
        state.withLock { if $0.task == nil { $0.validation = $0.validation.adding(validator) } }
    }

    /// Starts the work, once, in the task that asks first: its priority and its task-local values are the download's.
    func begin() -> Task<DownloadedFile, any Error> {
        state.withLock { state in
            if let task = state.task { return task }
            let task = Task(executorPreference: globalConcurrentExecutor) { try await self.run() }
            state.task = task
            if state.call.isEnded { task.cancel() } else { _ = state.call.handle(.begin) }
            return task
        }
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
            defer { if !isHeld { state.whenResumed = [] } }
            return (Array(state.sources.values), isHeld ? [] : state.whenResumed, isHeld)
        }
        for source in sources { source.hold(isHeld) }
        for waiter in waiters { waiter.resume() }
    }

    func cancel(_ error: any Error, keepingPartialFile keeps: Bool = false) {
        let (task, waiters) = state.withLock { state in
            guard !state.call.isEnded else { return (Task<DownloadedFile, any Error>?.none, state.whenResumed) }
            _ = state.call.handle(.cancel)
            state.end = error
            state.keepsPartialFile = keeps
            defer { state.whenResumed = [] }
            return (state.task, state.whenResumed)
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
    func pass() async throws {
        try Task.checkCancellation()
        guard phase == .suspended else { return }
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard state.call.phase == .suspended else { return false }
                state.whenResumed.append(continuation)
                return true
            }
            if !isHeld { continuation.resume() }
        }
        try Task.checkCancellation()
    }

    private func run() async throws -> DownloadedFile {
        defer { progress.finish() }
        do {
            try Task.checkCancellation()
            let file = try await work(self)
            state.withLock { _ = $0.call.handle(.finish) }
            return file
        } catch {
            let error = state.withLock { state in
                _ = state.call.handle(.finish)
                return state.end ?? error
            }
            answer(.failure(error))
            throw error
        }
    }
}
