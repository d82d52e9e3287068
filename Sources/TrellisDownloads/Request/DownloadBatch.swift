import CurlEngine
import FoundationEssentials
public import TrellisCore

/// The outcome of one download of a batch.
public struct DownloadOutcome: Sendable {
    /// The position of the download in the batch, from 0 on.
    public let index: Int
    /// The handle on the download.
    public let download: DownloadRequest
    /// The file, or the error of the download: see ``DownloadRequest/value``. A download that was cancelled has an error of kind
    /// ``TrellisError/Kind/cancelled``.
    public let result: Result<DownloadedFile, any Error>
}

/// A sequence of the outcomes of several downloads; a limited number run at the same time.
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
/// The downloads start when the first outcome is requested, each in its turn, even if its progress or the batch's is
/// read before. They do not wait for the loop: outcomes that it has not taken yet are kept. A failed download does not stop the
/// others. Leaving the loop, or cancelling its task, ends the downloads that are running and those that have not started. In a
/// cancelled task the sequence ends when they have ended, and have kept what they received.
public struct DownloadBatch: AsyncSequence, Sendable {
    /// The outcome of a download.
    public typealias Element = DownloadOutcome
    /// The failure of the sequence itself, which has none: the errors of downloads are in their outcomes.
    public typealias Failure = Never

    private let downloads: [DownloadRequest]
    private let limit: Int
    private let sum: ProgressSum

    init(_ downloads: [DownloadRequest], limit: Int, clock: any EngineClock) {
        self.downloads = downloads
        self.limit = Swift.max(1, limit)
        sum = ProgressSum(of: downloads.map(\.broadcaster), clock: clock)
        for download in downloads { download.joinBatch() }
    }

    /// The number of downloads in the batch.
    public var count: Int { downloads.count }

    /// The number of downloads that have ended at this moment, with a file or with an error, or that were cancelled. A cancelled
    /// download counts at once, although its task may still be about to end.
    public var finishedCount: Int { downloads.count(where: { $0.state.isFinished }) }

    /// The progress of all downloads together, for any number of readers. Reading it starts no download.
    ///
    /// The total is known when every download's is, which is not before the last one has begun. A download that has
    /// ended counts with the bytes that it has, so that the last value is complete even if downloads have failed. The time counts
    /// from the making of the batch. The sequence ends when all downloads have ended.
    public var progress: TransferProgressSequence { sum.values }

    /// The progress of all downloads together at this moment: see ``progress``. Starts no download.
    public var currentProgress: TransferProgress { sum.current }

    /// Returns an iterator over the outcomes, which runs the downloads.
    public func makeAsyncIterator() -> Iterator { Iterator(work: DownloadBatchWork(downloads, limit: limit)) }

    /// The iterator over the outcomes.
    public struct Iterator: AsyncIteratorProtocol {
        private let work: DownloadBatchWork
        private let end: DownloadBatchEnd

        fileprivate init(work: DownloadBatchWork) {
            self.work = work
            end = DownloadBatchEnd(work)
        }

        /// Returns the next outcome, in the order in which downloads end; `nil` when there are no more.
        public mutating func next() async -> DownloadOutcome? { await work.next() }

        /// Returns the next outcome, as ``next()`` does. Runs in the caller's isolation; the argument is not used.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async -> DownloadOutcome? {
            await next()
        }
    }
}

/// A token that ends the running downloads of a batch when its iterator is released.
private final class DownloadBatchEnd: Sendable {
    private let work: DownloadBatchWork

    init(_ work: DownloadBatchWork) { self.work = work }

    deinit { work.cancel() }
}

/// The queue of a batch, which starts downloads as others end.
private final class DownloadBatchWork: Sendable {
    fileprivate struct State: Sendable {
        /// The index of the next download to start.
        var next = 0
        /// The indices of the downloads that are running.
        var running: Set<Int> = []
        /// The outcomes that the iterator has not taken yet.
        var outcomes = FIFO<DownloadOutcome>()
        /// The continuation of the iterator that waits for an outcome.
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
        // A cancelled task must not start anything.
        if Task.isCancelled { cancel() }
        fill()
        return await withTaskCancellationHandler {
            await withContinuation { continuation in
                let outcome = state.withLock { state -> DownloadOutcome?? in
                    if !state.isCancelled, let outcome = state.outcomes.popFirst() { return outcome }
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

    /// Starts downloads up to the limit.
    private func fill() {
        while let index = state.withLock({ $0.start(of: downloads.count, limit: limit) }) {
            let download = downloads[index]
            let task = download.startInBatch()
            Task(executorPreference: globalConcurrentExecutor) { [self] in
                let result = download.outcome(await task.result)
                end(DownloadOutcome(index: index, download: download, result: result))
            }
        }
    }

    private func end(_ outcome: DownloadOutcome) {
        let (reader, isCancelled) = state.withLock { state -> (CheckedContinuation<DownloadOutcome?, Never>?, Bool) in
            state.running.remove(outcome.index)
            // A cancelled iterator waits for all of them.
            if state.isCancelled, !state.running.isEmpty { return (nil, true) }
            if state.reader == nil { state.outcomes.append(outcome) }
            defer { state.reader = nil }
            return (state.reader, state.isCancelled)
        }
        // The next download starts before the iterator is resumed, which may take its time.
        fill()
        reader?.resume(returning: isCancelled ? nil : outcome)
    }

    /// Ends the downloads. An iterator that waits is resumed when the last of them has ended, and so has kept what it received: a program
    /// may exit then.
    func cancel() {
        let (running, next, reader) = state.withLock {
            state -> (Set<Int>, Int, CheckedContinuation<DownloadOutcome?, Never>?) in
            state.isCancelled = true
            guard state.running.isEmpty else { return (state.running, state.next, nil) }
            defer { state.reader = nil }
            return ([], state.next, state.reader)
        }
        for index in running { downloads[index].end(CancellationError()) }
        for download in downloads[next...] { download.leaveBatch() }
        reader?.resume(returning: nil)
    }
}

extension DownloadBatchWork.State {
    /// Returns the index of the next download to start; `nil` if the limit is reached or all have started.
    fileprivate mutating func start(of count: Int, limit: Int) -> Int? {
        guard !isCancelled, next < count, running.count < limit else { return nil }
        defer { next += 1 }
        running.insert(next)
        return next
    }
}

extension Session {
    /// Returns a batch of downloads; a limited number run at the same time: see ``DownloadBatch``.
    ///
    /// - Parameters:
    ///   - downloads: Handles on downloads that have not started.
    ///   - maximumConcurrency: The number of downloads that run at the same time; 8 unless given.
    public func downloads(
        of downloads: some Sequence<DownloadRequest>, maximumConcurrency: Int = 8
    ) -> DownloadBatch { DownloadBatch(Array(downloads), limit: maximumConcurrency, clock: clock) }

    /// Returns a batch of downloads to one destination; a limited number run at the same time: see ``DownloadBatch``.
    ///
    /// - Parameters:
    ///   - requests: The requests of the downloads.
    ///   - destination: The destination of the files: a folder, or a path that a closure chooses. Of several files with the same
    ///     name, all but the first one to end fail, unless ``DownloadDestination/Options/removePreviousFile`` is given.
    ///   - options: The options of each download.
    ///   - maximumConcurrency: The number of downloads that run at the same time; 8 unless given.
    public func downloads(
        of requests: some Sequence<some RequestConvertible>, to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(), maximumConcurrency: Int = 8
    ) -> DownloadBatch {
        downloads(
            of: requests.map { downloadRequest($0, to: destination, options: options) },
            maximumConcurrency: maximumConcurrency)
    }
}
