import CurlEngine
import HTTPTypes
public import TrellisCore

/// A handle on one download, which writes a file and resumes by itself after interruptions.
///
/// ```swift
/// let download = session.downloadRequest("https://example.com/big.iso", to: .file("big.iso"), checksum: .sha256("9f86d0…"))
/// for await progress in download.progress { bar.update(progress) }
/// let file = try await download.value
/// ```
///
/// The download starts when its ``value`` or its ``response`` is requested, when the first value of its ``progress`` is, or when
/// ``resume()`` is called, and runs once, however often it is read. Copies, and the results of ``validate()`` and the other
/// conditions, are handles on the same download; when the last handle is released, the download ends.
///
/// For a description of a download, see <doc:Downloads>.
public struct DownloadRequest: Sendable {
    private let owner: DownloadOwner
    /// The error that every read through this handle throws; `nil` if the handle is valid.
    private let failure: TrellisError?
    private var run: DownloadTask { owner.run }

    init(_ owner: DownloadOwner, failure: TrellisError? = nil) {
        self.owner = owner
        self.failure = failure
    }

    /// Returns a handle on the download with further validators. After the start that is an error: of the download, unless it has
    /// ended, and of the returned handle.
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

    /// The source of the progress, which a batch reads without starting the download.
    var broadcaster: ProgressBroadcaster { run.progress }

    /// The record of the requests up to now; for tests.
    var report: DownloadReport { run.report }

    /// Leaves the start of the download to a batch.
    func joinBatch() { run.joinBatch() }

    /// Ends the download, unless it has started.
    func leaveBatch() { run.leaveBatch() }

    /// Returns the result of the download's task for the outcome of a batch.
    func outcome(_ result: Result<DownloadedFile, any Error>) -> Result<DownloadedFile, any Error> {
        run.outcome(result)
    }

    /// Ends the download with an error.
    func end(_ error: any Error) { run.cancel(error) }

    /// The request as it was asked for, with its URL completed by the session's defaults. The attempts of the download add fields to
    /// it, such as `Range`.
    ///
    /// - Throws: The reason why the request cannot be sent: ``TrellisError``, or the error that its conversion threw.
    public var request: Request {
        get throws { try owner.request() }
    }

    /// The file, complete and at its destination.
    ///
    /// A task that is cancelled leaves the download to the other tasks that wait for this or for ``response``; with the last of
    /// them the download ends.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/cancelled`` if the download ended with its other waiting tasks; the
    ///   error of a validator or of the closure that chooses a destination; `CancellationError` in a cancelled task.
    public var value: DownloadedFile {
        get async throws {
            if let failure { throw failure }
            return try await run.value()
        }
    }

    /// The response of the first attempt that was accepted, as soon as its head has arrived. After an interruption others follow;
    /// ``DownloadedFile/response`` is the last one.
    ///
    /// - Throws: The errors of ``value``, if no response was accepted.
    public var response: Response {
        get async throws {
            if let failure { throw failure }
            return try await run.response()
        }
    }

    /// The progress of the download, for any number of readers. The first reader that waits for a value starts the download,
    /// unless the download belongs to a ``DownloadBatch``, which starts it in its turn.
    ///
    /// Bytes of an earlier download count as completed. A download that begins again counts from zero again. The total is unknown
    /// if the server does not give it. For a body with a content coding, the bytes on the wire count, whose number is the one that
    /// the server announces.
    public var progress: TransferProgressSequence {
        TransferProgressSequence(run.progress) { [weak run] in run?.beginForReader() }
    }

    /// The progress of the download at this moment. Does not start the download.
    public var currentProgress: TransferProgress { run.progress.current }

    /// The state of the download at this moment.
    public var state: RequestState { run.currentState }

    /// The data with which the download can be resumed; `nil` while it runs, if it succeeded, and if it has no bytes that could be
    /// kept.
    public var resumeData: ResumeData? { run.resumeData }

    /// Starts the download, or resumes it.
    public func resume() {
        _ = run.begin()
        run.resume()
    }

    /// Suspends the download: its traffic stops. ``Timeouts/total`` continues to run, and the download fails at its end;
    /// ``Timeouts/idle`` does not apply meanwhile.
    public func suspend() { run.suspend() }

    /// Cancels the download; tasks that wait for it get an error of kind ``TrellisError/Kind/cancelled``. Does nothing if the
    /// download has ended already. ``DownloadOptions/keepsPartialFile`` decides whether the partial file stays.
    public func cancel() { run.cancel(TrellisError(.cancelled(.explicitly))) }

    /// Cancels the download as ``cancel()`` does, keeps its partial file, and returns the data with which it can be resumed.
    /// Returns `nil` if no bytes have arrived yet, the server gives no validator for that (a strong entity tag or a date of the
    /// last change), or the download has succeeded.
    public func cancelProducingResumeData() async -> ResumeData? {
        run.cancel(TrellisError(.cancelled(.explicitly)), keepingPartialFile: true)
        return await run.resumeDataAtEnd()
    }
}

extension DownloadRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method and the URL without its secrets: `GET https://example.com/big.iso (download)`.
    public var description: String { owner.description }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

/// The owner of a download, which ends the download when the last handle on it is released.
final class DownloadOwner: Sendable {
    let run: DownloadTask
    /// The request that was asked for, or the reason why it could not be created.
    private let requested: Result<Request, any Error>
    private let session: Session

    init(_ run: DownloadTask, _ requested: Result<Request, any Error>, session: Session) {
        self.run = run
        self.requested = requested
        self.session = session
    }

    /// Returns the request that was asked for, with its URL completed. Throws the reason why it cannot be sent.
    func request() throws -> Request {
        let request = try requested.get()
        _ = try session.preparation.prepare(request, delivery: .stream, start: session.clock.now())
        return try session.preparation.completingURL(of: request)
    }

    /// The method and the URL without its secrets; the error if the request cannot be sent.
    var description: String {
        do {
            let request = try self.request()
            return "\(request.method.rawValue) \(URLRedaction.redact(request.url)) (download)"
        } catch {
            return "failed: \(error)"
        }
    }

    deinit { run.cancel(CancellationError()) }
}
