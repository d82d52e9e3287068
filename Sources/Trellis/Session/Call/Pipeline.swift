import CurlEngine
import FoundationEssentials

/// The journey of a request, in the order in which it happens.
extension Session {
    /// Sends a request and receives the whole answer.
    func collect(_ convertible: some RequestConvertible) async throws -> CollectedResponse {
        let start = clock.now()
        // Compose: what is asked.
        let request = try convertible.asRequest()
        // Steps: what surrounds the attempts, on a journey of its own.
        if hasSteps(request) { return try await call(request, isCollected: true, start: start).collectedPair() }
        return try await collect(plain: request, start)
    }

    private func collect(plain request: Request, _ start: EngineInstant) async throws -> CollectedResponse {
        if request.isForm { await MIMETypes.load() }
        // Session: completed with the defaults, and checked. Exchange: an actor, which waits for its turn, hands itself to
        // the transport and receives.
        let attempt = try attempt(preparation.prepare(request, isCollected: true, start: start))
        let (body, response) = try await attempt.collected()
        guard response.status.isRedirect else { return (body, response) }
        // Steps: the journey goes on from here.
        let answer = StepResponse(response: response, body: body)
        return try await call(request, isCollected: true, start: start, first: attempt, answered: answer)
            .collectedPair()
    }

    /// The same, with the request that was answered.
    ///
    /// - Parameter conditions: What its reader accepts; `nil`: any answer.
    func answer(_ convertible: some RequestConvertible, _ conditions: ReadingConditions?) async throws -> Answer {
        let start = clock.now()
        let request = try convertible.asRequest()
        if hasSteps(request) {
            return try await call(request, isCollected: true, start: start).collected(conditions)
        }
        return try await answer(plain: request, start, conditions)
    }

    private func answer(
        plain request: Request, _ start: EngineInstant, _ conditions: ReadingConditions?
    ) async throws -> Answer {
        if request.isForm { await MIMETypes.load() }
        let attempt = try attempt(
            preparation.prepare(request, isCollected: true, start: start),
            readers: conditions)
        let answer = try await attempt.answer()
        guard answer.response.status.isRedirect else { return answer }
        let first = StepResponse(response: answer.response, body: answer.body ?? Data())
        return try await call(request, isCollected: true, start: start, first: attempt, answered: first)
            .collected(conditions)
    }

    /// Sends a request and returns as soon as the head has come.
    ///
    /// - Parameter isInFlight: It belongs to a download that the session knows, and goes out while the session drains.
    func open(_ convertible: some RequestConvertible, isInFlight: Bool = false) async throws -> StreamResponse {
        let start = clock.now()
        let request = try convertible.asRequest()
        if hasSteps(request) {
            return StreamResponse(
                try await call(request, isCollected: false, start: start, isInFlight: isInFlight).answer())
        }
        return try await open(plain: request, start, isInFlight)
    }

    private func open(
        plain request: Request, _ start: EngineInstant, _ isInFlight: Bool
    ) async throws -> StreamResponse {
        if request.isForm { await MIMETypes.load() }
        let prepared = try preparation.prepare(request, isCollected: false, start: start)
        let attempt = attempt(prepared, isInFlight: isInFlight)
        let answer = try await stream(attempt) { try await $0.head(inbox: $1) }
        guard answer.response.status.isRedirect else { return StreamResponse(answer) }
        return StreamResponse(
            try await call(
                request, isCollected: false, start: start, first: attempt, answered: answer, isInFlight: isInFlight
            ).answer())
    }

    /// Something surrounds the attempts; a disk that is asked for the size of a file may take its time, too.
    private func hasSteps(_ request: Request) -> Bool {
        request.attachment != nil || hasSteps || hub.isObserved || request.hasFiles
    }

    /// A request as an actor that has not started.
    private func attempt(
        _ prepared: PreparedRequest, readers: (any HeadJudge)? = nil, isInFlight: Bool = false
    ) -> ExchangeActor {
        ExchangeActor(
            prepared, executor: engine, transport: transport, admission: actor,
            flow: flow(of: prepared.transportRequest.request), readers: readers, isInFlight: isInFlight)
    }

    /// A request for a handle, which starts it. What no step can change is found out now: whether it can be sent.
    func deferredCall(_ convertible: some RequestConvertible) throws -> RequestActor {
        let request = try convertible.asRequest()
        guard !hasSteps(request) else { return call(request, isCollected: true) }
        let prepared = try preparation.prepare(request, isCollected: true, start: clock.now(), isDeferred: true)
        let record = Locked(CallRecord())
        return call(request, isCollected: true, first: attempt(prepared, readers: record), record: record)
    }

