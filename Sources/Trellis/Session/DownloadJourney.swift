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
    /// Which parts are there, where they do not come in order.
    private var parts: DownloadSegments?
    /// Parts have turned out not to be had.
    private var mustBeOne = false
    private var isExhausted = false

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
            case .directory(let folder): try DownloadFile.check(folder: folder, destination.options)
            case .choice: break
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
    ///
    /// - Parameter isAtEnd: Nothing more comes. While a file grows, its length tells how much there is.
    private func note(isAtEnd: Bool) -> ResumeData? {
        guard canResume, let file, let representation else { return nil }
        let done = parts?.done ?? [0..<(isAtEnd ? offset : representation.total ?? .max)]
        let url = ResumeData.name(of: request.url)
        guard let data = ResumeData(representation, url: url, path: file.path, done: done) else { return nil }
        file.takeNote(data)
        return data
    }

    /// The download has failed: what can be gone on with stays.
    private func leave() {
        guard let file else { return }
        let mayStay = run.keepsPartialFile || (options.keepsPartialFile && file.isShared && !destination.isTemporary)
        guard mayStay, hasSomething, let data = note(isAtEnd: true) else { return file.discard() }
        run.set(data)
    }

    private var hasSomething: Bool { offset > 0 || parts.map { $0.doneCount > 0 } ?? false }

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

    private mutating func pause(after error: any Error) async throws {
        guard hasBegun, canResume, !isExhausted, let duration = try patience.delay(after: error) else {
            throw error.cause
        }
        try await session.wait(duration, after: error, within: deadline)
    }

    private mutating func ask() async throws -> Bool {
        if parts != nil { return try await receiveParts(beginningWith: nil) }
        let question = self.question
        let response = try await session.open(request.asking(question, within: deadline))
        return try await run.reading(response.source) {
            try await judge(question, response)
        }
    }

    private var question: DownloadQuestion {
        guard canResume, offset > 0, let representation, representation.validator != nil else { return .whole }
        return .part(from: offset, to: nil, of: representation)
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
            // From here on its length tells how much there is.
            try file?.truncate(to: offset)
            _ = note(isAtEnd: false)
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
            if hasSomething, let known = representation?.validator, known == new.validator {
                answer.cancel()
                return false
            }
        } else if hasBegun || hasSomething, !patience.restart() {
            answer.cancel()
            throw TrellisError(.invalidResponse(.bodyCutShort("it began anew too often"))).about(request, answer.head)
        }
        try file?.reset()
        accept(answer.head)
        representation = new
        parts = nil
        offset = 0
        resumedBytes = 0
        digests.restart(checksum ?? serverChecksum(answer.head, isWhole: true))
        run.progress.expect(new.total)
        run.progress.jump(to: 0)
        if let total = worthParts(new, answer.head) {
            parts = DownloadSegments(total: total)
            return try await receiveParts(beginningWith: answer)
        }
        // A short one comes as fast as its note.
        if new.total ?? .max > 256 << 10 { _ = note(isAtEnd: false) }
        return try await receive(answer, upTo: nil)
    }

    /// The size of a file that is worth to be fetched in parts, of a server that says that it serves them.
    private func worthParts(_ representation: Representation, _ head: Response) -> Int64? {
        guard options.connections > 1, !mustBeOne, canResume, representation.validator != nil,
            let total = representation.total, total >= 2 * DownloadSegments.smallest,
            head.headerFields[.acceptRanges]?.lowercased() == "bytes"
        else { return nil }
        return total
    }

    private mutating func receiveParts(beginningWith first: StreamResponse?) async throws -> Bool {
        guard let file, let representation, let parts else { return false }
        let url = ResumeData.name(of: request.url)
        // Before there are gaps: the length of the file tells nothing any more.
        _ = note(isAtEnd: false)
        let fetching = DownloadParts(
            parts, of: representation, in: file, request: request, session: session, run: run, deadline: deadline,
            options: options
        ) { parts in
            if let data = ResumeData(representation, url: url, path: file.path, done: parts.done) {
                file.takeNote(data)
            }
        }
        do {
            try await fetching.fetch(beginningWith: first)
        } catch {
            self.parts = fetching.state
            patience.add(fetching.interruptions)
            guard error is DownloadParts.Useless else {
                // Its workers had the patience.
                isExhausted = true
                throw error
            }
            // All of it, over one connection.
            self.parts = nil
            self.representation = nil
            mustBeOne = true
            return false
        }
        patience.add(fetching.interruptions)
        if let last = fetching.response { response = last }
        self.parts = nil
        offset = parts.total
        return true
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
        // Somebody may want just this, but not in the middle of something else.
        if question == .whole, !hasBegun {
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
