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
    private let deadline: CallDeadline
    private var resumeData: ResumeData?

    private(set) var file: DownloadFile?
    /// What the bytes that are there are a part of; `nil` where they are of no use.
    private var representation: Representation?
    /// Bytes that are there.
    private var offset: Int64 = 0
    private var resumedBytes: Int64 = 0
    private var digests: DownloadDigests
    private var patience: DownloadPatience
    private var hasBegun = false
    private var response: Response?

    init(_ call: DownloadCall, session: Session, run: DownloadRun) throws {
        if let problem = call.checksum?.problem() { throw problem }
        self.session = session
        self.run = run
        destination = call.destination
        checksum = call.checksum
        options = call.options
        resumeData = call.resumeData
        digests = DownloadDigests(checksum)
        patience = DownloadPatience(limit: options.maximumFailures)
        var request = try session.preparation.completingURL(of: call.request)
        if request.headerFields[.acceptEncoding] == nil, request.decodesContent != true {
            request.headerFields[.acceptEncoding] = "identity"
        }
        // A large file may take its time, as long as it comes; see ``Timeouts/idle``.
        deadline = CallDeadline(
            start: session.clock.now(), limit: request.timeouts?.total?.clampedNanoseconds, clock: session.clock)
        if request.timeouts == nil {
            request.timeouts = session.configuration.timeouts
            request.timeouts?.total = nil
        }
        self.request = request
        guard let resumeData, resumeData.url != ResumeData.name(of: request.url) else { return }
        throw TrellisError(.downloadFailed(.resumeData("it is of \(URLRedaction.redact(resumeData.url))")))
    }

    /// Whether parts can be asked for: of what a plain `GET` brings.
    private var canResume: Bool {
        request.method == .get && request.body == nil && request.headerFields[.range] == nil
    }

    mutating func download() async throws -> DownloadedFile {
        do {
            switch destination.place {
            case .file(let path): try await open(path)
            case .temporary:
                let name = "trellis-" + String(UInt64.random(in: .min ... .max), radix: 16)
                try await open("\(FilePlaces.temporaryFolder)/\(name)", isPrivate: true)
            case .directory, .choice: break
            }
            while try await !attempt() {}
            return try await finish()
        } catch {
            leave()
            throw error
        }
    }

    // MARK: The file

    /// Opens the file, and looks for what is there already.
    private mutating func open(_ path: String, isPrivate: Bool = false) async throws {
        let file = try await DownloadFile.opened(
            at: path, destination.options, isPrivate: isPrivate, takingOver: canResume ? resumeData : nil)
        self.file = file
        guard canResume else { return try file.reset() }
        let known = resumeData ?? (options.resumesPartialFile ? file.found(for: ResumeData.name(of: request.url)) : nil)
        resumeData = nil
        guard let known, let first = known.done.first, first.lowerBound == 0 else { return try file.reset() }
        // As much of it as there is.
        let there = min(first.upperBound, file.length)
        guard there > 0 else { return try file.reset() }
        representation = known.representation
        offset = there
        resumedBytes = there
        run.progress.expect(known.totalBytes)
        run.progress.jump(to: there)
    }

    private mutating func open(for response: Response) async throws {
        switch destination.place {
        case .file, .temporary: break
        case .directory(let folder):
            let slash = folder.hasSuffix("/") ? "" : "/"
            try await open("\(folder)\(slash)\(response.suggestedFileName)")
        case .choice(let choose): try await open(try choose(response))
        }
    }

    /// Takes note of what is there, for a download that goes on with it.
    private func note(isAtEnd: Bool) -> ResumeData? {
        guard canResume, let file, let representation, let validator = representation.validator else { return nil }
        // While it grows, its length tells how much there is.
        let end = isAtEnd ? offset : representation.total ?? .max
        let data = ResumeData(
            url: ResumeData.name(of: request.url), path: file.path, done: [0..<end], totalBytes: representation.total,
            validator: validator)
        file.takeNote(data)
        return data
    }

    /// The download has failed: what can be gone on with stays.
    private func leave() {
        guard let file else { return }
        let mayStay = run.keepsPartialFile || (options.keepsPartialFile && file.isShared && !destination.isTemporary)
        guard mayStay, offset > 0, let data = note(isAtEnd: true) else { return file.discard() }
        run.set(data)
    }

    private mutating func finish() async throws -> DownloadedFile {
        guard let file, let response else { throw TrellisError(.other("a download without a file")) }
        if let error = try await digests.mismatch(file, size: offset) {
            // None of it is of use.
            representation = nil
            throw error.about(request, response)
        }
        try await file.finish(size: offset)
        return DownloadedFile(
            path: file.target, size: offset, resumedBytes: resumedBytes, response: response,
            interruptions: patience.interruptions)
    }

    // MARK: Attempts

    /// Asks for what is missing. `true`: nothing is any more.
    private mutating func attempt() async throws -> Bool {
        do {
            try await run.pass()
            return try await ask()
        } catch {
            try await pause(after: error)
            return false
        }
    }

    /// Waits before the download goes on after an interruption, if it does.
    private func delay(_ duration: Duration) async throws {
        if let remaining = deadline.remaining, remaining <= duration {
            throw TrellisError(.timedOut(.total), method: request.method, url: request.url)
        }
        guard duration > .zero else { return }
        guard try await session.engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }

    private mutating func pause(after error: any Error) async throws {
        let cause = (error as? Interruption)?.error ?? error
        let isInterruption = error is Interruption || (error as? TrellisError)?.isPassing == true
        guard hasBegun, canResume, isInterruption, !Task.isCancelled else { throw cause }
        guard let duration = patience.delay(random: .random(in: 0..<1)) else { throw cause }
        try await delay(duration)
    }

    private mutating func ask() async throws -> Bool {
        let question = self.question
        let response = try await session.open(asking(question))
        return try await run.reading(response.source) {
            try await judge(question, response)
        }
    }

    private var question: DownloadQuestion {
        guard canResume, offset > 0, let representation, representation.validator != nil else { return .whole }
        return .part(from: offset, to: nil, of: representation)
    }

    private func asking(_ question: DownloadQuestion) throws -> Request {
        var request = request
        for field in question.fields { request.headerFields[field.name] = field.value }
        if let remaining = deadline.remaining { request.timeouts?.total = remaining }
        return request
    }

    private mutating func judge(_ question: DownloadQuestion, _ answer: StreamResponse) async throws -> Bool {
        let head = answer.head
        let verdict: DownloadQuestion.Verdict =
            canResume
            ? question.verdict(status: head.status.code, fields: head.headerFields)
            : .whole(Representation(validator: nil, total: Representation(head.headerFields).total))
        switch verdict {
        case .whole(let representation):
            return try await begin(representation, answer)
        case .part(let range, let total):
            accept(head)
            representation?.total = total
            run.progress.expect(total)
            if digests.checksum == nil { digests.restart(serverChecksum(head, isWhole: false)) }
            return try await receive(answer, upTo: range.upperBound)
        case .complete:
            accept(head)
            representation?.total = offset
            answer.cancel()
            return true
        case .askForWhole:
            answer.cancel()
            representation = nil
            return false
        case .malformed(let why):
            answer.cancel()
            throw TrellisError(.invalidResponse(.malformed(why))).about(request, head)
        case .busy, .refused: return try await refuse(answer, isPassing: verdict == .busy)
        }
    }

    /// All of it comes, from the beginning.
    private mutating func begin(_ new: Representation, _ answer: StreamResponse) async throws -> Bool {
        for validator in run.validation.validators(withDefaults: true) { _ = try await answer.validate(validator) }
        if file == nil {
            try await open(for: answer.head)
            // What is there at the place that the response names is a part of just this.
            if offset > 0, let known = representation?.validator, known == new.validator {
                answer.cancel()
                return false
            }
        } else if hasBegun || offset > 0, !patience.restart() {
            answer.cancel()
            throw TrellisError(.invalidResponse(.bodyCutShort("it began anew too often"))).about(request, answer.head)
        }
        try file?.reset()
        accept(answer.head)
        representation = new
        offset = 0
        resumedBytes = 0
        digests.restart(checksum ?? serverChecksum(answer.head, isWhole: true))
        run.progress.expect(new.total)
        run.progress.jump(to: 0)
        // A short one comes as fast as its note.
        if new.total ?? .max > 256 << 10 { _ = note(isAtEnd: false) }
        return try await receive(answer, upTo: nil)
    }

    private mutating func accept(_ response: Response) {
        hasBegun = true
        self.response = response
        run.accept(response)
    }

    private func serverChecksum(_ response: Response, isWhole: Bool) -> Checksum? {
        guard options.verifiesDigestFields, checksum == nil else { return nil }
        return DigestFields.checksum(response.headerFields, isWhole: isWhole)
    }

    private mutating func receive(_ answer: StreamResponse, upTo end: Int64?) async throws -> Bool {
        guard let file else { throw TrellisError(.other("a download without a file")) }
        let start = offset
        let canGain = representation?.validator != nil
        while let chunk = try await answer.source.next() {
            if let end, offset + Int64(chunk.count) > end {
                representation = nil
                throw Interruption(
                    TrellisError(.invalidResponse(.malformed("the part is longer than it said"))).about(
                        request, answer.head))
            }
            try file.write(chunk, at: offset)
            digests.take(chunk, at: offset)
            offset += Int64(chunk.count)
            run.progress.advance(by: chunk.count)
            if canGain { patience.gain(chunk.count) }
            try await run.pass()
        }
        response = try await answer.source.finalResponse()
        let total = end == nil ? offset : representation?.total
        if let total, offset >= total { return true }
        // A part of a part: ask on, unless nothing came.
        guard offset > start else {
            throw Interruption(
                TrellisError(.invalidResponse(.bodyCutShort("the part is empty"))).about(request, answer.head))
        }
        return false
    }

    /// The answer is an error page, which is no file.
    private mutating func refuse(_ answer: StreamResponse, isPassing: Bool) async throws -> Bool {
        if question == .whole {
            for validator in run.validation.validators(withDefaults: true) {
                do {
                    _ = try await answer.validate(validator)
                } catch let error as TrellisError where isPassing && hasBegun {
                    throw Interruption(error)
                }
            }
            // Somebody wants it.
            return try await begin(Representation(validator: nil, total: nil), answer)
        }
        do {
            _ = try await answer.validate(.successfulStatus)
        } catch let error as TrellisError where isPassing {
            throw Interruption(error)
        }
        return false
    }
}

/// A failure that a new attempt may mend, whatever it is.
private struct Interruption: Error {
    let error: any Error

    init(_ error: any Error) { self.error = error }
}

extension DownloadDestination {
    fileprivate var isTemporary: Bool { if case .temporary = place { true } else { false } }
}

extension TrellisError {
    fileprivate func about(_ request: Request, _ response: Response) -> TrellisError {
        var error = self
        error.method = request.method
        error.url = URLRedaction.redact(response.url)
        error.phase = .receiving
        error.response = response
        return error
    }
}