    /// A request with its steps, which has not started.
    ///
    /// - Parameters:
    ///   - start: When the call was made; `nil`: when it is started.
    ///   - first: The first attempt, where no step has a say in it.
    ///   - answered: What that attempt has brought already.
    ///   - record: What is known of the call under way.
    ///   - isInFlight: It belongs to a download that the session knows.
    @inline(never)
    private func call(
        _ request: Request, isCollected: Bool, start: EngineInstant? = nil, first: ExchangeActor? = nil,
        answered: StepResponse? = nil, record: Locked<CallRecord> = Locked(CallRecord()), isInFlight: Bool = false
    ) -> RequestActor {
        let surroundings = request.attachedSteps.map { AttachedSteps(steps, followedBy: $0) } ?? steps
        if answered != nil { record.withLock { $0.traffic = request.method.isIdempotent ? .idempotent : .other } }
        let course = Course(
            self, surroundings, isCollected: isCollected, depth: 0, answered: answered, isInFlight: isInFlight)
        return call(
            request, course, start, first, limit: preparation.limits(of: request, isCollected: isCollected).total,
            record)
    }

    private func call(
        _ request: Request, _ course: Course, _ start: EngineInstant?, _ first: ExchangeActor?, limit: UInt64?,
        _ record: Locked<CallRecord>
    ) -> RequestActor {
        RequestActor(
            request, first: first, start: start, limit: limit, executor: engine, hub: hub, course: course,
            record: record)
    }

    /// The answer of an attempt whose head is awaited in some way.
    private func stream(
        _ attempt: ExchangeActor, _ head: (ExchangeActor, BodyInbox) async throws -> Response
    ) async throws -> StepResponse {
        let inbox = BodyInbox {
            attempt.enter { $0.readerHasDrained() }
        } whenAbandoned: {
            attempt.enter { $0.cancel(CancellationError()) }
        }
        let response = try await head(attempt, inbox)
        // The session lives as long as its streams.
        let source = StreamSource(inbox: inbox, request: attempt, session: self)
        return StepResponse(response: response, content: .source(ReaderToken(source)))
    }

    /// One request on the wire, as part of a call.
    ///
    /// - Parameter turn: What has let it go, if anything has.
    @inline(never)
    func exchange(
        _ request: Request, _ journey: Journey, _ turn: LimitTurn?
    ) async throws -> StepResponse {
        if request.isForm { await MIMETypes.load() }
        let sizes = request.hasFiles ? await FileSizes(of: request.body) : nil
        let attempt = try journey.first ?? nextAttempt(request, journey, turn, sizes)
        do {
            let answer = try await answer(to: attempt, journey)
            journey.situation.note(request)
            return answer
        } catch {
            journey.situation.note(request, error)
            throw error
        }
    }

    private func answer(to attempt: ExchangeActor, _ journey: Journey) async throws -> StepResponse {
        guard journey.situation.isCollected else {
            return try await stream(attempt) { try await journey.call.head($0, inbox: $1) }
        }
        let (body, response) = try await journey.call.collected(attempt)
        return StepResponse(response: response, body: body)
    }

    private func nextAttempt(
        _ request: Request, _ journey: Journey, _ turn: LimitTurn?, _ sizes: FileSizes?
    ) throws -> ExchangeActor {
        let (context, situation) = (journey.context, journey.situation)
        let history = AttemptHistory(
            earlierAttempts: context.attempt - 1, redirects: context.redirects, hasLeftOrigin: context.hasLeftOrigin,
            limit: situation.deadline.limit, start: turn?.start ?? clock.now(), observer: situation.observer,
            starts: situation.starts,
            permission: turn)
        let prepared = try preparation.prepare(
            request, isCollected: situation.isCollected, start: situation.deadline.start, history: history,
            sizes: sizes)
        situation.record.withLock { $0.sent = prepared }
        let mayCut = situation.isCollected && !situation.surroundings.mayChangeAnswers
        return attempt(prepared, readers: mayCut ? situation.record : nil)
    }
}

extension Request {
    /// Whether the types of its parts are looked up in the system's tables, which nothing but a waiting thread reads.
    fileprivate var isForm: Bool { if case .multipart? = body?.source { true } else { false } }
}

/// Calls that stand for several others go the way that is left of theirs.
extension Session: CallOrigin {
    func sharedCall(for request: Request, depth: Int, of call: CallSituation) -> any SharedCall {
        var request = request
        // Each of those that wait has its own.
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = nil
        request.timeouts = timeouts
        let course = Course(
            self, call.surroundings, isCollected: true, depth: depth, answered: nil, isInFlight: true)
        return self.call(request, course, nil, nil, limit: nil, Locked(CallRecord()))
    }
}
