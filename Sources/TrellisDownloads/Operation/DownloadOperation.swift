import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The course of a download from its call to the complete file: requests, writes, requests the rest after an interruption, checks the
/// file, and moves it to the destination. Every request passes the complete pipeline of its session: steps, retries, redirects and
/// cookies apply to each.
struct DownloadOperation {
    let session: Session
    let run: DownloadTask
    let destination: DownloadDestination
    let checksum: Checksum?
    let options: DownloadOptions
    /// The request, completed, that all requests of the download are made from.
    let request: Request
    /// The deadline of the download, all attempts and waits included.
    let deadline: CallDeadline
    /// The caller's resume data, until the partial file is opened.
    private var resumeData: ResumeData?

    /// The file; `nil` until the destination is known.
    private(set) var file: DownloadFile?
    private(set) var checkpoints: CheckpointWriter?
    /// The file that was at the destination before, and stays; `nil` if the download brings a file.
    var existing: ExistingFile?
    /// The representation of the bytes that exist; `nil` if these are unusable.
    var representation: Representation?
    /// The number of bytes that exist from the beginning on, without a gap.
    var offset: Int64 = 0
    /// The number of bytes that an earlier download had brought.
    var resumedBytes: Int64 = 0
    var digests: DownloadDigests
    /// The limits and delays of further attempts.
    var backoff: DownloadBackoff
    /// The schedule of the checkpoints, which continues over all responses: connections that are cut early leave checkpoints too.
    var schedule: CheckpointSchedule
    /// Whether a response has been accepted.
    var hasBegun = false
    var response: Response?
    /// The observer of the call whose response was validated last; `nil` if it has none.
    var observer: CallObserver?
    /// The segments of a download in parts, whose bytes do not arrive in order; `nil` otherwise.
    var parts: DownloadSegments?
    /// Whether the server has turned out not to serve parts, so that one response has to bring the file.
    var usesOneConnection = false
    /// Whether the workers of a download in parts have used up their attempts.
    var isExhausted = false
    /// Whether the server has sent the complete representation in response to a request for a part.
    var servesNoRanges = false

    init(_ call: DownloadCall, session: Session, run: DownloadTask) throws {
        if let problem = call.checksum?.problem() { throw problem }
        guard call.checksum != nil || !call.destination.options.contains(.keepIfItMatches) else {
            throw TrellisError(.invalidRequest(.checksum("there is none, and keepIfItMatches needs one")))
        }
        self.session = session
        self.run = run
        destination = call.destination
        checksum = call.checksum
        options = call.options
        resumeData = call.resumeData
        digests = DownloadDigests(checksum)
        backoff = DownloadBackoff(options)
        schedule = CheckpointSchedule(now: session.clock.now())
        var request = try session.preparation.completingURL(of: call.request)
        if request.headers[.acceptEncoding] == nil, request.decodesContent != true {
            request.headers[.acceptEncoding] = "identity"
        }
        // A large file may take long, as long as bytes arrive; see ``Timeouts/idle``.
        let timeouts = (request.timeouts ?? Timeouts()).withoutInheritedTotal
        deadline = CallDeadline(
            start: session.clock.now(), limit: timeouts.total?.clampedNanoseconds, clock: session.clock)
        request.timeouts = timeouts
        self.request = request
        run.report.begin(request)
        guard let resumeData, !resumeData.url.hasSameBytes(as: ResumeData.name(of: request.url)) else { return }
        throw TrellisError(.downloadFailed(.resumeData("it belongs to \(URLRedaction.redact(resumeData.url))")))
    }

    /// Whether parts can be requested: only of the representation that a plain `GET` brings.
    var canResume: Bool {
        request.method == .get && request.body == nil && request.headers[.range] == nil
    }

    /// Runs the download to its end. Throws the error of the last attempt.
    mutating func download() async throws -> DownloadedFile {
        do {
            switch destination.place {
            case .file(let path):
                if try await keepFile(at: path) { return try await finish() }
                try await open(path)
            case .temporary:
                let name = "trellis-" + String(UInt64.random(in: .min ... .max), radix: 16)
                try await open("\(FileSystem.temporaryFolder)/\(name)", isPrivate: true)
            case .directory(let folder): try DownloadFile.check(folder: folder, destination.options)
            case .choice: break
            }
            repeat { while try await !attempt() {} } while try await mustBeginAnew()
            return try await finish()
        } catch {
            await leave()
            throw error
        }
    }

    // MARK: Partial file

    /// Opens the partial file, and finds the bytes that it has already.
    mutating func open(_ path: String, isPrivate: Bool = false) async throws {
        var file = try DownloadFile.opened(at: path, destination.options, isPrivate: isPrivate)
        var known: ResumeData?
        do {
            if canResume { (file, known) = try await found(file) }
        } catch {
            // The bytes in the file belong to an earlier download, and are kept.
            if file.length == 0 { file.discard() }
            throw error
        }
        self.file = file
        checkpoints = CheckpointWriter(file)
        guard let known, file.length > 0 else { return try file.reset() }
        // Only the bytes that the file is long enough for.
        let done = known.done.map { $0.clamped(to: 0..<file.length) }.filter { !$0.isEmpty }
        guard !done.isEmpty else { return try file.reset() }
        let isBeginning = done.count == 1 && done[0].lowerBound == 0
        let rest = known.totalBytes.map { $0 - (done.last?.upperBound ?? 0) }
        let isWorthParts = options.connections > 1 && rest ?? 0 >= 2 * DownloadSegments.smallest
        if let total = known.totalBytes, !isBeginning || isWorthParts {
            parts = DownloadSegments(total: total, done: done)
        } else if isBeginning {
            offset = done[0].upperBound
        } else {
            return try file.reset()
        }
        representation = known.representation
        resumedBytes = done.reduce(0) { $0 + Int64($1.count) }
        run.progress.expect(known.totalBytes)
        run.progress.jump(to: resumedBytes)
    }

