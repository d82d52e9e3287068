import CurlEngine
import FoundationEssentials
import HTTPTypes

/// How a download asks, and what it does with the answers.
extension DownloadJourney {
    /// Asks for what is missing. `true`: nothing is any more.
    mutating func attempt() async throws -> Bool {
        do {
            try await run.pass()
            return try await ask()
        } catch {
            try await pause(after: error)
            return false
        }
    }

    private mutating func pause(after error: any Error) async throws {
        guard hasBegun, canResume, !isExhausted,
            let duration = try patience.delay(after: error, canGain: canGain),
            run.account.mayGoOn(atMost: options.maximumInterruptions)
        else { throw error.cause }
        try await session.wait(duration, after: error, within: deadline)
        run.account.interrupt()
    }

    private mutating func ask() async throws -> Bool {
        if parts != nil { return try await receiveParts(beginningWith: nil) }
        let question = self.question
        return try await run.account.asking(request.asking(question, within: deadline), of: session) { answer in
            try await run.reading(answer.source) { try await judge(question, answer) }
        }
    }

    /// What comes need not come again after an interruption.
    private var canGain: Bool { representation?.validator != nil && !servesNoRanges }

    private var question: DownloadQuestion {
        guard canResume, offset > 0, let representation, representation.validator != nil else { return .whole }
        // Where all is there, its last byte tells whether it is what the server has still.
        let start = offset == representation.total ? offset - 1 : offset
        return .part(from: start, to: nil, of: representation)
    }

    private mutating func judge(_ question: DownloadQuestion, _ answer: StreamResponse) async throws -> Bool {
        let head = answer.head
        let verdict: DownloadQuestion.Verdict =
            canResume
            ? question.verdict(status: head.status.code, fields: head.headerFields, of: head.url)
            : .whole(Representation(validator: nil, total: Representation(head.headerFields).total))
        switch verdict {
        case .whole(let new):
            // All of the same again: it takes no notice of ranges.
            if question != .whole, new.validator == representation?.validator { servesNoRanges = true }
            return try await begin(new, answer)
        case .part(let range, let total):
            try checkSize(total, head)
            let isFirst = !hasBegun
            accept(head)
            offset = range.lowerBound
            run.progress.jump(to: offset)
            representation?.total = total
            run.progress.expect(total)
            if digests.checksum == nil { digests.restart(serverChecksum(head, isWhole: false)) }
            // From here on its length tells how much there is.
            try file?.truncate(to: offset)
            if isFirst { noteBeginning() }
            return try await receive(answer, upTo: range.upperBound)
        case .complete:
            answer.cancel()
            representation?.total = offset
            // Whoever has had no other answer gets one that is of the file.
            return self.response != nil
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
        try checkSize(new.total, answer.head)
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
        try reset()
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
        if new.total ?? .max > 256 << 10 { noteBeginning() }
        return try await receive(answer, upTo: nil)
    }

    /// A digest may come behind the body (RFC 9530, sections 2 and 3). What has passed by is read from the file then.
    private mutating func takeTrailers(of response: Response, isWhole: Bool) {
        guard options.verifiesDigestFields, digests.checksum == nil, !response.trailerFields.isEmpty,
            !Representation.isCoded(response.headerFields),
            let found = DigestFields.checksum(response.trailerFields, isWhole: isWhole)
        else { return }
        digests.restart(found)
    }

    mutating func accept(_ response: Response) {
        hasBegun = true
        self.response = response
        run.accept(response)
    }

    func serverChecksum(_ response: Response, isWhole: Bool) -> Checksum? {
        guard options.verifiesDigestFields, checksum == nil else { return nil }
        return DigestFields.checksum(response.headerFields, isWhole: isWhole)
    }

    private mutating func receive(_ answer: StreamResponse, upTo end: Int64?) async throws -> Bool {
        guard let file else { throw TrellisError(.other("a download without a file")) }
        let start = offset
        let canGain = canGain
        // What the server has announced is what comes over the wire, and not what is written.
        let coded = Representation.isCoded(answer.head.headerFields) ? answer.source as? StreamSource : nil
        coded?.measure(with: run.progress)
        var rhythm = DownloadRhythm(now: session.clock.now())
        while let chunk = try await answer.source.next() {
            if let end, Int64(chunk.count) > end - offset {
                representation = nil
                throw Interruption(
                    TrellisError(.invalidResponse(.malformed("the part is longer than it said"))).about(
                        request, answer.head))
            }
            try checkSize(offset + Int64(chunk.count), answer.head)
            try file.write(chunk, at: offset)
            digests.take(chunk, at: offset)
            offset += Int64(chunk.count)
            if rhythm.isTime(session.clock.now()) {
                // Whoever deletes a folder need not wait for the end to see that its downloads fail.
                try file.check()
                try notes?.check()
                noteProgress()
            }
            if coded == nil { run.progress.advance(by: chunk.count) }
            if canGain { patience.gain(chunk.count) }
            try await run.pass()
        }
        let response = try await answer.source.finalResponse()
        self.response = response
        if coded != nil, let total = run.progress.current.totalBytes { run.progress.jump(to: total) }
        takeTrailers(of: response, isWhole: end == nil)
        let total = end == nil ? offset : representation?.total
        if let total, offset >= total { return true }
        // A part of a part: ask on, unless nothing came.
        guard offset > start else {
            throw Interruption(
                TrellisError(.invalidResponse(.bodyCutShort("the part is empty"))).about(request, answer.head))
        }
        return false
    }

    /// Keeps the file within ``Request/maximumBodySize``, of which each answer alone may stay short.
    func checkSize(_ size: Int64?, _ head: Response?) throws {
        guard let size, request.method != .head, let limit = request.maximumBodySize,
            limit.isExceeded(by: Int(clamping: size))
        else { return }
        let error = TrellisError(
            .invalidResponse(.bodyTooLarge(limit: limit.bytes)), method: request.method, url: request.url)
        throw head.map { error.about(request, $0) } ?? error
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

extension TrellisError {
    func about(_ request: Request, _ response: Response) -> TrellisError {
        var error = self
        error.method = request.method
        error.url = URLRedaction.redact(response.url)
        error.phase = .receiving
        error.response = response
        return error
    }
}
