import CurlEngine
import FoundationEssentials
import Synchronization

/// The creation of calls by the verbs and handles of a session. A call without steps or observers is a single exchange. Any other call is a
/// ``RequestActor``, whose ``Pipeline`` creates the exchanges.
extension Session {
    /// Sends a request and returns its response with the complete body.
    ///
    /// - Parameters:
    ///   - make: Creates the request. The call's time is measured from before that.
    ///   - conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(
        _ make: @autoclosure () throws -> Request, _ conditions: ReadingConditions? = nil
    ) async throws -> Answer {
        try await collected(make, conditions).answer
    }

    /// Sends a request and returns its body and its response: ``answer(_:_:)`` without what validators and serializers need.
    func pair(_ make: @autoclosure () throws -> Request) async throws -> (Data, Response) {
        let collected = try await collected(make, nil)
        return (collected.body, collected.response)
    }

    private func collected(
        _ make: () throws -> Request, _ conditions: ReadingConditions?
    ) async throws -> CollectedAnswer {
        switch try send(make, conditions) {
        case .call(let call): return try await call.runCollecting(conditions)
        case .exchange(let exchange, let request): return try await collected(exchange, request, conditions)
        }
    }

    /// The first step of a request: a call with its steps, or an exchange alone.
    private enum Sending {
        case call(RequestActor)
        case exchange(ExchangeActor, Request)
    }

    /// Makes a request, and the call or the exchange that sends it. Separate from the functions that wait, so that a call that waits keeps
    /// none of these values in its frame.
    @inline(never)
    private func send(_ make: () throws -> Request, _ conditions: ReadingConditions?) throws -> Sending {
        let start = clock.now()
        let request = try make()
        if isSurrounded(request) { return .call(makeRequest(request, .memory, start: start)) }
        let prepared = try preparation.prepare(request, delivery: .memory, start: start, callID: Call.nextID())
        return .exchange(makeExchange(prepared, readers: conditions), request)
    }

    @inline(never)
    private func collected(
        _ exchange: ExchangeActor, _ request: Request, _ conditions: ReadingConditions?
    ) async throws -> CollectedAnswer {
        let (body, response) = try await exchange.collected()
        guard response.status.isRedirect else {
            return CollectedAnswer(body: body, response: response, sender: .exchange(exchange))
        }
        return try await follow(exchange, of: request, StepResponse(response: response, body: body))
            .runCollecting(conditions)
    }

    /// Makes the call that follows the redirect with which an exchange was answered.
    @inline(never)
    private func follow(_ exchange: ExchangeActor, of request: Request, _ redirect: StepResponse) -> RequestActor {
        makeRequest(request, .memory, start: exchange.prepared.start, first: exchange, answered: redirect)
    }

    /// Sends a request and returns as soon as the head of its response has come.
    ///
    /// - Parameter isInFlight: Indicates whether the call belongs to a download that the session knows, so that it is sent even while the
    ///   session drains.
    func open(_ make: @autoclosure () throws -> Request, isInFlight: Bool = false) async throws -> StreamResponse {
        let start = clock.now()
        let request = try make()
        if isSurrounded(request) {
            return StreamResponse(
                try await makeRequest(request, .stream, start: start, isInFlight: isInFlight).run())
        }
        return try await open(plain: request, start, isInFlight)
    }

    private func open(
        plain request: Request, _ start: EngineInstant, _ isInFlight: Bool
    ) async throws -> StreamResponse {
        if request.isForm { try await MIMETypes.load() }
        let prepared = try preparation.prepare(request, delivery: .stream, start: start, callID: Call.nextID())
        let exchange = makeExchange(prepared, isInFlight: isInFlight)
        let answer = try await stream(exchange) { try await exchange.head(inbox: $0) }
        guard answer.response.status.isRedirect else { return StreamResponse(answer) }
        return StreamResponse(
            try await makeRequest(
                request, .stream, start: start, first: exchange, answered: answer, isInFlight: isInFlight
            ).run())
    }

    /// Indicates whether a request needs more than an exchange: it has steps or observers, or the size of a file must be read from a disk,
    /// which may be slow.
    private func isSurrounded(_ request: Request) -> Bool {
        request.attachment != nil || hasSteps || hub.isObserved || request.waitsForDisk
    }

    /// Creates a request for a handle, which starts it later. Throws the error of an invalid request at once if no step can correct it.
    func deferredRequest(
        _ request: Request, delivery: Delivery = .memory
    ) throws -> RequestActor {
        let record = Locked(CallRecord())
        record.withLock { $0.exchanges = [] }
        // The exchange of a stream begins with its reader's inbox, which the pipeline creates.
        guard !isSurrounded(request), delivery == .memory else { return makeRequest(request, delivery, record: record) }
        let id = Call.nextID()
        let prepared = try preparation.prepare(
            request, delivery: delivery, start: clock.now(), isDeferred: true, callID: id)
        let first = makeExchange(prepared, readers: record)
        return makeRequest(request, delivery, id: id, first: first, record: record)
    }

    /// Creates a request with its steps. The request is not started.
    ///
    /// - Parameters:
    ///   - id: The number of the call; if `nil`, the number of the first exchange, or a new one.
    ///   - start: The instant at which the call was made; if `nil`, the call's time is measured from its start.
    ///   - first: The first exchange, if no step can change it.
    ///   - answered: The response that the first exchange has already received.
    ///   - record: The call's record.
    ///   - isInFlight: Indicates whether the call belongs to a download or a call that the session knows.
    ///   - outer: The steps that run outside the request's own steps; if `nil`, those of the session.
    @inline(never)
    private func makeRequest(
        _ request: Request, _ delivery: Delivery, id: UInt64? = nil, start: EngineInstant? = nil,
        first: ExchangeActor? = nil, answered: StepResponse? = nil, record: Locked<CallRecord> = Locked(CallRecord()),
        isInFlight: Bool = false, behind outer: AttachedSteps? = nil
    ) -> RequestActor {
        let outer = outer ?? self.steps
        let steps = request.attachedSteps.map { AttachedSteps(outer, followedBy: $0) } ?? outer
        if answered != nil { record.withLock { $0.traffic = request.method.isIdempotent ? .idempotent : .other } }
        let limit = preparation.limits(of: request, delivery: delivery).total
        return RequestActor(
            makeCall(
                request, id ?? first?.prepared.callID, delivery, steps, start: start, limit: limit, record),
            session: self, steps: steps,
            first: first, answered: answered, isInFlight: isInFlight)
    }

    private func makeCall(
        _ request: Request, _ id: UInt64?, _ delivery: Delivery, _ steps: AttachedSteps, start: EngineInstant?,
        limit: UInt64?,
        _ record: Locked<CallRecord>
    ) -> Call {
        let id = id ?? Call.nextID()
        return Call(
            request, id: id, delivery: delivery, start: start, limit: limit, engine: engine, clock: clock,
            sender: self, observer: observer(ofCall: id, request), isHedged: steps.steps.hedging != nil, record: record)
    }

    /// Returns the observer of a call; `nil` if the session has no observers.
    private func observer(ofCall id: UInt64, _ request: Request) -> CallObserver? {
        guard hub.isObserved else { return nil }
        // If the URL is invalid, the call itself throws the error.
        let completed = (try? preparation.completingURL(of: request)) ?? request
        return CallObserver(hub: hub, id: id, request: completed, clock: clock)
    }

    /// Creates a call that replaces several other calls, and runs the rest of their steps.
    ///
    /// - Parameter depth: The number of steps around the call that have already run.
    func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> RequestActor {
        var request = request
        // Each of the waiting calls has its own total limit.
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = nil
        request.timeouts = timeouts
        return RequestActor(
            makeCall(request, nil, .memory, steps, start: nil, limit: nil, Locked(CallRecord())), session: self,
            steps: steps, depth: depth, isInFlight: true)
    }

    /// Creates an exchange that has not started.
    func makeExchange(
        _ prepared: PreparedRequest, readers: (any HeadValidator)? = nil, isInFlight: Bool = false
    ) -> ExchangeActor {
        ExchangeActor(
            prepared, executor: engine, transport: transport, admission: actor,
            flow: flow(of: prepared.source), readers: readers, isInFlight: isInFlight)
    }

    /// Returns the response of an exchange whose body is still arriving.
    ///
    /// - Parameter head: Starts the exchange and waits for its head.
    func stream(
        _ exchange: ExchangeActor, _ head: (BodyInbox) async throws -> Response
    ) async throws -> StepResponse {
        let inbox = BodyInbox {
            exchange.submit { $0.readerHasDrained() }
        } whenAbandoned: {
            exchange.submit { $0.cancel(CancellationError()) }
        }
        let response = try await head(inbox)
        // The session stays alive as long as its streams.
        let source = StreamSource(inbox: inbox, exchange: exchange, session: self)
        return StepResponse(response: response, content: .source(TransferToken(source)))
    }
}

