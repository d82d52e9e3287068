import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The workers that fetch the parts of a file over several connections at once.
///
/// Each worker requests a segment, and the next one when that is complete. An idle worker takes over half of the segment with
/// the most bytes left, and near the end segments that arrive slowly, see ``SegmentStealing``. A worker that fails too often
/// ends, and the others do its work. After the last worker the download fails, and its bytes stay; if the server has refused
/// every part, one connection brings the complete file instead.
///
/// Over HTTP/2 and HTTP/3 the parts are streams of one connection. That is no faster if the network limits the speed, and
/// faster if the server or the flow-control window limits each stream.
final class DownloadParts: Sendable {
    /// The error after which the complete file has to be requested over one connection: the bytes so far are unusable, or the
    /// server serves no parts.
    struct PartsNotUsable: Error {}

    private let session: Session
    private let run: DownloadTask
    private let file: DownloadFile
    private let request: Request
    private let representation: Representation
    private let deadline: CallDeadline
    private let options: DownloadOptions
    private let segments: Locked<DownloadSegments>
    /// The closure that writes checkpoints.
    private let checkpoint: @Sendable (DownloadSegments, _ isDurable: Bool) throws -> Void
    /// The schedule of the checkpoints.
    private let schedule: Locked<CheckpointSchedule>
    /// The last response of a part, with the observer of its call.
    private let last = Locked<(response: Response, observer: CallObserver?)?>(nil)
    /// The responses that are being read, by the IDs of their fetches.
    private let answers = Locked<[DownloadSegments.ID: StreamResponse]>([:])

    init(
        _ segments: DownloadSegments, of representation: Representation, in file: DownloadFile, request: Request,
        session: Session, run: DownloadTask, deadline: CallDeadline, options: DownloadOptions,
        checkpoint: @escaping @Sendable (DownloadSegments, _ isDurable: Bool) throws -> Void
    ) {
        self.segments = Locked(segments)
        self.representation = representation
        self.file = file
        self.request = request
        self.session = session
        self.run = run
        self.deadline = deadline
        self.options = options
        self.checkpoint = checkpoint
        schedule = Locked(CheckpointSchedule(now: session.clock.now(), count: segments.doneCount))
    }

    /// The segments that are complete, being fetched and missing.
    var state: DownloadSegments { segments.withLock { $0 } }

    /// The last response of a part; `nil` before the first one.
    var response: Response? { last.withLock { $0?.response } }

    /// The observer of the call of the last response; `nil` if it has none.
    var observer: CallObserver? { last.withLock { $0?.observer } }

    /// Fetches all missing bytes.
    ///
    /// - Parameter first: A response with the complete representation; nothing of it has been read.
    /// - Throws: ``PartsNotUsable``; the error of the last worker that failed.
    func fetch(beginningWith first: StreamResponse?) async throws {
        let limits = session.configuration.limits
        let count = max(1, min(options.connections, limits.perOrigin, limits.requestsPerOrigin ?? .max))
        // Taken before the other workers start: this response carries the bytes from the beginning on.
        let begun = first.flatMap { answer in segments.withLock { $0.take(isOpenEnded: true) }.map { (answer, $0) } }
        let failures = try await withThrowingTaskGroup(of: (any Error)?.self) { group in
            for index in 0..<count {
                group.addTask { try await self.work(begunWith: index == 0 ? begun : nil) }
            }
            var failures: [any Error] = []
            do {
                for try await failure in group {
                    if let failure { failures.append(failure) }
                    // Workers that wait before another attempt can end.
                    if state.isWhole { group.cancelAll() }
                }
            } catch {
                guard state.isWhole else { throw error }
            }
            return failures
        }
        guard !state.isWhole else { return }
        guard let last = failures.last else { throw PartsNotUsable() }
        guard first != nil, response == nil else { throw last }
        // Only responses prove that the server serves no parts. A lost connection does not, and the bytes that it brought stay.
        throw failures.last(where: { !$0.isStatusFailure }) ?? PartsNotUsable()
    }

    /// Takes a segment, waiting until there is one; returns `nil` when no bytes are missing any more.
    private func take() async throws -> DownloadSegments.ID? {
        var stealing = SegmentStealing()
        while true {
            try await waitWhileSuspended()
            let (id, isWhole) = segments.withLock { ($0.take() ?? stealing.take(from: &$0), $0.isWhole) }
            if id != nil || isWhole { return id }
            guard try await session.timekeeper.delay(for: SegmentStealing.interval) else {
                throw TrellisError(.cancelled(.sessionShutDown))
            }
        }
    }

    /// Runs a worker until no segments are left. Returns the error with which the worker gives up.
    private func work(begunWith first: (answer: StreamResponse, id: DownloadSegments.ID)?) async throws -> (any Error)?
    {
        var backoff = DownloadBackoff(options)
        var begun = first
        while true {
            var taken = begun?.id
            if taken == nil { taken = try await take() }
            guard let id = taken else { return nil }
            do {
                defer {
                    begun = nil
                    segments.withLock { $0.release(id) }
                }
                try await waitWhileSuspended()
                if let answer = begun?.answer {
                    try await read(answer, for: id, upTo: segments.withLock { $0.total }, &backoff)
                } else {
                    guard try await sendRequest(for: id, &backoff) else { return nil }
                }
            } catch {
                // Before the first accepted response a failure is final for its worker; the others continue.
                let isOffline = await session.isOffline(after: error, of: request)
                guard let duration = try backoff.delay(after: error, canKeepBytes: true, isOffline: isOffline),
                    run.isAnswered,
                    run.report.mayResume(atMost: options.maximumInterruptions)
                else { return error.cause }
                do {
                    try await session.wait(duration, after: error, within: deadline, isOffline: isOffline)
                    run.report.interrupt()
                } catch {
                    // The wait is too long for this worker; the others may not have to wait.
                    try Task.checkCancellation()
                    return error
                }
            }
        }
    }