    /// Returns the file to write to, and the resume data of the bytes that it has already.
    private mutating func found(_ file: DownloadFile) async throws -> (DownloadFile, ResumeData?) {
        if let resumeData {
            self.resumeData = nil
            if let file = try await file.adopting(resumeData) { return (file, resumeData) }
        }
        guard options.resumesPartialFile, let checkpoint = file.found(for: ResumeData.name(of: request.url)) else {
            return (file, nil)
        }
        // A checkpoint without a stamp is from a sudden end, and lists the bytes that can be trusted; otherwise the file must not
        // have changed since then.
        return (file, checkpoint.stamp == nil || file.isAsLeft(by: checkpoint) ? file.trusted(checkpoint) : nil)
    }

    /// Returns the path of the file if that depends on the response; `nil` if it does not.
    func path(for response: Response) throws -> String? {
        switch destination.place {
        case .file, .temporary: return nil
        case .directory(let folder):
            let slash = folder.hasSuffix("/") ? "" : "/"
            return "\(folder)\(slash)\(response.suggestedFileName)"
        case .choice(let choose): return try choose(response)
        }
    }

    /// Deletes all bytes and their checkpoints, which are unusable, and begins new checkpoints.
    mutating func reset() async throws {
        guard let file else { return }
        // A synchronization that is under way would report a failure of the new bytes to the old checkpoints.
        await checkpoints?.end()
        try file.reset()
        checkpoints = CheckpointWriter(file)
    }

    /// Ends a failed download: keeps the partial file if it can be resumed, still exists, and can be found by a later download.
    private func leave() async {
        guard let file else { return }
        // A checkpoint may still be in progress: a later download must not have to wait for it.
        await checkpoints?.end()
        let mayStay = run.keepsPartialFile || (options.keepsPartialFile && file.isShared && !destination.isTemporary)
        let end = parts.map { $0.done.last?.upperBound ?? 0 } ?? offset
        // After a failure of the disk, only the bytes of the last durable checkpoint are kept.
        if let checkpoints, checkpoints.hasFailed {
            if !mayStay || !checkpoints.fallBack() { file.discard() }
            return
        }
        guard mayStay, hasPartialBytes, file.isThere(with: end), (try? file.setAside()) != nil else {
            return file.discard()
        }
        // On a full disk, 256 KiB of the file are cut off to make room for the checkpoint.
        var last: ResumeData?
        for end in [end, end - (256 << 10)] where end > 0 {
            guard lastCheckpoint(end: end) != nil, (try? file.truncate(to: end)) != nil else { break }
            guard (try? file.synchronize()) == true else {
                // Only the bytes of the last durable checkpoint are kept.
                if checkpoints?.fallBack() != true { file.discard() }
                return
            }
            guard let data = lastCheckpoint(end: end) else { break }
            if file.writeCheckpoint(data, isDurable: true) || !file.isShared { return run.set(data) }
            last = data
        }
        guard let last, file.hasCheckpoint(like: last) || run.keepsPartialFile else { return file.discard() }
        run.set(last)
    }

    /// Waits while the download is suspended, at most until its deadline.
    func waitWhileSuspended() async throws {
        try await run.waitWhileSuspended(until: deadline, on: session.timekeeper)
    }

    /// Whether the partial file has any bytes.
    var hasPartialBytes: Bool { offset > 0 || parts.map { $0.doneCount > 0 } ?? false }

    /// Checks the digest. Returns whether the download begins anew, as it does once: the bytes of an earlier download may be wrong.
    private mutating func mustBeginAnew() async throws -> Bool {
        guard existing == nil, let file, let response, let error = try await digests.mismatch(file, size: offset)
        else { return false }
        // The bytes are unusable, and are not kept.
        representation = nil
        guard resumedBytes > 0, canResume else { throw error.about(request, response) }
        try await reset()
        (parts, offset, resumedBytes) = (nil, 0, 0)
        return true
    }

    /// Moves the file, whose digest is the expected one, to the destination.
    private mutating func finish() async throws -> DownloadedFile {
        if let existing, let response {
            return DownloadedFile(
                path: existing.path, size: existing.size, resumedBytes: existing.size, isExisting: true,
                response: response, interruptions: run.report.interruptions, metrics: run.report.metrics)
        }
        guard let file, let response else { throw TrellisError(.other("the download has no file or no response")) }
        if destination.options.contains(.synchronize) {
            // The system reports bytes that the disk refused to one synchronization only, which may be a checkpoint's.
            await checkpoints?.end()
        } else {
            checkpoints?.close()
        }
        try checkpoints?.check()
        let partialPath = file.path
        try await file.finish(size: offset)
        observer?.tell(.fileMoved(from: partialPath, to: file.target))
        return DownloadedFile(
            path: file.target, size: offset, resumedBytes: resumedBytes, isExisting: false, response: response,
            interruptions: run.report.interruptions, metrics: run.report.metrics)
    }
}

extension DownloadDestination {
    fileprivate var isTemporary: Bool { if case .temporary = place { true } else { false } }
}
