import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A download from its call to its file: asks, writes, asks again where it was interrupted, checks, and puts the file into its
/// place. Every question goes through the whole pipeline of its session: steps, retries, redirects and cookies hold for each.
struct DownloadJourney {
    let session: Session
    let run: DownloadRun
    let destination: DownloadDestination
    let checksum: Checksum?
    let options: DownloadOptions
    /// What every question has, complete.
    let request: Request
    let deadline: CallDeadline
    private var resumeData: ResumeData?

    private(set) var file: DownloadFile?
    private(set) var notes: DownloadNotes?
    /// What the bytes that are there are a part of; `nil` where they are of no use.
    var representation: Representation?
    /// Bytes that are there.
    var offset: Int64 = 0
    var resumedBytes: Int64 = 0
    var digests: DownloadDigests
    var patience: DownloadPatience
    var hasBegun = false
    var response: Response?
    /// Which parts are there, where they do not come in order.
    var parts: DownloadSegments?
    /// Parts have turned out not to be had.
    var mustBeOne = false
    var isExhausted = false
    /// The server has sent all of it where a part was asked for.
    var servesNoRanges = false

    init(_ call: DownloadCall, session: Session, run: DownloadRun) throws {
        if let problem = call.checksum?.problem() { throw problem }
        self.session = session
        self.run = run
        destination = call.destination
        checksum = call.checksum
        options = call.options
        resumeData = call.resumeData
        digests = DownloadDigests(checksum)
        patience = DownloadPatience(options)
        var request = try session.preparation.completingURL(of: call.request)
        if request.headerFields[.acceptEncoding] == nil, request.decodesContent != true {
            request.headerFields[.acceptEncoding] = "identity"
        }
        // A large file may take its time, as long as it comes; see ``Timeouts/idle``.
        let timeouts = (request.timeouts ?? Timeouts()).withoutInheritedTotal
        deadline = CallDeadline(
            start: session.clock.now(), limit: timeouts.total?.clampedNanoseconds, clock: session.clock)
        request.timeouts = timeouts
        self.request = request
        run.account.begin(request)
        guard let resumeData, !resumeData.url.hasSameBytes(as: ResumeData.name(of: request.url)) else { return }
        throw TrellisError(.downloadFailed(.resumeData("it is of \(URLRedaction.redact(resumeData.url))")))
    }

    /// Whether parts can be asked for: of what a plain `GET` brings.
    var canResume: Bool {
        request.method == .get && request.body == nil && request.headerFields[.range] == nil
    }

    mutating func download() async throws -> DownloadedFile {
        do {
            switch destination.place {
            case .file(let path): try await open(path)
            case .temporary:
                let name = "trellis-" + String(UInt64.random(in: .min ... .max), radix: 16)
                try await open("\(FilePlaces.temporaryFolder)/\(name)", isPrivate: true)
            case .directory(let folder): try DownloadFile.check(folder: folder, destination.options)
            case .choice: break
            }
            while try await !attempt() {}
            return try await finish()
        } catch {
            await leave()
            throw error
        }
    }

    // MARK: The file

    /// Opens the file, and looks for what is there already.
    private mutating func open(_ path: String, isPrivate: Bool = false) async throws {
        var file = try DownloadFile.opened(at: path, destination.options, isPrivate: isPrivate)
        var known: ResumeData?
        do {
            if canResume { (file, known) = try await found(file) }
        } catch {
            // What is there is somebody's.
            if file.length == 0 { file.discard() }
            throw error
        }
        self.file = file
        notes = DownloadNotes(file)
        guard let known, file.length > 0 else { return try file.reset() }
        // As much of it as there is.
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

    /// What is there already, and where.
    private mutating func found(_ file: DownloadFile) async throws -> (DownloadFile, ResumeData?) {
        if let resumeData {
            self.resumeData = nil
            if let file = try await file.takingOver(resumeData) { return (file, resumeData) }
        }
        guard options.resumesPartialFile, let note = file.found(for: ResumeData.name(of: request.url)) else {
            return (file, nil)
        }
        // After a sudden end the note tells; after another one the file has to be what it was.
        return (file, note.stamp == nil || file.isAsLeft(by: note) ? file.trusted(note) : nil)
    }

    mutating func open(for response: Response) async throws {
        switch destination.place {
        case .file, .temporary: break
        case .directory(let folder):
            let slash = folder.hasSuffix("/") ? "" : "/"
            try await open("\(folder)\(slash)\(response.suggestedFileName)")
        case .choice(let choose): try await open(try choose(response))
        }
    }

    /// Nothing of what is there is of use: the file and its notes begin anew.
    mutating func reset() throws {
        guard let file else { return }
        notes?.putAway()
        try file.reset()
        notes = DownloadNotes(file)
    }

    /// The download has failed: what can be gone on with stays, where it is there and can be found.
    private func leave() async {
        guard let file else { return }
        // A note may be under way still, and a later download has to wait for none.
        await notes?.end()
        let mayStay = run.keepsPartialFile || (options.keepsPartialFile && file.isShared && !destination.isTemporary)
        let end = parts.map { $0.done.last?.upperBound ?? 0 } ?? offset
        // The disk has failed: what was noted before that is there.
        if let notes, notes.hasFailed {
            if !mayStay || !notes.fallBack() { file.discard() }
            return
        }
        guard mayStay, hasSomething, file.isThere(with: end), (try? file.setAside()) != nil else {
            return file.discard()
        }
        // On a full disk there is no room for a note, unless some is made.
        var last: ResumeData?
        for end in [end, end - (256 << 10)] where end > 0 {
            guard lastNote(end: end) != nil, (try? file.truncate(to: end)) != nil else { break }
            guard (try? file.synchronize()) == true else {
                // What was noted before is there.
                if notes?.fallBack() != true { file.discard() }
                return
            }
            guard let data = lastNote(end: end) else { break }
            if file.takeNote(data, isDurable: true) || !file.isShared { return run.set(data) }
            last = data
        }
        guard let last, file.hasNote(like: last) || run.keepsPartialFile else { return file.discard() }
        run.set(last)
    }

    var hasSomething: Bool { offset > 0 || parts.map { $0.doneCount > 0 } ?? false }

    private mutating func finish() async throws -> DownloadedFile {
        guard let file, let response else { throw TrellisError(.other("a download without a file")) }
        if let error = try await digests.mismatch(file, size: offset) {
            // None of it is of use.
            representation = nil
            throw error.about(request, response)
        }
        notes?.putAway()
        try notes?.check()
        try await file.finish(size: offset)
        return DownloadedFile(
            path: file.target, size: offset, resumedBytes: resumedBytes, response: response,
            interruptions: run.account.interruptions, metrics: run.account.metrics)
    }
}

extension DownloadDestination {
    fileprivate var isTemporary: Bool { if case .temporary = place { true } else { false } }
}
