import CurlEngine
import FoundationEssentials

/// What has become of one download of several.
public struct DownloadOutcome: Sendable {
    /// Its place among those that were asked for, from 0 on.
    public let index: Int
    /// The download.
    public let download: DownloadRequest
    /// The file, or why there is none: as ``DownloadRequest/value``.
    public let result: Result<DownloadedFile, any Error>
}

/// Several downloads, so many at a time, and what becomes of each as it ends.
///
/// ```swift
/// for await outcome in session.downloads(of: urls, to: .directory("/srv/images")) {
///     switch outcome.result {
///     case .success(let file): print(file.path)
///     case .failure(let error): print(urls[outcome.index], error)
///     }
/// }
/// ```
///
/// They start when the first outcome is asked for, each when its turn has come, whoever reads its progress meanwhile. One that fails
/// keeps none of the others from going on. Leaving the loop, or cancelling its task, ends those that are under way and those whose turn
/// has not come; the sequence then ends.
public struct DownloadBatch: AsyncSequence, Sendable {
    /// What has become of a download.
    public typealias Element = DownloadOutcome
    /// Failures are elements.
    public typealias Failure = Never

    private let downloads: [DownloadRequest]
    private let limit: Int

    init(_ downloads: [DownloadRequest], limit: Int) {
        self.downloads = downloads
        self.limit = Swift.max(1, limit)
        for download in downloads { download.joinBatch() }
    }

    /// Reads the outcomes.
    public func makeAsyncIterator() -> Iterator { Iterator(work: DownloadBatchWork(downloads, limit: limit)) }

    /// The reader of outcomes.
    public struct Iterator: AsyncIteratorProtocol {
        private let work: DownloadBatchWork
        private let end: DownloadBatchEnd

        fileprivate init(work: DownloadBatchWork) {
            self.work = work
            end = DownloadBatchEnd(work)
        }

        /// The next outcome, in the order in which downloads end; `nil` when there are no more.
        public mutating func next() async -> DownloadOutcome? { await work.next() }

        /// As ``next()``. It runs where it is called, whatever the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async -> DownloadOutcome? {
            await next()
        }
    }
}

/// Ends what is under way when nobody reads any more.
private final class DownloadBatchEnd: Sendable {
    private let work: DownloadBatchWork

    init(_ work: DownloadBatchWork) { self.work = work }

    deinit { work.cancel() }
}

/// Starts downloads as others end.
private final class DownloadBatchWork: Sendable {
    fileprivate struct State: Sendable {
        var next = 0
        var running: Set<Int> = []
        var outcomes: [DownloadOutcome] = []
        var reader: CheckedContinuation<DownloadOutcome?, Never>?
        var isCancelled = false
    }

    private let downloads: [DownloadRequest]
    private let limit: Int
    private let state = Locked(State())

    init(_ downloads: [DownloadRequest], limit: Int) {
        self.downloads = downloads
        self.limit = limit
    }

    func next() async -> DownloadOutcome? {
        fill()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> DownloadOutcome?? in
                    if state.isCancelled { return .some(nil) }
                    if !state.outcomes.isEmpty { return state.outcomes.removeFirst() }
                    if state.running.isEmpty { return .some(nil) }
                    state.reader = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Starts as many as may be under way.
    private func fill() {
        while let index = state.withLock({ $0.start(of: downloads.count, limit: limit) }) {
            let download = downloads[index]
            let task = download.startInBatch()
            Task(executorPreference: globalConcurrentExecutor) { [self] in
                let result = await task.result
                end(DownloadOutcome(index: index, download: download, result: result))
            }
        }
    }

    private func end(_ outcome: DownloadOutcome) {
        let reader = state.withLock { state in
            state.running.remove(outcome.index)
            if state.reader == nil { state.outcomes.append(outcome) }
            defer { state.reader = nil }
            return state.reader
        }
        // Before the reader, who may take its time.
        fill()
        reader?.resume(returning: outcome)
    }

    func cancel() {
        let (running, next, reader) = state.withLock { state in
            state.isCancelled = true
            defer { state.reader = nil }
            return (state.running, state.next, state.reader)
        }
        for index in running { downloads[index].end(CancellationError()) }
        for download in downloads[next...] { download.leaveBatch() }
        reader?.resume(returning: nil)
    }
}

extension DownloadBatchWork.State {
    /// The next one to start, if one may.
    fileprivate mutating func start(of count: Int, limit: Int) -> Int? {
        guard !isCancelled, next < count, running.count < limit else { return nil }
        defer { next += 1 }
        running.insert(next)
        return next
    }
}

extension Session {
    /// Several downloads, so many at a time: see ``DownloadBatch``.
    ///
    /// - Parameters:
    ///   - downloads: Handles on downloads that have not started.
    ///   - maximumConcurrency: How many are under way at the same time; 8 unless given.
    public func downloads(
        of downloads: some Sequence<DownloadRequest>, maximumConcurrency: Int = 8
    ) -> DownloadBatch { DownloadBatch(Array(downloads), limit: maximumConcurrency) }

    /// Several downloads to one destination, so many at a time: see ``DownloadBatch``.
    ///
    /// - Parameters:
    ///   - requests: What is downloaded.
    ///   - destination: Where the files go: to a folder, or where a closure says. Of several with the same name, all but the
    ///     first one to end fail, unless ``DownloadDestination/Options/removePreviousFile`` is given.
    ///   - options: How each is done.
    ///   - maximumConcurrency: How many are under way at the same time; 8 unless given.
    public func downloads(
        of requests: some Sequence<some RequestConvertible>, to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(), maximumConcurrency: Int = 8
    ) -> DownloadBatch {
        downloads(
            of: requests.map { download($0, to: destination, options: options) },
            maximumConcurrency: maximumConcurrency)
    }
}