/// A response whose body has been collected in memory, with its sender, which knows the request.
struct CollectedAnswer: Sendable {
    /// The sender of the request.
    enum Sender {
        case call(RequestActor, StepResponse)
        case exchange(ExchangeActor)
    }

    let body: Data
    let response: Response
    let sender: Sender

    /// The response as validators and serializers receive it.
    var answer: Answer {
        switch sender {
        case .exchange(let exchange):
            Answer(request: exchange.prepared.request, response: response, body: body)
        case .call(let call, let answered):
            Answer(
                request: call.sentRequest(answered.sent), response: response, body: body,
                observer: call.call.observer, validationResult: answered.validationResult)
        }
    }
}

extension Session: RequestSender {
    func answer(inFlight request: Request) async throws -> Answer {
        let steps = AttachedSteps(configuration.steps.ofRequestsInFlight)
        return try await makeRequest(request, .memory, start: clock.now(), isInFlight: true, behind: steps)
            .runCollecting(nil).answer
    }
}

extension Request {
    /// Indicates whether the body is a form. The types of its parts are found in the system's tables, which only a thread that may block
    /// reads.
    var isForm: Bool { if case .multipart? = body?.source { true } else { false } }

    /// Indicates whether the request is sent only after a disk was read, which may be slow.
    var waitsForDisk: Bool { hasFiles || isForm && !MIMETypes.isLoaded.load(ordering: .relaxed) }
}
