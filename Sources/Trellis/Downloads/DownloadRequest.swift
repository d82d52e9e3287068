/// A handle on one download: bytes that go to a file, through whatever the network does meanwhile.
///
/// ```swift
/// let download = session.download("https://example.com/big.iso", to: .file("big.iso"), checksum: .sha256("9f86d0…"))
/// for await progress in download.progress { bar.update(progress) }
/// let file = try await download.value
/// ```
///
/// It starts when its ``value`` or its ``response`` is asked for, when the first value of its ``progress`` is, or when ``resume()``
/// is called, and happens once however often it is read. Copies, and what ``validate()`` and its like return, are handles on the
/// same download; when the last of them goes, the download ends.
///
/// What it does is in <doc:Downloads>.
public struct DownloadRequest: Sendable {
    private let owner: DownloadOwner
    /// Why nothing can be read by this handle.
    private let failure: TrellisError?
    private var run: DownloadRun { owner.run }

    init(_ owner: DownloadOwner, failure: TrellisError? = nil) {
        self.owner = owner
        self.failure = failure
    }

    /// A handle on the download that wants one thing more. After the start that is an error: of the download, unless it has ended, and
    /// of the handle.
    func adding(_ validators: Validator...) -> DownloadRequest {
        guard !validators.allSatisfy(run.add) else { return self }
        let error = TrellisError(.invalidRequest(.lateValidator))
        run.cancel(error)
        return DownloadRequest(owner, failure: error)
    }

    /// Starts the download for a batch.
    func startInBatch() -> Task<DownloadedFile, any Error> {
        guard let failure else { return run.beginInBatch() }
        return Task { throw failure }
    }

    func joinBatch() { run.joinBatch() }

    /// Ends the download, unless it has started.
    func leaveBatch() { run.leaveBatch() }

    func end(_ error: any Error) { run.cancel(error) }

    /// The file, whole and in its place.
    ///
    /// A task that is cancelled leaves the download to the other readers of this and of ``response``; with the last of them the
    /// download ends.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/cancelled`` where the download ended with its other readers; what a
    ///   validator or the choice of a destination threw; `CancellationError` in a cancelled task.
    public var value: DownloadedFile {
        get async throws {
            if let failure { throw failure }
            return try await run.value()
        }
    }

    /// The response of the first attempt that was accepted, as soon as its head has come. After an interruption others follow;
    /// ``DownloadedFile/response`` is the last one.
    ///
    /// - Throws: As ``value``, where none came.
    public var response: Response {
        get async throws {
            if let failure { throw failure }
            return try await run.response()
        }
    }

    /// How far the download is, for any number of readers. The first reader that waits for a value starts the download, unless that
    /// waits for its turn in a ``DownloadBatch``.
    ///
    /// Bytes that were there from an earlier download count as completed. The total is not known where the server does not
    /// say it. Of a body that comes coded, the bytes on the wire count, which are what the server has announced.
    public var progress: TransferProgressSequence {
        TransferProgressSequence(run.progress) { [weak run] in run?.beginForReader() }
    }

    /// How far the download is at this moment. Does not start it.
    public var currentProgress: TransferProgress { run.progress.current }

    /// The state of the download at this moment.
    public var state: RequestState { run.currentState }

    /// What it takes to go on with the download where it ended; `nil` while it is under way, where it came to its end, and where
    /// nothing is there that could be gone on with.
    public var resumeData: ResumeData? { run.resumeData }

    /// Starts the download, or lets it go on.
    public func resume() {
        _ = run.begin()
        run.resume()
    }

    /// Holds the download up: its traffic stops. Time limits but ``Timeouts/idle`` go on.
    public func suspend() { run.suspend() }

    /// Ends the download; whoever waits for it gets an error of kind ``TrellisError/Kind/cancelled``. Nothing happens if it has
    /// ended already. A partial file stays as ``DownloadOptions/keepsPartialFile`` has it.
    public func cancel() { run.cancel(TrellisError(.cancelled(.explicitly))) }

    /// Ends the download as ``cancel()`` does, keeps its partial file, and returns what it takes to go on with it. `nil` where
    /// nothing has come yet, the server gives no means to go on (a strong entity tag or a date of the last change), or the
    /// download has come to its end.
    public func cancelProducingResumeData() async -> ResumeData? {
        run.cancel(TrellisError(.cancelled(.explicitly)), keepingPartialFile: true)
        return await run.resumeDataAtEnd()
    }
}

/// Ends a download when the last handle on it goes.
final class DownloadOwner: Sendable {
    let run: DownloadRun

    init(_ run: DownloadRun) { self.run = run }

    deinit { run.cancel(CancellationError()) }
}
