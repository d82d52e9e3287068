import CurlEngine
import FoundationEssentials
import Synchronization

/// The creation of calls by the verbs and handles of a session. A verb's call in memory whose steps do not wait is a ``DirectCall``. Any
/// other call is a ``RequestActor``, whose ``Pipeline`` makes its exchanges; that of a stream without steps begins with its exchange.
extension Session {
    /// Sends a request and returns its response with the complete body.
    ///
    /// - Parameters:
    ///   - make: Creates the request. The call's time is measured from before that.
    ///   - conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(
        _ make: @autoclosure () throws -> Request, _ conditions: ReadingConditions? = nil
    ) async throws -> Answer {
        try await collected(make, conditions)
    }

    /// Sends a request and returns its body and its response: ``answer(_:_:)`` without what validators and serializers need.
    func pair(_ make: @autoclosure () throws -> Request) async throws -> (Data, Response) {
        try await collected(make, nil).pair
    }

    private func collected(
        _ make: () throws -> Request, _ conditions: ReadingConditions?
    ) async throws -> Answer {
        switch try send(make, conditions) {
        case .direct(let call): return try await call.collected()
        case .actor(let call): return try await call.runCollecting(conditions)
        }
    }

    /// The call of a verb.
    private enum Sending {
        case direct(DirectCall)
        case actor(RequestActor)
    }

    /// Makes a request and its call. Separate from the functions that wait, so that a call that waits keeps none of these values in its
    /// frame.
    @inline(never)
    private func send(_ make: () throws -> Request, _ conditions: ReadingConditions?) throws -> Sending {
        let start = clock.now()
        let request = try make()
        guard let steps = directSteps(of: request) else { return .actor(makeRequest(request, .memory, start: start)) }
        let limit = preparation.limits(of: request, delivery: .memory).total
        let call = makeCall(
            request, nil, .memory, steps, on: engines.first, start: start, limit: limit, isDirect: true)
        return .direct(DirectCall(call, steps, conditions, session: self))
    }

    /// Sends a request and returns as soon as the head of its response has come.
    ///
    /// - Parameter isInFlight: Whether the call belongs to a download that the session knows, so that it is sent even while the
    ///   session drains.
    package func open(_ make: @autoclosure () throws -> Request, isInFlight: Bool = false) async throws
        -> StreamResponse
    {
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

    /// Returns whether a request may need more than an exchange: it has steps or observers, or the size of a file must be read from a
    /// disk, which may be slow.
    private func isSurrounded(_ request: Request) -> Bool {
        request.attachment != nil || hasSteps || hub.isObserved || request.waitsForDisk || request.hasLeftOrigin
            || preparation.mustWait(for: request, clock)
    }

    /// Returns the steps of a call that needs no task of its own; `nil` if the call has other steps, or waits for a disk.
    private func directSteps(of request: Request) -> AttachedSteps? {
        guard !request.waitsForDisk, !preparation.mustWait(for: request, clock), mayBeDirect(request) else {
            return nil
        }
        let steps = request.attachedSteps.map { AttachedSteps(self.steps, followedBy: $0) } ?? self.steps
        // Code of the user's does not run on an engine thread.
        guard let direct = steps.direct, !direct.hasUserCode || !CallingThread.isEngine else { return nil }
        return steps
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
        // The certificates may have changed when the request is started.
        let first = preparation.mayLoadTrust ? nil : makeExchange(prepared, readers: record)
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
    ///   - isInFlight: Returns whether the call belongs to a download or a call that the session knows.
    ///   - outer: The steps that run outside the request's own steps; if `nil`, those of the session.
    @inline(never)
    func makeRequest(
        _ request: Request, _ delivery: Delivery, id: UInt64? = nil, start: EngineInstant? = nil,
        first: ExchangeActor? = nil, answered: StepResponse? = nil, record: Locked<CallRecord>? = nil,
        isInFlight: Bool = false, behind outer: AttachedSteps? = nil
    ) -> RequestActor {
        let outer = outer ?? self.steps
        let steps = request.attachedSteps.map { AttachedSteps(outer, followedBy: $0) } ?? outer
        let limit = preparation.limits(of: request, delivery: delivery).total
        // A call is on the engine of its first exchange, which begins there.
        let engine = first.map { engines.engine($0.first) } ?? engines.engine(for: preparation.queue(of: request))
        let call = makeCall(
            request, id ?? first?.prepared.callID, delivery, steps, on: engine, start: start, limit: limit, record)
        if answered != nil { call.record.withLock { $0.traffic = request.method.isIdempotent ? .idempotent : .other } }
        return RequestActor(
            call, session: self, engine: engine, steps: steps, first: first, answered: answered, isInFlight: isInFlight)
    }

    /// Creates a call, and sends its first event.
    private func makeCall(
        _ request: Request, _ id: UInt64?, _ delivery: Delivery, _ steps: AttachedSteps, on engine: SessionEngine,
        start: EngineInstant?, limit: UInt64?, _ record: Locked<CallRecord>? = nil, isDirect: Bool = false
    ) -> Call {
        let id = id ?? Call.nextID()
        let call = Call(
            request, id: id, delivery: delivery, start: start, limit: limit, engine: engine.executor, clock: clock,
            sender: self, observer: observer(ofCall: id, request), exchangeObserver: steps.steps.exchangeObserver,
            isHedged: steps.steps.hedging != nil, isDirect: isDirect, record: record)
        call.observer?.tell(.created(request))
        return call
    }

    /// Returns the observer of a call; `nil` if neither the session nor the request has observers.
    private func observer(ofCall id: UInt64, _ request: Request) -> CallObserver? {
        let monitors = request.eventMonitors
        guard hub.isObserved || !monitors.isEmpty else { return nil }
        // If the URL is invalid, the call itself throws the error.
        let completed = (try? preparation.completingURL(of: request)) ?? request
        return CallObserver(hub: hub, id: id, request: completed, monitors: monitors, clock: clock)
    }

    func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> SharedCall {
        var request = request
        // Each of the waiting calls has its own total limit.
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = nil
        request.timeouts = timeouts
        if !request.eventMonitors.isEmpty { request.eventMonitors = [] }
        let engine = engines.engine(for: preparation.queue(of: request))
        let shared = RequestActor(
            makeCall(request, nil, .memory, steps, on: engine, start: nil, limit: nil),
            session: self, engine: engine, steps: steps, depth: depth, isInFlight: true)
        return SharedCall(id: shared.call.id) { try await shared.answer() }
    }

    /// Creates the call of an operation that the session knows, with other steps than the session's.
    func backgroundCall(for request: Request, _ steps: AttachedSteps) -> RequestActor {
        makeRequest(request, .stream, start: clock.now(), isInFlight: true, behind: steps)
    }

    /// Creates the actor of a direct call that continues, on the engine of its first exchange.
    ///
    /// - Parameter isInFlight: Whether the session knows the call, so that it continues while the session drains.
    func makeRequest(
        continuing call: Call, _ steps: AttachedSteps, after predecessor: ExchangeActor?, isInFlight: Bool
    ) -> RequestActor {
        let engine =
            predecessor.map { engines.engine($0.first) } ?? engines.engine(for: preparation.queue(of: call.request))
        return RequestActor(
            call, session: self, engine: engine, steps: steps, after: predecessor, isInFlight: isInFlight)
    }

    /// Prepares the first request of a call, and creates its exchange.
    ///
    /// - Parameter url: The URL of the request, if it is known already.
    @inline(never)
    func makeExchange(
        _ request: Request, start: EngineInstant, _ history: AttemptHistory, callID: UInt64,
        readers: (any HeadValidator)?, keepsCoding: Bool, url: WireURL?
    ) throws -> ExchangeActor {
        makeExchange(
            try preparation.prepare(
                request, delivery: .memory, start: start, history: history, callID: callID, keepsCoding: keepsCoding,
                url: url),
            readers: readers)
    }

    /// Creates an exchange that has not started.
    ///
    /// - Parameter call: The call of the exchange, on whose engine it is created; if `nil`, the session chooses an engine.
    func makeExchange(
        _ prepared: PreparedRequest, of call: RequestActor? = nil, readers: (any HeadValidator)? = nil,
        isInFlight: Bool = false
    ) -> ExchangeActor {
        let engine = call?.engine ?? engines.engine(for: prepared.queue)
        let (site, admission) =
            TransportOverride.current?.place(on: engine.site, engines.admission, configuration.limits)
            ?? (engine.site, engines.admission)
        return ExchangeActor(
            prepared, engine: site, prefersEngine: call?.prefersEngine ?? engine.executor.isCurrent,
            admission: admission,
            flow: flow(of: prepared.source), readers: readers,
            isInFlight: isInFlight)
    }

    /// Returns the response of an exchange whose body is still arriving.
    ///
    /// - Parameter head: Starts the exchange and waits for its head.
    func stream(
        _ exchange: ExchangeActor, _ head: (BodyInbox) async throws -> Response
    ) async throws -> StepResponse {
        let inbox = BodyInbox {
            exchange.submitDirectly { $0.readerHasDrained() }
        } whenAbandoned: {
            exchange.cancelWithTask()
        }
        let response = try await head(inbox)
        // The session stays alive as long as its streams.
        let source = StreamSource(inbox: inbox, exchange: exchange, session: self)
        return StepResponse(response: response, content: .source(TransferToken(source)), to: exchange.prepared)
    }
}

extension Session {
    /// Returns the error of a call, completed with the traffic of the call before the failed exchange, and with the call's request if the
    /// error has none.
    func completed(_ error: any Error, of call: Call) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = call.request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL(of: call.request)) }
        error.wasThrown(by: call.id)
        error.earlierTraffic = max(error.earlierTraffic, call.record.withLock { $0.traffic })
        return error
    }

    /// Returns the error for the callers of a call that ends with it, and sends the last events of the call.
    func ended(_ call: Call, with error: any Error) -> any Error {
        let error = completed(error, of: call)
        call.tellEnd(.failure(error))
        return error
    }

    /// Returns the URL of a request, completed with the base URL and the default query items if the URL is valid.
    func completeURL(of request: Request) -> String {
        (try? preparation.completingURL(of: request))?.url ?? request.url
    }
}

extension Session: RequestSender {
    var freeEngine: EngineExecutor { engines.engine(for: nil).executor }

    func answer(inFlight request: Request) async throws -> Answer {
        let steps = AttachedSteps(configuration.steps.ofRequestsInFlight)
        return try await makeRequest(request, .memory, start: clock.now(), isInFlight: true, behind: steps)
            .runCollecting(nil)
    }
}

extension Request {
    /// Whether the body is a form. The types of its parts are found in the system's tables, which only a thread that may block
    /// reads.
    var isForm: Bool { if case .multipart? = body?.source { true } else { false } }

    /// Whether the request is sent only after a disk was read, which may be slow.
    var waitsForDisk: Bool { hasFiles || isForm && !MIMETypes.isLoaded.load(ordering: .relaxed) }
}
