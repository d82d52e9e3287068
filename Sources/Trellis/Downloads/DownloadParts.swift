import CurlEngine
import FoundationEssentials
import HTTPTypes

/// Fetches the parts of a file over several connections at once.
///
/// Each of its workers asks for a segment, and for another when that has come, up to the end: then for what is slow to come to
/// others, see ``DownloadEndgame``. One that fails too often leaves, and the others do its work; with the last one the download
/// fails.
///
/// Over HTTP/2 and HTTP/3 they are streams of one connection: no gain where that is what is slow, but one where a server or the
/// window of a stream holds up each of them.
final class DownloadParts: Sendable {
    /// What is there is of no use, or cannot be completed in parts.
    struct Useless: Error {}

    private let session: Session
    private let run: DownloadRun
    private let file: DownloadFile
    private let request: Request
    private let representation: Representation
    private let deadline: CallDeadline
    private let options: DownloadOptions
    private let segments: Locked<DownloadSegments>
    /// Takes note of what is there.
    private let note: @Sendable (DownloadSegments, _ isTime: Bool) throws -> Void
    /// When that is done.
    private let rhythm: Locked<DownloadRhythm>
    private let last = Locked<Response?>(nil)
    /// What is being read.
    private let answers = Locked<[DownloadSegments.ID: StreamResponse]>([:])

    init(
        _ segments: DownloadSegments, of representation: Representation, in file: DownloadFile, request: Request,
        session: Session, run: DownloadRun, deadline: CallDeadline, options: DownloadOptions,
        note: @escaping @Sendable (DownloadSegments, _ isTime: Bool) throws -> Void
    ) {
        self.segments = Locked(segments)
        self.representation = representation
        self.file = file
        self.request = request
        self.session = session
        self.run = run
        self.deadline = deadline
        self.options = options
        self.note = note
        rhythm = Locked(DownloadRhythm(now: session.clock.now(), count: segments.doneCount))
    }

    /// What has come so far.
    var state: DownloadSegments { segments.withLock { $0 } }

    /// The response that came last.
    var response: Response? { last.withLock { $0 } }

    /// Fetches all that is missing.
    ///
    /// - Parameter first: An answer with all of it, at its beginning.
    /// - Throws: ``Useless``; why the last worker failed.
    func fetch(beginningWith first: StreamResponse?) async throws {
        let count = max(1, min(options.connections, session.configuration.limits.perOrigin))
        // Before there are others: it is the one that has the beginning.
        let begun = first.flatMap { answer in segments.withLock { $0.take(isOpenEnded: true) }.map { (answer, $0) } }
        let failures = try await withThrowingTaskGroup(of: (any Error)?.self) { group in
            for index in 0..<count {
                group.addTask { try await self.work(begunWith: index == 0 ? begun : nil) }
            }
            var failures: [any Error] = []
            do {
                for try await failure in group {
                    if let failure { failures.append(failure) }
                    // Whoever waits to ask again need not.
                    if state.isWhole { group.cancelAll() }
                }
            } catch {
                guard state.isWhole else { throw error }
            }
            return failures
        }
        guard !state.isWhole else { return }
        // Not one part has come: it may be that there are none.
        guard response != nil, let failure = failures.last else { throw Useless() }
        throw failure
    }

    /// Something to fetch, as soon as there is; `nil`: nothing is missing any more.
    private func take() async throws -> DownloadSegments.ID? {
        var endgame = DownloadEndgame()
        while true {
            try await run.pass()
            let (id, isWhole) = segments.withLock { ($0.take() ?? endgame.take(from: &$0), $0.isWhole) }
            if id != nil || isWhole { return id }
            guard try await session.engine.delay(for: DownloadEndgame.interval) else {
                throw TrellisError(.cancelled(.sessionShutDown))
            }
        }
    }

    /// What a worker does as long as there is work. Returns why it gives up.
    private func work(begunWith first: (answer: StreamResponse, id: DownloadSegments.ID)?) async throws -> (any Error)?
    {
        var patience = DownloadPatience(options)
        var begun = first
        while true {
            var taken = begun?.id
            if taken == nil { taken = try await take() }
            guard let id = taken else { return nil }
            do {
                defer {
                    begun = nil
                    segments.withLock { $0.giveBack(id) }
                }
                try await run.pass()
                if let answer = begun?.answer {
                    try await read(answer, id, upTo: segments.withLock { $0.total }, &patience)
                } else {
                    guard try await ask(for: id, &patience) else { return nil }
                }
            } catch {
                guard run.isAnswered else { throw error.cause }
                guard let duration = try patience.delay(after: error, canGain: true),
                    run.account.mayGoOn(atMost: options.maximumInterruptions)
                else { return error.cause }
                do {
                    try await session.wait(duration, after: error, within: deadline)
                    run.account.interrupt()
                } catch {
                    // It cannot wait so long; the others may not have to.
                    try Task.checkCancellation()
                    return error
                }
            }
        }
    }

