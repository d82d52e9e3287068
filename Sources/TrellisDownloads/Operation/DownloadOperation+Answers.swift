import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The requests of a download, and the handling of their responses.
extension DownloadOperation {
    /// Makes an attempt to fetch the missing bytes. Returns `true` when no bytes are missing any more.
    mutating func attempt() async throws -> Bool {
        do {
            try await waitWhileSuspended()
            return try await sendNextRequest()
        } catch {
            try await pause(after: error)
            return false
        }
    }

    /// Waits before a further attempt after an interruption. Throws the error if no attempt is allowed.
    private mutating func pause(after error: any Error) async throws {
        let isOffline = await session.isOffline(after: error, of: request)
        guard hasBegun, canResume, !isExhausted,
            let duration = try backoff.delay(after: error, canKeepBytes: canKeepBytes, isOffline: isOffline),
            run.report.mayResume(atMost: options.maximumInterruptions)
        else { throw error.cause }
        try await session.wait(duration, after: error, within: deadline, isOffline: isOffline)
        run.report.interrupt()
    }

    /// Sends the next request, and handles its response. Returns `true` when no bytes are missing any more.
    private mutating func sendNextRequest() async throws -> Bool {
        if parts != nil { return try await receiveParts(beginningWith: nil) }
        let rangeRequest = self.rangeRequest
        return try await run.report.send(request.requesting(rangeRequest, within: deadline), in: session) { answer in
            try await run.reading(answer.source) { try await validate(rangeRequest, answer) }
        }
    }

    /// Whether bytes that arrive can be kept after an interruption.
    private var canKeepBytes: Bool { representation?.validator != nil && !servesNoRanges }

    /// The next request: for the rest if the download can be resumed, otherwise for the complete representation.
    private var rangeRequest: DownloadRangeRequest {
        guard canResume, offset > 0, let representation, representation.validator != nil else { return .whole }
        // The last byte of a file that is complete already is requested: the response shows whether the server still has that
        // file.
        let start = offset == representation.total ? offset - 1 : offset
        return .part(from: start, to: nil, of: representation)
    }

    /// Validates a response by its head, and receives its body. Returns `true` when no bytes are missing any more.
    private mutating func validate(_ rangeRequest: DownloadRangeRequest, _ answer: StreamResponse) async throws -> Bool
    {
        let head = answer.response
        observer = answer.source.observer as? CallObserver
        let decision: DownloadRangeRequest.Decision =
            canResume
            ? rangeRequest.decision(status: head.status.code, fields: head.headers, of: head.url)
            : onlyDecision(on: head)
        switch decision {
        case .whole(let new):
            // The complete representation again, without a change: the server ignores ranges.
            if rangeRequest != .whole, new.validator == representation?.validator { servesNoRanges = true }
            return try await begin(new, answer)
        case .part(let range, let total):
            try checkSize(total, head)
            let isFirst = !hasBegun
            accept(head)
            offset = range.lowerBound
            run.progress.jump(to: offset)
            if offset > 0 { observer?.tell(.downloadContinued(at: offset)) }
            representation?.total = total
            run.progress.expect(total)
            if digests.checksum == nil { digests.restart(serverChecksum(head)) }
            // From here on the length of the file is the number of bytes that it has.
            try file?.truncate(to: offset)
            if isFirst { checkpointBeginning() }
            return try await receive(answer, upTo: range.upperBound)
        case .complete:
            answer.cancel()
            representation?.total = offset
            // The last byte is requested next if there is no accepted response yet: the caller gets the response to that.
            return self.response != nil
        case .askForWhole:
            answer.cancel()
            representation = nil
            return false
        case .malformed(let reason):
            answer.cancel()
            throw TrellisError(.invalidResponse(.malformed(reason))).about(request, head)
        case .busy, .refused: return try await refuse(answer, isPassing: decision == .busy)
        }
    }

    /// Validates the response to a request that is never repeated. If the request has a `Range`, the requested part is the file.
    private func onlyDecision(on head: Response) -> DownloadRangeRequest.Decision {
        if !request.headers.contains(.range), ContentRange.claimsPart(status: head.status.code, head.headers) {
            return DownloadRangeRequest.unaskedPart
        }
        return .whole(Representation(validator: nil, total: Representation(head.headers).total))
    }

    /// Begins the file with a response that carries the complete representation.
    private mutating func begin(_ new: Representation, _ answer: StreamResponse) async throws -> Bool {
        try await answer.validate(run.validation.validators(withDefaults: true))
        try checkSize(new.total, answer.response)
        if file == nil {
            if let place = try path(for: answer.response) {
                if try await keepFile(at: place, answer.response) {
                    answer.cancel()
                    return true
                }
                try await open(place)
            }
            // The file at the place that the response names has bytes of this representation already: only the rest is requested.
            if hasPartialBytes, let known = representation?.validator, known == new.validator {
                answer.cancel()
                return false
            }
        } else if hasBegun || hasPartialBytes, !backoff.restart() {
            answer.cancel()
            throw TrellisError(.invalidResponse(.bodyCutShort("it began anew too often"))).about(
                request, answer.response)
        }
        try await reset()
        accept(answer.response)
        representation = new
        parts = nil
        offset = 0
        resumedBytes = 0
        digests.restart(checksum ?? serverChecksum(answer.response))
        run.progress.expect(new.total)
        run.progress.jump(to: 0)
        if let total = worthParts(new, answer.response) {
            parts = DownloadSegments(total: total)
            return try await receiveParts(beginningWith: answer)
        }
        // A short file arrives as fast as its checkpoint would be written.
        if new.total ?? .max > 256 << 10 { checkpointBeginning() }
        return try await receive(answer, upTo: nil)
    }