    /// Requests the rest of a segment. Returns `false` if the server serves no parts.
    private func sendRequest(for id: DownloadSegments.ID, _ backoff: inout DownloadBackoff) async throws -> Bool {
        let range = segments.withLock { $0.rest(of: id) }
        let rangeRequest = DownloadRangeRequest.part(from: range.lowerBound, to: range.upperBound, of: representation)
        return try await run.report.send(request.requesting(rangeRequest, within: deadline), in: session) { answer in
            try await validate(answer, to: rangeRequest, for: id, &backoff)
        }
    }

    private func validate(
        _ answer: StreamResponse, to rangeRequest: DownloadRangeRequest, for id: DownloadSegments.ID,
        _ backoff: inout DownloadBackoff
    ) async throws -> Bool {
        let head = answer.response
        switch rangeRequest.decision(status: head.status.code, fields: head.headers, of: head.url) {
        case .part(let part, _):
            run.accept(head)
            last.withLock { $0 = (head, answer.source.observer as? CallObserver) }
            try await read(answer, for: id, upTo: part.upperBound, &backoff)
            return true
        case .whole(let other):
            answer.cancel()
            // The same representation, but never in parts: the worker that reads from the beginning continues alone.
            guard other.validator == representation.validator else { throw PartsNotUsable() }
            return false
        case .busy, .refused:
            do {
                _ = try await answer.validate(.successfulStatus)
            } catch let error as TrellisError {
                // Some servers limit the number of connections of a client.
                throw Interruption(error)
            }
            return false
        case .complete, .askForWhole, .malformed:
            answer.cancel()
            throw PartsNotUsable()
        }
    }

    /// Writes the bytes of a response, as far as no other fetch has taken them over.
    private func read(
        _ answer: StreamResponse, for id: DownloadSegments.ID, upTo end: Int64, _ backoff: inout DownloadBackoff
    ) async throws {
        answers.withLock { $0[id] = answer }
        defer { answers.withLock { $0[id] = nil } }
        // Another fetch may have completed the segment.
        guard !isOver(id) else { return answer.cancel() }
        do {
            try await run.reading(answer.source) { try await write(answer, for: id, upTo: end, &backoff) }
        } catch {
            // The fetch that completed the segment has cancelled this response.
            guard isOver(id), !Task.isCancelled, !(error is PartsNotUsable) else { throw error }
        }
    }

    private func write(
        _ answer: StreamResponse, for id: DownloadSegments.ID, upTo end: Int64, _ backoff: inout DownloadBackoff
    ) async throws {
        var isEmpty = true
        while var chunk = try await answer.source.next() {
            isEmpty = false
            var rest = segments.withLock { $0.rest(of: id) }
            // A part that is longer than its range may be of another representation.
            guard rest.isEmpty || Int64(chunk.count) <= end - rest.lowerBound else { throw PartsNotUsable() }
            var gained = 0
            // Repeated if the segment grows, because another fetch has released the segment after this one.
            while !chunk.isEmpty, !rest.isEmpty {
                let bytes = chunk.prefix(Int(clamping: rest.count))
                try file.write(bytes, at: rest.lowerBound)
                chunk = chunk.dropFirst(bytes.count)
                (gained, rest) = segments.withLock { (gained + $0.advance(id, by: bytes.count), $0.rest(of: id)) }
            }
            try writeCheckpoint()
            run.progress.advance(by: gained)
            backoff.recordProgress(gained)
            if rest.isEmpty {
                endOtherFetches(of: id)
                // The connection can be reused if the response ends here too.
                guard rest.upperBound == end, chunk.isEmpty else { return answer.cancel() }
            }
            try await waitWhileSuspended()
        }
        guard isEmpty, !isOver(id) else { return }
        throw Interruption(
            TrellisError(.invalidResponse(.bodyCutShort("the part is empty"))).about(request, answer.response))
    }

    /// Waits while the download is suspended, at most until its deadline.
    private func waitWhileSuspended() async throws {
        try await run.waitWhileSuspended(until: deadline, on: session.timekeeper)
    }

    /// Returns whether no bytes are missing for a fetch.
    private func isOver(_ id: DownloadSegments.ID) -> Bool { segments.withLock { $0.rest(of: id).isEmpty } }

    /// Cancels the other fetches of the same segment, so that their workers can take another one.
    private func endOtherFetches(of id: DownloadSegments.ID) {
        let otherFetches = segments.withLock { $0.otherFetches(of: id) }
        guard !otherFetches.isEmpty else { return }
        for answer in answers.withLock({ answers in otherFetches.compactMap { answers[$0] } }) { answer.cancel() }
    }

    /// Checks the file and writes checkpoints by the schedule.
    private func writeCheckpoint() throws {
        let now = session.clock.now()
        let doneCount = segments.withLock { $0.doneCount }
        let (isDurable, isProvisional) = schedule.withLock { schedule in
            (schedule.isIntervalOver(at: now), schedule.hasEnoughBytes(doneCount))
        }
        if isDurable { try file.check() }
        if isDurable || isProvisional { try checkpoint(state, isDurable) }
    }
}

extension Error {
    /// Whether the error is a response whose status was not acceptable.
    fileprivate var isStatusFailure: Bool { (self as? TrellisError)?.kind == .unacceptableStatus }
}