    /// `false`: there are no parts to be had.
    private func ask(for id: DownloadSegments.ID, _ patience: inout DownloadPatience) async throws -> Bool {
        let range = segments.withLock { $0.rest(of: id) }
        let question = DownloadQuestion.part(from: range.lowerBound, to: range.upperBound, of: representation)
        return try await run.account.asking(request.asking(question, within: deadline), of: session) { answer in
            try await judge(answer, to: question, id, &patience)
        }
    }

    private func judge(
        _ answer: StreamResponse, to question: DownloadQuestion, _ id: DownloadSegments.ID,
        _ patience: inout DownloadPatience
    ) async throws -> Bool {
        let head = answer.head
        switch question.verdict(status: head.status.code, fields: head.headerFields, of: head.url) {
        case .part(let part, _):
            run.accept(head)
            last.withLock { $0 = head }
            try await read(answer, id, upTo: part.upperBound, &patience)
            return true
        case .whole(let other):
            answer.cancel()
            // The same, but never in parts: whoever has the beginning goes on alone.
            guard other.validator == representation.validator else { throw Useless() }
            return false
        case .busy, .refused:
            do {
                _ = try await answer.validate(.successfulStatus)
            } catch let error as TrellisError {
                // Some servers allow a client so many connections and no more.
                throw Interruption(error)
            }
            return false
        case .complete, .askForWhole, .malformed:
            answer.cancel()
            throw Useless()
        }
    }

    /// Writes what comes, as far as nobody else has taken it over.
    private func read(
        _ answer: StreamResponse, _ id: DownloadSegments.ID, upTo end: Int64, _ patience: inout DownloadPatience
    ) async throws {
        answers.withLock { $0[id] = answer }
        defer { answers.withLock { $0[id] = nil } }
        // Somebody else may have been faster.
        guard !isOver(id) else { return answer.cancel() }
        do {
            try await run.reading(answer.source) { try await write(answer, id, upTo: end, &patience) }
        } catch {
            // Whoever was faster has ended it.
            guard isOver(id), !Task.isCancelled, !(error is Useless) else { throw error }
        }
    }

    private func write(
        _ answer: StreamResponse, _ id: DownloadSegments.ID, upTo end: Int64, _ patience: inout DownloadPatience
    ) async throws {
        var isEmpty = true
        while var chunk = try await answer.source.next() {
            isEmpty = false
            var rest = segments.withLock { $0.rest(of: id) }
            // A part that is longer than it said may be one of something else.
            guard rest.isEmpty || Int64(chunk.count) <= end - rest.lowerBound else { throw Useless() }
            var gained = 0
            // More than once where others have just given back what comes behind it.
            while !chunk.isEmpty, !rest.isEmpty {
                let bytes = chunk.prefix(Int(clamping: rest.count))
                try file.write(bytes, at: rest.lowerBound)
                chunk = chunk.dropFirst(bytes.count)
                (gained, rest) = segments.withLock { (gained + $0.advance(id, by: bytes.count), $0.rest(of: id)) }
            }
            try takeNote()
            run.progress.advance(by: gained)
            patience.gain(gained)
            if rest.isEmpty {
                endRivals(of: id)
                // The connection can be kept where the answer ends here too.
                guard rest.upperBound == end, chunk.isEmpty else { return answer.cancel() }
            }
            try await run.pass()
        }
        guard isEmpty, !isOver(id) else { return }
        throw Interruption(TrellisError(.invalidResponse(.bodyCutShort("the part is empty"))))
    }

    /// Nothing is missing of what somebody fetches.
    private func isOver(_ id: DownloadSegments.ID) -> Bool { segments.withLock { $0.rest(of: id).isEmpty } }

    /// Those who fetched the same can do something else.
    private func endRivals(of id: DownloadSegments.ID) {
        let rivals = segments.withLock { $0.rivals(of: id) }
        guard !rivals.isEmpty else { return }
        for answer in answers.withLock({ answers in rivals.compactMap { answers[$0] } }) { answer.cancel() }
    }

    /// Takes note of what is there from time to time.
    private func takeNote() throws {
        let now = session.clock.now()
        let (isTime, isMuch) = rhythm.withLock { ($0.isTime(now), $0.isMuch(segments.withLock { $0.doneCount })) }
        if isTime { try file.check() }
        if isTime || isMuch { try note(state, isTime) }
    }
}