    /// Takes a digest from the trailers (RFC 9530, sections 2 and 3). The bytes received before are then read from the file.
    private mutating func takeTrailers(of response: Response) {
        guard options.verifiesDigestFields, digests.checksum == nil, !response.trailers.isEmpty,
            !Representation.isCoded(response.headers), let scope = digestScope(of: response),
            let found = DigestFields.checksum(response.trailers, of: scope)
        else { return }
        digests.restart(found)
    }

    /// Returns the bytes that the file has, compared with the content of a response; `nil` if the digests of the response are not
    /// about its content: the fields of a response to `HEAD`, and of a 304, describe the response to a `GET`.
    private func digestScope(of response: Response) -> DigestFields.Scope? {
        guard request.method != .head, response.status != .notModified else { return nil }
        guard ContentRange.claimsPart(status: response.status.code, response.headers) else { return .representation }
        // If the caller's request has a `Range` of its own, the requested part is the complete file, so that only the digest of
        // this response's content applies.
        return canResume ? .partOfRepresentation : .content
    }

    /// Records an accepted response.
    mutating func accept(_ response: Response) {
        hasBegun = true
        self.response = response
        run.accept(response)
    }

    /// Returns the digest that the server sends along; `nil` if there is none, if the caller gave a checksum, or if digests are not
    /// to be verified.
    func serverChecksum(_ response: Response) -> Checksum? {
        guard options.verifiesDigestFields, checksum == nil, let scope = digestScope(of: response) else { return nil }
        return DigestFields.checksum(response.headers, of: scope)
    }

    /// Writes the body of a response. Returns `true` when no bytes are missing any more.
    private mutating func receive(_ answer: StreamResponse, upTo end: Int64?) async throws -> Bool {
        guard let file else { throw TrellisError(.other("the download has no file to write to")) }
        let start = offset
        let canKeepBytes = canKeepBytes
        // The server announces the number of bytes on the wire, not of those written: progress is measured on the wire.
        let coded = Representation.isCoded(answer.response.headers) ? answer.source.transfer as? StreamSource : nil
        await coded?.measure(with: run.progress)
        while let chunk = try await answer.source.next() {
            if let end, Int64(chunk.count) > end - offset {
                representation = nil
                throw Interruption(
                    TrellisError(.invalidResponse(.malformed("the part is longer than its Content-Range"))).about(
                        request, answer.response))
            }
            try checkSize(offset + Int64(chunk.count), answer.response)
            try file.write(chunk, at: offset)
            digests.take(chunk, at: offset)
            offset += Int64(chunk.count)
            if schedule.isIntervalOver(at: session.clock.now()) {
                // The deletion of the folder fails the download soon, and not only at its end.
                try file.check()
                try checkpoints?.check()
                checkpointProgress()
            }
            if coded == nil { run.progress.advance(by: chunk.count) }
            if canKeepBytes { backoff.recordProgress(chunk.count) }
            try await waitWhileSuspended()
        }
        let response = try await answer.source.finalResponse()
        self.response = response
        if coded != nil, let total = run.progress.current.totalBytes { run.progress.jump(to: total) }
        takeTrailers(of: response)
        let total = end == nil ? offset : representation?.total
        if let total, offset >= total { return true }
        // A shorter part than requested: the rest is requested, unless the part was empty.
        guard offset > start else {
            throw Interruption(
                TrellisError(.invalidResponse(.bodyCutShort("the part is empty"))).about(request, answer.response))
        }
        return false
    }

    /// Keeps the file within ``Request/maximumBodySize``, which each response alone may stay below.
    func checkSize(_ size: Int64?, _ head: Response?) throws {
        guard let size, request.method != .head, let limit = request.maximumBodySize,
            limit.isExceeded(by: Int(clamping: size))
        else { return }
        let error = TrellisError(
            .invalidResponse(.bodyTooLarge(limit: limit.bytes)), method: request.method, url: request.url)
        throw head.map { error.about(request, $0) } ?? error
    }

    /// Refuses an error response, whose body is not the file.
    private mutating func refuse(_ answer: StreamResponse, isPassing: Bool) async throws -> Bool {
        // A validator may accept the status, but only at the start: a page of an error never continues a file.
        if rangeRequest == .whole, !hasBegun {
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
    /// Returns the error with the request, the response and the phase of receiving.
    func about(_ request: Request, _ response: Response) -> TrellisError {
        var error = self
        error.method = request.method
        error.url = URLRedaction.redact(response.url)
        error.phase = .receiving
        error.response = response
        return error
    }
}
